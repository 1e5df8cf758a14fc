/* SPDX-License-Identifier: MIT */
/* sched_clock: clocks that all CPUs share, and kernels with a readable clock of the scheduler. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <bpf/btf.h>

#include "user/kernel/bpf_select.h"

static void clocks_that_all_cpus_share(void **state)
{
	(void)state;
	assert_true(clock_source_is_global("tsc"));
	assert_true(clock_source_is_global("kvm-clock"));
	assert_true(clock_source_is_global("arch_sys_counter"));
	/* With these the time stamp counters of x86 are not to be trusted. */
	assert_false(clock_source_is_global("hpet"));
	assert_false(clock_source_is_global("acpi_pm"));
	assert_false(clock_source_is_global("tsc-early"));
	assert_false(clock_source_is_global(""));
}

/* Without CONFIG_FAIR_GROUP_SCHED there is no way from a task to the clock. */
static void a_kernel_that_groups_no_tasks(void **state)
{
	struct btf *btf = btf__new_empty();
	int word;

	(void)state;
	assert_non_null(btf);
	assert_false(kernel_shows_sched_clock(btf));
	word = btf__add_int(btf, "u64", 8, 0);
	assert_true(btf__add_struct(btf, "rq", 8) > 0);
	assert_int_equal(btf__add_field(btf, "clock", word, 0, 0), 0);
	assert_true(btf__add_struct(btf, "cfs_rq", 8) > 0);
	assert_int_equal(btf__add_field(btf, "rq", word, 0, 0), 0);
	assert_true(btf__add_struct(btf, "sched_entity", 8) > 0);
	assert_int_equal(btf__add_field(btf, "load", word, 0, 0), 0); /* no cfs_rq */
	assert_true(btf__add_struct(btf, "task_struct", 8) > 0);
	assert_int_equal(btf__add_field(btf, "se", word, 0, 0), 0);
	assert_false(kernel_shows_sched_clock(btf));
	btf__free(btf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clocks_that_all_cpus_share),
		cmocka_unit_test(a_kernel_that_groups_no_tasks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
