/* SPDX-License-Identifier: MIT */
/*
 * Fuzzer of the table of clock offsets: any text, for four looms on three hosts.
 *
 * An accepted table gives all looms of one host one offset, changes only looms of hosts in the
 * text, and has the same result when it is read again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/system/system.h"
#include "trace/base/log.h"
#include "fuzz.h"

#define LOOMS 4
static char *const names[LOOMS] = {"a.0", "a.1", "b.x", "c"};

static int parse(const uint8_t *data, size_t size, int64_t *offsets)
{
	struct loom looms[LOOMS] = {0};
	struct system sys = {.looms = looms, .nlooms = LOOMS};
	FILE *file = fmemopen((void *)(uintptr_t)data, size, "r");
	int err;

	MUST(file);
	for (int i = 0; i < LOOMS; i++)
		looms[i].name = names[i];
	err = offsets_parse(&sys, file, "table");
	fclose(file);
	for (int i = 0; i < LOOMS; i++)
		offsets[i] = looms[i].offset;
	return err;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int64_t offsets[LOOMS], again[LOOMS];
	int err;

	log_setup("fuzz", (enum log_level)(-1));
	err = parse(data, size, offsets);
	MUST(err <= 0 && parse(data, size, again) == err);
	MUST(!memcmp(offsets, again, sizeof(offsets)));
	if (err)
		return 0;
	MUST(offsets[0] == offsets[1]);
	MUST(!offsets[2] || memchr(data, 'b', size));
	MUST(!offsets[3] || memchr(data, 'c', size));
	MUST(memchr(data, '\n', size)); /* a line of titles alone is no table */
	return 0;
}
