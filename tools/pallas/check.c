/* SPDX-License-Identifier: MIT */
/*
 * check: the check command. In: an archive; out: one line per violation, and status 1 if there is
 * one.
 */
#include <inttypes.h>

#include "tools/pallas/pallas_command.h"
#include "trace/base/log.h"
#include "trace/pallas/read/archive.h"

int pallas_validate(const struct pallas_options *o)
{
	struct pallas_trace trace;
	int found, err = pallas_open(&trace, o->from, o->memory);

	if (err)
		return 1;
	found = pallas_check(&trace, stdout);
	if (found == 0)
		printf("%s: %zu archives, %zu threads: no violation found\n", trace.path,
		       trace.narchives, trace.nthreads);
	pallas_close(&trace);
	return flush_stdout() || found ? 1 : 0;
}
