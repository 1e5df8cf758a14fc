/* SPDX-License-Identifier: MIT */
/* topology: CPU lists as the kernel writes them, any numbering, CPUs that come later. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/host/topology.h"

struct list {
	const char *name, *text;
	unsigned n; /* CPUs, 0: refused */
	unsigned phyid[12];
};

static const struct list lists[] = {
	{"one_cpu", "0\n", 1, {0}},
	{"no_newline", "0-1", 2, {0, 1}},
	{"ranges_with_a_gap", "0-3,8-11\n", 8, {0, 1, 2, 3, 8, 9, 10, 11}},
	{"first_cpu_is_not_0", "5,7\n", 2, {5, 7}},
	{"a_list_that_does_not_ascend", "9,2-3\n", 3, {2, 3, 9}},
	{"the_same_cpu_twice", "1,0-2\n", 3, {0, 1, 2}},
	{"the_highest_number", "65535\n", 1, {65535}},
	{"nothing", "", 0, {0}},
	{"only_a_newline", "\n", 0, {0}},
	{"a_number_too_high", "65536\n", 0, {0}},
	{"a_number_that_wraps_around", "18446744073709551616\n", 0, {0}},
	{"a_range_that_falls", "3-1\n", 0, {0}},
	{"a_comma_at_the_end", "0,\n", 0, {0}},
	{"a_range_without_an_end", "0-\n", 0, {0}},
	{"a_sign", "+1\n", 0, {0}},
	{"a_blank", "0, 1\n", 0, {0}},
	{"words", "none\n", 0, {0}},
	{"something_after_the_newline", "0\n1\n", 0, {0}},
	{"a_stride", "0-7:2/4\n", 0, {0}},
};

static void lists_of_the_kernel_are_parsed_and_others_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		const struct list *l = &lists[i];
		struct topology t;
		int err = topology_parse(&t, l->text);

		print_message("  %s\n", l->name);
		assert_int_equal(err, l->n ? 0 : -EINVAL);
		assert_int_equal(t.ncpus, l->n);
		for (unsigned j = 0; j < l->n; j++) {
			assert_int_equal(t.phyid[j], l->phyid[j]);
			assert_int_equal(topology_index(&t, l->phyid[j]), (int)j);
		}
		topology_free(&t);
	}
}

static void a_cpu_that_comes_later_has_the_next_index_and_keeps_it(void **state)
{
	struct topology t;

	(void)state;
	assert_int_equal(topology_parse(&t, "0-1,6\n"), 0);
	assert_int_equal(topology_index(&t, 3), 3);
	assert_int_equal(topology_index(&t, 4000), 4);
	assert_int_equal(topology_index(&t, 3), 3);
	assert_int_equal(topology_index(&t, 6), 2);
	assert_int_equal(t.ncpus, 5);
	assert_int_equal(t.phyid[3], 3);
	assert_int_equal(t.phyid[4], 4000);
	assert_int_equal(topology_index(&t, 65536), -1);
	assert_int_equal(t.ncpus, 5);
	topology_free(&t);
}

static void write_online(const char *root, const char *text)
{
	char path[256];
	FILE *f;

	for (const char *const *d = (const char *const[]){"/devices", "/devices/system",
							  "/devices/system/cpu", NULL};
	     *d; d++) {
		snprintf(path, sizeof(path), "%s%s", root, *d);
		assert_true(!mkdir(path, 0700) || errno == EEXIST);
	}
	snprintf(path, sizeof(path), "%s/devices/system/cpu/online", root);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void sysfs_is_read_and_its_mistakes_are_errors(void **state)
{
	char root[] = "topology.XXXXXX", path[256];
	struct topology t;

	(void)state;
	assert_non_null(mkdtemp(root));
	assert_int_equal(topology_read(&t, root), -ENOENT);
	write_online(root, "0-3,8-11\n");
	assert_int_equal(topology_read(&t, root), 0);
	assert_int_equal(t.ncpus, 8);
	assert_int_equal(topology_index(&t, 8), 4);
	topology_free(&t);
	write_online(root, "garbage\n");
	assert_int_equal(topology_read(&t, root), -EINVAL);
	assert_int_equal(t.ncpus, 0);

	for (const char *const *d =
		     (const char *const[]){"/devices/system/cpu/online", "/devices/system/cpu",
					   "/devices/system", "/devices", "", NULL};
	     *d; d++) {
		snprintf(path, sizeof(path), "%s%s", root, *d);
		assert_int_equal(remove(path), 0);
	}
}

static void this_machine_is_read(void **state)
{
	struct topology t;

	(void)state;
	assert_int_equal(topology_read(&t, "/sys"), 0);
	assert_int_equal(t.ncpus, sysconf(_SC_NPROCESSORS_ONLN));
	topology_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_of_the_kernel_are_parsed_and_others_refused),
		cmocka_unit_test(a_cpu_that_comes_later_has_the_next_index_and_keeps_it),
		cmocka_unit_test(sysfs_is_read_and_its_mistakes_are_errors),
		cmocka_unit_test(this_machine_is_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
