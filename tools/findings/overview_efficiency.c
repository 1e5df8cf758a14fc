/* SPDX-License-Identifier: MIT */
/* overview_efficiency: the factors of an MPI program in one sentence; ovni-report efficiency has
 * all. A second walk, of traces with calls of MPI alone. */
#include "tools/findings/overview_facts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/text.h"
#include "trace/efficiency/metrics.h"

static double value_of(const struct efficiency *e, enum metric metric)
{
	return e->whole.list[metric].value;
}

static char *sentence(const struct efficiency *e)
{
	const struct metric_value *pe = &e->whole.list[METRIC_PE];
	const struct metric_value *cpu = &e->whole.list[METRIC_ON_CPU];
	size_t n = e->times.nkept;
	char *text, *system;

	if (pe->reason)
		return xasprintf("%zu %s: parallel efficiency not available: %s", n,
				 plural(n, "rank", "ranks"), pe->reason);
	if (cpu->reason || cpu->bound)
		system = strdup("");
	else
		system = xasprintf("; on a CPU for %.3f of the useful time, true load balance %.3f",
				   cpu->value, value_of(e, METRIC_TRUE_LB));
	if (!system)
		return NULL;
	text = xasprintf(
		"%zu %s: parallel efficiency %.3f = load balance %.3f x communication %.3f%s", n,
		plural(n, "rank", "ranks"), pe->value, value_of(e, METRIC_LB),
		value_of(e, METRIC_COMM), system);
	free(system);
	return text;
}

int overview_efficiency(struct overview *o)
{
	const struct efficiency_settings settings = {
		.first = o->findings.part ? o->findings.first : INT64_MIN,
		.last = o->findings.part ? o->findings.last : INT64_MAX,
		.part = o->findings.part,
	};
	struct efficiency e;
	int err;

	if (!o->findings.mpi || o->damaged)
		return 0;
	for (size_t i = 0; i < o->source->trace.nstreams; i++)
		stream_rewind(&o->source->streams[i]);
	err = efficiency_read(&e, o->source, &settings);
	if (!err && e.times.nkept) {
		o->efficiency = sentence(&e);
		err = o->efficiency ? 0 : -ENOMEM;
	}
	efficiency_fini(&e);
	return err;
}
