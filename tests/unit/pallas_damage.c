/* SPDX-License-Identifier: MIT */
/* pallas: no damage to an archive gets past the reader, and none crashes it. */
#include "pallas_kit.h"

#include "trace/pallas/read/archive.h"
#include "trace/pallas/pallas_file.h"

static uint8_t *load(const char *dir, const char *file, size_t *size)
{
	uint8_t *bytes;
	char *path;

	assert_true(asprintf(&path, "%s/%s", dir, file) > 0);
	assert_int_equal(pallas_file_read(AT_FDCWD, path, path, SIZE_MAX, &bytes, size), 0);
	free(path);
	return bytes;
}

static void store(const char *dir, const char *file, const uint8_t *bytes, size_t size)
{
	char *path;
	FILE *f;

	assert_true(asprintf(&path, "%s/%s", dir, file) > 0);
	f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, size, f), size);
	assert_int_equal(fclose(f), 0);
	free(path);
}

/* Reads everything; the reader always ends and stays in its memory. */
static bool survives(const char *path)
{
	struct pallas_trace trace;
	FILE *nowhere = fopen("/dev/null", "w");
	bool whole = false;

	assert_non_null(nowhere);
	if (pallas_open(&trace, path, 8u << 20) == 0) {
		whole = pallas_check(&trace, nowhere) == 0;
		pallas_close(&trace);
	}
	fclose(nowhere);
	return whole;
}

static void damage_is_an_error_and_no_crash(void **unused)
{
	static const char *const files[] = {"main.pallas", "archive_0/archive.pallas",
					    "archive_0/thread_0/thread.pallas",
					    "archive_0/thread_0/event_durations.dat",
					    "archive_0/thread_0/sequence_durations.dat"};
	static const uint8_t values[] = {0x00, 0xff, 0x80, 0x01};
	struct stream_of s = {0};
	char *path = new_path();
	enum log_level level = log_level();

	(void)unused;
	for (int i = 0; i < 6; i++) {
		add(&s, PALLAS_ENTER, 2, 7);
		for (int k = 0; k < 3; k++)
			call(&s, 1);
		add(&s, PALLAS_LEAVE, 2, 7);
		add(&s, PALLAS_GENERIC, 4, 7);
	}
	{
		struct archive_writer *w = archive_writer_new(path, &all_options[0]);
		struct thread_writer *t;
		uint32_t id;

		archive_writer_archive(w, "p");
		for (int i = 0; i < 5; i++) {
			char name[16];

			snprintf(name, sizeof(name), "f%d", i);
			archive_writer_region(w, name);
		}
		assert_int_equal(archive_writer_metadata(w, "key", "value"), 0);
		t = archive_writer_thread(w, "t", &id);
		put_events(t, &s);
		assert_int_equal(thread_writer_finish(t), 0);
		thread_writer_free(t);
		assert_int_equal(archive_writer_finish(w), 0);
		archive_writer_free(w);
	}
	assert_true(survives(path));
	log_setup("pallas_damage", (enum log_level) - 1); /* thousands of expected messages */
	for (size_t f = 0; f < sizeof(files) / sizeof(files[0]); f++) {
		size_t size, step, harmless = 0, tried = 0;
		uint8_t *bytes = load(path, files[f], &size);

		step = size / 700 + 1;
		for (size_t at = 0; at < size; at += step) {
			uint8_t was = bytes[at];

			for (size_t v = 0; v < sizeof(values); v++) {
				if (values[v] == was)
					continue;
				bytes[at] = values[v];
				store(path, files[f], bytes, size);
				harmless += survives(path);
				tried++;
			}
			bytes[at] = was;
			store(path, files[f], bytes, at); /* cut short */
			assert_false(survives(path));
		}
		store(path, files[f], bytes, size);
		assert_true(survives(path));
		free(bytes);
		print_message("  %s: %zu of %zu damages found\n", files[f], tried - harmless,
			      tried);
		/* Configuration, names and unused flags may be anything; grammar and data may not.
		 */
		if (f >= 2)
			assert_true(harmless * 8 < tried);
	}
	log_setup("pallas_damage", level);
	free(path);
	free(s.e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(damage_is_an_error_and_no_crash),
	};
	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
