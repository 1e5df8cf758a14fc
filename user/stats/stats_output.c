/* SPDX-License-Identifier: MIT */
/* stats_output: see stats_output.h. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/config/config.h"
#include "user/config/window_edge.h"
#include "user/config/session_info.h"
#include "user/host/clock.h"
#include "user/host/self_cost.h"
#include "user/kernel/event_counts.h"
#include "user/stats/stats_output.h"
#include "user/writer/writer.h"
#include "trace/base/build_info.h"
#include "trace/base/log.h"
#include "trace/base/text.h"
#include "trace/ovni/stats_file.h"

/* ---- sums ---- */

static void sum_thread(struct stats_sums *sums, const struct thread_stats *t)
{
	if (!sums->times.threads || t->begin < sums->begin)
		sums->begin = t->begin;
	if (t->end > sums->end)
		sums->end = t->end;
	sums->alive |= t->alive;
	sums->life_ns += t->end > t->begin ? t->end - t->begin : 0;
	if (!sums->comm[0] || t->tid == t->pid)
		memcpy(sums->comm, t->comm, sizeof(sums->comm));
	thread_times_add(&sums->times, &t->times);
}

/* Unlisted threads lived as long as their parts say. */
static uint64_t unlisted_life(const struct thread_times *t)
{
	return t->active_ns + t->runnable_ns + t->unknown_ns + thread_times_blocked(t);
}

/* All runs, and their cost, estimated from the timed ones. */
static struct program_runs sum_programs(const struct cpu_cost *cost)
{
	struct program_runs sum = {0};

	for (unsigned group = 0; group < PROGRAM_GROUPS; group++) {
		const struct program_runs *g = &cost->groups[group];

		sum.runs += g->runs;
		if (g->timed_runs)
			sum.timed_ns += (uint64_t)((unsigned __int128)g->timed_ns * g->runs /
						   g->timed_runs);
	}
	return sum;
}

void stats_sum(const struct stats_file *file, const struct time_stats *times, struct stats_run *run)
{
	*run = (struct stats_run){.ncpus = times->ncpus};
	for (size_t i = 0; i < times->nthreads; i++)
		sum_thread(&run->all, &times->threads[i]);
	if (times->unlisted.threads) {
		run->all.life_ns += unlisted_life(&times->unlisted);
		thread_times_add(&run->all.times, &times->unlisted);
	}
	for (unsigned i = 0; i < times->ncpus; i++) {
		const struct cpu_stats *cpu = &times->cpus[i];

		if (cpu->end > run->clock)
			run->clock = cpu->end;
		for (unsigned use = 0; use < CPU_USES; use++)
			run->cpu_ns[use] += cpu->ns[use];
		run->switches += cpu->switches;
	}
	for (unsigned i = 0; i < file->ncpus; i++) {
		struct program_runs sum = sum_programs(&file->costs[i]);

		run->prog_runs += sum.runs;
		run->prog_ns += sum.timed_ns;
	}
	run->window_ns = run->clock > times->t0 ? run->clock - times->t0 : 0;
}

static int by_process(const void *a, const void *b)
{
	const struct thread_stats *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

/* The next process at *at, which is moved behind it. The threads are sorted. */
static void next_process(const struct time_stats *times, size_t *at, struct stats_sums *process)
{
	*process = (struct stats_sums){.pid = times->threads[*at].pid};
	for (; *at < times->nthreads && times->threads[*at].pid == process->pid; (*at)++)
		sum_thread(process, &times->threads[*at]);
}

/* ---- lines ---- */

static void put_string(FILE *out, const char *text, size_t len)
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
	put_string(out, comm, strnlen(comm, RECORD_COMM_SIZE));
}

/* The reasons for which a thread blocks. */
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

static void put_times(FILE *out, uint64_t life_ns, const struct thread_times *t)
{
	put(out, "total_ns", life_ns);
	put(out, "active_ns", t->active_ns);
	put(out, "runnable_ns", t->runnable_ns);
	put(out, "throttled_ns", t->throttled_ns);
	put(out, "blocked_ns", thread_times_blocked(t));
	put(out, "unknown_ns", t->unknown_ns);
	fputs(", \"blocked\": {", out);
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		fprintf(out, "%s\"%s\": %" PRIu64, i ? ", " : "", reasons[i].name,
			(uint64_t)t->blocked_ns[reasons[i].why]);
	fputc('}', out);
	put(out, "switches_voluntary", t->switches_voluntary);
	put(out, "switches_preempted", t->switches_preempted);
	put(out, "yields", t->yields);
	put(out, "wakeups", t->wakeups);
	put(out, "migrations", t->migrations);
	put(out, "calls", t->calls);
	put(out, "calls_ns", t->calls_ns);
}

/* Opens the metrics with the utilization. */
static void open_metrics(FILE *out, uint64_t above, uint64_t below)
{
	fprintf(out, ", \"metrics\": {\"utilization\": %.9g",
		below ? (double)above / (double)below : 0.0);
}

/* A metric: above / below. If below is 0, it is null if `null` is set, else 0. */
static void put_ratio(FILE *out, const char *name, uint64_t above, uint64_t below, bool null)
{
	if (!below && null)
		fprintf(out, ", \"%s\": null", name);
	else
		fprintf(out, ", \"%s\": %.9g", name, below ? (double)above / (double)below : 0.0);
}

/* The times and metrics of a thread, or of many, and the end of the line. */
static void end_thread_line(FILE *out, uint64_t life_ns, const struct thread_times *t)
{
	put_times(out, life_ns, t);
	open_metrics(out, t->active_ns, life_ns);
	put_ratio(out, "input_stall_ratio", thread_times_blocked(t), life_ns, false);
	put_ratio(out, "output_stall_ratio", t->runnable_ns, life_ns, false);
	put_ratio(out, "unknown_ratio", t->unknown_ns, life_ns, false);
	put_ratio(out, "throughput", t->wakeups, t->active_ns, true);
	put_ratio(out, "call_throughput", t->calls, t->active_ns, true);
	put_ratio(out, "mean_wait_ns", t->runnable_ns, t->wakeups + t->switches_preempted, true);
	fputs("}}", out);
}

/* `interval` is the number of the moment while the session runs, from 1; 0 at its end. */
static void begin_line(FILE *out, uint64_t clock, const char *scope, unsigned interval)
{
	fprintf(out, STATS_LINE_BEGINS "%" PRIu64 ", \"scope\": \"%s\"", clock_in_trace(clock),
		scope);
	if (interval)
		put(out, "interval", interval);
}

static void put_thread(FILE *out, const struct thread_stats *t, unsigned interval)
{
	begin_line(out, t->end, "thread", interval);
	put(out, "tid", t->tid);
	put(out, "pid", t->pid);
	put_comm(out, t->comm);
	end_thread_line(out, t->end > t->begin ? t->end - t->begin : 0, &t->times);
}

static void put_process(FILE *out, const struct stats_sums *p)
{
	begin_line(out, p->end, "process", 0);
	put(out, "pid", p->pid);
	put_comm(out, p->comm);
	put(out, "threads", p->times.threads);
	end_thread_line(out, p->life_ns, &p->times);
}

static const char *const group_names[PROGRAM_GROUPS] = {
	[PROGRAMS_SWITCH] = "switch",	    [PROGRAMS_WAKE] = "wake",	[PROGRAMS_LIFE] = "life",
	[PROGRAMS_INTERRUPT] = "interrupt", [PROGRAMS_PROBE] = "probe",
};

static void put_programs(FILE *out, const struct cpu_cost *cost)
{
	struct program_runs sum = sum_programs(cost);

	fputs(", \"programs\": {", out);
	for (unsigned i = 0; i < PROGRAM_GROUPS; i++)
		fprintf(out,
			"%s\"%s\": {\"runs\": %" PRIu64 ", \"timed_runs\": %" PRIu64
			", \"timed_ns\": %" PRIu64 "}",
			i ? ", " : "", group_names[i], cost->groups[i].runs,
			cost->groups[i].timed_runs, cost->groups[i].timed_ns);
	fputc('}', out);
	put(out, "prog_runs", sum.runs);
	put(out, "prog_ns", sum.timed_ns);
}

static void put_counts(FILE *out, const struct event_count *k)
{
	fprintf(out,
		"\"seen\": %" PRIu64 ", \"written\": %" PRIu64 ", \"filtered\": %" PRIu64
		", \"sampled_out\": %" PRIu64 ", \"dropped\": %" PRIu64
		", \"dropped_full\": %" PRIu64 ", \"dropped_size\": 0, \"dropped_user\": %" PRIu64,
		k->seen, k->written, k->filtered, k->sampled, k->full + k->user, k->full, k->user);
}

/* `counts` may be NULL, and `stolen` STEAL_UNKNOWN: not known while the session runs. */
static void put_cpu(FILE *out, const struct cpu_stats *cpu, const struct cpu_cost *cost,
		    const struct event_count *counts, uint64_t stolen, uint64_t t0,
		    unsigned interval, bool idle_known)
{
	uint64_t total = cpu->end > t0 ? cpu->end - t0 : 0;
	uint64_t busy = cpu->ns[CPU_THREAD] + cpu->ns[CPU_OTHER];

	begin_line(out, cpu->end, "cpu", interval);
	put(out, "cpu", cpu->cpu);
	put(out, "total_ns", total);
	put(out, "active_ns", cpu->ns[CPU_THREAD]);
	put(out, "other_ns", cpu->ns[CPU_OTHER]);
	put(out, "idle_ns", cpu->ns[CPU_IDLE]);
	put(out, "unknown_ns", cpu->ns[CPU_UNKNOWN]);
	if (stolen != STEAL_UNKNOWN)
		put(out, "steal_ns", stolen);
	put(out, "switches", cpu->switches);
	if (counts) {
		fputs(", ", out);
		put_counts(out, counts);
	}
	put_programs(out, cost);
	if (idle_known) {
		open_metrics(out, busy, total);
		put_ratio(out, "traced_share", cpu->ns[CPU_THREAD], busy, false);
		put_ratio(out, "input_stall_ratio", cpu->ns[CPU_IDLE], total, false);
	} else {
		fputs(", \"metrics\": {\"utilization\": null, \"traced_share\": null"
		      ", \"input_stall_ratio\": null",
		      out);
	}
	put_ratio(out, "throughput", cpu->switches, cpu->ns[CPU_THREAD], true);
	put_ratio(out, "overhead", sum_programs(cost).timed_ns, total, false);
	if (counts)
		put_ratio(out, "drop_ratio", counts->full + counts->user, counts->seen, false);
	fputs("}}", out);
}

static void put_run(FILE *out, const struct stats_run *run, unsigned interval, bool idle_known)
{
	const struct thread_times *t = &run->all.times;
	const uint64_t *ns = run->cpu_ns;
	uint64_t total = run->window_ns * run->ncpus;

	begin_line(out, run->clock, "run", interval);
	put(out, "threads", t->threads);
	put_times(out, run->all.life_ns, t);
	put(out, "window_ns", run->window_ns);
	put(out, "cpus", run->ncpus);
	put(out, "cpu_active_ns", ns[CPU_THREAD]);
	put(out, "cpu_other_ns", ns[CPU_OTHER]);
	put(out, "cpu_idle_ns", ns[CPU_IDLE]);
	put(out, "cpu_unknown_ns", ns[CPU_UNKNOWN]);
	put(out, "switches", run->switches);
	put(out, "prog_runs", run->prog_runs);
	put(out, "prog_ns", run->prog_ns);
	open_metrics(out, ns[CPU_THREAD], total);
	if (idle_known)
		put_ratio(out, "traced_share", ns[CPU_THREAD], ns[CPU_THREAD] + ns[CPU_OTHER],
			  false);
	else
		fputs(", \"traced_share\": null", out);
	put_ratio(out, "input_stall_ratio", thread_times_blocked(t), run->all.life_ns, false);
	put_ratio(out, "output_stall_ratio", t->runnable_ns, run->all.life_ns, false);
	put_ratio(out, "unknown_ratio", t->unknown_ns, run->all.life_ns, false);
	put_ratio(out, "throughput", t->wakeups, t->active_ns, true);
	put_ratio(out, "mean_wait_ns", t->runnable_ns, t->wakeups + t->switches_preempted, true);
	put_ratio(out, "overhead", run->prog_ns, total, false);
	fputs("}}", out);
}

/* ---- the document ---- */

static void put_list(FILE *out, const char *key, uint32_t kinds)
{
	const char *comma = "";

	fprintf(out, "\"%s\": [", key);
	for (unsigned kind = 0; kind < EVENT_OTHER; kind++) {
		if (!(kinds & 1u << kind))
			continue;
		fprintf(out, "%s\"%s\"", comma, event_kind_names[kind]);
		comma = ", ";
	}
	fputc(']', out);
}

static void put_numbers(FILE *out, const char *key, const uint32_t *list, size_t n)
{
	fprintf(out, "\"%s\": ", key);
	if (!list) {
		fputs("null", out);
		return;
	}
	fputc('[', out);
	for (size_t i = 0; i < n; i++)
		fprintf(out, "%s%" PRIu32, i ? ", " : "", list[i]);
	fputc(']', out);
}

/* The events that a full buffer drops, and those that a flight recorder keeps. */
static void put_buffer(FILE *out, const struct options *o)
{
	if (o->mode != MODE_FULL)
		fputs("    \"buffer\": null,\n", out);
	else if (o->last_bytes)
		fprintf(out,
			"    \"buffer\": {\"policy\": \"drop-old\", \"bytes\": %" PRIu64
			", \"keep_ns\": %" PRIu64 ", \"keep_bytes\": %" PRIu64 "},\n",
			o->buffer_bytes, o->last_ns, o->last_bytes);
	else
		fprintf(out,
			"    \"buffer\": {\"policy\": \"drop-new\", \"bytes\": %" PRIu64 "},\n",
			o->buffer_bytes);
}

static void put_controls(FILE *out, const struct stats_session *session)
{
	const struct options *o = session->options;

	fputs("  \"controls\": {\n    ", out);
	if (o->kinds == KINDS_ALL)
		fputs("\"kinds\": null", out);
	else
		put_list(out, "kinds", o->kinds);
	fputs(",\n    ", out);
	put_list(out, "kinds_off", ~session->kinds);
	fputs(",\n    ", out);
	put_numbers(out, "cores", o->cpu_list ? o->cpus.phyid : NULL, o->cpus.ncpus);
	fputs(",\n    ", out);
	put_numbers(out, "nodes", o->pids, o->npids);
	fprintf(out,
		",\n    \"sampling\": {\"keep\": %" PRIu32 ", \"of\": %" PRIu32
		", \"seed\": %" PRIu64 "},\n",
		o->sample_keep, o->sample_of, o->sample_seed);
	put_buffer(out, o);
	fprintf(out, "    \"interval_ns\": %" PRIu64 "\n  },\n", o->interval_ns);
}

/* The event counts of a CPU, all kinds together. */
static struct event_count sum_kinds(const struct cpu_event_counts *cpu)
{
	struct event_count sum = {0};

	for (unsigned kind = 0; kind < EVENT_KINDS; kind++)
		event_count_add(&sum, &cpu->kinds[kind]);
	return sum;
}

/* A count of a breakdown, unless it is 0. */
static void put_dropped(FILE *out, const char *key, const struct event_count *k, const char **comma)
{
	if (!(k->full + k->user))
		return;
	fprintf(out, "%s\"%s\": %" PRIu64, *comma, key, k->full + k->user);
	*comma = ", ";
}

static void put_events(FILE *out, const struct event_counts *counts, uint32_t kinds)
{
	struct event_count all = {0}, by_kind[EVENT_KINDS] = {{0}};
	const char *comma = "";

	for (size_t i = 0; i < counts->ncpus; i++) {
		for (unsigned kind = 0; kind < EVENT_KINDS; kind++) {
			event_count_add(&all, &counts->cpus[i].kinds[kind]);
			event_count_add(&by_kind[kind], &counts->cpus[i].kinds[kind]);
		}
	}
	fputs("  \"events\": {\n    ", out);
	put_counts(out, &all);
	fprintf(out, ",\n    \"missed\": %" PRIu64 ",\n    \"dropped_by_kind\": {", counts->missed);
	for (unsigned kind = 0; kind < EVENT_KINDS; kind++)
		put_dropped(out, event_kind_names[kind], &by_kind[kind], &comma);
	fputs("},\n    \"dropped_by_core\": {", out);
	comma = "";
	for (size_t i = 0; i < counts->ncpus; i++) {
		struct event_count sum = sum_kinds(&counts->cpus[i]);
		char name[16];

		snprintf(name, sizeof(name), "%u", counts->cpus[i].cpu);
		put_dropped(out, name, &sum, &comma);
	}
	fputs("},\n    \"by_core_and_kind\": [", out);
	comma = "\n";
	for (size_t i = 0; i < counts->ncpus; i++) {
		for (unsigned kind = 0; kind < EVENT_KINDS; kind++) {
			/* a kind that is off may be seen, too, and counts then */
			if (!(kinds & 1u << kind) && !counts->cpus[i].kinds[kind].seen)
				continue;
			fprintf(out, "%s      {\"cpu\": %u, \"kind\": \"%s\", ", comma,
				counts->cpus[i].cpu, event_kind_names[kind]);
			put_counts(out, &counts->cpus[i].kinds[kind]);
			fputc('}', out);
			comma = ",\n";
		}
	}
	fputs("\n    ]\n  },\n", out);
}

/* An invocation is a process, from its first thread in the window to its last. */
static void put_invocations(FILE *out, const struct time_stats *times)
{
	struct stats_sums process;
	size_t at = 0;

	fputs("  \"invocations\": [", out);
	while (at < times->nthreads) {
		const char *comma = at ? ",\n" : "\n";

		next_process(times, &at, &process);
		fprintf(out,
			"%s    {\"epoch_id\": 1, \"invocation_id\": %" PRIu32
			", \"start_cycle\": %" PRIu64 ", \"end_cycle\": %" PRIu64
			", \"status\": \"%s\"}",
			comma, process.pid, clock_in_trace(process.begin),
			clock_in_trace(process.end), process.alive ? "cut" : "done");
	}
	fputs("\n  ],\n", out);
}

static void put_recorder(FILE *out, const struct cost *cost)
{
	fprintf(out,
		"  \"recorder\": {\"cpu_ns\": %" PRIu64 ", \"user_ns\": %" PRIu64
		", \"system_ns\": %" PRIu64 ", \"peak_rss_bytes\": %" PRIu64 ", \"threads\": [",
		cost->cpu_ns, cost->user_ns, cost->system_ns, cost->peak_rss_bytes);
	for (size_t i = 0; i < cost->nthreads; i++) {
		fputs(i ? ", {\"name\": " : "{\"name\": ", out);
		put_string(out, cost->threads[i].name, strlen(cost->threads[i].name));
		fprintf(out, ", \"cpu_ns\": %" PRIu64 "}", cost->threads[i].cpu_ns);
	}
	fputs("]},\n", out);
}

static void put_unlisted(FILE *out, const struct thread_times *t)
{
	fprintf(out, "  \"unlisted\": {\"threads\": %" PRIu64, (uint64_t)t->threads);
	put_times(out, unlisted_life(t), t);
	fputs("},\n", out);
}

/* The event counts of a CPU; none if it is not in the table. */
static struct event_count counts_of(const struct event_counts *counts, unsigned cpu)
{
	for (size_t i = 0; i < counts->ncpus; i++) {
		if (counts->cpus[i].cpu == cpu)
			return sum_kinds(&counts->cpus[i]);
	}
	return (struct event_count){0};
}

/* Copies the snapshots that were written while the session ran. */
static int copy_part(FILE *out, struct stats_file *file)
{
	char bytes[1 << 16];
	off_t left = file->whole;

	if (!file->part)
		return 0;
	if (fflush(file->part) || fseek(file->part, 0, SEEK_SET))
		return -errno;
	while (left > 0) {
		size_t n = left < (off_t)sizeof(bytes) ? (size_t)left : sizeof(bytes);

		if (fread(bytes, 1, n, file->part) != n)
			return -EIO;
		if (fwrite(bytes, 1, n, out) != n)
			return -errno;
		left -= (off_t)n;
	}
	return 0;
}

static int put_snapshots(FILE *out, struct stats_file *file, const struct time_stats *times,
			 const struct stats_session *session)
{
	struct stats_sums process;
	struct stats_run run;
	size_t at = 0;
	int err;

	fputs("  \"snapshots\": [\n", out);
	err = copy_part(out, file);
	if (err)
		return err;
	stats_sum(file, times, &run);
	put_run(out, &run, 0, file->idle_known);
	for (unsigned i = 0; i < times->ncpus; i++) {
		struct event_count events = counts_of(session->counts, times->cpus[i].cpu);
		uint64_t stolen =
			window_edge_stolen(session->begin, session->end, times->cpus[i].cpu);

		fputs(",\n", out);
		put_cpu(out, &times->cpus[i], &file->costs[i], &events, stolen, times->t0, 0,
			file->idle_known);
	}
	while (at < times->nthreads) {
		fputs(",\n", out);
		next_process(times, &at, &process);
		put_process(out, &process);
	}
	for (at = 0; at < times->nthreads; at++) {
		fputs(",\n", out);
		put_thread(out, &times->threads[at], 0);
	}
	fputs("\n  ]\n}\n", out);
	return 0;
}

static int put_document(FILE *out, struct stats_file *file, struct time_stats *times,
			const struct stats_session *session)
{
	if (times->nthreads)
		qsort(times->threads, times->nthreads, sizeof(*times->threads), by_process);
	fprintf(out,
		STATS_BEGINS ", \"version\": %d, \"producer\": \"ovni-bpf %s (%s)\",\n"
			     "  \"mode\": \"%s\", \"unit\": \"ns\", \"idle_known\": %s,\n"
			     "  \"clock\": {\"period_ps\": 1000},\n",
		STATS_VERSION, version_string, version_commit,
		session->options->mode == MODE_FULL ? "full" : "summary",
		file->idle_known ? "true" : "false");
	fprintf(out,
		"  \"window\": {\"first_cycle\": %" PRIu64 ", \"end_cycle\": %" PRIu64
		", \"total_cycles\": %" PRIu64 ", \"cpus\": %u,\n"
		"    \"first_realtime_ns\": %" PRId64 ", \"end_realtime_ns\": %" PRId64 "},\n",
		clock_in_trace(session->t0), clock_in_trace(session->t1), session->t1 - session->t0,
		times->ncpus, window_edge_realtime(session->begin, session->t0),
		window_edge_realtime(session->end, session->t1));
	put_controls(out, session);
	put_events(out, session->counts, session->kinds);
	put_invocations(out, times);
	put_recorder(out, session->cost);
	put_unlisted(out, &times->unlisted);
	return put_snapshots(out, file, times, session);
}

/* ---- files ---- */

/* A new file NAME + suffix beside it. */
static int create(const struct stats_file *file, const char *suffix, char *name, size_t size,
		  FILE **out)
{
	int fd, err;

	snprintf(name, size, "%s%s", file->name, suffix);
	fd = openat(file->dirfd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	*out = fdopen(fd, "w+");
	if (*out)
		return 0;
	err = -errno;
	close(fd);
	return err;
}

/* Gives the finished file its name, unless another file has that name by now. */
static int place(const struct stats_file *file, const char *name)
{
	if (!renameat2(file->dirfd, name, file->dirfd, file->name, RENAME_NOREPLACE))
		return 0;
	if (errno != EINVAL && errno != ENOSYS) /* not every file system can do that */
		return -errno;
	if (!faccessat(file->dirfd, file->name, F_OK, AT_SYMLINK_NOFOLLOW))
		return -EEXIST;
	return renameat(file->dirfd, name, file->dirfd, file->name) ? -errno : 0;
}

/* Hands all output to the kernel. */
static int flush(FILE *out)
{
	errno = 0;
	if (!fflush(out) && !ferror(out))
		return 0;
	return errno ? -errno : -EIO;
}

/* The costs of our programs since the window opened, or, with `begin`, up to then. */
static void read_costs(struct stats_file *file, bool begin)
{
	for (unsigned i = 0; i < file->ncpus; i++) {
		struct cpu_cost *cost = &file->costs[i];
		const struct cpu_state *state = &file->states[cost->cpu];

		for (unsigned group = 0; group < PROGRAM_GROUPS; group++) {
			struct program_runs *before = &cost->before[group];
			struct program_runs now = {state->runs[group],
						   state->costs[group].timed_runs,
						   state->costs[group].timed_ns};

			if (begin)
				*before = now;
			cost->groups[group] = (struct program_runs){
				now.runs - before->runs,
				now.timed_runs - before->timed_runs,
				now.timed_ns - before->timed_ns,
			};
		}
	}
}

int stats_open(struct stats_file *file, const struct cpu_state *states, const unsigned *cpus,
	       unsigned ncpus)
{
	file->states = states;
	file->costs = calloc(ncpus + 1, sizeof(*file->costs));
	if (!file->costs)
		return log_no_memory("for the cost of our programs");
	file->ncpus = ncpus;
	for (unsigned i = 0; i < ncpus; i++)
		file->costs[i].cpu = cpus[i];
	read_costs(file, true);
	return 0;
}

/* A line for the run, for each CPU, and for each live thread. */
static void put_interval(const struct stats_file *file, const struct time_stats *times,
			 unsigned interval)
{
	struct stats_run run;

	stats_sum(file, times, &run);
	put_run(file->part, &run, interval, file->idle_known);
	fputs(",\n", file->part);
	for (unsigned i = 0; i < times->ncpus; i++) {
		put_cpu(file->part, &times->cpus[i], &file->costs[i], NULL, STEAL_UNKNOWN,
			times->t0, interval, file->idle_known);
		fputs(",\n", file->part);
	}
	for (size_t i = 0; i < times->nthreads; i++) {
		put_thread(file->part, &times->threads[i], interval);
		fputs(",\n", file->part);
	}
}

/* Removes the incomplete snapshot at the end. */
static void forget_torn(struct stats_file *file)
{
	__fpurge(file->part);
	clearerr(file->part);
	if (fseeko(file->part, file->whole, SEEK_SET) || ftruncate(fileno(file->part), file->whole))
		log_debug("%s" STATS_PART " ends within a snapshot", file->name);
}

int stats_snapshot(struct stats_file *file, const struct time_stats *times)
{
	char name[NAME_MAX + 1] = "";
	struct stat st;
	int err;

	if (!file->part) {
		err = create(file, STATS_PART, name, sizeof(name), &file->part);
		if (err)
			goto failed;
	} else if (!fstat(fileno(file->part), &st) && !st.st_nlink) {
		err = -ENOENT; /* the file was removed: nothing would find it */
		goto failed;
	}
	read_costs(file, false);
	put_interval(file, times, file->count + 1);
	err = flush(file->part);
	if (err) {
		forget_torn(file);
		goto failed;
	}
	file->whole = ftello(file->part);
	file->count++;
	return 0;
failed:
	disk_error_report(file->disk_error, err, "%s" STATS_PART ": cannot write", file->name);
	return err;
}

/* Ends the file of the snapshots; `remove`: the statistics have them all, or there are none. */
static void close_part(struct stats_file *file, bool remove)
{
	char part[NAME_MAX + 1];

	if (!file->part)
		return;
	snprintf(part, sizeof(part), "%s" STATS_PART, file->name);
	if (remove)
		unlinkat(file->dirfd, part, 0);
	fclose(file->part);
	file->part = NULL;
}

int stats_write(struct stats_file *file, struct time_stats *times,
		const struct stats_session *session)
{
	char name[NAME_MAX + 1];
	FILE *out = NULL;
	int err = create(file, STATS_NEW, name, sizeof(name), &out);

	if (err)
		goto failed;
	read_costs(file, false);
	err = put_document(out, file, times, session);
	if (err)
		goto close;
	err = flush(out);
close:
	if (fclose(out) && !err)
		err = -errno;
	if (err)
		goto remove;
	err = place(file, name);
	if (err)
		goto remove;
	close_part(file, true);
	return 0;
remove:
	unlinkat(file->dirfd, name, 0);
failed:
	disk_error_report(file->disk_error, err, "%s: cannot write", file->name);
	return err;
}

void stats_close(struct stats_file *file)
{
	close_part(file, !file->whole);
	free(file->costs);
	memset(file, 0, sizeof(*file));
}
