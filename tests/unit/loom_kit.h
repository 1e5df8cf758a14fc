/* SPDX-License-Identifier: MIT */
/*
 * loom_kit: functions shared by the tests of the Loom writer: the folder of a run, the contents of
 * its files, and records to write.
 */
#ifndef TESTS_UNIT_LOOM_KIT_H
#define TESTS_UNIT_LOOM_KIT_H

#include "trace/base/json.h"
#include "trace/loom/write/loom_writer.h"
#include "trace_kit.h"

static char loom_path[128];

static const char *run_path(const char *name)
{
	snprintf(loom_path, sizeof(loom_path), "%s/%s", kit_folder, name);
	return loom_path;
}

/* The bytes of a file in the folder, and a NUL; NULL if it is not there. The caller frees. */
static char *read_file(const char *name, size_t *size)
{
	int fd = openat(kit_dir, name, O_RDONLY);
	struct stat st;
	char *text;

	*size = 0;
	if (fd < 0)
		return NULL;
	assert_int_equal(fstat(fd, &st), 0);
	text = calloc(1, (size_t)st.st_size + 1);
	assert_non_null(text);
	assert_int_equal(read(fd, text, (size_t)st.st_size), st.st_size);
	*size = (size_t)st.st_size;
	close(fd);
	return text;
}

static struct json *summary_of(const char *name)
{
	return json_load(kit_dir, name);
}

static uint64_t number(const struct json *doc, const char *dotted)
{
	assert_true(json_is_number(json_get(doc, dotted)));
	return (uint64_t)json_int(json_get(doc, dotted));
}

struct named_number {
	const char *key;
	uint64_t value;
};

static __attribute__((unused)) void assert_numbers(const struct json *doc,
						   const struct named_number *want)
{
	for (; want->key; want++) {
		if (number(doc, want->key) != want->value)
			fail_msg("%s is %lu", want->key, number(doc, want->key));
	}
}

/* Checks members of a JSON object that are numbers: {key, value}, ... */
#define ASSERT_NUMBERS(doc, ...)                                                                   \
	assert_numbers(doc, (const struct named_number[]){__VA_ARGS__, {NULL, 0}})

static struct loom_record record(uint64_t cycle, uint16_t core, uint32_t node, uint8_t kind)
{
	return (struct loom_record){.cycle = cycle,
				    .epoch_id = 1,
				    .invocation_id = 7,
				    .core_id = core,
				    .hw_node_id = node,
				    .event_kind = kind};
}

static int put(struct loom_writer *w, uint64_t cycle, uint16_t core, uint32_t node, uint8_t kind)
{
	struct loom_record r = record(cycle, core, node, kind);

	return loom_writer_event(w, &r);
}

struct put_event {
	uint64_t cycle;
	uint16_t core;
	uint32_t node;
	uint8_t kind;
};

static __attribute__((unused)) void put_all(struct loom_writer *w, const struct put_event *events,
					    size_t n)
{
	for (size_t i = 0; i < n; i++)
		assert_int_equal(
			put(w, events[i].cycle, events[i].core, events[i].node, events[i].kind), 0);
}

/* Writes events that must be accepted: {cycle, core, node, kind}, ... */
#define PUT_ALL(w, ...)                                                                            \
	put_all(w, (const struct put_event[]){__VA_ARGS__},                                        \
		COUNT(((const struct put_event[]){__VA_ARGS__})))

/* Start, `cycles` cycles in which node 1 fires and node 2 waits, end. */
static void simple_run(struct loom_writer *w, uint64_t cycles)
{
	assert_int_equal(put(w, 0, 3, 0, LOOM_CONFIG_WRITE), 0);
	assert_int_equal(put(w, 2, 3, 0, LOOM_INVOCATION_START), 0);
	for (uint64_t c = 2; c < 2 + cycles; c++) {
		assert_int_equal(put(w, c, 3, 1, LOOM_NODE_FIRE), 0);
		assert_int_equal(put(w, c, 3, 2, LOOM_NODE_STALL_IN), 0);
	}
	assert_int_equal(put(w, 2 + cycles, 3, 0, LOOM_INVOCATION_DONE), 0);
}

#endif
