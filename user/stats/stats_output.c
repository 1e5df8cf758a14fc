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

#include "user/kernel/event_counts.h"
#include "user/host/self_cost.h"
#include "user/config/event_kinds.h"
#include "user/config/config.h"
#include "user/stats/stats_output.h"
#include "user/writer/disk_error.h"
#include "trace/base/log.h"
#include "trace/ovni/stats_file.h"
#include "trace/base/build_info.h"

/* ---- sums ---- */

static void sum_thread(struct perf_sums *sums, const struct thread_figures *f,
		       const struct counters *counters)
{
	uint64_t begin = f->counters.begin > counters->t0 ? f->counters.begin : counters->t0;

	if (!sums->threads.threads || begin < sums->begin)
		sums->begin = begin;
	if (f->clock > sums->end)
		sums->end = f->clock;
	sums->alive |= f->counters.use != THREAD_DEAD;
	sums->life_ns += counters_life(f, counters->t0, counters->t1);
	if (!sums->comm[0] || f->counters.tid == f->counters.pid)
		memcpy(sums->comm, f->comm, sizeof(sums->comm));
	counters_add(&sums->threads, &f->counters);
}

/* What is in the sums alone lived as long as its parts say. */
static void sum_unlisted(struct perf_sums *sums, const struct thread_counters *c)
{
	if (!c->threads)
		return;
	sums->life_ns += c->active_ns + c->runnable_ns + c->unknown_ns + counters_blocked(c);
	counters_add(&sums->threads, c);
}

void perf_sum(const struct counters *counters, struct perf_run *run)
{
	*run = (struct perf_run){.ncpus = counters->ncpus};
	for (size_t i = 0; i < counters->dead.n; i++)
		sum_thread(&run->all, &counters->dead.figures[i], counters);
	for (size_t i = 0; i < counters->alive.n; i++)
		sum_thread(&run->all, &counters->alive.figures[i], counters);
	sum_unlisted(&run->all, &counters->unlisted);
	sum_unlisted(&run->all, &counters->idle);
	for (unsigned i = 0; i < counters->ncpus; i++) {
		const struct counters_cpu *cpu = &counters->cpus[i];

		if (cpu->clock > run->clock)
			run->clock = cpu->clock;
		for (unsigned use = 0; use < CPU_USES; use++)
			run->cpu_ns[use] += cpu->counters.ns[use];
		run->switches += cpu->counters.switches;
		for (unsigned group = 0; group < PROGRAM_GROUPS; group++) {
			const struct counters_cost *cost = &cpu->costs[group];

			run->prog_runs += cost->runs;
			run->prog_ns += perf_cost_ns(cost->runs, cost->timed_runs, cost->timed_ns);
		}
	}
	run->window_ns = run->clock > counters->t0 ? run->clock - counters->t0 : 0;
}

static int by_pid(const void *a, const void *b)
{
	const struct thread_figures *x = *(const struct thread_figures *const *)a;
	const struct thread_figures *y = *(const struct thread_figures *const *)b;

	if (x->counters.pid != y->counters.pid)
		return x->counters.pid < y->counters.pid ? -1 : 1;
	if (x->counters.tid != y->counters.tid)
		return x->counters.tid < y->counters.tid ? -1 : 1;
	return x->clock < y->clock ? -1 : x->clock > y->clock;
}

/* All that are listed, those of a process side by side; the caller frees. NULL without memory. */
static const struct thread_figures **sort_threads(const struct counters *counters, size_t *n)
{
	const struct counters_list *lists[] = {&counters->dead, &counters->alive};
	const struct thread_figures **sorted;

	*n = 0;
	sorted = calloc(counters->dead.n + counters->alive.n + 1, sizeof(*sorted));
	for (unsigned l = 0; sorted && l < 2; l++)
		for (size_t i = 0; i < lists[l]->n; i++)
			sorted[(*n)++] = &lists[l]->figures[i];
	if (sorted)
		qsort(sorted, *n, sizeof(*sorted), by_pid);
	return sorted;
}

/* The next process at *at, which is moved behind it. */
static void next_process(const struct thread_figures **sorted, size_t n, size_t *at,
			 const struct counters *counters, struct perf_sums *process)
{
	*process = (struct perf_sums){.pid = sorted[*at]->counters.pid};
	for (; *at < n && sorted[*at]->counters.pid == process->pid; (*at)++)
		sum_thread(process, sorted[*at], counters);
}

/* ---- the document ---- */

static void put_list(FILE *out, const char *key, uint32_t kinds)
{
	const char *comma = "";

	fprintf(out, "\"%s\": [", key);
	for (unsigned kind = 0; kind < EVENT_OTHER; kind++) {
		if (!(kinds & 1u << kind))
			continue;
		fprintf(out, "%s\"%s\"", comma, kind_names[kind]);
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

/* What is given up when there is no room; a flight recorder also tells what it keeps. */
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

static void put_controls(FILE *out, const struct perf *perf)
{
	const struct options *o = perf->options;

	fputs("  \"controls\": {\n    ", out);
	if (o->kinds == KINDS_ALL)
		fputs("\"kinds\": null", out);
	else
		put_list(out, "kinds", o->kinds);
	fputs(",\n    ", out);
	put_list(out, "kinds_off", ~perf->kinds);
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

static void put_events(FILE *out, const struct account *account, uint32_t kinds)
{
	struct facts_kind all = {0}, by_kind[EVENT_KINDS] = {{0}};
	const char *comma = "";

	for (size_t i = 0; i < account->ncpus; i++) {
		for (unsigned kind = 0; kind < EVENT_KINDS; kind++) {
			facts_add(&all, &account->cpus[i].kinds[kind]);
			facts_add(&by_kind[kind], &account->cpus[i].kinds[kind]);
		}
	}
	fputs("  \"events\": {\n    ", out);
	perf_account(out, &all);
	fprintf(out, ",\n    \"missed\": %" PRIu64 ",\n    \"dropped_by_kind\": {",
		account->missed);
	for (unsigned kind = 0; kind < EVENT_KINDS; kind++) {
		if (!(by_kind[kind].full + by_kind[kind].user))
			continue;
		fprintf(out, "%s\"%s\": %" PRIu64, comma, kind_names[kind],
			by_kind[kind].full + by_kind[kind].user);
		comma = ", ";
	}
	fputs("},\n    \"dropped_by_core\": {", out);
	comma = "";
	for (size_t i = 0; i < account->ncpus; i++) {
		struct facts_kind sum = {0};

		for (unsigned kind = 0; kind < EVENT_KINDS; kind++)
			facts_add(&sum, &account->cpus[i].kinds[kind]);
		if (!(sum.full + sum.user))
			continue;
		fprintf(out, "%s\"%u\": %" PRIu64, comma, account->cpus[i].cpu,
			sum.full + sum.user);
		comma = ", ";
	}
	fputs("},\n    \"by_core_and_kind\": [", out);
	comma = "\n";
	for (size_t i = 0; i < account->ncpus; i++) {
		for (unsigned kind = 0; kind < EVENT_KINDS; kind++) {
			/* what is off may be seen all the same, and counts */
			if (!(kinds & 1u << kind) && !account->cpus[i].kinds[kind].seen)
				continue;
			fprintf(out, "%s      {\"cpu\": %u, \"kind\": \"%s\", ", comma,
				account->cpus[i].cpu, kind_names[kind]);
			perf_account(out, &account->cpus[i].kinds[kind]);
			fputc('}', out);
			comma = ",\n";
		}
	}
	fputs("\n    ]\n  },\n", out);
}

/* An invocation is a process, from its first thread in the window to its last. */
static void put_invocations(FILE *out, const struct counters *counters,
			    const struct thread_figures **sorted, size_t n)
{
	struct perf_sums process;
	size_t at = 0;

	fputs("  \"invocations\": [", out);
	while (at < n) {
		const char *comma = at ? ",\n" : "\n";

		next_process(sorted, n, &at, counters, &process);
		fprintf(out,
			"%s    {\"epoch_id\": 1, \"invocation_id\": %" PRIu32
			", \"start_cycle\": %" PRIu64 ", \"end_cycle\": %" PRIu64
			", \"status\": \"%s\"}",
			comma, process.pid, process.begin, process.end,
			process.alive ? "cut" : "done");
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
		perf_string(out, cost->threads[i].name, strlen(cost->threads[i].name));
		fprintf(out, ", \"cpu_ns\": %" PRIu64 "}", cost->threads[i].cpu_ns);
	}
	fputs("]},\n", out);
}

static void put_unlisted(FILE *out, const struct counters *counters)
{
	struct perf_sums sums = {0};

	sum_unlisted(&sums, &counters->unlisted);
	sum_unlisted(&sums, &counters->idle);
	fprintf(out, "  \"unlisted\": {\"threads\": %" PRIu32, sums.threads.threads);
	perf_counters(out, sums.life_ns, &sums.threads);
	fputs("},\n", out);
}

static const struct facts_cpu *account_of(const struct account *account, unsigned cpu)
{
	for (size_t i = 0; i < account->ncpus; i++)
		if (account->cpus[i].cpu == cpu)
			return &account->cpus[i];
	return NULL;
}

/* What was written while the session ran. */
static int copy_part(FILE *out, struct perf_file *file)
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

static int put_snapshots(FILE *out, struct perf_file *file, const struct perf *perf,
			 const struct thread_figures **sorted, size_t n)
{
	struct perf_sums process;
	struct perf_run run;
	size_t at = 0;
	int err;

	fputs("  \"snapshots\": [\n", out);
	err = copy_part(out, file);
	if (err)
		return err;
	perf_sum(perf->counters, &run);
	perf_run(out, &run, 0);
	for (unsigned i = 0; i < perf->counters->ncpus; i++) {
		const struct counters_cpu *cpu = &perf->counters->cpus[i];

		fputs(",\n", out);
		perf_cpu(out, cpu, account_of(perf->account, cpu->cpu), perf->counters, 0);
	}
	while (at < n) {
		fputs(",\n", out);
		next_process(sorted, n, &at, perf->counters, &process);
		perf_process(out, &process, process.end, 0);
	}
	for (at = 0; at < n; at++) {
		fputs(",\n", out);
		perf_thread(out, sorted[at], perf->counters, 0);
	}
	fputs("\n  ]\n}\n", out);
	return 0;
}

static int put_document(FILE *out, struct perf_file *file, const struct perf *perf)
{
	size_t n;
	const struct thread_figures **sorted = sort_threads(perf->counters, &n);
	int err;

	if (!sorted)
		return -ENOMEM;
	fprintf(out,
		PERF_BEGINS
		", \"version\": %d, \"producer\": \"ovni-bpf %s "
		"(%s)\",\n  \"mode\": \"%s\", \"unit\": \"ns\",\n  \"clock\": {\"period_ps\": "
		"1000},\n",
		PERF_VERSION, version_string, version_commit,
		perf->options->mode == MODE_FULL ? "full" : "summary");
	fprintf(out,
		"  \"window\": {\"first_cycle\": %" PRIu64 ", \"end_cycle\": %" PRIu64
		", \"total_cycles\": %" PRIu64 ", \"cpus\": %u},\n",
		perf->t0, perf->t1, perf->t1 - perf->t0, perf->counters->ncpus);
	put_controls(out, perf);
	put_events(out, perf->account, perf->kinds);
	put_invocations(out, perf->counters, sorted, n);
	put_recorder(out, perf->cost);
	put_unlisted(out, perf->counters);
	err = put_snapshots(out, file, perf, sorted, n);
	free(sorted);
	return err;
}

/* ---- files ---- */

/* A new file NAME + suffix beside it. */
static int create(const struct perf_file *file, const char *suffix, char *name, size_t size,
		  FILE **out)
{
	int fd, err;

	snprintf(name, size, "%s%s", file->name, suffix);
	fd = openat(file->dirfd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (fd < 0)
		return -errno;
	*out = fdopen(fd, "w+");
	if (*out)
		return 0;
	err = -errno;
	close(fd);
	return err;
}

/* The finished file gets its name, unless something has it by now: that is not ours. */
static int place(const struct perf_file *file, const char *name)
{
	if (!renameat2(file->dirfd, name, file->dirfd, file->name, RENAME_NOREPLACE))
		return 0;
	if (errno != EINVAL && errno != ENOSYS) /* not every file system can do that */
		return -errno;
	if (!faccessat(file->dirfd, file->name, F_OK, AT_SYMLINK_NOFOLLOW))
		return -EEXIST;
	return renameat(file->dirfd, name, file->dirfd, file->name) ? -errno : 0;
}

/* All that was put there is on its way to the disk. */
static int flush(FILE *out)
{
	errno = 0;
	if (!fflush(out) && !ferror(out))
		return 0;
	return errno ? -errno : -EIO;
}

/* A line for each whole, CPU and thread that has changed. */
static void put_interval(const struct perf_file *file, const struct perf_run *run,
			 const struct counters *counters, unsigned interval)
{
	perf_run(file->part, run, interval);
	fputs(",\n", file->part);
	for (unsigned i = 0; i < counters->ncpus; i++) {
		perf_cpu(file->part, &counters->cpus[i], NULL, counters, interval);
		fputs(",\n", file->part);
	}
	for (size_t i = 0; i < counters->alive.n; i++) {
		const struct thread_figures *f = &counters->alive.figures[i];

		if (f->counters.since <= file->last && f->counters.use != THREAD_RUNNING)
			continue;
		perf_thread(file->part, f, counters, interval);
		fputs(",\n", file->part);
	}
}

/* Takes back what is no whole snapshot. */
static void forget_torn(struct perf_file *file)
{
	__fpurge(file->part);
	clearerr(file->part);
	if (fseeko(file->part, file->whole, SEEK_SET) || ftruncate(fileno(file->part), file->whole))
		log_debug("%s" PERF_PART " ends within a snapshot", file->name);
}

int perf_snapshot(struct perf_file *file, const struct counters *counters)
{
	char name[NAME_MAX + 1] = "";
	struct perf_run run;
	struct stat st;
	int err = 0;

	if (!file->part)
		err = create(file, PERF_PART, name, sizeof(name), &file->part);
	else if (!fstat(fileno(file->part), &st) && !st.st_nlink)
		err = -ENOENT; /* nobody would ever find what is written there */
	if (!err) {
		perf_sum(counters, &run);
		put_interval(file, &run, counters, file->count + 1);
		err = flush(file->part);
		if (err)
			forget_torn(file);
	}
	if (err) {
		disk_error_report(file->disk_error, err, "%s" PERF_PART ": cannot write",
				  file->name);
		return err;
	}
	file->whole = ftello(file->part);
	file->last = run.clock;
	file->count++;
	return 0;
}

int perf_write(struct perf_file *file, const struct perf *perf)
{
	char name[NAME_MAX + 1], part[NAME_MAX + 1];
	FILE *out = NULL;
	int err = create(file, PERF_NEW, name, sizeof(name), &out);

	if (!err) {
		err = put_document(out, file, perf);
		if (!err)
			err = flush(out);
		if (fclose(out) && !err)
			err = -errno;
		if (!err)
			err = place(file, name);
		if (err)
			unlinkat(file->dirfd, name, 0);
	}
	if (err) {
		disk_error_report(file->disk_error, err, "%s: cannot write", file->name);
		return err;
	}
	snprintf(part, sizeof(part), "%s" PERF_PART, file->name);
	if (file->part)
		unlinkat(file->dirfd, part, 0);
	return 0;
}

void perf_close(struct perf_file *file)
{
	if (file->part)
		fclose(file->part);
	memset(file, 0, sizeof(*file));
}
