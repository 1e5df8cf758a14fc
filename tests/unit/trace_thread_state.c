/* SPDX-License-Identifier: MIT */
/* thread_state: the moves of models.md 1.1, and ways in and out that keep to them. */
#include "trace/ovni/event.h"
#include "trace/ovni/thread_state.h"
#include "trace_kit.h"

#define U THREAD_STATE_UNKNOWN
#define R THREAD_STATE_RUNNING
#define P THREAD_STATE_PAUSED
#define D THREAD_STATE_DEAD
#define C THREAD_STATE_COOLING
#define W THREAD_STATE_WARMING

static const struct {
	char value;
	int to[THREAD_STATE_COUNT]; /* from unknown, running, paused, dead, cooling, warming */
} moves[] = {
	{'x', {R, -1, -1, R, -1, -1}},	  {'e', {-1, D, -1, -1, D, -1}},
	{'p', {-1, P, -1, -1, P, -1}},	  {'r', {-1, -1, R, -1, -1, R}},
	{'c', {-1, C, -1, -1, -1, -1}},	  {'w', {-1, -1, W, -1, -1, -1}},
	{'C', {U, R, P, D, C, W}},	  {'X', {-1, -1, -1, -1, -1, -1}},
	{'\0', {-1, -1, -1, -1, -1, -1}},
};

static void every_move_is_legal_where_the_specification_says(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(moves); i++)
		for (int from = 0; from < THREAD_STATE_COUNT; from++)
			assert_int_equal(thread_state_next((enum thread_state)from, moves[i].value),
					 moves[i].to[from]);
	assert_int_equal(thread_state_next(THREAD_STATE_COUNT, 'C'), -1);
}

static void values_and_names_are_those_of_the_paraver_type(void **state)
{
	static const char *const names[] = {"Unknown", "Running", "Paused",
					    "Dead",    "Cooling", "Warming"};

	(void)state;
	assert_int_equal(THREAD_STATE_COUNT, 6);
	for (int i = 0; i < THREAD_STATE_COUNT; i++) {
		assert_string_equal(thread_state_names[i], names[i]);
		assert_int_equal(thread_state_is_active((enum thread_state)i),
				 i == R || i == C || i == W);
	}
}

/* A thread that follows the events, as in a strict emulator. */
struct thread {
	enum thread_state state;
	int32_t cpu; /* -1: virtual, -2: none */
	char said[64];
	int stop; /* returned at that many events; 0: never */
	int n;
};

static int obey(void *arg, uint32_t mcv, int32_t cpu)
{
	struct thread *t = arg;
	size_t used = strlen(t->said);
	char value = (char)mcv;

	if (++t->n == t->stop)
		return 123;
	snprintf(t->said + used, sizeof(t->said) - used, "%s%c%c%c", used ? " " : "",
		 (char)(mcv >> 16), (char)(mcv >> 8), value);
	used = strlen(t->said);
	if (mcv == MCV('O', 'A', 's')) {
		/* a running thread must not move: its CPU may be another one's */
		assert_true(t->state == W || t->state == C);
		t->cpu = cpu;
		snprintf(t->said + used, sizeof(t->said) - used, "(%d)", cpu);
		return 0;
	}
	assert_int_equal(mcv >> 8, MCV('O', 'H', 0) >> 8);
	assert_true(thread_state_next(t->state, value) >= 0);
	t->state = (enum thread_state)thread_state_next(t->state, value);
	if (value == 'x') {
		assert_int_equal(t->cpu, -2);
		t->cpu = cpu;
		snprintf(t->said + used, sizeof(t->said) - used, "(%d)", cpu);
	}
	if (value == 'r') /* its CPU 3 is another one's by now */
		assert_int_equal(t->cpu, -1);
	return 0;
}

static const struct {
	enum thread_state state;
	bool on_virtual;
	const char *want;
} closings[] = {
	{U, false, ""},	      {D, false, ""},
	{R, false, "OHe"},    {R, true, "OHe"},
	{C, false, "OHe"},    {P, false, "OHw OAs(-1) OHr OHe"},
	{P, true, "OHr OHe"}, {W, false, "OAs(-1) OHr OHe"},
	{W, true, "OHr OHe"},
};

static void closing_leads_to_dead_by_legal_moves(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(closings); i++) {
		struct thread t = {.state = closings[i].state,
				   .cpu = closings[i].on_virtual ? -1 : 3};

		assert_int_equal(thread_state_close(t.state, closings[i].on_virtual, obey, &t), 0);
		assert_string_equal(t.said, closings[i].want);
		assert_int_equal(t.state, closings[i].state == U ? U : D);
	}
}

static const struct {
	enum thread_state state;
	const char *want;
	int32_t cpu;
} enterings[] = {
	{U, "", -2},
	{D, "", -2},
	{R, "OHx(5)", 5},
	{C, "OHx(5) OHc", 5},
	{P, "OHx(-1) OHp", -1},
	{W, "OHx(-1) OHp OHw", -1},
};

static void entering_leads_to_the_state_by_legal_moves(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(enterings); i++) {
		struct thread t = {.state = U, .cpu = -2};

		assert_int_equal(thread_state_enter(enterings[i].state, 5, obey, &t), 0);
		assert_string_equal(t.said, enterings[i].want);
		assert_int_equal(t.state, enterings[i].state == D ? U : enterings[i].state);
		assert_int_equal(t.cpu, enterings[i].cpu);
	}
}

static void a_failure_ends_the_walk(void **state)
{
	struct thread t = {.state = P, .cpu = 3, .stop = 2};

	(void)state;
	assert_int_equal(thread_state_close(P, false, obey, &t), 123);
	assert_string_equal(t.said, "OHw");
	t = (struct thread){.state = U, .cpu = -2, .stop = 3};
	assert_int_equal(thread_state_enter(W, 0, obey, &t), 123);
	assert_string_equal(t.said, "OHx(-1) OHp");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_move_is_legal_where_the_specification_says),
		cmocka_unit_test(values_and_names_are_those_of_the_paraver_type),
		cmocka_unit_test(closing_leads_to_dead_by_legal_moves),
		cmocka_unit_test(entering_leads_to_the_state_by_legal_moves),
		cmocka_unit_test(a_failure_ends_the_walk),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
