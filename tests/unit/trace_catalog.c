/* SPDX-License-Identifier: MIT */
/*
 * catalog: tables that agree with themselves, with models.md and with the dumps of the
 * conformance vectors.
 */
#include <dirent.h>

#include "trace/catalog/catalog.h"
#include "trace_kit.h"

#define EACH_MODEL(m) for (const struct catalog_model *m = catalog_models; m->name; m++)

static uint32_t mcv_of(const char *text)
{
	return MCV(text[0], text[1], text[2]);
}

static const struct {
	char character;
	const char *name, *version;
	enum catalog_when when;
	bool out_of_cpu;
	size_t pairs; /* rows of "Enter, Leave" in models.md, two signs of one row counted twice */
} models[] = {
	{'6', "nanos6", "1.1.0", WHEN_ACTIVE, true, 22 + 4 + 1 /* thread types, task body */},
	{'D', "nodes", "1.0.0", WHEN_RUNNING, true, 8},
	{'K', "kernel", "1.0.0", WHEN_ANY, true, 1},
	{'M', "mpi", "1.0.0", WHEN_RUNNING, true, 49},
	{'O', "ovni", "1.1.0", WHEN_ANY, false, 1 /* marks */},
	{'P', "openmp", "1.2.1", WHEN_RUNNING, true, 30 + 2 /* tasks, worksharings */},
	{'T', "tampi", "1.0.0", WHEN_RUNNING, true, 12},
	{'V', "nosv", "2.7.0", WHEN_ACTIVE, false, 28 + 1 /* task body */},
};

static void models_are_those_of_the_specification(void **state)
{
	size_t n = 0;

	(void)state;
	EACH_MODEL(m)
	{
		size_t pushes = 0, pops = 0;

		assert_true(n < COUNT(models));
		assert_int_equal(m->character, models[n].character);
		assert_string_equal(m->name, models[n].name);
		assert_string_equal(m->version, models[n].version);
		assert_int_equal(m->when, models[n].when);
		assert_int_equal(m->out_of_cpu, models[n].out_of_cpu);
		for (size_t i = 0; i < m->nevents; i++) {
			pushes += m->events[i].action == ACTION_PUSH;
			pops += m->events[i].action == ACTION_POP;
		}
		assert_int_equal(pushes, models[n].pairs);
		assert_int_equal(pops, models[n].pairs);
		assert_ptr_equal(catalog_model(models[n].character), m);
		assert_ptr_equal(catalog_model_by_name(models[n].name), m);
		n++;
	}
	assert_int_equal(n, COUNT(models));
	assert_null(catalog_model('Z'));
	assert_null(catalog_model('\0'));
	assert_null(catalog_model_by_name("bpf"));
	assert_null(catalog_model_by_name(""));
}

static void every_entry_is_found_by_its_characters(void **state)
{
	(void)state;
	EACH_MODEL(m)
	{
		for (size_t i = 0; i < m->nevents; i++) {
			const struct catalog_event *e = &m->events[i];
			const struct signature *sig = NULL;

			assert_ptr_equal(catalog_find(mcv_of(e->signature), &sig), e);
			assert_int_equal(sig->mcv, mcv_of(e->signature));
			assert_true(*e->english);
		}
	}
}

static void wildcards_stand_for_any_value(void **state)
{
	const struct catalog_event *burst = catalog_find(MCV('O', 'B', '.'), NULL);

	(void)state;
	assert_non_null(burst);
	assert_ptr_equal(catalog_find(MCV('O', 'B', 'x'), NULL), burst);
	assert_ptr_equal(catalog_find(MCV('O', 'B', 0), NULL), burst);
	assert_non_null(catalog_find(MCV('O', 'U', 'x'), NULL));
	assert_ptr_not_equal(catalog_find(MCV('O', 'U', '['), NULL),
			     catalog_find(MCV('O', 'U', '.'), NULL));
	assert_null(catalog_find(MCV('O', 'H', 'z'), NULL));
	assert_null(catalog_find(MCV('O', 'H', '.'), NULL));
	assert_null(catalog_find(MCV('Z', 'B', '.'), NULL));
	assert_null(catalog_find(MCV('6', 'W', 'z'), NULL));
	assert_null(catalog_find(0, NULL));
	assert_null(catalog_find(UINT32_MAX, NULL));
}

static void each_entering_event_has_a_leaving_one(void **state)
{
	(void)state;
	EACH_MODEL(m)
	{
		for (size_t i = 0; i < m->nevents; i++) {
			const struct catalog_event *e = &m->events[i], *leave;

			print_message("  %s\n", e->signature);
			assert_int_equal(e->action == ACTION_NONE, e->channel == NULL);
			assert_int_equal(e->value != 0, e->label != NULL);
			if (e->action == ACTION_PUSH)
				assert_int_equal(strlen(e->leaves), 3);
			if (!*e->leaves)
				continue;
			leave = catalog_find(mcv_of(e->leaves), NULL);
			assert_non_null(leave);
			assert_int_equal(leave->action,
					 e->action == ACTION_PUSH ? ACTION_POP : ACTION_CLEAR);
			assert_string_equal(leave->channel, e->channel);
			assert_string_equal(leave->leaves, "");
			if (leave->action == ACTION_POP)
				assert_int_equal(leave->value, e->value);
		}
	}
}

/* Adds `label` for `value` in `channel`; fails if the value has another one already. */
struct known {
	const char *channel, *label;
	int value;
};

static void learn(struct known *known, size_t *n, const char *channel, int value, const char *label)
{
	for (size_t i = 0; i < *n; i++) {
		if (strcmp(known[i].channel, channel))
			continue;
		if (known[i].value == value) {
			assert_string_equal(known[i].label, label);
			return;
		}
		assert_string_not_equal(known[i].label, label);
	}
	known[(*n)++] = (struct known){channel, label, value};
}

static void a_value_of_a_channel_has_one_label(void **state)
{
	(void)state;
	EACH_MODEL(m)
	{
		struct known known[128];
		size_t n = 0;

		for (size_t i = 0; i < m->nevents; i++)
			if (m->events[i].label)
				learn(known, &n, m->events[i].channel, m->events[i].value,
				      m->events[i].label);
		for (size_t i = 0; i < m->nlabels; i++)
			learn(known, &n, m->labels[i].channel, m->labels[i].value,
			      m->labels[i].label);
	}
}

static const struct {
	const char *mcv, *leaves, *channel, *label;
	int value;
	enum catalog_action action;
} samples[] = {
	{"VSh", "VSf", "subsystem", "Scheduler: Hungry", 6, ACTION_PUSH},
	{"VSN", "VSn", "subsystem", "Scheduler: Serving", 7, ACTION_PUSH},
	{"VAI", "", "subsystem", "API: Wait", 30, ACTION_POP},
	{"VTx", "VTe", "subsystem", "Task: In body", 11, ACTION_PUSH},
	{"VPa", "", "idle", "Absorbing noise", 102, ACTION_SET},
	{"6Wg", "6WG", "subsystem", "Worker: Sponge mode", 24, ACTION_PUSH},
	{"6He", "6HE", "thread type", "External", 4, ACTION_PUSH},
	{"6Te", "", "subsystem", "Task: Running body", 1, ACTION_POP},
	{"PWy", "PWY", "subsystem", "Work-distribution: Dynamic for initialization", 11,
	 ACTION_PUSH},
	{"PPx", "PPe", "task", NULL, 0, ACTION_PUSH},
	{"DI[", "DI]", "subsystem", "If0: Executing an If0 task inline", 4, ACTION_PUSH},
	{"TQt", "TQT", "subsystem", "Queue: Transfering to global array", 6, ACTION_PUSH},
	{"Msb", "MsB", "function", "MPI_Ibsend", 21, ACTION_PUSH},
	{"MCE", "", "function", "MPI_Exscan", 37, ACTION_POP},
	{"KCO", "KCI", "context switch", "Context switch: Out of the CPU", 3, ACTION_PUSH},
	{"OF[", "OF]", "flush", "Flushing", 1, ACTION_SET},
	{"OM[", "OM]", "mark", NULL, 0, ACTION_PUSH},
	{"OM=", "", "mark", NULL, 0, ACTION_SET},
	{"OHx", "", NULL, NULL, 0, ACTION_NONE},
};

static void samples_of_the_specification_are_in_the_tables(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(samples); i++) {
		const struct catalog_event *e = catalog_find(mcv_of(samples[i].mcv), NULL);

		print_message("  %s\n", samples[i].mcv);
		assert_non_null(e);
		assert_string_equal(e->leaves, samples[i].leaves);
		assert_int_equal(e->action, samples[i].action);
		assert_int_equal(e->value, samples[i].value);
		if (samples[i].channel)
			assert_string_equal(e->channel, samples[i].channel);
		if (samples[i].label)
			assert_string_equal(e->label, samples[i].label);
	}
	assert_int_equal(catalog_model('V')->nlabels, 4);
	assert_int_equal(catalog_model('6')->nlabels, 7);
	assert_int_equal(catalog_model('P')->nlabels, 1);
	assert_true(catalog_model('V')->repeats && catalog_model('P')->repeats &&
		    catalog_model('O')->repeats);
	assert_false(catalog_model('M')->repeats || catalog_model('6')->repeats ||
		     catalog_model('K')->repeats);
}

static const struct {
	const char *mcv;
	uint8_t payload[24];
	uint32_t size;
	bool jumbo;
	const char *want;
} explained[] = {
	{"OHe", {0}, 0, false, "ends its execution"},
	/* an argument at the end may be missing: the others are shown */
	{"OHp", {0}, 0, false, "pauses"},
	{"OHp", {6, 0}, 2, false, "pauses: 6 (preempted)"},
	{"OHp", {12, 0}, 2, false, "pauses: 12 (throttled by a CPU quota)"},
	{"OHp", {6, 0, 9, 0, 0}, 5, false, "pauses: 6 (preempted)"},
	{"OHp", {1, 0, 9, 0, 0, 0}, 6, false, "pauses: 1 (sleeping), the CPU goes to thread 9"},
	{"OHp",
	 {0, 0, 0, 0, 0, 0},
	 6,
	 false,
	 "pauses: 0 (not known), the CPU goes to thread 0 (idle)"},
	{"OHp",
	 {13, 0, 255, 255, 255, 255},
	 6,
	 false,
	 "pauses: 13, the CPU goes to thread -1 (not known)"},
	{"KCO", {11, 0, 7, 0, 0, 0}, 6, false, "leaves the CPU: 11 (lost), which goes to thread 7"},
	{"KCI", {0}, 0, false, "is back on the CPU"},
	{"KCI", {2, 0, 0, 0}, 4, false, "is back on the CPU 2"},
	{"OHw", {0}, 0, false, "warms up: is about to run"},
	{"OHw",
	 {254, 255, 255, 255},
	 4,
	 false,
	 "warms up: is about to run, woken by thread -2 (an interrupt)"},
	{"OHx", {1, 0, 0, 0}, 4, false, "begins to execute on CPU 1"},
	{"OHx",
	 {255, 255, 255, 255, 5, 0, 0, 0},
	 8,
	 false,
	 "begins to execute on CPU -1 (virtual), created by thread 5"},
	{"OHx",
	 {1, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255},
	 16,
	 false,
	 "begins to execute on CPU 1, created by thread -1 (not seen), with tag "
	 "18446744073709551615"},
	/* one that must be there is not */
	{"OAs", {1, 0, 0}, 3, false, "moves itself to CPU ?"},
	{"OAr", {1, 0, 0, 0}, 4, false, "moves thread ? to CPU 1"},
	/* more than the signature says is left alone */
	{"OAs", {1, 0, 0, 0, 9, 9}, 6, false, "moves itself to CPU 1"},
	{"OM[",
	 {0, 0, 0, 0, 0, 0, 0, 0x80, 7, 0, 0, 0},
	 12,
	 false,
	 "enters the mark -9223372036854775808 of type 7"},
	{"VYc",
	 {7, 0, 0, 0, 'a', 0x1b, '"', 0},
	 8,
	 true,
	 "creates the task type 7 labelled \"a\\x1b\"\""},
	{"VYc", {7, 0, 0, 0, 'a'}, 5, true, "creates the task type 7 labelled ?"},
	{"VYc", {7, 0, 0, 0, 'a', 0}, 6, false, "creates the task type ? labelled ?"},
	{"VWC",
	 {1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3},
	 17,
	 true,
	 "reads the hardware counters: 1 2"},
	{"OBx", {1, 2}, 2, false, "is one of a burst of events, to measure their cost"},
	{"MS[", {0}, 0, false, "begins MPI_Send"},
	{"OHz", {0}, 0, false, "UNKNOWN"},
};

static void events_are_explained_with_their_arguments(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(explained); i++) {
		/* exactly as large as it is, so that a step too far is seen */
		uint8_t *payload = malloc(explained[i].size ? explained[i].size : 1);
		struct event ev = {.payload = payload,
				   .payload_size = explained[i].size,
				   .model = (uint8_t)explained[i].mcv[0],
				   .category = (uint8_t)explained[i].mcv[1],
				   .value = (uint8_t)explained[i].mcv[2],
				   .jumbo = explained[i].jumbo};
		size_t len = strlen(explained[i].want);
		char out[160];

		assert_non_null(payload);
		memcpy(payload, explained[i].payload, explained[i].size);
		assert_int_equal(catalog_explain(&ev, out, sizeof(out)), len);
		assert_string_equal(out, explained[i].want);
		/* cut to any size */
		for (size_t size = 0; size <= len + 1; size++) {
			memset(out, '#', sizeof(out));
			assert_int_equal(catalog_explain(&ev, out, size), len);
			assert_int_equal(out[size], '#');
			if (size)
				assert_true(strlen(out) < size);
		}
		free(payload);
	}
}

/* ---- the vectors ---- */

/* Events that only we explain: the reference accepts them without effect. */
static bool only_ours(const char *mcv)
{
	return !strncmp(mcv, "OU", 2) || !strncmp(mcv, "OB", 2) || !strcmp(mcv, "6TC");
}

static void events_of_the_vectors_are_known_or_unknown_as_the_reference_says(void **state)
{
	const char *conformance = getenv("CONFORMANCE");
	size_t events = 0, unknown = 0;
	const struct dirent *entry;
	char path[4096];
	DIR *dir;

	(void)state;
	if (!conformance)
		conformance = "build/vectors";
	snprintf(path, sizeof(path), "%s/emu", conformance);
	dir = opendir(path);
	if (!dir)
		fail_msg("cannot open the conformance vectors in %s", path);
	while ((entry = readdir(dir))) {
		char *line = NULL;
		size_t room = 0;
		FILE *in;

		snprintf(path, sizeof(path), "%s/emu/%s/expected/dump.txt", conformance,
			 entry->d_name);
		in = fopen(path, "r");
		if (!in)
			continue;
		while (getline(&line, &room, in) > 0) {
			char mcv[8];
			bool known, theirs;

			if (sscanf(line, "%*d  %3c", mcv) != 1)
				continue;
			mcv[3] = '\0';
			known = catalog_find(mcv_of(mcv), NULL) != NULL;
			theirs = !strstr(line, "  UNKNOWN\n");
			if (known != theirs && !only_ours(mcv))
				fail_msg("%s: %s is known to us: %d, to the reference: %d", path,
					 mcv, known, theirs);
			events++;
			unknown += !theirs;
		}
		free(line);
		fclose(in);
	}
	closedir(dir);
	print_message("  %zu events, %zu of them unknown\n", events, unknown);
	assert_true(events > 1000 && unknown > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(models_are_those_of_the_specification),
		cmocka_unit_test(every_entry_is_found_by_its_characters),
		cmocka_unit_test(wildcards_stand_for_any_value),
		cmocka_unit_test(each_entering_event_has_a_leaving_one),
		cmocka_unit_test(a_value_of_a_channel_has_one_label),
		cmocka_unit_test(samples_of_the_specification_are_in_the_tables),
		cmocka_unit_test(events_are_explained_with_their_arguments),
		cmocka_unit_test(events_of_the_vectors_are_known_or_unknown_as_the_reference_says),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
