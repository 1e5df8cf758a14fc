/* SPDX-License-Identifier: MIT */
/* live_report: see live_report.h. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/sink/finalizer.h"
#include "user/host/self_cost.h"
#include "user/config/session_info.h"
#include "user/config/config.h"
#include "user/stats/stats_output.h"
#include "user/stats/live_report.h"
#include "user/timeline/state_times.h"
#include "trace/base/log.h"
#include "trace/base/text.h"
#include "trace/ovni/whole.h"
#include "user/kernel/event_counts.h"

#define FIFTH_OF_SECOND 200000000
#define TABLE_ROWS	20

void summary_bytes(char *out, size_t size, uint64_t bytes)
{
	static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
	double value = (double)bytes;
	size_t unit = 0;

	while (value >= 999.5 && unit + 1 < sizeof(units) / sizeof(units[0])) {
		value /= 1000;
		unit++;
	}
	snprintf(out, size, "%.*f %s", unit == 0 || value >= 99.95 ? 0 : 1, value, units[unit]);
}

void summary_live_begin(struct summary_live *live, uint64_t now_ns, bool wanted)
{
	*live = (struct summary_live){
		.start_ns = now_ns,
		.last_ns = now_ns,
		.next_ns = now_ns + FIFTH_OF_SECOND,
		.on = wanted && isatty(STDERR_FILENO),
	};
}

void summary_live_show(struct summary_live *live, const struct summary_now *now)
{
	uint64_t span = now->now_ns - live->last_ns;
	char bytes[32], line[192];

	summary_bytes(bytes, sizeof(bytes), now->bytes);
	snprintf(line, sizeof(line),
		 "%.1f s  %.0f events/s  %s  %" PRIu64 " thread%s  %" PRIu64
		 " lost  fullest ring %.0f %%",
		 (double)(now->now_ns - live->start_ns) / 1e9,
		 span ? (double)(now->events - live->last_events) * 1e9 / (double)span : 0, bytes,
		 now->threads, plural(now->threads, "", "s"), now->lost, 100 * now->fullest);
	log_status(line);
	live->last_ns = now->now_ns;
	live->last_events = now->events;
	live->next_ns = now->now_ns + FIFTH_OF_SECOND;
}

/* "exited with status 3"; for scripts "3", "signal-9", "running". */
static void describe_command(int status, char *text, size_t text_size, char *word, size_t word_size)
{
	if (status == -1) {
		snprintf(text, text_size, "still runs");
		snprintf(word, word_size, "running");
	} else if (WIFSIGNALED(status)) {
		snprintf(text, text_size, "was ended by signal %d (%s)", WTERMSIG(status),
			 strsignal(WTERMSIG(status)));
		snprintf(word, word_size, "signal-%d", WTERMSIG(status));
	} else {
		snprintf(text, text_size, "exited with status %d", WEXITSTATUS(status));
		snprintf(word, word_size, "%d", WEXITSTATUS(status));
	}
}

static void report_kind(const char *name, const struct event_count *k)
{
	log_report("  %-10s %12" PRIu64 " = %12" PRIu64 " + %11" PRIu64 " + %11" PRIu64
		   " + %8" PRIu64,
		   name, k->seen, k->written, k->filtered, k->sampled, k->full + k->user);
}

#define SURPRISE_PERCENT 1 /* a few events at the edges of the window are always filtered */

/* True if events were filtered or sampled out without an option that says so, or all of them
 * (except our own snapshots). In mode summary no event is written at all. */
static bool filtered_by_surprise(const struct summary_end *end)
{
	struct event_count sum = {0};

	for (size_t i = 0; i < end->counts->ncpus; i++)
		for (unsigned kind = 0; kind < EVENT_OTHER; kind++)
			event_count_add(&sum, &end->counts->cpus[i].kinds[kind]);
	if (!end->streams || !(sum.filtered + sum.sampled))
		return false;
	if (!sum.written)
		return true;
	return !end->filters && (sum.filtered + sum.sampled) * 100 > sum.seen * SURPRISE_PERCENT;
}

/* The event counts of all kinds, also of those without events. */
static void report_account(const struct summary_end *end)
{
	if (!end->verbose && !end->counts->lost && !end->counts->missed &&
	    !filtered_by_surprise(end))
		return;
	/* the events of a flight recorder may have become too old before a trace was saved */
	log_report("events              seen   %12s     filtered   sampled out       lost",
		   end->keeps ? "taken in" : "written");
	for (unsigned kind = 0; kind < EVENT_KINDS; kind++) {
		struct event_count sum = {0};

		for (size_t i = 0; i < end->counts->ncpus; i++)
			event_count_add(&sum, &end->counts->cpus[i].kinds[kind]);
		if (end->kinds & 1u << kind)
			report_kind(event_kind_names[kind], &sum);
		else
			log_report("  %-10s          off", event_kind_names[kind]);
	}
	for (size_t i = 0; i < end->counts->ncpus && end->verbose; i++) {
		for (unsigned kind = 0; kind < EVENT_KINDS; kind++) {
			char name[32];

			snprintf(name, sizeof(name), "%u %s", end->counts->cpus[i].cpu,
				 event_kind_names[kind]);
			if (end->kinds & 1u << kind)
				report_kind(name, &end->counts->cpus[i].kinds[kind]);
		}
	}
}

static void report_losses(const struct summary_end *end)
{
	if (!end->counts->lost)
		return;
	log_report("%" PRIu64 " event%s LOST", end->counts->lost,
		   plural(end->counts->lost, " was", "s were"));
	if (end->counts->full)
		log_report("  %" PRIu64 " of them found no room: larger buffers help (-b)",
			   end->counts->full);
	if (end->counts->full && end->unread_ns) {
		char wait[80] = "";

		if (end->without_cpu_ns)
			snprintf(wait, sizeof(wait),
				 ", of which the recorder waited %.0f ms for a CPU",
				 (double)end->without_cpu_ns / 1e6);
		log_report("  the buffers were not read for %.0f ms%s",
			   (double)end->unread_ns / 1e6, wait);
	}
	if (end->counts->full && end->stolen_ns)
		log_report("  a hypervisor stole %.3f s of the CPUs during the recording",
			   (double)end->stolen_ns / 1e9);
	if (end->counts->user)
		log_report("  %" PRIu64
			   " of them %s left in the buffers when the recording was cut short",
			   end->counts->user, plural(end->counts->user, "was", "were"));
	for (size_t i = 0; i < end->counts->ncpus; i++) {
		const struct cpu_event_counts *cpu = &end->counts->cpus[i];

		for (unsigned kind = 0; kind < EVENT_KINDS; kind++)
			if (cpu->kinds[kind].full + cpu->kinds[kind].user)
				log_report("  CPU %u: %" PRIu64 " of %" PRIu64 " %s", cpu->cpu,
					   cpu->kinds[kind].full + cpu->kinds[kind].user,
					   cpu->kinds[kind].seen, event_kind_names[kind]);
	}
	if (end->counts->missed)
		log_report("  %" PRIu64 " run%s that the kernel skipped", end->counts->missed,
			   plural(end->counts->missed, "", "s"));
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

void summary_times(const struct summary_end *end)
{
	const struct stats_run *run = end->run;
	const struct thread_times *c = &run->all.times;
	uint64_t life = run->all.life_ns;

	if (!run->ncpus || !run->window_ns) /* the window was not closed */
		return;
	log_report("threads' time: %.1f %% running, %.1f %% waiting for a CPU, "
		   "%.1f %% asleep, %.1f %% unknown",
		   percent(c->active_ns, life), percent(c->runnable_ns, life),
		   percent(thread_times_blocked(c), life), percent(c->unknown_ns, life));
	log_report("cost: our programs %.2f %% of the CPUs (%" PRIu64
		   " run%s, %.0f ns each), the recorder %.3f s of CPU time (%.2f %%)",
		   percent(run->prog_ns, run->window_ns * run->ncpus), run->prog_runs,
		   plural(run->prog_runs, "", "s"),
		   run->prog_runs ? (double)run->prog_ns / (double)run->prog_runs : 0,
		   (double)end->cost->cpu_ns / 1e9,
		   percent(end->cost->cpu_ns, run->window_ns * run->ncpus));
	for (size_t i = 0; i < end->cost->nthreads && end->verbose; i++)
		log_report("  %-15s %.3f s", end->cost->threads[i].name,
			   (double)end->cost->threads[i].cpu_ns / 1e9);
}

void summary_part(const char *dir, const struct finalizer_report *news)
{
	const struct segment_result *r = &news->result;
	char bytes[32];

	summary_bytes(bytes, sizeof(bytes), r->bytes);
	log_report("%s/%04u: %.3f s, %" PRIu64 " thread%s, %" PRIu64 " event%s, %s, %" PRIu64
		   " lost (%s%s%s)",
		   dir, news->number, (double)r->window_ns / 1e9, r->threads,
		   plural(r->threads, "", "s"), r->events, plural(r->events, "", "s"), bytes,
		   r->lost, news->why, news->trigger[0] ? ": " : "", news->trigger);
}

void summary_off(int command_status)
{
	char text[80] = "", word[32] = "none";

	describe_command(command_status, text, sizeof(text), word, sizeof(word));
	log_report("the command %s; nothing was recorded", text);
	log_report("recorded mode=off command=%s status=0", word);
}

/* Quotes a path for the line for scripts, without blanks, for free(); NULL without memory. The log
 * escapes unprintable characters in the same way. */
static char *word_of(const char *path)
{
	char *word = malloc(4 * strlen(path) + 1), *at = word;

	for (; word && *path; path++)
		at = *path == ' ' ? stpcpy(at, "\\x20") : stpncpy(at, path, 1);
	if (word)
		*at = '\0';
	return word;
}

void summary_report(const struct summary_end *end)
{
	double seconds = (double)end->sum.window_ns / 1e9;
	const char *cpus = plural(end->ncpus, "CPU", "CPUs");
	char bytes[32], threads[64], repairs[WHOLE_TEXT];

	report_account(end);
	report_losses(end);
	if (end->counts->stacks_left_out)
		log_report("%" PRIu64
			   " long sleep%s have no stack: at most 1000 are taken a second, 20 of a "
			   "thread (a longer time takes fewer: --why=stack,10ms)",
			   end->counts->stacks_left_out,
			   plural(end->counts->stacks_left_out, "", "s"));
	if (end->user_stacks_unknown)
		log_report("%" PRIu64 " stack%s no frames of user code: the process had ended or "
			   "may not be read, or its program was replaced (exec)%s",
			   end->user_stacks_unknown,
			   plural(end->user_stacks_unknown, " has", "s have"),
			   end->stacks_copied ? ", or the sleep began before the recording" : "");
	if (!end->overview || end->verbose)
		summary_times(end);
	if (end->sum.repairs)
		log_report("%s", whole_repairs(end->sum.repairs, end->sum.lost, repairs));
	if (end->sum.late)
		log_report("%" PRIu64 " record%s came late: please report it", end->sum.late,
			   plural(end->sum.late, "", "s"));
	if (end->streams && !end->sum.threads)
		log_report("no thread of the target ran or was woken: the trace is empty "
			   "(--all-threads shows those that sleep, too)");
	if (end->kept)
		log_report("the earlier trace is in %s", end->kept);
	summary_bytes(bytes, sizeof(bytes), end->sum.bytes);
	if (end->parts > 1)
		snprintf(threads, sizeof(threads), "%u traces with %" PRIu64 " stream%s",
			 end->parts, end->sum.threads, plural(end->sum.threads, "", "s"));
	else
		snprintf(threads, sizeof(threads), "%" PRIu64 " thread%s", end->sum.threads,
			 plural(end->sum.threads, "", "s"));
	if (!end->streams)
		log_report("%s: %.3f s on %u %s, %s", end->dir, seconds, end->ncpus, cpus, threads);
	else
		log_report("%s: %.3f s on %u %s, %s, %" PRIu64 " event%s (%.0f/s), %s", end->dir,
			   seconds, end->ncpus, cpus, threads, end->sum.events,
			   plural(end->sum.events, "", "s"),
			   seconds > 0 ? (double)end->sum.events / seconds : 0, bytes);
}

void summary_command(const struct summary_end *end)
{
	char text[80], word[32];

	if (!end->command)
		return;
	describe_command(end->command_status, text, sizeof(text), word, sizeof(word));
	log_report("the command %s", text);
}

/* Quotes a path for a shell, for free(); NULL without memory. */
static char *shell_word(const char *path)
{
	const char *dash = *path == '-' ? "./" : "";
	char *word, *at;

	if (!path[strspn(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
			       "_./@%+=:,-")])
		return xasprintf("%s%s", dash, path);
	word = malloc(4 * strlen(path) + strlen(dash) + 3);
	if (!word)
		return NULL;
	at = stpcpy(stpcpy(word, "'"), dash);
	for (; *path; path++)
		at = *path == '\'' ? stpcpy(at, "'\\''") : stpncpy(at, path, 1);
	stpcpy(at, "'");
	return word;
}

void summary_next(const struct summary_end *end)
{
	char *trace = end->trace ? shell_word(end->trace) : NULL;

	if (!trace)
		return;
	if (!end->streams)
		log_report("next: ovni-report counters %s", trace);
	else if (end->page)
		log_report("next: open %s.html in a browser; ovni-report --help lists the reports",
			   trace);
	else if (end->emulated)
		log_report("next: ovni-report --help lists the reports; in Paraver: "
			   "wxparaver %s/thread.prv",
			   trace);
	else if (end->parts > 1)
		log_report("next: ovni-report %s (the newest of %u traces); for Paraver: "
			   "ovni-emu %s",
			   trace, end->parts, trace);
	else
		log_report("next: ovni-report --help lists the reports; for Paraver: ovni-emu %s",
			   trace);
	free(trace);
}

void summary_last(const struct summary_end *end)
{
	char text[80], word[32] = "none", status[32], *dir = word_of(end->dir);

	if (end->command)
		describe_command(end->command_status, text, sizeof(text), word, sizeof(word));
	snprintf(status, sizeof(status), end->killed_by ? "signal-%d" : "%d",
		 end->killed_by ? end->killed_by : end->status);
	log_report("recorded dir=%s seconds=%.3f cpus=%u threads=%" PRIu64 " events=%" PRIu64
		   " records=%" PRIu64 " bytes=%" PRIu64 " lost=%" PRIu64 " missed=%" PRIu64
		   " repairs=%" PRIu64 " late=%" PRIu64
		   " stop=%s command=%s status=%s parts=%u mode=%s dropped_full=%" PRIu64
		   " dropped_user=%" PRIu64 " prog_ns=%" PRIu64 " recorder_ns=%" PRIu64 "",
		   dir ? dir : "", (double)end->sum.window_ns / 1e9, end->ncpus, end->sum.threads,
		   end->sum.events, end->sum.records, end->sum.bytes, end->counts->lost,
		   end->counts->missed, end->sum.repairs, end->sum.late, end->stopped_by, word,
		   status, end->parts, end->streams ? "full" : "summary", end->counts->full,
		   end->counts->user, end->run->prog_ns, end->cost->cpu_ns);
	free(dir);
}

/* ---- the table of a summary ---- */

static void show_time(char *out, size_t size, uint64_t ns)
{
	static const struct {
		double ns;
		const char *name;
	} units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if ((double)ns >= units[i].ns || i == 2) {
			snprintf(out, size, "%.3f %s", (double)ns / units[i].ns, units[i].name);
			return;
		}
	}
}

static int by_active(const void *a, const void *b)
{
	const struct thread_stats *x = a, *y = b;

	if (x->times.active_ns != y->times.active_ns)
		return x->times.active_ns > y->times.active_ns ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static void show_thread(const struct thread_stats *f)
{
	const struct thread_times *c = &f->times;
	char name[4 * RECORD_COMM_SIZE + 1], active[32], waits[32], asleep[32];

	text_escape(name, sizeof(name), f->comm, strnlen(f->comm, sizeof(f->comm)));
	show_time(active, sizeof(active), c->active_ns);
	show_time(waits, sizeof(waits), c->runnable_ns);
	show_time(asleep, sizeof(asleep), thread_times_blocked(c));
	fprintf(stderr,
		"%-16s %8" PRIu32 " %11s %11s %11s %10" PRIu64 " %10" PRIu64 " %9" PRIu64
		" %7" PRIu64 "\n",
		name, f->tid, active, waits, asleep, (uint64_t)c->switches_voluntary,
		(uint64_t)c->switches_preempted, (uint64_t)c->wakeups, (uint64_t)c->migrations);
}

void summary_table(struct time_stats *times)
{
	size_t n = times->nthreads;

	if (n)
		qsort(times->threads, n, sizeof(*times->threads), by_active);
	fprintf(stderr, "%-16s %8s %11s %11s %11s %10s %10s %9s %7s\n", "thread", "tid", "active",
		"waiting", "asleep", "switches", "preempted", "wake-ups", "moves");
	for (size_t i = 0; i < n && i < TABLE_ROWS; i++)
		show_thread(&times->threads[i]);
	if (n > TABLE_ROWS)
		fprintf(stderr, "... and %zu more\n", n - TABLE_ROWS);
}
