/* SPDX-License-Identifier: MIT */
/* perf_lines: see perf_lines.h. */
#include <inttypes.h>
#include <string.h>

#include "user/config/session_info.h"
#include "user/stats/perf_lines.h"
#include "trace/ovni/stats_file.h"
#include "trace/base/text.h"

void perf_string(FILE *out, const char *text, size_t len)
{
	char shown[4 * RECORD_COMM_SIZE + 1];

	text_escape(shown, sizeof(shown), text, len);
	fputc('"', out);
	for (const char *at = shown; *at; at++) {
		if (*at == '"' || *at == '\\')
			fputc('\\', out);
		fputc(*at, out);
	}
	fputc('"', out);
}

static void put(FILE *out, const char *key, uint64_t value)
{
	fprintf(out, ", \"%s\": %" PRIu64, key, value);
}

static void put_comm(FILE *out, const char *comm)
{
	fputs(", \"comm\": ", out);
	perf_string(out, comm, strnlen(comm, RECORD_COMM_SIZE));
}

/* The reasons of a thread off the CPU that are blocked ones. */
static const struct {
	unsigned why;
	const char *name;
} reasons[] = {
	{OFF_CPU_SLEEPING, "sleeping"},
	{OFF_CPU_UNINTERRUPTIBLE, "uninterruptible"},
	{OFF_CPU_IO, "io"},
	{OFF_CPU_STOPPED, "stopped"},
	{OFF_CPU_TRACED, "traced"},
	{OFF_CPU_PARKED, "parked"},
	{OFF_CPU_IDLE, "idle"},
	{OFF_CPU_UNKNOWN, "before"},
};

void perf_counters(FILE *out, uint64_t life_ns, const struct thread_counters *c)
{
	uint64_t dropped = c->events_full;

	put(out, "total_ns", life_ns);
	put(out, "active_ns", c->active_ns);
	put(out, "runnable_ns", c->runnable_ns);
	put(out, "blocked_ns", counters_blocked(c));
	put(out, "unknown_ns", c->unknown_ns);
	fputs(", \"blocked\": {", out);
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		fprintf(out, "%s\"%s\": %" PRIu64, i ? ", " : "", reasons[i].name,
			(uint64_t)c->blocked_ns[reasons[i].why]);
	fputc('}', out);
	put(out, "switches_voluntary", c->switches_voluntary);
	put(out, "switches_preempted", c->switches_preempted);
	put(out, "yields", c->yields);
	put(out, "wakeups", c->wakeups);
	put(out, "migrations", c->migrations);
	put(out, "calls", c->calls);
	put(out, "calls_ns", c->calls_ns);
	put(out, "events_seen", c->events_seen);
	put(out, "events_written",
	    c->events_seen - c->events_filtered - c->events_sampled - dropped);
	put(out, "events_filtered", c->events_filtered);
	put(out, "events_sampled_out", c->events_sampled);
	put(out, "events_dropped", dropped);
}

/* Opens with the metrics of a thread, or of many; the caller may add some and closes. */
static void put_metrics(FILE *out, uint64_t life_ns, const struct thread_counters *c)
{
	fputs(", \"metrics\": {", out);
	perf_ratio(out, "utilization", c->active_ns, life_ns, false);
	fputs(", ", out);
	perf_ratio(out, "input_stall_ratio", counters_blocked(c), life_ns, false);
	fputs(", ", out);
	perf_ratio(out, "output_stall_ratio", c->runnable_ns, life_ns, false);
	fputs(", ", out);
	perf_ratio(out, "unknown_ratio", c->unknown_ns, life_ns, false);
	fputs(", ", out);
	perf_ratio(out, "throughput", c->wakeups, c->active_ns, true);
	fputs(", ", out);
	perf_ratio(out, "call_throughput", c->calls, c->active_ns, true);
	fputs(", ", out);
	perf_ratio(out, "mean_wait_ns", c->runnable_ns, c->wakeups + c->switches_preempted, true);
	fputs(", ", out);
	perf_ratio(out, "drop_ratio", c->events_full, c->events_seen, false);
}

static void begin(FILE *out, uint64_t clock, const char *scope, unsigned interval)
{
	fprintf(out, PERF_LINE_BEGINS "%" PRIu64 ", \"scope\": \"%s\"", clock, scope);
	if (interval)
		put(out, "interval", interval);
}

void perf_thread(FILE *out, const struct thread_figures *f, const struct counters *counters,
		 unsigned interval)
{
	uint64_t life = counters_life(f, counters->t0, counters->t1);

	begin(out, f->clock, "thread", interval);
	put(out, "tid", f->counters.tid);
	put(out, "pid", f->counters.pid);
	put_comm(out, f->comm);
	perf_counters(out, life, &f->counters);
	put_metrics(out, life, &f->counters);
	fputs("}}", out);
}

void perf_process(FILE *out, const struct perf_sums *p, uint64_t clock, unsigned interval)
{
	begin(out, clock, "process", interval);
	put(out, "pid", p->pid);
	put_comm(out, p->comm);
	put(out, "threads", p->threads.threads);
	perf_counters(out, p->life_ns, &p->threads);
	put_metrics(out, p->life_ns, &p->threads);
	fputs("}}", out);
}

static const char *const group_names[PROGRAM_GROUPS] = {
	[PROGRAMS_SWITCH] = "switch",	    [PROGRAMS_WAKE] = "wake",	[PROGRAMS_LIFE] = "life",
	[PROGRAMS_INTERRUPT] = "interrupt", [PROGRAMS_PROBE] = "probe",
};

static uint64_t put_cost(FILE *out, const struct counters_cost costs[PROGRAM_GROUPS])
{
	uint64_t runs = 0, ns = 0;

	fputs(", \"programs\": {", out);
	for (unsigned i = 0; i < PROGRAM_GROUPS; i++) {
		runs += costs[i].runs;
		ns += perf_cost_ns(costs[i].runs, costs[i].timed_runs, costs[i].timed_ns);
		fprintf(out,
			"%s\"%s\": {\"runs\": %" PRIu64 ", \"timed_runs\": %" PRIu64
			", \"timed_ns\": %" PRIu64 "}",
			i ? ", " : "", group_names[i], (uint64_t)costs[i].runs,
			(uint64_t)costs[i].timed_runs, (uint64_t)costs[i].timed_ns);
	}
	fputc('}', out);
	put(out, "prog_runs", runs);
	put(out, "prog_ns", ns);
	return ns;
}

void perf_account(FILE *out, const struct facts_kind *k)
{
	fprintf(out,
		"\"seen\": %" PRIu64 ", \"written\": %" PRIu64 ", \"filtered\": %" PRIu64
		", \"sampled_out\": %" PRIu64 ", \"dropped\": %" PRIu64
		", \"dropped_full\": %" PRIu64 ", \"dropped_size\": 0, \"dropped_user\": %" PRIu64,
		k->seen, k->written, k->filtered, k->sampled, k->full + k->user, k->full, k->user);
}

void perf_cpu(FILE *out, const struct counters_cpu *cpu, const struct facts_cpu *account,
	      const struct counters *counters, unsigned interval)
{
	const uint64_t *ns = (const uint64_t *)cpu->counters.ns;
	uint64_t total = cpu->clock - counters->t0, cost;
	struct facts_kind sum = {0};

	begin(out, cpu->clock, "cpu", interval);
	put(out, "cpu", cpu->cpu);
	put(out, "total_ns", total);
	put(out, "active_ns", ns[CPU_THREAD]);
	put(out, "other_ns", ns[CPU_OTHER]);
	put(out, "idle_ns", ns[CPU_IDLE]);
	put(out, "unknown_ns", ns[CPU_UNKNOWN]);
	put(out, "switches", cpu->counters.switches);
	for (unsigned kind = 0; account && kind < EVENT_KINDS; kind++)
		facts_add(&sum, &account->kinds[kind]);
	if (account) {
		fputs(", ", out);
		perf_account(out, &sum);
	}
	cost = put_cost(out, cpu->costs);
	fputs(", \"metrics\": {", out);
	perf_ratio(out, "utilization", ns[CPU_THREAD] + ns[CPU_OTHER], total, false);
	fputs(", ", out);
	perf_ratio(out, "traced_share", ns[CPU_THREAD], ns[CPU_THREAD] + ns[CPU_OTHER], false);
	fputs(", ", out);
	perf_ratio(out, "input_stall_ratio", ns[CPU_IDLE], total, false);
	fputs(", ", out);
	perf_ratio(out, "throughput", cpu->counters.switches, ns[CPU_THREAD], true);
	fputs(", ", out);
	perf_ratio(out, "overhead", cost, total, false);
	if (account) {
		fputs(", ", out);
		perf_ratio(out, "drop_ratio", sum.full + sum.user, sum.seen, false);
	}
	fputs("}}", out);
}

void perf_run(FILE *out, const struct perf_run *run, unsigned interval)
{
	const struct thread_counters *c = &run->all.threads;
	const uint64_t *ns = run->cpu_ns;
	uint64_t total = run->window_ns * run->ncpus;

	begin(out, run->clock, "run", interval);
	put(out, "threads", c->threads);
	perf_counters(out, run->all.life_ns, c);
	put(out, "window_ns", run->window_ns);
	put(out, "cpus", run->ncpus);
	put(out, "cpu_active_ns", ns[CPU_THREAD]);
	put(out, "cpu_other_ns", ns[CPU_OTHER]);
	put(out, "cpu_idle_ns", ns[CPU_IDLE]);
	put(out, "cpu_unknown_ns", ns[CPU_UNKNOWN]);
	put(out, "switches", run->switches);
	put(out, "prog_runs", run->prog_runs);
	put(out, "prog_ns", run->prog_ns);
	fputs(", \"metrics\": {", out);
	perf_ratio(out, "utilization", ns[CPU_THREAD], total, false);
	fputs(", ", out);
	perf_ratio(out, "traced_share", ns[CPU_THREAD], ns[CPU_THREAD] + ns[CPU_OTHER], false);
	fputs(", ", out);
	perf_ratio(out, "input_stall_ratio", counters_blocked(c), run->all.life_ns, false);
	fputs(", ", out);
	perf_ratio(out, "output_stall_ratio", c->runnable_ns, run->all.life_ns, false);
	fputs(", ", out);
	perf_ratio(out, "unknown_ratio", c->unknown_ns, run->all.life_ns, false);
	fputs(", ", out);
	perf_ratio(out, "throughput", c->wakeups, c->active_ns, true);
	fputs(", ", out);
	perf_ratio(out, "mean_wait_ns", c->runnable_ns, c->wakeups + c->switches_preempted, true);
	fputs(", ", out);
	perf_ratio(out, "overhead", run->prog_ns, total, false);
	fputs(", ", out);
	perf_ratio(out, "drop_ratio", c->events_full, c->events_seen, false);
	fputs("}}", out);
}
