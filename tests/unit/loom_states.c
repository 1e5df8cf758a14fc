/* SPDX-License-Identifier: MIT */
/*
 * The state of a Loom node at each cycle: random runs against an array with one element for each
 * cycle; the chain of parts; cycles as nanoseconds and back.
 */
#include <errno.h>

#include "tools/loom/run/run_clock.h"
#include "tools/loom/run/node_state.h"
#include "trace_kit.h"

enum { CYCLES = 120, CORES = 2, NODES = 3, UNITS = CORES * NODES };

struct seen {
	const struct run_survey *survey;
	uint64_t last[UNITS][4];
	int64_t value[UNITS][4];
	int64_t at[UNITS][4][CYCLES + 1]; /* by what, by cycle */
};

static void fill(struct seen *s, uint32_t node, int what, uint64_t to)
{
	for (; s->last[node][what] < to; s->last[node][what]++)
		s->at[node][what][s->last[node][what]] = s->value[node][what];
}

static void note(void *arg, uint32_t node, enum loom_what what, uint64_t cycle, int64_t value)
{
	struct seen *s = arg;

	assert_true(cycle >= s->last[node][what]);
	assert_true(cycle < CYCLES + 1);
	/* a change changes something */
	assert_true(value != s->value[node][what]);
	fill(s, node, what, cycle);
	s->value[node][what] = value;
}

/* The states by the words of the specification, cycle by cycle. */
static int rank_of(int state)
{
	static const int ranks[] = {
		[LOOM_OUTSIDE] = 0, [LOOM_IDLE] = 1, [LOOM_STALLED_IN] = 2, [LOOM_STALLED_OUT] = 3,
		[LOOM_ROUTE] = 4,   [LOOM_FIRE] = 5, [LOOM_ERRED] = 6};
	return ranks[state];
}

static uint32_t random_of(uint32_t *seed, uint32_t n)
{
	*seed = *seed * 1664525 + 1013904223;
	return (*seed >> 8) % n;
}

static void random_runs_agree_with_an_array(void **state)
{
	static const int of_kind[] = {LOOM_FIRE, LOOM_STALLED_IN, LOOM_STALLED_OUT, LOOM_ROUTE};

	(void)state;
	for (uint32_t turn = 1; turn < 200; turn++) {
		struct run_survey *survey = run_survey_new(LOOM_STYLE_CYCLE);
		static struct loom_record list[CYCLES * UNITS * 2];
		static int want[UNITS][CYCLES + 1];
		static int64_t route[UNITS][CYCLES + 1];
		static struct seen seen;
		uint64_t begin[CORES], end[CORES], error[UNITS];
		struct node_state *states;
		uint32_t seed = turn;
		size_t n = 0;

		for (int core = 0; core < CORES; core++) {
			begin[core] = random_of(&seed, 10);
			end[core] = begin[core] + 1 + random_of(&seed, CYCLES - 20);
		}
		for (int u = 0; u < UNITS; u++) {
			error[u] = random_of(&seed, 8) ? UINT64_MAX : random_of(&seed, CYCLES);
			if (error[u] < begin[u / NODES])
				error[u] = UINT64_MAX;
			for (uint64_t c = 0; c <= CYCLES; c++) {
				want[u][c] = c >= begin[u / NODES] && c < end[u / NODES]
						     ? LOOM_IDLE
						     : LOOM_OUTSIDE;
				route[u][c] = -1;
			}
		}
		for (uint64_t c = 0; c < CYCLES; c++) {
			for (int u = 0; u < UNITS; u++) {
				struct loom_record r = {.cycle = c,
							.epoch_id = 1,
							.invocation_id = 1 + (uint64_t)(u / NODES),
							.core_id = (uint16_t)(u / NODES),
							.hw_node_id = (uint32_t)(u % NODES) + 1};
				uint8_t lowest = 255;

				if (u % NODES == 0 && c == begin[u / NODES]) {
					list[n] = r;
					list[n++].event_kind = LOOM_INVOCATION_START;
				}
				if (u % NODES == 0 && c == end[u / NODES]) {
					list[n] = r;
					list[n++].event_kind = LOOM_INVOCATION_DONE;
				}
				if (c < begin[u / NODES] || c >= end[u / NODES])
					continue;
				if (c == error[u]) {
					list[n] = r;
					list[n++].event_kind = LOOM_DEVICE_ERROR;
				}
				for (uint32_t more = random_of(&seed, 3); more > 0; more--) {
					r.event_kind = (uint8_t)random_of(&seed, 4);
					r.lane = (uint8_t)random_of(&seed, 4);
					r.arg0 = random_of(&seed, 3);
					list[n++] = r;
					if (rank_of(of_kind[r.event_kind]) > rank_of(want[u][c]))
						want[u][c] = of_kind[r.event_kind];
					if (r.event_kind == LOOM_ROUTE_USE && r.lane <= lowest) {
						route[u][c] = r.arg0;
						lowest = r.lane;
					}
				}
				if (c >= error[u])
					want[u][c] = LOOM_ERRED;
			}
		}
		for (size_t i = 0; i < n; i++)
			assert_int_equal(run_survey_add(survey, &list[i], 0), 0);
		for (int core = 0; core < CORES; core++) {
			for (uint32_t node = 1; node <= NODES; node++)
				assert_int_equal(run_survey_add_node(survey, (uint16_t)core, node),
						 0);
		}
		assert_int_equal(run_survey_seal(survey), 0);
		assert_int_equal(survey->nnodes, UNITS);
		memset(&seen, 0, sizeof(seen));
		for (int u = 0; u < UNITS; u++) {
			seen.value[u][LOOM_WHAT_STATE] = LOOM_OUTSIDE;
			for (int what = LOOM_WHAT_ROUTE; what <= LOOM_WHAT_EXTENSION; what++)
				seen.value[u][what] = -1;
		}
		states = node_state_new(survey, note, &seen);
		for (size_t i = 0; i < n; i++)
			node_state_add(states, &list[i], 0);
		node_state_finish(states);
		for (uint32_t u = 0; u < UNITS; u++) {
			fill(&seen, u, LOOM_WHAT_STATE, survey->end);
			fill(&seen, u, LOOM_WHAT_ROUTE, survey->end);
			for (uint64_t c = 0; c < survey->end; c++) {
				if (seen.at[u][LOOM_WHAT_STATE][c] != want[u][c])
					fail_msg("run %u node %u cycle %u: state %d, not %d", turn,
						 u, (unsigned)c,
						 (int)seen.at[u][LOOM_WHAT_STATE][c], want[u][c]);
				assert_int_equal(seen.at[u][LOOM_WHAT_ROUTE][c], route[u][c]);
			}
		}
		node_state_free(states);
		run_survey_free(survey);
	}
}

static void parts_are_chained_where_ids_change(void **state)
{
	struct loom_chain chain = {.off = false};
	struct loom_record r = {.cycle = 5, .event_kind = LOOM_NODE_FIRE};

	(void)state;
	assert_int_equal(loom_chain_step(&chain, &r), 0);
	r.cycle = 4;
	assert_int_equal(loom_chain_step(&chain, &r), -ERANGE); /* the same ids */
	r = (struct loom_record){.cycle = 9, .event_kind = LOOM_INVOCATION_DONE};
	assert_int_equal(loom_chain_step(&chain, &r), 0);
	r = (struct loom_record){.cycle = 0, .epoch_id = 1}; /* behind the end */
	assert_int_equal(loom_chain_step(&chain, &r), 0);
	assert_int_equal(r.cycle, 9);
	r = (struct loom_record){.cycle = 3, .epoch_id = 1};
	assert_int_equal(loom_chain_step(&chain, &r), 0);
	assert_int_equal(r.cycle, 12);
	r = (struct loom_record){
		.cycle = 1, .epoch_id = 1, .invocation_id = 1}; /* no end: one on */
	assert_int_equal(loom_chain_step(&chain, &r), 0);
	assert_int_equal(r.cycle, 14);
	assert_int_equal(chain.parts, 2);
	r = (struct loom_record){.cycle = UINT64_MAX, .epoch_id = 1, .invocation_id = 1};
	assert_int_equal(loom_chain_step(&chain, &r), -EOVERFLOW);
}

static void periods_and_frequencies_are_read(void **state)
{
	static const struct {
		const char *text;
		uint64_t ps;
	} periods[] = {
		{"1ns", 1000},
		{"800ps", 800},
		{"1.25ns", 1250},
		{"2us", 2000000},
		{"1.000ns", 1000},
		{"0.5ns", 500},
		{"1s", 1000000000000},
		{"0ns", 0},
		{"1.2345ns", 0},
		{"0.5ps", 0},
		{"ns", 0},
		{"1", 0},
		{"-1ns", 0},
		{"1.2.3ns", 0},
		{"1 ns", 0},
		{"99999999999999999999ns", 0},
	};
	static const struct {
		const char *text;
		uint64_t ps;
		bool exact;
	} frequencies[] = {
		{"100MHz", 10000, true},   {"1.5GHz", 667, false}, {"32768Hz", 30517578, false},
		{"0.5MHz", 2000000, true}, {"1THz", 0, false},	   {"0Hz", 0, false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(periods); i++) {
		if (run_clock_period(periods[i].text) != periods[i].ps)
			fail_msg("%s", periods[i].text);
	}
	for (size_t i = 0; i < COUNT(frequencies); i++) {
		bool exact = false;

		if (run_clock_frequency(frequencies[i].text, &exact) != frequencies[i].ps ||
		    (frequencies[i].ps && exact != frequencies[i].exact))
			fail_msg("%s", frequencies[i].text);
	}
}

static void cycles_come_back_from_nanoseconds(void **state)
{
	static const uint64_t periods[] = {1000, 1001, 1333, 2500, 10000, 999999, 1000000007};
	static const int64_t bases[] = {0, 1, 5000000000, INT64_MAX / 2};

	(void)state;
	for (size_t p = 0; p < COUNT(periods); p++) {
		for (size_t b = 0; b < COUNT(bases); b++) {
			struct run_clock clock = {periods[p], bases[b]};
			uint64_t last = run_clock_last(&clock);

			assert_true(run_clock_ns(&clock, last) >= 0);
			assert_true(run_clock_longest(&clock, last) >= periods[p]);
			if (last < UINT64_MAX)
				assert_true(run_clock_longest(&clock, last + 1) < periods[p]);
			for (unsigned shift = 0; shift < 64; shift++) {
				uint64_t cycle = last >> shift;

				assert_int_equal(
					run_clock_cycle(&clock, run_clock_ns(&clock, cycle)),
					cycle);
			}
		}
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_runs_agree_with_an_array),
		cmocka_unit_test(parts_are_chained_where_ids_change),
		cmocka_unit_test(periods_and_frequencies_are_read),
		cmocka_unit_test(cycles_come_back_from_nanoseconds),
	};

	return cmocka_run_group_tests(tests, kit_open, kit_close);
}
