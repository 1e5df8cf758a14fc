/* SPDX-License-Identifier: MIT */
/*
 * The Loom writer: the written and the dropped records, and their sum; the same bytes for the same
 * run; a run that breaks a rule cannot be written.
 */
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

#include "loom_kit.h"

static void assert_closed(const struct loom_account *a)
{
	assert_int_equal(a->seen, a->written + a->filtered + a->sampled_out + a->dropped);
}

static void the_bytes_are_those_of_the_specification(void **state)
{
	static const uint8_t want[16 + 38] = {
		'L',  'T',  'R',  'C',	1,    0, 0, 0,	  1, 0, 0, 0,
		0,    0,    0,	  0,	8,    7, 6, 5,	  4, 3, 2, 1, /* cycle */
		0xfe, 0xca, 0,	  0,				      /* epoch */
		1,    0,    0,	  0,	1,    0, 0, 0x80,	      /* invocation */
		0xff, 0xff,					      /* core */
		0xef, 0xbe, 0xad, 0xde,				      /* node */
		5,    9,    0x34, 0x12,				      /* kind, lane, flags */
		0x78, 0x56, 0x34, 0x12, 0xff, 0, 0, 0,		      /* arguments */
	};
	static const size_t sizes[] = {16 + 38, 38, 48};
	struct loom_record r = {.cycle = 0x0102030405060708,
				.epoch_id = 0xcafe,
				.invocation_id = 0x8000000100000001,
				.core_id = 0xffff,
				.hw_node_id = 0xdeadbeef,
				.event_kind = LOOM_INVOCATION_START,
				.lane = 9,
				.flags = 0x1234,
				.arg0 = 0x12345678,
				.arg1 = 0xff};

	(void)state;
	for (int as = LOOM_AS_LTRC; as <= LOOM_AS_NATURAL48; as++) {
		struct loom_writer_options o = {.as = (enum loom_written)as};
		struct loom_writer *w;
		struct loom_account a;
		size_t size;
		char *got;

		assert_int_equal(loom_writer_open(&w, run_path("bytes"), &o), 0);
		assert_int_equal(loom_writer_event(w, &r), 0);
		assert_int_equal(loom_writer_close(w, &a), 0);
		assert_int_equal(a.written, 1);
		got = read_file("bytes.trace.bin", &size);
		assert_int_equal(size, sizes[as]);
		if (as == LOOM_AS_LTRC)
			assert_memory_equal(got, want, size);
		if (as == LOOM_AS_PACKED38)
			assert_memory_equal(got, want + 16, size);
		if (as == LOOM_AS_NATURAL48) {
			assert_memory_equal(got, want + 16, 12);
			assert_memory_equal(got + 12, "\0\0\0\0", 4);
			assert_memory_equal(got + 16, want + 16 + 12, 10);
			assert_memory_equal(got + 44, "\0\0\0\0", 4);
		}
		free(got);
	}
}

static void drop_new_counts_each_record_that_finds_no_room(void **state)
{
	struct loom_writer_options o = {.on_full = LOOM_DROP_NEW, .buffer_records = 16};
	struct loom_writer *w;
	struct loom_account a;
	struct json *doc;
	size_t size;
	char *got;

	(void)state;
	assert_int_equal(loom_writer_open(&w, run_path("new"), &o), 0);
	simple_run(w, 10); /* 23 records */
	a = loom_writer_account(w);
	assert_int_equal(a.seen, 23);
	assert_int_equal(a.dropped, 7);
	assert_int_equal(loom_writer_flush(w), 0);
	assert_int_equal(put(w, 13, 4, 0, LOOM_CONFIG_WRITE), 0); /* there is room again */
	assert_int_equal(loom_writer_close(w, &a), 0);
	assert_int_equal(a.seen, 24);
	assert_int_equal(a.written, 17);
	assert_int_equal(a.dropped, 7);
	assert_closed(&a);
	free(read_file("new.trace.bin", &size));
	assert_int_equal(size, 16 + 38 * 17);
	got = read_file("new.trace.bin", &size);
	assert_int_equal(got[8], 17);
	free(got);

	doc = summary_of("new.perf.json");
	ASSERT_NUMBERS(doc, {"events.seen", 24}, {"events.written", 17}, {"events.dropped", 7},
		       {"events.dropped_by_kind.NODE_FIRE", 3},
		       {"events.dropped_by_kind.NODE_STALL_IN", 3},
		       {"events.dropped_by_kind.INVOCATION_DONE", 1});
	assert_int_equal(number(json_get(doc, "events.dropped_by_core"), "3"), 7);
	assert_string_equal(json_string(json_get(doc, "controls.buffer.policy")), "drop-new");
	assert_int_equal(number(doc, "controls.buffer.records"), 16);
	/* a drop falsifies no counter */
	assert_int_equal(number(json_next(json_first(json_get(doc, "snapshots"))), "active_cycles"),
			 10);
	json_free(doc);
}

static void drop_old_keeps_the_end_of_the_run(void **state)
{
	struct loom_writer_options o = {.on_full = LOOM_DROP_OLD, .buffer_records = 5};
	struct loom_writer *w;
	struct loom_account a;
	struct loom_record r;
	size_t size;
	char *got;

	(void)state;
	assert_int_equal(loom_writer_open(&w, run_path("old"), &o), 0);
	simple_run(w, 10);
	assert_int_equal(loom_writer_close(w, &a), 0);
	assert_int_equal(a.seen, 23);
	assert_int_equal(a.written, 5);
	assert_int_equal(a.dropped, 18);
	assert_closed(&a);
	got = read_file("old.trace.bin", &size);
	assert_int_equal(size, 16 + 5 * 38);
	loom_decode(&r, (uint8_t *)got + 16, false);
	assert_int_equal(r.cycle, 10);
	assert_int_equal(r.event_kind, LOOM_NODE_FIRE);
	loom_decode(&r, (uint8_t *)got + 16 + 4 * 38, false);
	assert_int_equal(r.cycle, 12);
	assert_int_equal(r.event_kind, LOOM_INVOCATION_DONE);
	free(got);
}

static void block_drops_nothing_however_small_the_buffer(void **state)
{
	struct loom_writer_options o = {.buffer_records = 1};
	struct loom_writer *w;
	struct loom_account a;

	(void)state;
	assert_int_equal(loom_writer_open(&w, run_path("block"), &o), 0);
	simple_run(w, 100);
	assert_int_equal(loom_writer_close(w, &a), 0);
	assert_int_equal(a.written, 203);
	assert_int_equal(a.dropped, 0);
	assert_closed(&a);
}

static void filters_and_sampling_are_counted_apart(void **state)
{
	struct loom_controls c = {.by_kind = false};
	struct loom_writer_options o = {.controls = &c};
	struct loom_writer *w;
	struct loom_account a;
	struct json *doc;

	(void)state;
	assert_null(loom_controls_kinds(&c, "NODE_FIRE,NODE_STALL_IN,INVOCATION_START,"
					    "INVOCATION_DONE"));
	assert_null(loom_controls_cores(&c, "3"));
	assert_null(loom_controls_nodes(&c, "3:1,9"));
	assert_null(loom_controls_sample(&c, "2/3"));
	assert_int_equal(loom_writer_open(&w, run_path("filter"), &o), 0);
	simple_run(w, 10);
	assert_int_equal(put(w, 20, 4, 0, LOOM_INVOCATION_START), 0);
	assert_int_equal(loom_writer_close(w, &a), 0);
	assert_int_equal(a.seen, 24);
	assert_int_equal(a.filtered, 1 + 10 + 1); /* configuration, node 2, core 4 */
	assert_int_equal(a.sampled_out, 3);	  /* of 10 the 3rd, 6th, 9th */
	assert_int_equal(a.written, 2 + 7);
	assert_closed(&a);
	doc = summary_of("filter.perf.json");
	assert_int_equal(json_count(json_get(doc, "controls.kinds")), 4);
	assert_string_equal(json_string(json_first(json_get(doc, "controls.nodes"))), "3:1");
	assert_int_equal(json_int(json_next(json_first(json_get(doc, "controls.nodes")))), 9);
	assert_int_equal(number(doc, "controls.sampling.keep"), 2);
	assert_int_equal(number(doc, "controls.sampling.of"), 3);
	json_free(doc);
	loom_controls_free(&c);
}

/* The calls of a cycle in another order: the same files. Without sorting they differ. */
static void the_order_of_calls_within_a_cycle_does_not_show(void **state)
{
	char *text[4];
	size_t size[4];

	(void)state;
	for (int turn = 0; turn < 4; turn++) {
		struct loom_controls c = {.keep = 1, .of = 2};
		struct loom_writer_options o = {.sort_cycles = turn < 3, .controls = &c};
		struct loom_writer *w;

		assert_int_equal(loom_writer_open(&w, run_path("sorted"), &o), 0);
		assert_int_equal(put(w, 1, 1, 0, LOOM_INVOCATION_START), 0);
		assert_int_equal(put(w, 1, 0, 0, LOOM_INVOCATION_START), 0);
		for (uint64_t cycle = 1; cycle < 50; cycle++) {
			for (uint32_t i = 0; i < 12; i++) {
				/* turn 0 forward, 1 backward, 2 and 3 shuffled */
				uint32_t k = turn == 0 ? i : turn == 1 ? 11 - i : (i * 7 + 5) % 12;
				struct loom_record r = record(cycle, k & 1, k / 4, LOOM_NODE_FIRE);

				r.lane = (uint8_t)(k / 2 % 2);
				if ((uint32_t)(cycle * 12 + k) * 2654435761u >> 30 == 0)
					continue;
				assert_int_equal(loom_writer_event(w, &r), 0);
			}
		}
		assert_int_equal(put(w, 50, turn & 1, 0, LOOM_INVOCATION_DONE), 0);
		assert_int_equal(put(w, 50, !(turn & 1), 0, LOOM_INVOCATION_DONE), 0);
		assert_int_equal(loom_writer_close(w, NULL), 0);
		text[turn] = read_file("sorted.trace.bin", &size[turn]);
		assert_non_null(text[turn]);
		loom_controls_free(&c);
	}
	assert_int_equal(size[0], size[1]);
	assert_memory_equal(text[0], text[1], size[0]);
	assert_int_equal(size[0], size[2]);
	assert_memory_equal(text[0], text[2], size[0]);
	assert_true(size[0] != size[3] || memcmp(text[0], text[3], size[0]) != 0);
	for (int turn = 0; turn < 4; turn++)
		free(text[turn]);
}

static void records_that_break_the_run_are_refused(void **state)
{
	struct loom_writer_options o = {.mode = LOOM_FULL};
	struct loom_writer *w;
	struct loom_account a;

	(void)state;
	assert_int_equal(loom_writer_open(&w, run_path("bad"), &o), 0);
	assert_int_equal(put(w, 5, 0, 1, LOOM_NODE_FIRE), -EPROTO); /* before its start */
	assert_int_equal(put(w, 5, 0, 0, LOOM_INVOCATION_DONE), -EPROTO);
	assert_int_equal(put(w, 5, 0, 0, LOOM_INVOCATION_START), 0);
	assert_int_equal(put(w, 5, 0, 0, LOOM_INVOCATION_START), -EPROTO);
	assert_int_equal(put(w, 4, 0, 1, LOOM_NODE_FIRE), -ERANGE);
	assert_int_equal(put(w, 6, 1, 1, LOOM_NODE_FIRE), 0); /* core 0 has started it */
	assert_int_equal(put(w, 6, 0, 1, LOOM_NODE_FIRE), 0);
	assert_int_equal(put(w, 7, 0, 0, LOOM_INVOCATION_DONE), 0);
	assert_int_equal(put(w, 7, 0, 1, LOOM_NODE_FIRE), -EPROTO); /* after its end */
	assert_int_equal(put(w, 7, 0, 0, LOOM_INVOCATION_DONE), -EPROTO);
	/* core 1 has started nothing itself: its part is over, too */
	assert_int_equal(put(w, 7, 1, 1, LOOM_NODE_FIRE), -EPROTO);
	assert_int_equal(put(w, 7, 1, 0, LOOM_INVOCATION_START), -EPROTO); /* after its nodes */
	assert_int_equal(loom_writer_tokens(w, 5, 1, 1, 1), -ENOENT);
	assert_int_equal(loom_writer_close(w, &a), 0);
	assert_int_equal(a.refused, 8);
	assert_int_equal(a.seen, 4);
	assert_int_equal(a.written, 4);
}

static void modes_write_the_right_events(void **state)
{
	struct loom_writer_options o = {.mode = LOOM_OFF};
	struct loom_writer *w = (struct loom_writer *)&o;
	struct loom_account a;
	struct json *doc;

	(void)state;
	assert_int_equal(loom_writer_open(&w, run_path("off"), &o), 0);
	assert_null(w);
	assert_int_equal(put(w, 5, 0, 1, LOOM_NODE_FIRE), 0);
	assert_int_equal(loom_writer_tokens(w, 0, 1, 1, 1), 0);
	assert_int_equal(loom_writer_flush(w), 0);
	assert_int_equal(loom_writer_close(w, &a), 0);
	assert_int_equal(a.seen, 0);
	assert_int_equal(kit_size("off.trace.bin"), -1);
	assert_int_equal(kit_size("off.perf.json"), -1);

	/* a trace of an earlier run is not of this one */
	o.mode = LOOM_FULL;
	assert_int_equal(loom_writer_open(&w, run_path("summary"), &o), 0);
	assert_int_equal(loom_writer_close(w, NULL), 0);
	o.mode = LOOM_SUMMARY;
	assert_int_equal(loom_writer_open(&w, run_path("summary"), &o), 0);
	simple_run(w, 10);
	assert_int_equal(loom_writer_close(w, &a), 0);
	assert_int_equal(a.seen, 23);
	assert_int_equal(a.written, 0);
	assert_closed(&a);
	assert_int_equal(kit_size("summary.trace.bin"), -1);
	doc = summary_of("summary.perf.json");
	assert_string_equal(json_string(json_get(doc, "mode")), "summary");
	assert_int_equal(number(json_next(json_first(json_get(doc, "snapshots"))), "active_cycles"),
			 10);
	json_free(doc);
}

static void options_that_contradict_are_refused(void **state)
{
	static const struct loom_writer_options bad[] = {
		{.mode = (enum loom_mode)3},  {.as = (enum loom_written)3},
		{.style = LOOM_STYLES},	      {.on_full = (enum loom_on_full)3},
		{.buffer_records = SIZE_MAX},
	};
	struct loom_writer *w;

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_int_equal(loom_writer_open(&w, run_path("options"), &bad[i]), -EINVAL);
	assert_int_equal(loom_writer_open(&w, "", NULL), -EINVAL);
	assert_int_equal(loom_writer_open(&w, NULL, NULL), -EINVAL);
	assert_int_equal(kit_size("options.trace.bin"), -1);
	/* statistics that cannot be written show before the run */
	assert_int_equal(mkdirat(kit_dir, "options.perf.json", 0755), 0);
	assert_int_equal(loom_writer_open(&w, run_path("options"), NULL), -EISDIR);
	assert_null(w);
}

static void no_link_is_followed(void **state)
{
	struct loom_writer_options o = {.mode = LOOM_FULL};
	struct loom_writer *w;

	(void)state;
	assert_int_equal(symlinkat("victim", kit_dir, "link.trace.bin"), 0);
	assert_int_equal(loom_writer_open(&w, run_path("link"), &o), -ELOOP);
	assert_null(w);
	assert_int_equal(kit_size("victim"), -1);
}

/* A full disk: whole records are in the file, the rest is counted. */
static void a_disk_that_is_full_is_accounted_for(void **state)
{
	struct loom_writer_options o = {.buffer_records = 8};
	struct rlimit old, small = {.rlim_cur = 16 + 38 * 20 + 17};
	struct loom_writer *w;
	struct loom_account a;
	int err = 0;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small.rlim_max = old.rlim_max;
	assert_int_equal(loom_writer_open(&w, run_path("full"), &o), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_int_equal(put(w, 1, 0, 0, LOOM_INVOCATION_START), 0);
	for (uint64_t c = 1; c < 100; c++) {
		int got = put(w, c, 0, 1, LOOM_NODE_FIRE);

		err = err ? err : got;
	}
	assert_int_equal(err, -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_int_equal(loom_writer_close(w, &a), -EFBIG);
	assert_int_equal(a.seen, 100);
	assert_int_equal(a.written, 16);
	assert_int_equal(a.dropped, 84);
	assert_int_equal(kit_size("full.trace.bin"), 16 + 38 * 16);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_bytes_are_those_of_the_specification),
		cmocka_unit_test(drop_new_counts_each_record_that_finds_no_room),
		cmocka_unit_test(drop_old_keeps_the_end_of_the_run),
		cmocka_unit_test(block_drops_nothing_however_small_the_buffer),
		cmocka_unit_test(filters_and_sampling_are_counted_apart),
		cmocka_unit_test(the_order_of_calls_within_a_cycle_does_not_show),
		cmocka_unit_test(records_that_break_the_run_are_refused),
		cmocka_unit_test(modes_write_the_right_events),
		cmocka_unit_test(options_that_contradict_are_refused),
		cmocka_unit_test(no_link_is_followed),
		cmocka_unit_test(a_disk_that_is_full_is_accounted_for),
	};

	return cmocka_run_group_tests(tests, kit_open, kit_close);
}
