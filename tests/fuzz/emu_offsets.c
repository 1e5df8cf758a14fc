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

static int parse(const uint8_t *data, size_t size, struct clock_fix *fixes)
{
	struct loom looms[LOOMS] = {0};
	struct system sys = {.looms = looms, .nlooms = LOOMS};
	FILE *file = fmemopen((void *)(uintptr_t)data, size, "r");
	int err;

	MUST(file);
	for (int i = 0; i < LOOMS; i++)
		looms[i].name = names[i];
	err = offsets_parse(&sys, file, "table", true);
	fclose(file);
	for (int i = 0; i < LOOMS; i++)
		fixes[i] = looms[i].clock;
	return err;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct clock_fix fixes[LOOMS], again[LOOMS];
	int err;

	log_setup("fuzz", (enum log_level)(-1));
	err = parse(data, size, fixes);
	MUST(err <= 0 && parse(data, size, again) == err);
	MUST(!memcmp(fixes, again, sizeof(fixes)));
	if (err)
		return 0;
	MUST(!memcmp(&fixes[0], &fixes[1], sizeof(fixes[0])));
	MUST(!fixes[2].offset || memchr(data, 'b', size));
	MUST(!fixes[3].offset || memchr(data, 'c', size));
	MUST(memchr(data, '\n', size)); /* a line of titles alone is no table */
	return 0;
}
