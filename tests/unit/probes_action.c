/* SPDX-License-Identifier: MIT */
/* action: ids, types and declarations of the meanings of sites. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "trace/catalog/catalog.h"
#include "user/probes/action.h"

static const struct site sites[] = {
	{.kind = SITE_FUNCTION, .label = "zeta"},
	{.kind = SITE_FUNCTION, .label = "Alpha", .value = {.source = SITE_ARGUMENT, .number = 2}},
	{.kind = SITE_FUNCTION, .label = "alpha", .value = {.source = SITE_RETURN}},
	{.kind = SITE_POINT, .label = "zeta+4"},
	{.kind = SITE_POINT, .label = "app:step", .value = {.source = SITE_REGISTER}},
};
#define NSITES (sizeof(sites) / sizeof(sites[0]))

static void make(struct actions *a)
{
	assert_int_equal(actions_new(a, NSITES), 0);
	for (size_t i = 0; i < NSITES; i++)
		assert_int_equal(actions_of_site(a, i, &sites[i]), 0);
}

static void ids_follow_the_bytes_of_the_labels(void **state)
{
	struct actions a;

	(void)state;
	make(&a);
	assert_int_equal(actions_finish(&a), 0);
	assert_int_equal(a.list[0].during.value, 3);
	assert_int_equal(a.list[1].during.value, 1);
	assert_int_equal(a.list[2].during.value, 2);
	assert_int_equal(a.list[3].entry[0].effect.value, 1);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(a.list[i].during.stack, a.list[0].during.stack);
	assert_int_not_equal(a.list[3].entry[0].effect.stack, a.list[0].during.stack);
	actions_free(&a);
}

static void values_have_marks_of_their_own(void **state)
{
	struct actions a;

	(void)state;
	make(&a);
	assert_int_equal(actions_finish(&a), 0);
	assert_int_equal(a.list[1].nentry, 1);
	assert_int_equal(a.list[1].entry[0].kind, STEP_VALUE);
	assert_int_equal(a.list[2].nreturn, 1);
	assert_int_equal(a.list[4].entry[0].kind, STEP_VALUE);
	assert_false(action_returns(&a.list[3]));
	assert_true(action_returns(&a.list[1]));
	assert_int_not_equal(a.list[1].entry[0].effect.type, a.list[2].at_return[0].effect.type);
	for (size_t i = 0; i < ACTION_TYPES; i++)
		if (a.types[i].title)
			assert_int_equal(a.types[i].single, i != 0);
	actions_free(&a);
}

static void the_used_models_and_marks_are_declared(void **state)
{
	struct actions a;
	const struct declaration *d;
	const struct effect *value;

	(void)state;
	make(&a);
	assert_int_equal(actions_finish(&a), 0);
	d = &a.declarations[a.list[0].during.declared];
	assert_string_equal(d->label, "zeta");
	assert_int_equal(d->value, 3);
	assert_int_equal(d->type, 0);
	value = &a.list[1].entry[0].effect;
	assert_string_equal(a.declarations[value->declared].title, "Alpha (argument 2)");
	assert_true(a.declarations[value->declared].single);
	assert_string_equal(a.declarations[value->declared + 1].label, "0");
	assert_int_equal(a.declarations[value->declared + 1].value, ACTION_ZERO);
	actions_free(&a);
}

/* The actions of an API file: given values, values by label, and events of a model. */
static void maps_can_give_values_and_share_them(void **state)
{
	struct actions a;
	const struct declaration *d;

	(void)state;
	assert_int_equal(actions_new(&a, 4), 0);
	assert_int_equal(actions_type(&a, 5, "Locks", false), 0);
	assert_int_equal(actions_type(&a, 5, "Locks", false), 0);
	assert_int_equal(actions_type(&a, 5, "Locks", true), -EEXIST);
	for (int i = 0; i < 3; i++) {
		a.list[i].has_during = true;
		a.list[i].during = (struct effect){
			.enter = MARK_PUSH, .leave = MARK_POP, .type = 5, .label = "waits"};
	}
	a.list[2].during.label = "holds";
	a.list[2].during.value = 7;
	a.list[3].has_during = true;
	a.list[3].during =
		(struct effect){.enter = MCV('M', 'S', '['), .leave = MCV('M', 'S', ']')};
	assert_int_equal(actions_finish(&a), 0);
	assert_int_equal(a.list[0].during.value, 8);
	assert_int_equal(a.list[1].during.value, 8);
	assert_int_equal(a.list[1].during.declared, a.list[0].during.declared);
	assert_int_equal(a.list[2].during.value, 7);
	d = &a.declarations[a.list[3].during.declared];
	assert_int_equal(d->model, 'M');
	assert_int_not_equal(a.list[3].during.stack, a.list[0].during.stack);
	actions_free(&a);
}

static void there_are_types_for_88_values(void **state)
{
	static struct site many[100];
	static char labels[100][16];
	struct actions a;

	(void)state;
	assert_int_equal(actions_new(&a, 100), 0);
	for (int i = 0; i < 100; i++) {
		snprintf(labels[i], sizeof(labels[i]), "f%d", i);
		many[i] = (struct site){.kind = SITE_FUNCTION,
					.label = labels[i],
					.value = {.source = SITE_ARGUMENT, .number = 1}};
		assert_int_equal(actions_of_site(&a, (size_t)i, &many[i]), i < 88 ? 0 : -E2BIG);
	}
	actions_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_follow_the_bytes_of_the_labels),
		cmocka_unit_test(values_have_marks_of_their_own),
		cmocka_unit_test(the_used_models_and_marks_are_declared),
		cmocka_unit_test(maps_can_give_values_and_share_them),
		cmocka_unit_test(there_are_types_for_88_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
