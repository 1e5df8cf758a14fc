/* SPDX-License-Identifier: MIT */
/*
 * Fuzzer of the table of clock offsets: any text, for four looms on three hosts.
 *
 * An accepted table gives all looms of one host one offset, changes only looms of hosts in the
 * text, and has the same result when it is read again. A corrected clock never falls, and without
 * columns 6 to 9 the offset at the first measurement is the same.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/ovni/clock_fix.h"
#include "trace/base/log.h"
#include "fuzz.h"

#define LOOMS 4
static char *const names[LOOMS] = {"a.0", "a.1", "b.x", "c"};

static int parse(const uint8_t *data, size_t size, bool drift, struct clock_fix *fixes)
{
	struct clock_table table = {0};
	FILE *file = fmemopen((void *)(uintptr_t)data, size, "r");
	int err;

	MUST(file);
	err = clock_table_parse(&table, file, "table", drift);
	fclose(file);
	for (int i = 0; i < LOOMS; i++) {
		const struct clock_row *row = clock_table_find(&table, names[i]);

		fixes[i] = row ? row->fix : (struct clock_fix){0};
	}
	MUST(clock_table_bound(&table) >= CLOCK_BOUND_UNKNOWN);
	if (!err)
		err = clock_table_check(&table, "table");
	clock_table_fini(&table);
	return err;
}

/* Compares corrected clocks around each measurement and at both ends of the range. */
static void check_corrected_clocks(const struct clock_fix *fix)
{
	int64_t places[] = {INT64_MIN, -1000, 0, fix->begin, 0, INT64_MAX - 64}, fixed, last;
	bool seen;

	if (__builtin_add_overflow(fix->begin, fix->length, &places[4]))
		places[4] = 0;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		int64_t from = places[i] < INT64_MIN + 32 ? INT64_MIN : places[i] - 32;

		seen = false;
		for (int64_t clock = from; clock < from + 64; clock++) {
			if (!clock_fix(fix, clock, &fixed))
				continue;
			MUST(!seen || fixed >= last);
			MUST(clock != fix->begin || fixed == clock + fix->offset);
			seen = true;
			last = fixed;
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct clock_fix fixes[LOOMS], again[LOOMS], five[LOOMS];
	int err;

	log_setup("fuzz", (enum log_level)(-1));
	err = parse(data, size, true, fixes);
	MUST(err <= 0 && parse(data, size, true, again) == err);
	MUST(!memcmp(fixes, again, sizeof(fixes)));
	if (err)
		return 0;
	MUST(!parse(data, size, false, five));
	for (int i = 0; i < LOOMS; i++) {
		MUST(five[i].offset == fixes[i].offset && !five[i].length);
		check_corrected_clocks(&fixes[i]);
	}
	MUST(!memcmp(&fixes[0], &fixes[1], sizeof(fixes[0])));
	MUST(!fixes[2].offset || memchr(data, 'b', size));
	MUST(!fixes[3].offset || memchr(data, 'c', size));
	MUST(memchr(data, '\n', size)); /* a line of titles alone is no table */
	return 0;
}
