/* SPDX-License-Identifier: MIT */
/* perf_events: see perf_events.h. */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "trace/base/log.h"
#include "user/config/perf_events.h"
#include "user/host/topology.h"

#define CACHE(cache, op, result)                                                                   \
	PERF_COUNT_HW_CACHE_##cache | PERF_COUNT_HW_CACHE_OP_##op << 8 |                           \
		PERF_COUNT_HW_CACHE_RESULT_##result << 16

/* The names of perf-list(1). */
static const struct {
	const char *name, *alias;
	uint32_t type;
	uint64_t config;
} known[] = {
	{"cycles", "cpu-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
	{"instructions", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
	{"cache-references", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES},
	{"cache-misses", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
	{"branches", "branch-instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
	{"branch-misses", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
	{"bus-cycles", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES},
	{"ref-cycles", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES},
	{"stalled-cycles-frontend", "idle-cycles-frontend", PERF_TYPE_HARDWARE,
	 PERF_COUNT_HW_STALLED_CYCLES_FRONTEND},
	{"stalled-cycles-backend", "idle-cycles-backend", PERF_TYPE_HARDWARE,
	 PERF_COUNT_HW_STALLED_CYCLES_BACKEND},
	{"L1-dcache-loads", NULL, PERF_TYPE_HW_CACHE, CACHE(L1D, READ, ACCESS)},
	{"L1-dcache-load-misses", NULL, PERF_TYPE_HW_CACHE, CACHE(L1D, READ, MISS)},
	{"LLC-loads", NULL, PERF_TYPE_HW_CACHE, CACHE(LL, READ, ACCESS)},
	{"LLC-load-misses", NULL, PERF_TYPE_HW_CACHE, CACHE(LL, READ, MISS)},
	{"dTLB-load-misses", NULL, PERF_TYPE_HW_CACHE, CACHE(DTLB, READ, MISS)},
	{"iTLB-load-misses", NULL, PERF_TYPE_HW_CACHE, CACHE(ITLB, READ, MISS)},
	{"task-clock", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
	{"cpu-clock", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK},
	{"page-faults", "faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
	{"minor-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN},
	{"major-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ},
	{"context-switches", "cs", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
	{"cpu-migrations", "migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS},
	{"alignment-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS},
	{"emulation-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_EMULATION_FAULTS},
};
#define KNOWN (sizeof(known) / sizeof(known[0]))

#define SOFTWARE                                                                                   \
	"task-clock, page-faults, minor-faults, major-faults, context-switches, cpu-migrations"

struct perf_events {
	const struct counters *counters;
	unsigned ncpus;
	int fds[]; /* by counter and index of the CPU; -1: not open */
};

/* Adds the event `name`; NULL or what is wrong. */
static const char *add(struct counters *counters, const char *name)
{
	static char wrong[200];
	size_t k = 0;

	while (k < KNOWN && strcmp(name, known[k].name) != 0 &&
	       (!known[k].alias || strcmp(name, known[k].alias) != 0))
		k++;
	if (k == KNOWN) {
		snprintf(wrong, sizeof(wrong),
			 "'%.40s' is no event known here: cycles, instructions, ... (see "
			 "ovni-bpf(8))",
			 name);
		return wrong;
	}
	for (unsigned i = 0; i < counters->n; i++)
		if (counters->list[i].name == known[k].name) {
			snprintf(wrong, sizeof(wrong), "%s is given twice", known[k].name);
			return wrong;
		}
	if (counters->n == COUNTERS_MAX) {
		snprintf(wrong, sizeof(wrong), "more than %d events", COUNTERS_MAX);
		return wrong;
	}
	counters->list[counters->n++] =
		(struct counter){known[k].name, known[k].type, known[k].config};
	return NULL;
}

const char *counters_parse(const char *text, struct counters *counters)
{
	char name[64];

	counters->n = 0;
	for (const char *at = text;; at++) {
		size_t len = strcspn(at, ",");
		const char *wrong;

		snprintf(name, sizeof(name), "%.*s", (int)len, at);
		wrong = add(counters, name);
		if (wrong)
			return wrong;
		at += len;
		if (!*at)
			return NULL;
	}
}

static int refused(const struct counter *counter, unsigned cpu, int err)
{
	bool none = err == -ENOENT || err == -ENODEV || err == -EOPNOTSUPP;

	if (none && counter->type != PERF_TYPE_SOFTWARE)
		log_error(
			"--counters: this machine cannot count %s (it has no PMU, as many virtual "
			"machines, or its PMU lacks the event); software events need "
			"none: " SOFTWARE,
			counter->name);
	else if (err == -EPERM || err == -EACCES)
		log_error("--counters: not permitted to open the perf event %s of all threads: run "
			  "ovni-bpf as root, or with CAP_PERFMON",
			  counter->name);
	else
		log_error("--counters: cannot open the perf event %s on CPU %u: %s", counter->name,
			  cpu, strerror(-err));
	return err;
}

static int open_event(const struct counter *counter, unsigned cpu)
{
	struct perf_event_attr attr = {
		.type = counter->type,
		.size = sizeof(attr),
		.config = counter->config,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int perf_events_open(struct perf_events **out, const struct counters *counters,
		     const struct topology *topology, unsigned npossible, int map_fd)
{
	unsigned ncpus = topology->ncpus;
	struct perf_events *events = malloc(sizeof(*events) + sizeof(int) * counters->n * ncpus);

	*out = events;
	if (!events)
		return log_no_memory("for the perf events");
	events->counters = counters;
	events->ncpus = ncpus;
	for (unsigned i = 0; i < counters->n * ncpus; i++)
		events->fds[i] = -1;
	for (unsigned i = 0; i < counters->n * ncpus; i++) {
		unsigned cpu = topology->phyid[i % ncpus];
		__u32 key = i / ncpus * npossible + cpu;
		int fd = open_event(&counters->list[i / ncpus], cpu);

		if (fd < 0)
			return refused(&counters->list[i / ncpus], cpu, fd);
		events->fds[i] = fd;
		if (bpf_map_update_elem(map_fd, &key, &fd, BPF_ANY))
			return refused(&counters->list[i / ncpus], cpu, -errno);
	}
	return 0;
}

bool perf_events_times(const struct perf_events *events, unsigned i, uint64_t *enabled,
		       uint64_t *running)
{
	struct {
		uint64_t value, enabled, running;
	} now;

	*enabled = *running = 0;
	for (unsigned cpu = 0; cpu < events->ncpus; cpu++) {
		if (read(events->fds[i * events->ncpus + cpu], &now, sizeof(now)) != sizeof(now))
			return false;
		*enabled += now.enabled;
		*running += now.running;
	}
	return true;
}

void perf_events_close(struct perf_events *events)
{
	if (!events)
		return;
	for (unsigned i = 0; i < events->counters->n * events->ncpus; i++)
		if (events->fds[i] >= 0)
			close(events->fds[i]);
	free(events);
}
