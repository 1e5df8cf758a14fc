/* SPDX-License-Identifier: MIT */
/* Counters of Loom runs: random runs in every style against an array with a place for each cycle.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "trace/loom/stats/counters.h"
#include "trace/loom/loom_record.h"

enum { NODES = 4, RUNS = 2, CYCLES = 120, ROOM = CYCLES + 20 };
enum { NOTHING, STALL_IN, STALL_OUT, WORK, STATES };

static uint32_t seed;

static uint32_t random_below(uint32_t n)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % n;
}

/* The state of each node in each cycle of each invocation, and the routes on top of it. */
struct model {
	uint8_t does[RUNS][NODES][ROOM], routes[RUNS][NODES][ROOM];
	uint64_t last[RUNS], end[RUNS]; /* cycle of the last record; end: 0 if it has none */
	uint64_t covered[RUNS]; /* the cycle after the last record of a node, except with style edge
				 */
};

static struct loom_record record(uint64_t cycle, uint64_t run, uint8_t kind, uint32_t node)
{
	return (struct loom_record){.cycle = cycle,
				    .invocation_id = run,
				    .epoch_id = 1,
				    .hw_node_id = node,
				    .core_id = 3,
				    .event_kind = kind};
}

static void add(struct loom_counters *c, struct model *m, struct loom_record r)
{
	assert_int_equal(loom_counters_add(c, &r), 0);
	m->last[r.invocation_id] = r.cycle;
}

static void cover(struct model *m, uint64_t run, uint64_t until)
{
	if (until > m->covered[run])
		m->covered[run] = until;
}

static uint8_t state_of(uint8_t kind)
{
	return kind == LOOM_NODE_STALL_IN    ? STALL_IN
	       : kind == LOOM_NODE_STALL_OUT ? STALL_OUT
					     : WORK;
}

static void put(struct loom_counters *c, struct model *m, enum loom_style style, uint64_t cycle,
		uint32_t node)
{
	uint32_t run = random_below(RUNS), kind = random_below(4),
		 more = random_below(3) == 0 ? 2 : 1;

	if (m->end[run] && cycle >= m->end[run])
		return;
	for (; more > 0; more--, kind = random_below(4)) {
		struct loom_record r = record(cycle, run, (uint8_t)kind, node);
		uint64_t length = style == LOOM_STYLE_SPAN ? random_below(9) : 1;
		uint8_t state = state_of((uint8_t)kind), *does = m->does[run][node];
		bool again =
			m->routes[run][node][ROOM - 1] == cycle + 1; /* of several, the highest */

		if (style == LOOM_STYLE_SPAN && kind == LOOM_ROUTE_USE) {
			add(c, m, r);
			cover(m, run, cycle + 1);
			m->routes[run][node][cycle] = 1;
			continue;
		}
		loom_record_set_span(&r, length);
		add(c, m, r);
		if (style != LOOM_STYLE_EDGE)
			cover(m, run, cycle + length);
		if (!length || (again && does[cycle] > state))
			continue;
		m->routes[run][node][ROOM - 1] = (uint8_t)(cycle + 1);
		if (style == LOOM_STYLE_EDGE)
			for (int i = 0; i < RUNS; i++)
				memset(m->does[i][node] + cycle, NOTHING, ROOM - cycle);
		if (style == LOOM_STYLE_SPAN)
			memset(does + cycle, NOTHING, ROOM - cycle);
		memset(does + cycle, state, style == LOOM_STYLE_EDGE ? ROOM - cycle : length);
	}
}

static void check(const struct loom_row *row, const uint8_t *does, uint64_t end)
{
	uint64_t want[STATES] = {0};

	for (uint64_t i = 0; i < end; i++)
		want[does[i]]++;
	assert_int_equal(row->active, want[WORK]);
	assert_int_equal(row->stall_out, want[STALL_OUT]);
	assert_int_equal(row->stall_in, want[STALL_IN]);
}

static void compare(struct loom_counters *c, struct model *m, enum loom_style style)
{
	const struct loom_invocation *v;
	const struct loom_row *rows;
	size_t n, nv;

	assert_int_equal(loom_counters_finish(c), 0);
	v = loom_counters_invocations(c, &nv);
	rows = loom_counters_rows(c, &n);
	assert_int_equal(nv, RUNS);
	for (size_t i = 0, at = 0; i < nv; i++) {
		uint8_t core[ROOM] = {0};
		const struct loom_row *whole = &rows[at++];
		uint64_t run = v[i].id, end = m->end[run] ? m->end[run] : m->last[run] + 1;

		assert_int_equal(v[i].end, end > m->covered[run] ? end : m->covered[run]);
		assert_true(whole->whole_core && whole->invocation == i);
		if (style != LOOM_STYLE_EDGE)
			end = ROOM - 1; /* intervals that end by themselves */
		for (uint32_t node = 0; node < NODES; node++) {
			uint8_t *does = m->does[run][node];

			for (uint64_t k = 0; k < end; k++) {
				if (m->routes[run][node][k])
					does[k] = WORK;
				if (does[k] > core[k])
					core[k] = does[k];
			}
			if (at < n && rows[at].invocation == i && rows[at].node == node)
				check(&rows[at++], does, end);
			else
				for (uint64_t k = 0; k < end; k++)
					assert_int_equal(does[k], NOTHING);
		}
		check(whole, core, end);
	}
	loom_counters_free(c);
}

static void counters_are_those_of_each_cycle(void **state)
{
	(void)state;
	for (seed = 1; seed < 400; seed++) {
		uint32_t first = seed;
		enum loom_style style = (enum loom_style)(seed % LOOM_STYLES);
		struct loom_counters *c = loom_counters_new(style, false);
		struct model m = {.last = {0}};
		uint64_t ends[RUNS], many = random_below(3) + 1;

		assert_non_null(c);
		for (uint64_t run = 0; run < RUNS; run++) {
			ends[run] = random_below(3) ? random_below(CYCLES) + 1 : 0;
			add(c, &m, record(0, run, LOOM_INVOCATION_START, 0));
		}
		for (uint64_t cycle = 0; cycle < CYCLES; cycle++) {
			for (uint64_t run = 0; run < RUNS; run++) {
				if (cycle != ends[run] || !cycle)
					continue;
				m.end[run] = cycle;
				add(c, &m, record(cycle, run, LOOM_INVOCATION_DONE, 0));
			}
			for (uint32_t node = 0; node < NODES; node++) {
				if (random_below(2 * (uint32_t)many) == 0)
					put(c, &m, style, cycle, node);
			}
		}
		compare(c, &m, style);
		seed = first;
	}
}

/* An invocation whose DONE stands on another core ends there for the nodes of both. */
static void an_end_of_another_core_bounds_lasting_states(void **state)
{
	struct loom_counters *c = loom_counters_new(LOOM_STYLE_EDGE, false);
	struct model m = {.last = {0}};
	const struct loom_row *rows;
	struct loom_record r;
	size_t n;

	(void)state;
	add(c, &m, record(0, 0, LOOM_INVOCATION_START, 0));
	r = record(2, 0, LOOM_NODE_FIRE, 1);
	r.core_id = 4;
	add(c, &m, r);
	add(c, &m, record(10, 0, LOOM_INVOCATION_DONE, 0));
	add(c, &m, record(12, 1, LOOM_INVOCATION_START, 0));
	r = record(15, 1, LOOM_NODE_STALL_IN, 1);
	r.core_id = 4;
	add(c, &m, r);
	add(c, &m, record(20, 1, LOOM_INVOCATION_DONE, 0));
	assert_int_equal(loom_counters_finish(c), 0);
	rows = loom_counters_rows(c, &n);
	assert_int_equal(n, 6); /* two cores, each twice; the node twice */
	assert_true(rows[1].whole_core && !rows[2].whole_core);
	assert_int_equal(rows[1].active, 8);
	assert_int_equal(rows[2].active, 8);
	assert_true(rows[4].whole_core && !rows[5].whole_core);
	assert_int_equal(rows[4].stall_in, 5);
	assert_int_equal(rows[5].stall_in, 5);
	loom_counters_free(c);
}

/* Tokens go where the node is, or will be. */
static void tokens_follow_the_node(void **state)
{
	struct loom_counters *c = loom_counters_new(LOOM_STYLE_CYCLE, false);
	struct model m = {.last = {0}};
	const struct loom_row *rows;
	size_t n;

	(void)state;
	loom_counters_tokens(c, 3, 1, 100, 100); /* nobody knows it */
	assert_int_equal(loom_counters_node(c, 3, 1), 0);
	assert_int_equal(loom_counters_node(c, 3, 2), 0);
	loom_counters_tokens(c, 3, 1, 1, 2);
	add(c, &m, record(0, 0, LOOM_INVOCATION_START, 0));
	add(c, &m, record(1, 0, LOOM_NODE_FIRE, 1));
	add(c, &m, record(2, 0, LOOM_INVOCATION_DONE, 0));
	loom_counters_tokens(c, 3, 1, 4, 8); /* of the invocation that is over */
	add(c, &m, record(3, 1, LOOM_INVOCATION_START, 0));
	add(c, &m, record(3, 1, LOOM_NODE_FIRE, 1));
	loom_counters_tokens(c, 3, 1, 16, 32);
	assert_int_equal(loom_counters_finish(c), 0);
	rows = loom_counters_rows(c, &n);
	assert_int_equal(n, 5); /* the core, nodes 1 and 2; the core, node 1 */
	for (int whole = 0; whole < 2; whole++) {
		assert_int_equal(rows[!whole].tokens_in, 5);
		assert_int_equal(rows[!whole].tokens_out, 10);
		assert_int_equal(rows[3 + !whole].tokens_in, 16);
		assert_int_equal(rows[3 + !whole].tokens_out, 32);
	}
	assert_int_equal(rows[2].node, 2);
	assert_int_equal(rows[2].active + rows[2].tokens_in, 0);
	loom_counters_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counters_are_those_of_each_cycle),
		cmocka_unit_test(an_end_of_another_core_bounds_lasting_states),
		cmocka_unit_test(tokens_follow_the_node),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
