/* SPDX-License-Identifier: MIT */
/* merge: rings of records, filled by hand, come out as one sequence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "bpf/state.h"
#include "user/kernel/rings.h"

#define CPUS  4
#define BYTES 4096u

/* A ring as the kernel side keeps it. */
struct producer {
	struct cpu_state state;
	_Alignas(8) uint8_t data[BYTES + RING_SPILL];
};

struct bench {
	struct producer producers[CPUS];
	struct rings *rings;
	struct {
		unsigned cpu;
		uint64_t clock;
		uint32_t id;
	} taken[4096];
	unsigned ntaken, stop_at;
};

static int setup(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	b->rings = rings_new();
	for (unsigned i = 0; i < CPUS; i++)
		assert_int_equal(rings_add(b->rings, 2 * i, &b->producers[i].state,
					   b->producers[i].data, BYTES),
				 0);
	b->stop_at = UINT32_MAX;
	*state = b;
	return 0;
}

static int teardown(void **state)
{
	struct bench *b = *state;

	rings_close(b->rings);
	free(b);
	return 0;
}

static bool room_for(const struct bench *b, unsigned ring, size_t size)
{
	const struct cpu_state *state = &b->producers[ring].state;

	return state->reserved - state->consumed + size <= BYTES;
}

/* Reserves a record and fills it in; it is not committed. */
static void reserve(struct bench *b, unsigned ring, uint64_t clock, uint32_t id, uint8_t kind)
{
	struct producer *p = &b->producers[ring];
	struct record_head head = {.clock = clock, .kind = kind, .id = id};
	size_t size = rings_record_size[kind] ? rings_record_size[kind] : sizeof(head);

	assert_true(room_for(b, ring, size));
	memcpy(p->data + (p->state.reserved & (BYTES - 1)), &head, sizeof(head));
	p->state.reserved += size;
}

static void commit(struct bench *b, unsigned ring)
{
	b->producers[ring].state.committed = b->producers[ring].state.reserved;
}

static void push(struct bench *b, unsigned ring, uint64_t clock, uint32_t id)
{
	reserve(b, ring, clock, id, RECORD_SWITCH);
	commit(b, ring);
}

struct pushed {
	unsigned ring;
	uint64_t clock;
	uint32_t id;
};

static void push_all(struct bench *b, const struct pushed *records, size_t n)
{
	for (size_t i = 0; i < n; i++)
		push(b, records[i].ring, records[i].clock, records[i].id);
}

/* {ring, clock, id}, ... */
#define PUSH_ALL(b, ...)                                                                           \
	push_all(b, (const struct pushed[]){__VA_ARGS__},                                          \
		 sizeof((const struct pushed[]){__VA_ARGS__}) / sizeof(struct pushed))

static int take(void *arg, unsigned cpu, const struct record_head *record)
{
	struct bench *b = arg;

	assert_true(b->ntaken < 4096);
	b->taken[b->ntaken].cpu = cpu;
	b->taken[b->ntaken].clock = record->clock;
	b->taken[b->ntaken].id = record->id;
	return ++b->ntaken == b->stop_at ? -EIO : 0;
}

static int release(struct bench *b, uint64_t before)
{
	rings_refresh(b->rings);
	return rings_release(b->rings, before, take, b);
}

static void expect_ids(struct bench *b, const char *ids)
{
	char got[4097];

	for (unsigned i = 0; i < b->ntaken; i++)
		got[i] = (char)b->taken[i].id;
	got[b->ntaken] = '\0';
	assert_string_equal(got, ids);
}

static void expect_release(struct bench *b, uint64_t before, const char *ids)
{
	assert_int_equal(release(b, before), 0);
	expect_ids(b, ids);
}

static void rings_are_merged_by_clock(void **state)
{
	struct bench *b = *state;

	PUSH_ALL(b, {0, 10, 'a'}, {0, 40, 'd'}, {1, 20, 'b'}, {1, 50, 'e'}, {3, 30, 'c'});
	expect_release(b, UINT64_MAX, "abcde");
	assert_int_equal(b->taken[1].cpu, 2);
	assert_int_equal(b->taken[2].cpu, 6);
}

static void equal_clocks_leave_by_cpu_then_by_place(void **state)
{
	struct bench *b = *state;

	PUSH_ALL(b, {3, 10, 'e'}, {1, 10, 'c'}, {1, 10, 'd'}, {0, 10, 'a'}, {0, 10, 'b'});
	expect_release(b, UINT64_MAX, "abcde");
}

static void the_watermark_holds_back_later_records(void **state)
{
	struct bench *b = *state;

	PUSH_ALL(b, {0, 10, 'a'}, {0, 30, 'd'}, {1, 20, 'c'});
	expect_release(b, 20, "a");
	push(b, 2, 15, 'b'); /* reserved later, yet it belongs before */
	expect_release(b, 30, "abc");
	expect_release(b, 31, "abcd");
}

static void an_empty_ring_holds_no_one_up(void **state)
{
	struct bench *b = *state;

	push(b, 2, 10, 'a');
	expect_release(b, 11, "a");
}

static void an_uncommitted_record_holds_back_later_ones(void **state)
{
	struct bench *b = *state;

	push(b, 0, 10, 'a');
	reserve(b, 0, 30, 'c', RECORD_SWITCH);
	PUSH_ALL(b, {1, 5, 'z'}, {1, 20, 'b'}, {1, 40, 'e'});
	expect_release(b, 100, "za");
	/* nor does it come out when it is all that is left */
	expect_release(b, UINT64_MAX, "za");
	commit(b, 0);
	expect_release(b, 100, "zabce");
}

static void a_record_committed_meanwhile_waits_for_the_next_round(void **state)
{
	struct bench *b = *state;

	push(b, 0, 10, 'a');
	rings_refresh(b->rings);
	push(b, 0, 20, 'b');
	assert_int_equal(rings_release(b->rings, UINT64_MAX, take, b), 0);
	expect_ids(b, "a");
	expect_release(b, UINT64_MAX, "ab");
}

static void a_record_behind_the_one_before_it_counts_as_of_that_one(void **state)
{
	struct bench *b = *state;

	push(b, 0, 30, 'b');
	push(b, 0, 10, 'c'); /* interrupted between its reserve and its clock */
	push(b, 1, 29, 'a');
	push(b, 1, 31, 'd');
	expect_release(b, UINT64_MAX, "abcd");
	assert_int_equal(b->taken[2].clock, 10); /* as it was sent */
}

static void space_is_released_only_for_taken_records(void **state)
{
	struct bench *b = *state;

	push(b, 0, 10, 'a');
	push(b, 0, 20, 'b');
	assert_int_equal(release(b, 15), 0);
	assert_int_equal(b->producers[0].state.consumed, sizeof(struct record_switch));
	assert_int_equal(b->rings->ring[0].taken[EVENT_SWITCH], 1);
}

static void records_keep_their_order_when_the_ring_wraps(void **state)
{
	struct bench *b = *state;
	uint32_t seed = 1, id = 0;
	uint64_t clock = 0;

	/* more than forty times round, by rings that are filled unevenly */
	while (id < 4000) {
		unsigned pushed = 0;

		while (pushed++ < 60 && id < 4000) {
			unsigned ring = (seed = seed * 1103515245 + 12345) >> 16 & 3;

			if (!room_for(b, ring, sizeof(struct record_switch)))
				break;
			push(b, ring, clock += seed >> 16 & 1, id++);
		}
		assert_int_equal(release(b, clock), 0);
	}
	assert_int_equal(release(b, UINT64_MAX), 0);
	assert_int_equal(b->ntaken, 4000);
	assert_true(b->producers[0].state.reserved > 10 * BYTES);
	for (unsigned i = 1; i < b->ntaken; i++) {
		assert_true(b->taken[i - 1].clock <= b->taken[i].clock);
		if (b->taken[i - 1].clock == b->taken[i].clock)
			assert_true(b->taken[i - 1].cpu < b->taken[i].cpu ||
				    (b->taken[i - 1].cpu == b->taken[i].cpu &&
				     b->taken[i - 1].id < b->taken[i].id));
	}
}

static void invalid_records_are_refused(void **state)
{
	static const uint8_t kinds[] = {0, RECORD_KINDS, 200, 255};

	for (unsigned i = 0; i < sizeof(kinds); i++) {
		struct bench *b;

		teardown(state);
		setup(state);
		b = *state;
		push(b, 0, 10, 'a');
		reserve(b, 1, 20, 'x', kinds[i]);
		commit(b, 1);
		assert_int_equal(release(b, UINT64_MAX), -EBADMSG);
	}
}

static void records_of_all_sizes_follow_each_other(void **state)
{
	struct bench *b = *state;

	for (unsigned turn = 0; turn < 200; turn++) {
		uint8_t kind = (uint8_t)(RECORD_SWITCH + turn % 5);

		if (!room_for(b, 2, rings_record_size[kind]))
			assert_int_equal(release(b, UINT64_MAX), 0);
		reserve(b, 2, turn, turn, kind);
		commit(b, 2);
	}
	assert_int_equal(release(b, UINT64_MAX), 0);
	assert_int_equal(b->ntaken, 200);
	for (unsigned i = 0; i < 200; i++)
		assert_int_equal(b->taken[i].id, i);
	assert_int_equal(b->rings->ring[2].taken[EVENT_SWITCH], 40);
	assert_int_equal(b->rings->ring[2].taken[EVENT_EXIT], 40);
	/* tasks without a cause and snapshots; a record of a gap is no event */
	assert_int_equal(b->rings->ring[2].taken[EVENT_OTHER], 80);
}

static void the_reader_can_stop_and_continue(void **state)
{
	struct bench *b = *state;

	PUSH_ALL(b, {0, 10, 'a'}, {1, 20, 'b'}, {0, 30, 'c'});
	b->stop_at = 2;
	assert_int_equal(release(b, UINT64_MAX), -EIO);
	expect_ids(b, "ab");
	expect_release(b, UINT64_MAX, "abc");
}

static void discarding_forgets_all_that_was_seen(void **state)
{
	struct bench *b = *state;

	push(b, 0, 10, 'a');
	push(b, 1, 20, 'b');
	rings_refresh(b->rings);
	push(b, 0, 30, 'c');
	rings_discard(b->rings);
	expect_release(b, UINT64_MAX, "c");
	assert_int_equal(b->rings->ring[1].taken[EVENT_SWITCH], 1);
}

static void the_fullest_ring_is_a_part_of_its_size(void **state)
{
	struct bench *b = *state;

	for (unsigned i = 0; i < 36; i++)
		push(b, 2, i, 'a');
	push(b, 0, 1, 'b');
	rings_refresh(b->rings);
	assert_int_equal((int)(1000 * rings_fullest(b->rings)), 1000 * 36 * 48 / BYTES);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* ---- groups ---- */

#define MANY	   16
#define MANY_BYTES (1u << 20)

struct many {
	struct cpu_state states[MANY];
	struct rings *rings;
	uint64_t sum; /* of the order of the records */
	uint64_t n, stop_at;
};

static int take_many(void *arg, unsigned cpu, const struct record_head *record)
{
	struct many *m = arg;

	m->sum = m->sum * 6364136223846793005ull + cpu + 31 * record->id + record->clock;
	return ++m->n == m->stop_at ? -EIO : 0;
}

/* Fills the rings with records whose clocks are often equal, and sometimes fall. */
static uint64_t fill_many(uint8_t *data[MANY], uint64_t committed[MANY], uint64_t *half,
			  uint64_t *total)
{
	uint64_t seed = 7, latest = 0;

	for (unsigned cpu = 0; cpu < MANY; cpu++) {
		uint64_t clock = 1000;

		for (uint64_t at = 0; at + sizeof(struct record_switch) <= MANY_BYTES;) {
			struct record_head head = {.kind = RECORD_SWITCH,
						   .id = (uint32_t)(*total)++};

			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			clock += (seed >> 60) * (cpu + 1);
			head.clock = clock - (seed >> 59 & 1 ? 3 : 0);
			if ((seed >> 40) % 997 == 0)
				head.kind = RECORD_SNAPSHOT;
			memcpy(data[cpu] + at, &head, sizeof(head));
			at += rings_record_size[head.kind];
			committed[cpu] = at;
			if (at < MANY_BYTES / 2)
				*half = at;
		}
		latest = clock > latest ? clock : latest;
	}
	return latest;
}

static void open_many(struct many *m, uint8_t *data[MANY], unsigned groups)
{
	memset(m, 0, sizeof(*m));
	m->rings = rings_new();
	assert_non_null(m->rings);
	for (unsigned i = 0; i < MANY; i++)
		assert_int_equal(rings_add(m->rings, 2 * i, &m->states[i], data[i], MANY_BYTES), 0);
	if (groups)
		assert_int_equal(rings_split(m->rings, groups), 0);
}

/* Gives all records in `steps` releases; the last ring is being written in the middle of them. */
static void play_many(struct many *m, const uint64_t committed[MANY], uint64_t half,
		      uint64_t latest, unsigned steps, int want)
{
	int err = 0;

	for (unsigned step = 1; step <= steps && !err; step++) {
		for (unsigned cpu = 0; cpu < MANY; cpu++) {
			struct cpu_state *state = &m->states[cpu];
			bool writing = cpu == MANY - 1 && step < steps;

			state->committed = writing ? half : committed[cpu];
			state->reserved = committed[cpu];
		}
		rings_refresh(m->rings);
		err = rings_release(m->rings, step == steps ? UINT64_MAX : latest * step / steps,
				    take_many, m);
	}
	assert_int_equal(err, want);
}

static void groups_give_the_same_records_in_the_same_order(void **state)
{
	uint8_t *data[MANY];
	uint64_t committed[MANY], total = 0, half = 0, latest, taken;
	struct many one, split;

	(void)state;
	for (unsigned i = 0; i < MANY; i++)
		data[i] = calloc(1, MANY_BYTES + RING_SPILL);
	latest = fill_many(data, committed, &half, &total);
	for (unsigned steps = 1; steps < 9; steps += 3) {
		for (unsigned groups = 1; groups < 6; groups += 2) {
			open_many(&one, data, 0);
			open_many(&split, data, groups);
			play_many(&one, committed, half, latest, steps, 0);
			play_many(&split, committed, half, latest, steps, 0);
			assert_int_equal(one.n, total);
			assert_int_equal(split.n, total);
			assert_int_equal(one.sum, split.sum);
			for (unsigned i = 0; i < MANY; i++)
				assert_int_equal(split.states[i].consumed, committed[i]);
			rings_close(one.rings);
			rings_close(split.rings);
		}
	}
	/* A taker that fails: records that were copied and not taken are not counted as taken. */
	open_many(&split, data, 3);
	split.stop_at = 12345;
	play_many(&split, committed, half, latest, 1, -EIO);
	taken = 0;
	for (unsigned i = 0; i < MANY; i++)
		taken += split.rings->ring[i].taken[EVENT_SWITCH] +
			 split.rings->ring[i].taken[EVENT_OTHER];
	assert_int_equal(taken, 12345);
	rings_close(split.rings);
	for (unsigned i = 0; i < MANY; i++)
		free(data[i]);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(rings_are_merged_by_clock),
		TEST(equal_clocks_leave_by_cpu_then_by_place),
		TEST(the_watermark_holds_back_later_records),
		TEST(an_empty_ring_holds_no_one_up),
		TEST(an_uncommitted_record_holds_back_later_ones),
		TEST(a_record_behind_the_one_before_it_counts_as_of_that_one),
		TEST(a_record_committed_meanwhile_waits_for_the_next_round),
		TEST(space_is_released_only_for_taken_records),
		TEST(records_keep_their_order_when_the_ring_wraps),
		TEST(invalid_records_are_refused),
		TEST(records_of_all_sizes_follow_each_other),
		TEST(the_reader_can_stop_and_continue),
		TEST(discarding_forgets_all_that_was_seen),
		TEST(the_fullest_ring_is_a_part_of_its_size),
		cmocka_unit_test(groups_give_the_same_records_in_the_same_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
