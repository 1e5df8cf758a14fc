/* SPDX-License-Identifier: MIT */
/* stats_file: see stats_file.h. */
#include <inttypes.h>

#include "trace/ovni/stats_file.h"

void stats_ratio(FILE *out, const char *name, uint64_t above, uint64_t below, bool none)
{
	if (!below && none)
		fprintf(out, "\"%s\": null", name);
	else
		fprintf(out, "\"%s\": %.9g", name, below ? (double)above / (double)below : 0.0);
}

uint64_t stats_cost_ns(uint64_t runs, uint64_t timed_runs, uint64_t timed_ns)
{
	return timed_runs ? (uint64_t)((unsigned __int128)timed_ns * runs / timed_runs) : 0;
}
