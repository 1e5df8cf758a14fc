/* SPDX-License-Identifier: MIT */
/*
 * The statistics that the Loom writer leaves beside a run: every counter exact, in each style of
 * records, at the end, on the way and as upstream has them.
 */
#include <errno.h>

#include "trace/loom/stats/counters.h"
#include "loom_kit.h"

static void counters_and_metrics_are_exact(void **state)
{
	struct loom_writer_options o = {.period_ps = 1250, .producer = "a \"sim\"\\"};
	struct loom_writer *w;
	struct json *doc;
	const struct json *row;
	size_t size;
	char *text;

	(void)state;
	assert_int_equal(loom_writer_open(&w, run_path("sums"), &o), 0);
	assert_int_equal(put(w, 0, 0, 0, LOOM_CONFIG_WRITE), 0);
	assert_int_equal(put(w, 4, 0, 0, LOOM_INVOCATION_START), 0);
	/* in one cycle a node does one thing: firing beats waiting */
	PUT_ALL(w, {4, 0, 5, LOOM_NODE_STALL_IN}, {4, 0, 5, LOOM_NODE_FIRE},
		{4, 0, 5, LOOM_NODE_FIRE}, {4, 0, 6, LOOM_NODE_STALL_OUT});
	loom_writer_tokens(w, 0, 5, 2, 3);
	PUT_ALL(w, {5, 0, 5, LOOM_NODE_STALL_IN}, {5, 0, 6, LOOM_NODE_STALL_OUT},
		{7, 0, 5, LOOM_NODE_STALL_IN}, {8, 0, 5, LOOM_ROUTE_USE});
	loom_writer_tokens(w, 0, 5, UINT64_C(1) << 60, 0);
	assert_int_equal(put(w, 14, 0, 0, LOOM_INVOCATION_DONE), 0);
	assert_int_equal(loom_writer_close(w, NULL), 0);

	doc = summary_of("sums.perf.json");
	assert_non_null(doc);
	assert_string_equal(json_string(json_get(doc, "producer")), "a \"sim\"\\");
	assert_int_equal(number(doc, "clock.period_ps"), 1250);
	assert_int_equal(number(doc, "window.total_cycles"), 14);
	assert_int_equal(json_count(json_get(doc, "invocations")), 1);
	row = json_first(json_get(doc, "invocations"));
	assert_int_equal(number(row, "start_cycle"), 4);
	assert_int_equal(number(row, "end_cycle"), 14);
	assert_string_equal(json_string(json_get(row, "status")), "done");
	assert_int_equal(json_count(json_get(doc, "snapshots")), 3);
	row = json_first(json_get(doc, "snapshots")); /* the core */
	assert_null(json_get(row, "hw_node_id"));
	ASSERT_NUMBERS(row, {"active_cycles", 2}, {"stall_cycles_out", 1}, {"stall_cycles_in", 1},
		       {"config_writes", 1});
	row = json_next(row); /* node 5 */
	ASSERT_NUMBERS(row, {"hw_node_id", 5}, {"total_cycles", 10}, {"active_cycles", 2},
		       {"stall_cycles_in", 2}, {"stall_cycles_out", 0}, {"tokens_out", 3});
	assert_true(json_number(json_get(row, "metrics.utilization")) == 0.2);
	assert_true(json_number(json_get(row, "metrics.throughput")) == 1.5);
	row = json_next(row); /* node 6: never active */
	assert_int_equal(number(row, "stall_cycles_out"), 2);
	assert_false(json_is_number(json_get(row, "metrics.throughput")));
	json_free(doc);
	/* 64 bits, more than a double holds */
	text = read_file("sums.perf.json", &size);
	assert_non_null(strstr(text, "\"tokens_in\": 1152921504606846978"));
	free(text);
}

static void styles_edge_and_span_count_whole_intervals(void **state)
{
	struct loom_writer_options o = {.style = LOOM_STYLE_EDGE};
	struct loom_writer *w;
	struct loom_record r;
	struct json *doc;
	const struct json *row;

	(void)state;
	assert_int_equal(loom_writer_open(&w, run_path("edge"), &o), 0);
	PUT_ALL(w, {10, 0, 0, LOOM_INVOCATION_START}, {12, 0, 1, LOOM_NODE_FIRE},
		{15, 0, 1, LOOM_NODE_STALL_OUT}, {22, 0, 0, LOOM_INVOCATION_DONE});
	assert_int_equal(loom_writer_close(w, NULL), 0);
	doc = summary_of("edge.perf.json");
	row = json_first(json_get(doc, "snapshots"));
	assert_int_equal(number(row, "active_cycles"), 3);
	assert_int_equal(number(row, "stall_cycles_out"), 7);
	json_free(doc);

	o.style = LOOM_STYLE_SPAN;
	assert_int_equal(loom_writer_open(&w, run_path("span"), &o), 0);
	assert_int_equal(put(w, 10, 0, 0, LOOM_INVOCATION_START), 0);
	r = record(10, 0, 1, LOOM_NODE_FIRE);
	loom_record_set_span(&r, UINT64_C(5) << 32 | 3);
	assert_int_equal(loom_writer_event(w, &r), 0);
	assert_int_equal(put(w, UINT64_C(6) << 32, 0, 0, LOOM_INVOCATION_DONE), 0);
	assert_int_equal(loom_writer_close(w, NULL), 0);
	doc = summary_of("span.perf.json");
	row = json_first(json_get(doc, "snapshots"));
	assert_int_equal(number(row, "active_cycles"), UINT64_C(5) << 32 | 3);
	assert_string_equal(json_string(json_get(doc, "record_style")), "span");
	json_free(doc);
}

/* The rows of a node: cycle, total, active, stalled on input, tokens in. */
static void assert_series(const char *name, uint32_t node, const uint64_t (*want)[5], size_t n)
{
	struct json *doc = summary_of(name);
	size_t found = 0;

	for (const struct json *row = json_first(json_get(doc, "snapshots")); row;
	     row = json_next(row)) {
		if (!json_get(row, "hw_node_id") || number(row, "hw_node_id") != node)
			continue;
		assert_true(found < n);
		ASSERT_NUMBERS(row, {"cycle", want[found][0]}, {"total_cycles", want[found][1]},
			       {"active_cycles", want[found][2]},
			       {"stall_cycles_in", want[found][3]}, {"tokens_in", want[found][4]});
		found++;
	}
	assert_int_equal(found, n);
	json_free(doc);
}

/* An interval around a multiple is counted up to there; an end at a multiple has one row; of
 * multiples without a record between them, only the first has a row. */
static void snapshots_have_the_cycles_before_theirs(void **state)
{
	static const uint64_t want[LOOM_STYLES][4][5] = {
		[LOOM_STYLE_CYCLE] = {{10, 8, 1, 1, 5},
				      {20, 18, 1, 2, 6},
				      {40, 38, 2, 2, 7},
				      {70, 68, 2, 2, 7}},
		[LOOM_STYLE_EDGE] = {{10, 8, 1, 7, 5},
				     {20, 18, 1, 17, 6},
				     {40, 38, 11, 27, 7},
				     {70, 68, 41, 27, 7}},
		[LOOM_STYLE_SPAN] = {{10, 8, 4, 4, 5},
				     {20, 18, 4, 14, 6},
				     {40, 38, 8, 17, 7},
				     {70, 68, 8, 17, 7}},
	};

	(void)state;
	for (int style = 0; style < LOOM_STYLES; style++) {
		struct loom_writer_options o = {.style = (enum loom_style)style,
						.snapshot_cycles = 10};
		struct loom_writer *w;
		struct loom_record r;

		assert_int_equal(loom_writer_open(&w, run_path("series"), &o), 0);
		assert_int_equal(put(w, 2, 0, 0, LOOM_INVOCATION_START), 0);
		r = record(2, 0, 1, LOOM_NODE_FIRE);
		r.arg0 = 4; /* style span: up to 6 */
		assert_int_equal(loom_writer_event(w, &r), 0);
		r = record(3, 0, 1, LOOM_NODE_STALL_IN);
		r.cycle = style == LOOM_STYLE_SPAN ? 6 : 3;
		r.arg0 = 10; /* up to 16 */
		assert_int_equal(loom_writer_event(w, &r), 0);
		assert_int_equal(loom_writer_tokens(w, 0, 1, 5, 0), 0);
		r = record(15, 0, 1, LOOM_NODE_STALL_IN);
		r.arg0 = 8; /* 15 to 23 */
		assert_int_equal(loom_writer_event(w, &r), 0);
		assert_int_equal(loom_writer_tokens(w, 0, 1, 1, 0), 0);
		/* nothing from 20 to 30, nor from 40 to 70: one row for each gap */
		r = record(30, 0, 1, LOOM_NODE_FIRE);
		r.arg0 = 4;
		assert_int_equal(loom_writer_event(w, &r), 0);
		assert_int_equal(loom_writer_tokens(w, 0, 1, 1, 0), 0);
		assert_int_equal(put(w, 70, 0, 0, LOOM_CONFIG_WRITE), 0);
		assert_int_equal(put(w, 70, 0, 0, LOOM_INVOCATION_DONE), 0);
		assert_int_equal(loom_writer_close(w, NULL), 0);
		assert_series("series.perf.json", 1, want[style], 4);
	}
}

static void upstreams_statistics_have_all_that_fits(void **state)
{
	struct loom_controls c = {.keep = 0};
	const struct loom_writer_options bad[] = {
		{.statistics = LOOM_STATISTICS_LEGACY, .on_full = LOOM_DROP_NEW},
		{.statistics = LOOM_STATISTICS_LEGACY, .controls = &c},
		{.statistics = LOOM_STATISTICS_LEGACY, .snapshot_cycles = 1},
		{.statistics = LOOM_STATISTICS_LEGACY, .style = LOOM_STYLE_SPAN},
		{.statistics = (enum loom_statistics)2},
	};
	struct loom_writer_options o = {.statistics = LOOM_STATISTICS_LEGACY};
	struct loom_writer *w;
	struct json *doc;
	const struct json *row;
	size_t size;

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_int_equal(loom_writer_open(&w, run_path("legacy"), &bad[i]), -EINVAL);
	/* an old file would be taken for the statistics of this run */
	assert_int_equal(loom_writer_open(&w, run_path("legacy"), NULL), 0);
	assert_int_equal(loom_writer_close(w, NULL), 0);
	assert_true(kit_size("legacy.perf.json") > 0);
	assert_int_equal(loom_writer_open(&w, run_path("legacy"), &o), 0);
	simple_run(w, 10);
	assert_int_equal(put(w, 13, 4, 0, LOOM_CONFIG_WRITE), -EPROTO); /* another core */
	assert_int_equal(loom_writer_tokens(w, 3, 1, 20, 15), 0);
	assert_int_equal(loom_writer_close(w, NULL), 0);
	assert_int_equal(kit_size("legacy.perf.json"), -1);
	doc = summary_of("legacy.stat");
	assert_string_equal(json_string(json_get(doc, "termination")), "completed");
	ASSERT_NUMBERS(doc, {"totalCycles", 12}, {"configCycles", 2}, {"executionCycles", 10},
		       {"summary.nodeCount", 2}, {"summary.totalConfigWrites", 1},
		       {"summary.traceEventCount", 23});
	row = json_first(json_get(doc, "nodePerf"));
	ASSERT_NUMBERS(row, {"nodeIndex", 1}, {"activeCycles", 10}, {"tokensOut", 15});
	assert_true(json_number(json_get(row, "throughputProxy")) == 1.5);
	json_free(doc);
	free(read_file("legacy.trace.bin", &size));
	assert_int_equal(size, 16 + 38 * 23);
}

/* Random runs against counters that are as simple as can be. */
static void counters_agree_with_a_plain_count(void **state)
{
	enum { NODES = 5, CYCLES = 400 };

	(void)state;
	for (uint32_t seed = 1; seed < 20; seed++) {
		struct loom_counters *c = loom_counters_new(LOOM_STYLE_CYCLE, true);
		uint64_t sums[NODES][3] = {{0}}, core[3] = {0};
		const struct loom_row *rows;
		struct loom_record r = record(0, 2, 0, LOOM_INVOCATION_START);
		uint32_t x = seed * 2654435761u;
		size_t n;

		assert_int_equal(loom_counters_add(c, &r), 0);
		for (uint64_t at = 0; at < CYCLES; at++) {
			int best = -1;

			for (uint32_t node = 0; node < NODES; node++) {
				int does;

				x = x * 1664525 + 1013904223;
				does = (int)(x >> 16 & 7) - 4; /* -4..3 */
				if (does < 0)
					continue;
				r = record(at, 2, node, (uint8_t)does);
				assert_int_equal(loom_counters_add(c, &r), 0);
				/* 2 works, 1 waits for output, 0 for input */
				does = does == LOOM_NODE_STALL_IN    ? 0
				       : does == LOOM_NODE_STALL_OUT ? 1
								     : 2;
				sums[node][does]++;
				best = does > best ? does : best;
			}
			if (best >= 0)
				core[best]++;
		}
		assert_int_equal(loom_counters_finish(c), 0);
		rows = loom_counters_rows(c, &n);
		assert_int_equal(n, NODES + 1);
		assert_true(rows[0].whole_core);
		assert_int_equal(rows[0].active, core[2]);
		assert_int_equal(rows[0].stall_out, core[1]);
		assert_int_equal(rows[0].stall_in, core[0]);
		for (uint32_t node = 0; node < NODES; node++) {
			assert_int_equal(rows[node + 1].node, node);
			assert_int_equal(rows[node + 1].active, sums[node][2]);
			assert_int_equal(rows[node + 1].stall_out, sums[node][1]);
			assert_int_equal(rows[node + 1].stall_in, sums[node][0]);
		}
		loom_counters_free(c);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(counters_and_metrics_are_exact),
		cmocka_unit_test(styles_edge_and_span_count_whole_intervals),
		cmocka_unit_test(snapshots_have_the_cycles_before_theirs),
		cmocka_unit_test(upstreams_statistics_have_all_that_fits),
		cmocka_unit_test(counters_agree_with_a_plain_count),
	};

	return cmocka_run_group_tests(tests, kit_open, kit_close);
}
