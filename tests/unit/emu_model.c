/* SPDX-License-Identifier: MIT */
/* model: pages and the catalogue fit together, and versions are read as specified. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "emu/model.h"

/* Every event that has no effect. One that is new in the catalogue and whose function is forgotten
 * on the page of its model would be here, too. */
static const char *const without_effect[] = {
	"6S@", "6Sr", "6Ss", "6W*", "6t[", "6t]", "OB.", "OHC", "OU.",
	"OU[", "OU]", "PBS", "PBs", "VHA", "VHa", "VS@", "VSr", "VSs",
};

static bool is_listed(const char *mcv)
{
	for (size_t i = 0; i < sizeof(without_effect) / sizeof(without_effect[0]); i++)
		if (strncmp(without_effect[i], mcv, 3) == 0)
			return true;
	return false;
}

static const struct model_event *on_page(const struct model *model, const char *mcv)
{
	for (size_t i = 0; i < model->nevents; i++)
		if (strncmp(model->events[i].mcv, mcv, 3) == 0)
			return &model->events[i];
	return NULL;
}

static bool has_channel(const struct model *model, const char *name)
{
	for (size_t i = 0; i < model->nchannels; i++)
		if (model->channels[i].name && strcmp(model->channels[i].name, name) == 0)
			return true;
	return false;
}

static void events_without_effect_are_the_known_ones(void **state)
{
	size_t found = 0;

	(void)state;
	for (size_t m = 0; models[m]; m++) {
		const struct catalog_model *catalog = catalog_model_by_name(models[m]->name);

		for (size_t i = 0; catalog && i < catalog->nevents; i++) {
			const struct catalog_event *event = &catalog->events[i];
			bool idle = event->action == ACTION_NONE &&
				    !on_page(models[m], event->signature);

			if (idle != is_listed(event->signature))
				print_message("  %s\n", event->signature);
			assert_int_equal(idle, is_listed(event->signature));
			found += idle;
		}
	}
	assert_int_equal(found, sizeof(without_effect) / sizeof(without_effect[0]));
}

static void every_action_has_its_channel_or_its_function(void **state)
{
	(void)state;
	for (size_t m = 0; models[m]; m++) {
		const struct catalog_model *catalog = catalog_model_by_name(models[m]->name);

		for (size_t i = 0; catalog && i < catalog->nevents; i++) {
			const struct catalog_event *event = &catalog->events[i];

			if (event->action == ACTION_NONE || on_page(models[m], event->signature))
				continue;
			print_message("  %.3s\n", event->signature);
			assert_true(has_channel(models[m], event->channel));
			assert_true(event->value != 0 || event->action == ACTION_CLEAR);
		}
	}
}

static void every_event_of_a_page_is_in_the_catalogue(void **state)
{
	(void)state;
	for (size_t m = 0; models[m]; m++)
		for (size_t i = 0; i < models[m]->nevents; i++) {
			const struct model_event *e = &models[m]->events[i];
			const struct signature *sig;
			const struct catalog_event *event =
				catalog_find(MCV(e->mcv[0], e->mcv[1], e->mcv[2]), &sig);

			print_message("  %.3s\n", e->mcv);
			assert_non_null(event);
			assert_int_equal(sig->jumbo, e->jumbo);
		}
}

static void types_are_those_of_the_specification(void **state)
{
	static const struct {
		const char *model;
		unsigned types[13];
	} table[] = {
		{"nanos6", {35, 36, 37, 38, 39, 40}},
		{"nodes", {30}},
		{"kernel", {45}},
		{"mpi", {25}},
		{"ovni", {7}},
		{"openmp", {50, 51, 52}},
		{"tampi", {20}},
		{"nosv", {15, 10, 11, 12, 13, 14, 16}},
		{"bpf", {300, 301, 302, 303, 308, 304, 305, 306, 307, 309, 310, 324}},
	};
	size_t m = 0;

	(void)state;
	for (; models[m]; m++) {
		assert_string_equal(models[m]->name, table[m].model);
		for (size_t c = 0; c < models[m]->nchannels; c++)
			assert_int_equal(models[m]->channels[c].type, table[m].types[c]);
		assert_int_equal(table[m].types[models[m]->nchannels], 0);
	}
	assert_int_equal(m, sizeof(table) / sizeof(table[0]));
}

static void versions_have_three_numbers(void **state)
{
	static const struct {
		const char *text;
		int want, version[3];
	} table[] = {
		{"1.2.3", 0, {1, 2, 3}},
		{"0.0.0", 0, {0, 0, 0}},
		{"10.20.30", 0, {10, 20, 30}},
		{"1.2.3-rc1", 0, {1, 2, 3}},
		{"1.2.3.4", 0, {1, 2, 3}},
		{"1.2", -1, {0}},
		{"1", -1, {0}},
		{"", -1, {0}},
		{"one", -1, {0}},
		{"1.2.x", -1, {0}},
		{"1.2.3x", -1, {0}},
		{"-1.2.3", -1, {0}},
		{"1..3", -1, {0}},
		{" 1.2.3", -1, {0}},
		{"1.2.99999999999", -1, {0}},
		{"1.2.3-4567890123456789012345678901234567890123456789012345678901", -1, {0}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		int version[3], got = model_parse_version(table[i].text, version);

		print_message("  '%s'\n", table[i].text);
		assert_int_equal(got < 0 ? -1 : 0, table[i].want);
		if (got == 0)
			assert_memory_equal(version, table[i].version, sizeof(version));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_without_effect_are_the_known_ones),
		cmocka_unit_test(every_action_has_its_channel_or_its_function),
		cmocka_unit_test(every_event_of_a_page_is_in_the_catalogue),
		cmocka_unit_test(types_are_those_of_the_specification),
		cmocka_unit_test(versions_have_three_numbers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
