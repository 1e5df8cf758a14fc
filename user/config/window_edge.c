/* SPDX-License-Identifier: MIT */
/* window_edge: see window_edge.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bpf/state.h"
#include "user/config/window_edge.h"
#include "user/host/clock.h"
#include "user/host/read_file.h"

#define STAT_MAX     (1 << 20) /* bytes; the lines of the CPUs come first */
#define STEAL_FIELD  8	       /* user nice system idle iowait irq softirq steal */
#define STEP_NOTICED 1000      /* ns beyond the errors of both pairs */

/* ---- steal ---- */

/* The number at *at, which is moved behind it and the blanks before it. False: there is none. */
static bool take_number(const char **at, uint64_t *value)
{
	char *end;

	while (**at == ' ')
		(*at)++;
	if (**at < '0' || **at > '9')
		return false;
	errno = 0;
	*value = strtoull(*at, &end, 10);
	*at = end;
	return !errno;
}

/* One whole line: "cpu3 1 2 3 4 5 6 7 8 ...". */
static void parse_line(const char *line, uint64_t tick_ns, uint64_t *steal_ns, unsigned ncpus)
{
	const char *at = line + strlen("cpu");
	uint64_t cpu, ticks = 0;

	if (*at == ' ' || !take_number(&at, &cpu) || cpu >= ncpus)
		return;
	for (int field = 0; field < STEAL_FIELD; field++)
		if (*at != ' ' || !take_number(&at, &ticks))
			return;
	if ((*at == ' ' || *at == '\n') && ticks <= (STEAL_UNKNOWN - 1) / tick_ns)
		steal_ns[cpu] = ticks * tick_ns;
}

void steal_parse(const char *text, uint64_t hz, uint64_t *steal_ns, unsigned ncpus)
{
	const char *line = text, *end;

	for (unsigned cpu = 0; cpu < ncpus; cpu++)
		steal_ns[cpu] = STEAL_UNKNOWN;
	if (!hz || hz > 1000000000)
		return;
	/* a line without its end was cut */
	while (!strncmp(line, "cpu", 3) && (end = strchr(line, '\n'))) {
		parse_line(line, 1000000000 / hz, steal_ns, ncpus);
		line = end + 1;
	}
}

static uint64_t *read_steal(const char *proc, unsigned ncpus)
{
	uint64_t *steal_ns = NULL;
	char path[64], *text;
	size_t size;

	snprintf(path, sizeof(path), "%s/stat", proc);
	text = read_file(AT_FDCWD, path, 0, STAT_MAX, &size);
	if (text)
		steal_ns = calloc(ncpus + 1ul, sizeof(*steal_ns));
	if (steal_ns)
		steal_parse(text, (uint64_t)sysconf(_SC_CLK_TCK), steal_ns, ncpus);
	free(text);
	return steal_ns;
}

/* ---- interrupts ---- */

static struct {
	const struct cpu_irqs *irqs;
	unsigned ncpus;
} watched;

void window_edge_watch(const struct cpu_irqs *irqs, unsigned ncpus)
{
	watched.irqs = irqs;
	watched.ncpus = ncpus;
}

static struct irq_sum *read_irqs(unsigned ncpus)
{
	struct irq_sum *sums;

	if (!watched.irqs)
		return NULL;
	sums = calloc((size_t)ncpus * IRQ_KINDS + 1, sizeof(*sums));
	for (unsigned cpu = 0; sums && cpu < ncpus && cpu < watched.ncpus; cpu++)
		memcpy(&sums[(size_t)cpu * IRQ_KINDS], watched.irqs[cpu].kinds,
		       sizeof(watched.irqs[cpu].kinds));
	return sums;
}

bool window_edge_irq(const struct window_edge *begin, const struct window_edge *end, unsigned cpu,
		     unsigned kind, struct irq_sum *sum)
{
	size_t at = (size_t)cpu * IRQ_KINDS + kind;

	if (!begin->irqs || !end->irqs || cpu >= begin->ncpus || cpu >= end->ncpus)
		return false;
	sum->ns = end->irqs[at].ns - begin->irqs[at].ns;
	sum->times = end->irqs[at].times - begin->irqs[at].times;
	return true;
}

/* ---- edges ---- */

void window_edge_read(struct window_edge *edge, const char *proc, unsigned ncpus)
{
	struct clock_pair pair = clock_pair();
	time_t s = (time_t)(pair.realtime / 1000000000);
	struct tm local;

	*edge = (struct window_edge){
		.clock = pair.clock,
		.realtime = pair.realtime,
		.error_ns = pair.error_ns,
		.utc_offset = localtime_r(&s, &local) ? (int32_t)local.tm_gmtoff : 0,
		.steal_ns = proc ? read_steal(proc, ncpus) : NULL,
		.irqs = proc ? read_irqs(ncpus) : NULL,
		.ncpus = ncpus,
	};
}

struct window_edge window_edge_copy(const struct window_edge *edge)
{
	struct window_edge copy = *edge;

	copy.steal_ns = NULL;
	copy.irqs = NULL;
	if (edge->irqs)
		copy.irqs = calloc((size_t)edge->ncpus * IRQ_KINDS + 1, sizeof(*copy.irqs));
	if (copy.irqs)
		memcpy(copy.irqs, edge->irqs, (size_t)edge->ncpus * IRQ_KINDS * sizeof(*copy.irqs));
	if (edge->steal_ns)
		copy.steal_ns = calloc(edge->ncpus + 1ul, sizeof(*copy.steal_ns));
	if (copy.steal_ns)
		memcpy(copy.steal_ns, edge->steal_ns, edge->ncpus * sizeof(*copy.steal_ns));
	return copy;
}

void window_edge_free(struct window_edge *edge)
{
	free(edge->steal_ns);
	free(edge->irqs);
	memset(edge, 0, sizeof(*edge));
}

int64_t window_edge_realtime(const struct window_edge *edge, uint64_t clock)
{
	int64_t ns;

	if (__builtin_add_overflow(edge->realtime, (int64_t)(clock - edge->clock), &ns))
		return clock < edge->clock ? INT64_MIN : INT64_MAX;
	return ns;
}

int64_t window_edge_step(const struct window_edge *begin, const struct window_edge *end)
{
	int64_t step, slack = (int64_t)(begin->error_ns + end->error_ns) + STEP_NOTICED;

	if (!begin->clock || !end->clock)
		return 0;
	if (__builtin_sub_overflow(end->realtime, window_edge_realtime(begin, end->clock), &step))
		return INT64_MAX;
	return step > slack || step < -slack ? step : 0;
}

uint64_t window_edge_stolen(const struct window_edge *begin, const struct window_edge *end,
			    unsigned cpu)
{
	uint64_t from, to;

	if (!begin->steal_ns || !end->steal_ns || cpu >= begin->ncpus || cpu >= end->ncpus)
		return STEAL_UNKNOWN;
	from = begin->steal_ns[cpu];
	to = end->steal_ns[cpu];
	return from == STEAL_UNKNOWN || to == STEAL_UNKNOWN || to < from ? STEAL_UNKNOWN
									 : to - from;
}
