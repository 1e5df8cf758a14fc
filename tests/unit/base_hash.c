/* SPDX-License-Identifier: MIT */
/* array, pool and hash: growth, and keys of one to three words found again, or not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "trace/base/array.h"
#include "trace/base/hash.h"

static void elements_keep_their_values_as_the_array_grows(void **state)
{
	uint32_t *list = NULL;
	size_t n = 0;

	(void)state;
	for (uint32_t i = 0; i < 100000; i++) {
		uint32_t *added = ARRAY_ADD(list, n);

		assert_non_null(added);
		assert_ptr_equal(added, &list[i]);
		*added = i * 7;
		assert_int_equal(n, i + 1);
	}
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(list[i], i * 7);
	n = 3; /* an array that was cut short grows as before */
	for (uint32_t i = 3; i < 1000; i++)
		*ARRAY_ADD(list, n) = i;
	assert_int_equal(list[2], 14);
	assert_int_equal(list[999], 999);
	assert_null(array_more(list, ARRAY_MOST + 1ul, 1)); /* a power of two, beyond the limit */
	free(list);
}

static void bytes_remember_a_failed_growth(void **state)
{
	struct bytes b = {.size = 0};

	(void)state;
	for (unsigned i = 0; i < 1000; i++)
		bytes_u32(&b, i);
	assert_int_equal(b.size, 4000);
	assert_false(b.failed);
	assert_memory_equal(b.data + 4 * 255, "\xff\0\0\0", 4);
	assert_null(bytes_more(&b, SIZE_MAX / 4));
	assert_true(b.failed);
	assert_int_equal(b.size, 4000);
	bytes_free(&b);
	assert_null(b.data);
}

static void elements_of_a_pool_stay_apart(void **state)
{
	static const size_t sizes[] = {24, 64, 336, 30000, 32 << 10};

	(void)state;
	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		size_t size = sizes[s], n = size > 10000 ? 200 : 20000;
		struct pool pool = {.n = 0};
		uint8_t **list = calloc(n, sizeof(*list));

		assert_non_null(list);
		for (size_t i = 0; i < n; i++) {
			list[i] = pool_take(&pool, size);
			assert_non_null(list[i]);
			for (size_t k = 0; k < size; k += 23)
				assert_int_equal(list[i][k], 0);
			memset(list[i], (int)(i % 255 + 1), size);
		}
		for (size_t i = 0; i < n; i++) {
			assert_int_equal(list[i][0], i % 255 + 1);
			assert_int_equal(list[i][size - 1], i % 255 + 1);
		}
		pool_free(&pool);
		assert_null(pool.chunks);
		free(list);
	}
}

/* A key of which each word matters: neighbours, multiples of powers of two, and extremes. */
static struct hash_key key_of(uint32_t i)
{
	uint64_t big = (uint64_t)(i / 8) << (i % 4 * 16);

	return (struct hash_key){i & 4 ? ~big : big, i % 2 ? i : UINT64_MAX - i, i / 100};
}

static void every_key_has_its_own_index(void **state)
{
	enum { KEYS = 200000 };
	struct hash h = {.n = 0};

	(void)state;
	assert_int_equal(hash_get(&h, key_of(0)), HASH_NONE);
	for (uint32_t i = 0; i < KEYS; i++) {
		uint32_t *at = hash_at(&h, key_of(i));

		assert_non_null(at);
		assert_int_equal(*at, HASH_NONE);
		*at = i;
	}
	assert_int_equal(h.n, KEYS);
	for (uint32_t i = 0; i < KEYS; i++) {
		struct hash_key key = key_of(i);

		assert_int_equal(hash_get(&h, key), i);
		assert_int_equal(*hash_at(&h, key), i);
		key.c += KEYS;
		assert_int_equal(hash_get(&h, key), HASH_NONE);
	}
	assert_int_equal(h.n, KEYS);
	hash_free(&h);
	assert_int_equal(hash_get(&h, key_of(1)), HASH_NONE);
}

static void a_key_without_an_index_is_still_new(void **state)
{
	struct hash h = {.n = 0};

	(void)state;
	for (uint64_t i = 0; i < 1000; i++)
		assert_int_equal(*hash_at(&h, (struct hash_key){.a = i % 3}), HASH_NONE);
	assert_int_equal(hash_get(&h, (struct hash_key){.a = 2}), HASH_NONE);
	*hash_at(&h, (struct hash_key){.a = 2}) = 9;
	assert_int_equal(hash_get(&h, (struct hash_key){.a = 2}), 9);
	hash_free(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(elements_keep_their_values_as_the_array_grows),
		cmocka_unit_test(bytes_remember_a_failed_growth),
		cmocka_unit_test(elements_of_a_pool_stay_apart),
		cmocka_unit_test(every_key_has_its_own_index),
		cmocka_unit_test(a_key_without_an_index_is_still_new),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
