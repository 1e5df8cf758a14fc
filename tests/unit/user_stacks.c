/* SPDX-License-Identifier: MIT */
/* stacks: frames that are left in all ways there are, and states that stay balanced. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/record.h"
#include "user/timeline/call_stacks.h"

#define MAIN  7u /* stacks */
#define OTHER 8u
#define ALT   (PROBE_STACK_ALTERNATE | 9u)

/* The written events, as "+a +b -b -a"; and a separate checker for the stacks. */
static char log_text[8192];
static int64_t check[16][1024];
static int depth[16];

static int put(void *arg, const struct effect *effect, bool begin)
{
	size_t at = strlen(log_text);
	int *n = &depth[effect->stack];

	(void)arg;
	if (at + 32 < sizeof(log_text))
		snprintf(log_text + at, sizeof(log_text) - at, "%s%c%s", at ? " " : "",
			 begin ? '+' : '-', effect->label);
	if (begin) {
		assert_in_range(*n, 0, STACKS_DEPTH - 1);
		if (!effect->repeats && *n)
			assert_int_not_equal(check[effect->stack][*n - 1], effect->value);
		check[effect->stack][(*n)++] = effect->value;
	} else {
		assert_true(*n > 0);
		assert_int_equal(check[effect->stack][--*n], effect->value);
	}
	return 0;
}

static struct stacks_counts counts;
static const struct stacks_out out = {put, NULL, &counts};

static int setup(void **state)
{
	struct stacks *stacks = calloc(1, sizeof(*stacks));

	stacks->shown = true;
	*state = stacks;
	memset(depth, 0, sizeof(depth));
	memset(&counts, 0, sizeof(counts));
	log_text[0] = '\0';
	return 0;
}

static int teardown(void **state)
{
	struct stacks *stacks = *state;

	assert_int_equal(stacks_hide(stacks, &out), 0);
	for (int i = 0; i < 16; i++)
		assert_int_equal(depth[i], 0);
	stacks_free(stacks);
	return 0;
}

static void assert_log(const char *want)
{
	assert_string_equal(log_text, want);
	log_text[0] = '\0';
}

#define FUNCTION(name, number)                                                                     \
	static const struct effect name = {.enter = MARK_PUSH,                                     \
					   .leave = MARK_POP,                                      \
					   .value = number,                                        \
					   .label = #name,                                         \
					   .stack = 0,                                             \
					   .repeats = true}
FUNCTION(f, 1);
FUNCTION(g, 2);
FUNCTION(h, 3);
static const struct effect *const functions[] = {NULL, &f, &g, &h};

/* Of another stack, where two equal ones do not follow each other. */
static const struct effect send = {.enter = 1, .leave = 2, .value = 1, .label = "send", .stack = 1};
static const struct effect wait = {.enter = 3, .leave = 4, .value = 2, .label = "wait", .stack = 1};

static void drop_to(struct stacks *s, uint32_t n)
{
	while (s->nframes > n) {
		assert_int_equal(stacks_end_frame(s, &out), 0);
		stacks_pop(s);
	}
}

static void enter_at(struct stacks *s, unsigned site, uint64_t sp, uint32_t stack, uint64_t call,
		     bool tail)
{
	const struct stacks_at at = {
		.sp = sp, .call = call, .stack = stack, .site = site, .tail = tail};
	bool deep;

	drop_to(s, stacks_alive_at_entry(s, &at));
	assert_non_null(stacks_push(s, &at, &deep));
	assert_int_equal(stacks_begin(s, functions[site], true, &out), 0);
}

/* By call if there is one; returns whether it was found. */
static bool leave_at(struct stacks *s, unsigned site, uint64_t sp, uint32_t stack, uint64_t call)
{
	const struct stacks_at at = {.sp = sp, .call = call, .stack = stack, .site = site};
	int64_t i = stacks_find(s, &at);

	drop_to(s, i >= 0 ? (uint32_t)i : stacks_alive_at_point(s, &at));
	return i >= 0;
}

static void calls_and_returns_are_paired(void **state)
{
	enter_at(*state, 1, 1000, MAIN, 0, false);
	enter_at(*state, 2, 900, MAIN, 0, false);
	assert_true(leave_at(*state, 2, 900, MAIN, 0));
	enter_at(*state, 2, 900, MAIN, 0, false);
	assert_true(leave_at(*state, 2, 900, MAIN, 0));
	assert_true(leave_at(*state, 1, 1000, MAIN, 0));
	assert_log("+f +g -g +g -g -f");
}

static void an_entry_higher_up_leaves_the_frames_below(void **state)
{
	enter_at(*state, 1, 1000, MAIN, 1, false);
	enter_at(*state, 2, 900, MAIN, 2, false);
	enter_at(*state, 3, 800, MAIN, 3, false); /* jumps to f, which calls g again */
	enter_at(*state, 2, 900, MAIN, 4, false);
	assert_log("+f +g +h -h -g +g");
	assert_true(leave_at(*state, 1, 1000, MAIN, 1));
	assert_log("-g -f");
}

static void a_return_of_one_below_leaves_those_above(void **state)
{
	enter_at(*state, 1, 1000, MAIN, 1, false);
	enter_at(*state, 2, 900, MAIN, 2, false);
	enter_at(*state, 3, 800, MAIN, 3, false);
	assert_true(leave_at(*state, 2, 900, MAIN, 2));
	assert_log("+f +g +h -h -g");
}

static void a_function_that_jumps_to_another_stays_until_both_return(void **state)
{
	enter_at(*state, 1, 1000, MAIN, 1, false);
	enter_at(*state, 2, 1000, MAIN, 2, true);
	assert_true(leave_at(*state, 2, 1000, MAIN, 2));
	assert_true(leave_at(*state, 1, 1000, MAIN, 1));
	assert_log("+f +g -g -f");
	/* Without a jump, the one that was there has been left. */
	enter_at(*state, 1, 1000, MAIN, 3, false);
	enter_at(*state, 2, 1000, MAIN, 4, false);
	assert_log("+f -f +g");
}

static void the_same_place_again_is_a_new_call(void **state)
{
	for (unsigned i = 0; i < 3; i++)
		enter_at(*state, 1, 1000, MAIN, i + 1, false);
	assert_log("+f -f +f -f +f");
}

static void another_stack_closes_nothing(void **state)
{
	enter_at(*state, 1, 1000, MAIN, 1, false);
	enter_at(*state, 2, 500000, OTHER, 2, false); /* a coroutine, higher up */
	enter_at(*state, 3, 900, MAIN, 3, false);
	assert_log("+f +g +h");
	assert_true(leave_at(*state, 3, 900, MAIN, 3));
	assert_true(leave_at(*state, 2, 500000, OTHER, 2));
	assert_true(leave_at(*state, 1, 1000, MAIN, 1));
	assert_log("-h -g -f");
}

static void an_unknown_stack_closes_nothing(void **state)
{
	enter_at(*state, 1, 1000, MAIN, 1, false);
	enter_at(*state, 2, 500000, PROBE_STACK_UNKNOWN, 2, false);
	assert_log("+f +g");
}

static void leaving_the_alternate_stack_ends_its_frames(void **state)
{
	enter_at(*state, 1, 1000, MAIN, 1, false);
	enter_at(*state, 2, 50, ALT, 2, false); /* a handler, which ends by siglongjmp */
	enter_at(*state, 3, 900, MAIN, 3, false);
	assert_log("+f +g -g +h");
	enter_at(*state, 2, 50, ALT, 4, false); /* one that returns */
	assert_true(leave_at(*state, 2, 50, ALT, 4));
	assert_true(leave_at(*state, 3, 900, MAIN, 3));
	assert_log("+g -g -h");
}

static void a_return_without_entry_is_not_found(void **state)
{
	enter_at(*state, 1, 1000, MAIN, 1, false);
	enter_at(*state, 2, 900, MAIN, 2, false);
	assert_false(leave_at(*state, 3, 950, MAIN, 77));
	assert_log("+f +g -g"); /* g was below it */
	assert_false(leave_at(*state, 3, 800, MAIN, 0));
	assert_log("");
}

static void a_stack_is_never_deeper_than_it_may_be(void **state)
{
	struct stacks *s = *state;

	for (unsigned i = 0; i < STACKS_DEPTH + 100; i++)
		enter_at(s, 1, 1000000 - i, MAIN, i + 1, false);
	assert_int_equal(depth[0], STACKS_DEPTH);
	assert_int_equal(counts.too_deep, 100);
	for (unsigned i = STACKS_DEPTH + 100; i-- > 0;)
		assert_true(leave_at(s, 1, 1000000 - i, MAIN, i + 1));
	assert_int_equal(depth[0], 0);
	assert_int_equal(s->nframes, 0);
}

static void frames_are_bounded(void **state)
{
	struct stacks *s = *state;
	bool deep = false;

	for (unsigned i = 0; i <= STACKS_FRAMES; i++) {
		const struct stacks_at at = {
			.sp = 1u << 20, .call = i + 1, .stack = MAIN, .site = 1};

		if (!stacks_push(s, &at, &deep))
			break;
	}
	assert_true(deep);
	assert_int_equal(s->nframes, STACKS_FRAMES);
}

static void an_equal_state_is_not_written_where_it_is_refused(void **state)
{
	struct stacks *s = *state;
	const struct stacks_at outer = {.sp = 1000, .call = 1, .stack = MAIN},
			       inner = {.sp = 900, .call = 2, .stack = MAIN};
	bool deep;

	stacks_push(s, &outer, &deep);
	assert_int_equal(stacks_begin(s, &send, true, &out), 0);
	stacks_push(s, &inner, &deep);
	assert_int_equal(stacks_begin(s, &send, true, &out), 0);
	assert_int_equal(counts.equal, 1);
	drop_to(s, 0);
	assert_log("+send -send");
}

static void a_free_state_outlasts_its_function(void **state)
{
	struct stacks *s = *state;

	enter_at(s, 1, 1000, MAIN, 1, false);
	assert_int_equal(stacks_begin(s, &send, false, &out), 0);
	drop_to(s, 0);
	assert_log("+f +send -f");
	assert_int_equal(stacks_end(s, &send, &out), 0);
	assert_int_equal(stacks_end(s, &send, &out), 0); /* it is not there any more */
	assert_log("-send");
}

static void ending_a_lower_state_reopens_those_above(void **state)
{
	struct stacks *s = *state;

	assert_int_equal(stacks_begin(s, &send, false, &out), 0);
	assert_int_equal(stacks_begin(s, &wait, false, &out), 0);
	assert_int_equal(stacks_end(s, &send, &out), 0);
	assert_log("+send +wait -wait -send +wait");
	assert_int_equal(counts.reopened, 1);
	assert_int_equal(stacks_end(s, &wait, &out), 0);
	assert_log("-wait");
}

static void an_equal_one_comes_forth_when_the_other_ends(void **state)
{
	struct stacks *s = *state;

	assert_int_equal(stacks_begin(s, &send, false, &out), 0);
	assert_int_equal(stacks_begin(s, &wait, false, &out), 0);
	assert_int_equal(stacks_begin(s, &send, false, &out), 0);
	assert_int_equal(stacks_end(s, &wait, &out), 0); /* send on send: one of them is written */
	assert_log("+send +wait +send -send -wait");
	assert_int_equal(counts.equal, 1);
	assert_int_equal(stacks_end(s, &send, &out), 0);
	assert_int_equal(depth[1], 1);
}

static void one_that_was_refused_comes_forth_when_its_equal_ends(void **state)
{
	struct stacks *s = *state;
	const struct stacks_at outer = {.sp = 1000, .call = 1, .stack = MAIN};
	bool deep;

	assert_int_equal(stacks_begin(s, &send, false, &out), 0);
	stacks_push(s, &outer, &deep);
	assert_int_equal(stacks_begin(s, &send, true, &out), 0);
	assert_log("+send");
	assert_int_equal(stacks_end(s, &send, &out), 0); /* the free one, below */
	assert_log("-send +send");
	assert_int_equal(stacks_begin(s, &wait, false, &out), 0);
	drop_to(s, 0);
	assert_log("+wait -wait -send +wait");
}

/* Deeper than a stack by far, and in time: each step looks at its neighbour alone. */
static void depth_costs_nothing(void **state)
{
	struct stacks *s = *state;

	for (unsigned i = 0; i < 60000; i++)
		enter_at(s, 1 + i % 2, 10000000 - i, MAIN, i + 1, false);
	assert_int_equal(depth[0], STACKS_DEPTH);
	drop_to(s, 0);
	assert_int_equal(depth[0], 0);
}

static void a_stream_is_left_and_entered_again(void **state)
{
	struct stacks *s = *state, *copy;

	enter_at(s, 1, 1000, MAIN, 1, false);
	enter_at(s, 2, 900, MAIN, 2, false);
	assert_int_equal(stacks_begin(s, &send, false, &out), 0);
	assert_log("+f +g +send");
	assert_int_equal(stacks_hide(s, &out), 0);
	assert_log("-send -g -f");
	drop_to(s, 1); /* g returns meanwhile: nothing is written */
	assert_log("");
	assert_int_equal(stacks_show(s, &out), 0);
	assert_log("+f +send");
	copy = stacks_copy(s);
	assert_int_equal(stacks_hide(s, &out), 0);
	assert_log("-send -f");
	assert_int_equal(stacks_show(copy, &out), 0);
	assert_log("+f +send");
	assert_int_equal(stacks_hide(copy, &out), 0);
	stacks_free(copy);
}

/* Anything at all: the checker in put() holds, and the end is balanced. */
static void nonsense_stays_balanced(void **state)
{
	static const uint32_t stack_of[] = {MAIN, MAIN, MAIN, OTHER, ALT, PROBE_STACK_UNKNOWN};
	static const struct effect *const effects[] = {&send, &wait};
	struct stacks *s = *state;
	uint64_t random = 88172645463325252ull;

	for (unsigned i = 0; i < 200000; i++) {
		uint32_t r;

		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		r = (uint32_t)(random >> 16);
		log_text[0] = '\0';
		switch (r % 16) {
		case 0:
			assert_int_equal(stacks_begin(s, effects[r >> 8 & 1], false, &out), 0);
			break;
		case 1:
			assert_int_equal(stacks_end(s, effects[r >> 8 & 1], &out), 0);
			break;
		case 2:
			assert_int_equal(s->shown ? stacks_hide(s, &out) : stacks_show(s, &out), 0);
			break;
		case 3:
		case 4:
		case 5:
		case 6:
		case 7:
			leave_at(s, 1 + (r >> 8) % 3, (r >> 12) % 600, stack_of[(r >> 24) % 6],
				 r & 0x800 ? i - (r >> 26) : 0);
			break;
		default:
			enter_at(s, 1 + (r >> 8) % 3, (r >> 12) % 600, stack_of[(r >> 24) % 6],
				 i + 1, r & 0x100);
		}
	}
	if (!s->shown)
		assert_int_equal(stacks_show(s, &out), 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(calls_and_returns_are_paired),
		T(an_entry_higher_up_leaves_the_frames_below),
		T(a_return_of_one_below_leaves_those_above),
		T(a_function_that_jumps_to_another_stays_until_both_return),
		T(the_same_place_again_is_a_new_call),
		T(another_stack_closes_nothing),
		T(an_unknown_stack_closes_nothing),
		T(leaving_the_alternate_stack_ends_its_frames),
		T(a_return_without_entry_is_not_found),
		T(a_stack_is_never_deeper_than_it_may_be),
		T(frames_are_bounded),
		T(an_equal_state_is_not_written_where_it_is_refused),
		T(a_free_state_outlasts_its_function),
		T(ending_a_lower_state_reopens_those_above),
		T(an_equal_one_comes_forth_when_the_other_ends),
		T(one_that_was_refused_comes_forth_when_its_equal_ends),
		T(depth_costs_nothing),
		T(a_stream_is_left_and_entered_again),
		T(nonsense_stays_balanced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
