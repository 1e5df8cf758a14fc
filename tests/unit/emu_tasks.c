/* SPDX-License-Identifier: MIT */
/* task: millions of tasks found again, and the values of labels. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "emu/task/task.h"

#define MANY 300000u

/* Ways in which ids are given out. */
static const struct pattern {
	const char *name;
	uint32_t factor, shift;
} patterns[] = {
	{"one_after_the_other", 1, 0},
	{"only_even_ones", 2, 0},
	{"multiples_of_a_power_of_two", 4096, 0},
	{"spread_over_all", 2654435761u, 0},
	{"from_the_end", UINT32_MAX, 17},
};

static size_t bytes_of(const struct task_table *table)
{
	return table->room * sizeof(table->tasks[0]);
}

static void tasks_are_found_by_any_ids(void **state)
{
	(void)state;
	task_table_seed();
	for (size_t p = 0; p < sizeof(patterns) / sizeof(patterns[0]); p++) {
		const struct pattern *pattern = &patterns[p];
		struct task_table table = {0};
		bool exists;

		print_message("  %s\n", pattern->name);
		for (uint32_t i = 0; i < MANY; i++) {
			uint32_t id = i * pattern->factor + pattern->shift;
			struct task *task = task_table_add(&table, id, i % 3, &exists);

			assert_non_null(task);
			assert_false(exists);
			task->type = i;
		}
		for (uint32_t i = 0; i < MANY; i++) {
			uint32_t id = i * pattern->factor + pattern->shift;
			const struct task *task = task_table_find(&table, id, i % 3);

			assert_non_null(task);
			assert_int_equal(task->type, i);
			assert_null(task_table_find(&table, id, i % 3 + 1));
			assert_null(task_table_add(&table, id, i % 3, &exists));
			assert_true(exists);
		}
		assert_int_equal(table.n, MANY);
		assert_true(bytes_of(&table) <= 43ul * MANY);
		free(table.tasks);
	}
}

static void a_table_without_tasks_has_no_memory(void **state)
{
	struct task_table table = {0};

	(void)state;
	assert_null(task_table_find(&table, 1, 0));
	assert_null(table.tasks);
}

static void labels_have_the_values_of_the_specification(void **state)
{
	static const struct {
		const char *label;
		uint32_t value;
	} table[] = {
		{"main", 1423278814},
		{"task", 1485258024},
		{"testtype1", 1690940984},
		{"a label which is longer than twelve bytes", 491959776},
		{"(unlabeled task type 2)", 77997064},
		{"t\xc3\xa0sk \xc3\xb1", 1425730169},
		{"for", 183453091},
		{"abcdefghijkl", 1721602274},
		{"abcdefghijklm", 1631672161},
		{"x", 1892352499},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		assert_int_equal(task_label_value(table[i].label, strlen(table[i].label)),
				 table[i].value);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tasks_are_found_by_any_ids),
		cmocka_unit_test(a_table_without_tasks_has_no_memory),
		cmocka_unit_test(labels_have_the_values_of_the_specification),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
