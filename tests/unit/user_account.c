/* SPDX-License-Identifier: MIT */
/* account: counters of CPUs and rings, and whether they add up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "user/account.h"
#include "user/links.h"
#include "user/rings.h"

#define CPUS 4

struct bench {
	struct cpu_state cpus[CPUS];
	struct links links;
	uint8_t data[4096 + RING_SPILL];
	struct rings *rings;
	struct account account;
};

/* CPUs 0 and 2 have rings; 1 and 3 do not. */
static int setup(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	b->links = (struct links){.cpus = b->cpus, .npossible = CPUS};
	b->rings = rings_new();
	assert_int_equal(rings_add(b->rings, 0, &b->cpus[0], b->data, 4096), 0);
	assert_int_equal(rings_add(b->rings, 2, &b->cpus[2], b->data, 4096), 0);
	*state = b;
	return 0;
}

static int teardown(void **state)
{
	struct bench *b = *state;

	account_free(&b->account);
	rings_close(b->rings);
	free(b);
	return 0;
}

static void what_came_out_and_what_was_lost_is_told_by_cpu_and_kind(void **state)
{
	struct bench *b = *state;

	assert_int_equal(account_open(&b->account, &b->links, b->rings), 0);
	b->cpus[0].seen[RECORD_SWITCH] = 100;
	b->cpus[0].lost[RECORD_SWITCH] = 30;
	b->rings->ring[0].taken[RECORD_SWITCH] = 70;
	b->cpus[2].seen[RECORD_TASK] = 5;
	b->rings->ring[1].taken[RECORD_TASK] = 5;
	assert_int_equal(account_lost(&b->account), 30);
	assert_int_equal(account_close(&b->account, false), 0);
	assert_int_equal(b->account.ncpus, 2);
	assert_int_equal(b->account.cpus[0].cpu, 0);
	assert_int_equal(b->account.cpus[0].kinds[RECORD_SWITCH].seen, 100);
	assert_int_equal(b->account.cpus[0].kinds[RECORD_SWITCH].written, 70);
	assert_int_equal(b->account.cpus[0].kinds[RECORD_SWITCH].lost, 30);
	assert_int_equal(b->account.cpus[1].cpu, 2);
	assert_int_equal(b->account.cpus[1].kinds[RECORD_TASK].written, 5);
	assert_int_equal(b->account.lost, 30);
}

static void a_cpu_without_a_ring_loses_all_it_sees(void **state)
{
	struct bench *b = *state;

	assert_int_equal(account_open(&b->account, &b->links, b->rings), 0);
	b->cpus[3].seen[RECORD_SWITCH] = b->cpus[3].lost[RECORD_SWITCH] = 7;
	assert_int_equal(account_close(&b->account, false), 0);
	assert_int_equal(b->account.ncpus, 3);
	assert_int_equal(b->account.cpus[2].cpu, 3);
	assert_int_equal(b->account.cpus[2].kinds[RECORD_SWITCH].lost, 7);
	assert_int_equal(b->account.lost, 7);
}

static void what_was_lost_before_the_window_is_no_loss(void **state)
{
	struct bench *b = *state;

	b->cpus[0].seen[RECORD_SWITCH] = 50;
	b->cpus[0].lost[RECORD_SWITCH] = 20;
	assert_int_equal(account_open(&b->account, &b->links, b->rings), 0);
	b->cpus[0].seen[RECORD_SWITCH] = 60;
	b->cpus[0].lost[RECORD_SWITCH] = 21;
	b->rings->ring[0].taken[RECORD_SWITCH] = 39;
	assert_int_equal(account_lost(&b->account), 1);
	assert_int_equal(account_close(&b->account, false), 0);
	assert_int_equal(b->account.cpus[0].kinds[RECORD_SWITCH].seen, 40);
	assert_int_equal(b->account.cpus[0].kinds[RECORD_SWITCH].lost, 1);
	assert_int_equal(b->account.lost, 1);
}

static void what_is_left_in_the_rings_is_lost_when_draining_was_cut(void **state)
{
	struct bench *b = *state;

	assert_int_equal(account_open(&b->account, &b->links, b->rings), 0);
	b->cpus[0].seen[RECORD_SWITCH] = 100;
	b->cpus[0].lost[RECORD_SWITCH] = 10;
	b->rings->ring[0].taken[RECORD_SWITCH] = 50;
	assert_int_equal(account_close(&b->account, true), 0);
	assert_int_equal(b->account.cpus[0].kinds[RECORD_SWITCH].written, 50);
	assert_int_equal(b->account.cpus[0].kinds[RECORD_SWITCH].lost, 50);
	assert_int_equal(b->account.lost, 50);
}

static void records_that_tell_of_gaps_are_no_events(void **state)
{
	struct bench *b = *state;

	assert_int_equal(account_open(&b->account, &b->links, b->rings), 0);
	b->cpus[0].lost[RECORD_LOST] = 3;
	b->rings->ring[0].taken[RECORD_LOST] = 9;
	assert_int_equal(account_lost(&b->account), 0);
	assert_int_equal(account_close(&b->account, false), 0);
	assert_int_equal(b->account.cpus[0].kinds[RECORD_LOST].written, 0);
	assert_int_equal(b->account.lost, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(what_came_out_and_what_was_lost_is_told_by_cpu_and_kind),
		TEST(a_cpu_without_a_ring_loses_all_it_sees),
		TEST(what_was_lost_before_the_window_is_no_loss),
		TEST(what_is_left_in_the_rings_is_lost_when_draining_was_cut),
		TEST(records_that_tell_of_gaps_are_no_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
