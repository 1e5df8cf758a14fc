/* SPDX-License-Identifier: MIT */
/*
 * finding_text: a finding in, its sentence and the command that shows more out.
 *
 *   latcrit (1204) waited 45.0 % of 5.002 s for a CPU: 2.250 s; noisy (1205) ran on CPU 1 for 2.240
 * s ovni-report preempt --tid 1204 ovni
 *
 * Names from the trace are escaped where a sentence is printed.
 */
#include "tools/findings/overview_facts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/lib/table.h"
#include "trace/base/array.h"
#include "trace/base/text.h"
#include "trace/catalog/catalog.h"

#define RECORD_ALL " (ovni-bpf -a does)"

/* A party as a sentence names it; for free(). NULL without memory. */
static char *party_text(const struct overview *o, const struct finding_party *party)
{
	const struct owner *owner = overview_owner(o, party->stream);
	const char *name = owner->name ? owner->name : "thread";

	switch (party->kind) {
	case PARTY_RANK:
		return xasprintf("rank %" PRId64 " (%s, %" PRId64 ")", party->rank, name,
				 owner->pid);
	case PARTY_PROCESS:
		return xasprintf("%s (%" PRId64 ")", name, owner->pid);
	case PARTY_CPU:
		return xasprintf("CPU %d", party->cpu);
	case PARTY_THREAD:
		if (party->rank >= 0 && owner->tid == owner->pid)
			return xasprintf("rank %" PRId64 " (%s, %" PRId64 ")", party->rank, name,
					 owner->tid);
		if (party->rank >= 0)
			return xasprintf("%s (%" PRId64 ") of rank %" PRId64, name, owner->tid,
					 party->rank);
		return xasprintf("%s (%" PRId64 ")", name, owner->tid);
	default:
		return strdup("");
	}
}

/* The numbers of a finding as words. */
struct words {
	char of[DURATION_TEXT], time[DURATION_TEXT], by[DURATION_TEXT], most[DURATION_TEXT],
		mean[DURATION_TEXT], run[DURATION_TEXT], wait[DURATION_TEXT], asleep[DURATION_TEXT],
		cost[DURATION_TEXT];
	char where[32]; /* "on CPU 1", or "there" */
	char *who, *other;
	char *call;		     /* "; 1.204 s of it in fsync(3 = /data)", or "" */
	char at_once[DURATION_TEXT]; /* the time in that call */
	char *inversion;	     /* ": a priority inversion, ...", or "" */
};

/* True for the kinds of wait_text(). */
static bool is_wait(enum finding_kind kind)
{
	return kind == FINDING_SHARED || kind == FINDING_RANKS_SHARE || kind == FINDING_NEIGHBOUR ||
	       kind == FINDING_KERNEL || kind == FINDING_IDLE || kind == FINDING_UNKNOWN;
}

/* True if an earlier finding names other threads that had the CPU in the same waits. */
static bool follows_same_waits(const struct overview *o, const struct finding *finding)
{
	const struct findings *f = &o->findings;

	for (size_t i = 0; i < f->n && &f->list[i] != finding; i++) {
		const struct finding *before = &f->list[i];

		if (is_wait(before->kind) && before->who.kind == finding->who.kind &&
		    before->who.stream == finding->who.stream)
			return true;
	}
	return false;
}

static char *wait_text(const struct overview *o, const struct finding *finding,
		       const struct words *w)
{
	const int64_t *n = finding->numbers;
	char *begin, *end = NULL, *text = NULL;
	bool most_of_all = *w->other && n[NUMBER_RUN] >= n[NUMBER_BY] / 10 * 9;
	const char *them;

	if (follows_same_waits(o, finding))
		begin = xasprintf("%s, in the same waits", w->who);
	else if (finding_has(finding, NUMBER_THREADS))
		begin = xasprintf(
			"%s: its threads waited %s for a CPU (%.1f %% of their time, %" PRId64
			" %s for more than %d %%)",
			w->who, w->time, percent(n[NUMBER_TIME], n[NUMBER_OF]), n[NUMBER_THREADS],
			plural((uint64_t)n[NUMBER_THREADS], "thread", "threads"),
			FINDING_WAIT_PERCENT);
	else
		begin = xasprintf("%s waited %.1f %% of %s for a CPU: %s", w->who,
				  percent(n[NUMBER_TIME], n[NUMBER_OF]), w->of, w->time);
	switch (finding->kind) {
	case FINDING_NEIGHBOUR:
	case FINDING_KERNEL:
		them = finding->kind == FINDING_KERNEL ? "kernel threads" : "other processes";
		if (most_of_all)
			end = xasprintf("%s ran %s for %s", w->other, w->where, w->run);
		else if (*w->other)
			end = xasprintf("%s ran %s for %s, %s longest: %s", them, w->where, w->by,
					w->other, w->run);
		else
			end = xasprintf("%s ran %s for %s", them, w->where, w->by);
		break;
	case FINDING_SHARED:
		if (most_of_all)
			end = xasprintf("%s of its own process ran %s for %s", w->other, w->where,
					w->run);
		else
			end = xasprintf("other threads of its own process ran %s for %s", w->where,
					w->by);
		break;
	case FINDING_RANKS_SHARE:
		end = xasprintf("%s ran there for %s: the ranks share %s",
				*w->other ? w->other : "other ranks", *w->other ? w->run : w->by,
				finding_has(finding, NUMBER_CPU) ? w->where + strlen("on ")
								 : "CPUs");
		break;
	case FINDING_IDLE:
		end = xasprintf("its CPU was idle for %s of that", w->by);
		break;
	default:
		if (finding_has(finding, NUMBER_TAKER)) {
			char *taker = tid_names_of_tid(o->names, finding->who.stream,
						       (int32_t)n[NUMBER_TAKER]);

			end = taker ? xasprintf("the trace does not tell which thread had the CPU "
						"for %s of that%s; %s took it %" PRId64 " %s",
						w->by, o->others ? RECORD_ALL : "", taker,
						n[NUMBER_COUNT],
						plural((uint64_t)n[NUMBER_COUNT], "time", "times"))
				    : NULL;
			free(taker);
		} else {
			end = xasprintf(
				"the trace does not tell which thread had the CPU for %s of "
				"that",
				w->by);
		}
		break;
	}
	if (begin && end)
		text = xasprintf("%s%s %s", begin, follows_same_waits(o, finding) ? ":" : ";", end);
	free(begin);
	free(end);
	return text;
}

/* The name of an MPI function by its value in the channel. */
static const char *function_name(int64_t value)
{
	const struct catalog_model *model = catalog_model('M');

	for (size_t i = 0; model && i < model->nevents; i++)
		if (model->events[i].value == value && model->events[i].label)
			return model->events[i].label;
	return "MPI";
}

/* The quota may belong to the cgroup of the thread or to one above it, but not to the root. */
static char *quota_text(const char *cgroup, const struct words *w)
{
	bool named = cgroup && cgroup[0] == '/' && cgroup[1];
	const char *above = named && strchr(cgroup + 1, '/') ? " or of a cgroup above it" : "";

	return xasprintf("%s was throttled by the CPU quota of %s%s: %s of %s", w->who,
			 named ? cgroup : "its cgroup", above, w->time, w->of);
}

static const char inversion_text[] = ": a priority inversion, if that CPU went to threads of lower "
				     "priority than those that slept "
				     "(priorities are not recorded)";

/* The thread that ran longest while the thread of a stream waited for a CPU; -1: not known. */
static int64_t longest_culprit(const struct findings *f, uint32_t victim)
{
	const struct culprit_pair *longest = NULL;

	for (size_t i = 0; i < f->culprits.npairs; i++) {
		const struct culprit_pair *pair = &f->culprits.pairs[i];

		if (pair->victim == victim && pair->culprit >= 0 &&
		    (!longest || pair->ns > longest->ns))
			longest = pair;
	}
	return longest ? longest->culprit : -1;
}

/* What makes the wait of the owner of a lock a priority inversion, with the priorities that the
 * owner, the thread that ran meanwhile, and the waiter (NO_WAITER: several) had longest. */
#define NO_WAITER UINT32_MAX

static char *inversion_of(const struct overview *o, const struct finding *finding, uint32_t waiter)
{
	const struct findings *f = &o->findings;
	uint32_t owner = finding->by.stream;
	const char *priority = thread_priority_longest(&f->priorities, owner, f->last), *other;
	int64_t culprit = longest_culprit(f, owner);
	struct finding_party party;
	char *text, *more, *who;

	if (!priority || finding->by.kind != PARTY_THREAD)
		return strdup(inversion_text);
	text = xasprintf(": a priority inversion, if the thread that ran is less urgent than those "
			 "that slept; the owner had %s",
			 text_shown(priority));
	for (int i = 0; text && i < 2; i++) {
		uint32_t stream = i ? waiter : culprit < 0 ? NO_WAITER : (uint32_t)culprit;

		other = stream == NO_WAITER
				? NULL
				: thread_priority_longest(&f->priorities, stream, f->last);
		if (!other)
			continue;
		party = (struct finding_party){PARTY_THREAD, stream,
					       f->processes[f->threads[stream].process].rank, 0};
		who = party_text(o, &party);
		more = who ? xasprintf("%s, %s, which %s, %s", text, who,
				       i ? "slept longest" : "ran meanwhile", text_shown(other))
			   : NULL;
		free(who);
		free(text);
		text = more;
	}
	return text;
}

/* The waits for a lock, and what its owner did meanwhile. */
static char *owner_text(const struct overview *o, const struct finding *finding,
			const struct words *w)
{
	const int64_t *n = finding->numbers;
	uint64_t count = (uint64_t)n[NUMBER_COUNT];
	bool several = finding->who.kind != PARTY_THREAD;
	bool kernel = !strncmp(finding->lock, "kernel lock ", 12);
	bool inversion = n[NUMBER_WAIT] > n[NUMBER_RUN] && n[NUMBER_WAIT] > n[NUMBER_SLEEP];
	char *call = strdup(""), *text = NULL;
	char *why = inversion ? inversion_of(o, finding, finding->waiter) : strdup("");

	if (finding->call) {
		free(call);
		call = xasprintf(" (%s at once in %s)", w->at_once, finding->call);
	}
	if (call && why)
		text = xasprintf(
			"%s%s %s (%" PRIu64 " %s) for the %s%s, which %s had%s%s; meanwhile "
			"that thread slept %s%s, ran %s and waited %s for a CPU%s",
			w->who, several ? ": its threads waited" : " waited", w->time, count,
			plural(count, "time", "times"), kernel ? "" : "lock ", finding->lock,
			w->other, finding->place ? "; the longest wait was in " : "",
			finding->place ? finding->place : "", w->asleep, call, w->run, w->wait,
			why);
	free(call);
	free(why);
	return text;
}

/* The part of the run time that interrupts took, and the kind that had most of the CPU's time. */
static char *irq_text(const struct finding *finding, const struct words *w)
{
	const int64_t *n = finding->numbers;
	bool one = finding_has(finding, NUMBER_CPU);
	char *kind = finding->irq ? xasprintf("; %s, %s took most: %s (%" PRId64 " %s)",
					      one ? w->where : "over all CPUs", finding->irq, w->by,
					      n[NUMBER_COUNT],
					      plural((uint64_t)n[NUMBER_COUNT], "time", "times"))
				  : strdup("");
	char *text =
		kind ? xasprintf("interrupts took %s of the %s that %s ran (%.1f %%)%s", w->time,
				 w->of, w->who, percent(n[NUMBER_TIME], n[NUMBER_OF]), kind)
		     : NULL;

	free(kind);
	return text;
}

static char *sentence_of(const struct overview *o, const struct finding *finding,
			 const struct words *w)
{
	const int64_t *n = finding->numbers;
	uint64_t threads = (uint64_t)n[NUMBER_THREADS], count = (uint64_t)n[NUMBER_COUNT];
	const char *inversion = w->inversion;

	switch (finding->kind) {
	case FINDING_QUOTA:
		return quota_text(overview_owner(o, finding->who.stream)->cgroup, w);
	case FINDING_IMBALANCE:
		return xasprintf("%s: %s worked %s, the mean of %" PRIu64 " threads is %s (load "
				 "balance %.3f)",
				 w->who, w->other, w->most, threads, w->mean,
				 percent(n[NUMBER_MEAN], n[NUMBER_MOST]) / 100);
	case FINDING_RANK_IMBALANCE:
		return xasprintf("%s worked %s, the mean of %" PRIu64 " ranks is %s (load balance "
				 "%.3f)",
				 w->other, w->most, threads, w->mean,
				 percent(n[NUMBER_MEAN], n[NUMBER_MOST]) / 100);
	case FINDING_LOCK:
	case FINDING_INVERSION:
		if (threads > 1)
			return xasprintf("%s: its threads slept %s (%" PRIu64
					 " %s) for mutexes that %" PRIu64
					 " of them held, %s of it for those of %s; in the %s of "
					 "these holds, "
					 "the holders slept %s, ran %s and waited %s for a CPU%s",
					 w->who, w->time, count, plural(count, "time", "times"),
					 threads, w->most, w->other, w->by, w->asleep, w->run,
					 w->wait, inversion);
		return xasprintf("%s held a mutex, for which other threads slept %s (%" PRIu64
				 " %s); in the %s of these holds, it slept %s, ran %s and "
				 "waited %s for a CPU%s",
				 w->other, w->time, count, plural(count, "time", "times"), w->by,
				 w->asleep, w->run, w->wait, inversion);
	case FINDING_OWNER:
		return owner_text(o, finding, w);
	case FINDING_LATE_RANK:
		return xasprintf("%s spent %s in MPI, most of it in %s; meanwhile %s, outside of "
				 "MPI, computed for %s and waited %s for a CPU",
				 threads == 1 ? w->who : "other ranks", w->time,
				 function_name(n[NUMBER_FUNCTION]), w->other, w->run, w->wait);
	case FINDING_LATE_SENDER:
		return xasprintf("%s waited %s for messages that %s had not begun to send (%" PRIu64
				 " %s, at most %s)",
				 w->who, w->time, w->other, count, plural(count, "time", "times"),
				 w->most);
	case FINDING_LATE_RECEIVER:
		return xasprintf("%s waited %s to send messages that %s had not begun to receive "
				 "(%" PRIu64 " %s, at most %s)",
				 w->who, w->time, w->other, count, plural(count, "time", "times"),
				 w->most);
	case FINDING_IO:
		return xasprintf("%s waited for I/O %.1f %% of %s: %s in %" PRIu64
				 " %s, at most %s%s",
				 w->who, percent(n[NUMBER_TIME], n[NUMBER_OF]), w->of, w->time,
				 count, plural(count, "sleep", "sleeps"), w->most, w->call);
	case FINDING_BLOCKED:
		return xasprintf("%s slept uninterruptibly %.1f %% of %s: %s, not for I/O%s",
				 w->who, percent(n[NUMBER_TIME], n[NUMBER_OF]), w->of, w->time,
				 finding->call ? w->call
					       : ": page faults, locks of the kernel or vfork()");
	case FINDING_JITTER:
		return xasprintf("%s runs every %s, but was late %" PRIu64 " of %" PRIu64
				 " times; at worst %s after the run before, of which it waited %s "
				 "for a CPU",
				 w->who, w->mean, count, threads, w->most, w->wait);
	case FINDING_STEAL:
		return xasprintf("the hypervisor took %s of %s (%.1f %%) from %s: run times there "
				 "contain it",
				 w->time, w->of, percent(n[NUMBER_TIME], n[NUMBER_OF]), w->who);
	case FINDING_IRQ:
		return irq_text(finding, w);
	default:
		return wait_text(o, finding, w);
	}
}

/* The finding as a sentence; for free(). NULL without memory. */
char *finding_text(const struct overview *o, const struct finding *finding)
{
	const int64_t *n = finding->numbers;
	struct words w = {.who = party_text(o, &finding->who),
			  .other = party_text(o, &finding->by)};
	char *text = NULL, part[DURATION_TEXT], there[DURATION_TEXT];

	duration_words(part, n[NUMBER_CALL]);
	memcpy(w.at_once, part, sizeof(part));
	duration_words(there, n[NUMBER_PLACE]);
	if (finding_has(finding, NUMBER_PLACE))
		w.call = xasprintf("; %s of it in %s, and of that %s in %s", part, finding->call,
				   there, finding->place);
	else if (finding->call)
		w.call = xasprintf("; %s of it in %s", part, finding->call);
	else
		w.call = strdup("");
	duration_words(w.of, n[NUMBER_OF]);
	duration_words(w.time, n[NUMBER_TIME]);
	duration_words(w.by, n[NUMBER_BY]);
	duration_words(w.most, n[NUMBER_MOST]);
	duration_words(w.mean, n[NUMBER_MEAN]);
	duration_words(w.run, n[NUMBER_RUN]);
	duration_words(w.wait, n[NUMBER_WAIT]);
	duration_words(w.asleep, n[NUMBER_SLEEP]);
	if (finding_has(finding, NUMBER_CPU))
		snprintf(w.where, sizeof(w.where), "on CPU %" PRId64, n[NUMBER_CPU]);
	else
		snprintf(w.where, sizeof(w.where), "there");
	w.inversion = finding->kind == FINDING_INVERSION ? inversion_of(o, finding, NO_WAITER)
							 : strdup("");
	if (w.who && w.other && w.call && w.inversion)
		text = sentence_of(o, finding, &w);
	free(w.inversion);
	free(w.who);
	free(w.other);
	free(w.call);
	return text;
}

/* A path as a shell takes it. */
char *shell_word(const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "_./+-:,@%";
	struct bytes text = {0};

	if (*word && strspn(word, plain) == strlen(word))
		return strdup(word);
	bytes_put(&text, "'", 1);
	for (; *word; word++) {
		if (*word == '\'')
			bytes_put(&text, "'\\'", 3);
		bytes_put(&text, word, 1);
	}
	bytes_put(&text, "'", 2);
	if (text.failed) {
		bytes_free(&text);
		return NULL;
	}
	return (char *)text.data;
}

/* The options of the part of the recording; "" for all of it. */
static void part_text(const struct overview *o, char text[96])
{
	const struct filter *filter = o->filter;
	char from[40] = "", to[40] = "";

	if (filter->from.given)
		snprintf(from, sizeof(from), " --from %" PRId64, filter->first);
	if (filter->to.given)
		snprintf(to, sizeof(to), " --to %" PRId64, filter->last);
	snprintf(text, 96, "%s%s", from, to);
}

/* The command that shows more about a finding; for free(). NULL without memory. */
char *finding_command(const struct overview *o, const struct finding *finding)
{
	static const char *const reports[FINDING_KINDS] = {
		[FINDING_NEIGHBOUR] = "preempt",
		[FINDING_SHARED] = "preempt",
		[FINDING_RANKS_SHARE] = "preempt",
		[FINDING_KERNEL] = "preempt",
		[FINDING_IDLE] = "latency",
		[FINDING_UNKNOWN] = "preempt",
		[FINDING_QUOTA] = "why",
		[FINDING_IMBALANCE] = "why",
		[FINDING_RANK_IMBALANCE] = "why --by rank",
		[FINDING_LOCK] = "func --by thread",
		[FINDING_INVERSION] = "func --by thread",
		[FINDING_OWNER] = "locks",
		[FINDING_LATE_RANK] = "func --by rank",
		[FINDING_LATE_SENDER] = "messages",
		[FINDING_LATE_RECEIVER] = "messages",
		[FINDING_IO] = "why",
		[FINDING_BLOCKED] = "why",
		[FINDING_JITTER] = "timehist",
		[FINDING_STEAL] = "cpu",
		[FINDING_IRQ] = "why",
	};
	const struct finding_party *party = &finding->who;
	const struct owner *owner = overview_owner(o, party->stream);
	char *path = shell_word(o->path), *text = NULL, part[96];
	const char *report = reports[finding->kind];
	int64_t at = finding->numbers[NUMBER_MOST_AT];

	part_text(o, part);
	if (finding->kind == FINDING_JITTER) /* the run before, and the late one */
		snprintf(part, sizeof(part), " --from +%" PRId64 "ns --to +%" PRId64 "ns",
			 clock_distance(clock_sum(finding->numbers[NUMBER_MOST], 1000000), at),
			 clock_sum(at, 1000000));
	if (!path)
		return NULL;
	if (finding->kind == FINDING_STEAL || finding->kind == FINDING_RANK_IMBALANCE ||
	    finding->kind == FINDING_LATE_RANK || finding->kind == FINDING_LATE_SENDER ||
	    finding->kind == FINDING_LATE_RECEIVER)
		text = xasprintf("ovni-report %s%s %s", report, part, path);
	else if (party->kind == PARTY_THREAD && finding->kind != FINDING_OWNER)
		text = xasprintf("ovni-report %s --tid %" PRId64 "%s %s", report, owner->tid, part,
				 path);
	else
		text = xasprintf("ovni-report %s --pid %" PRId64 "%s %s", report, owner->pid, part,
				 path);
	free(path);
	return text;
}

/* ---- the path to the end of the command ---- */

/* "ran 8.175 ms, waited 32.464 ms for a CPU, slept 815.864 ms"; for free(). */
static char *classes_text(const int64_t ns[TIME_CLASSES])
{
	static const struct {
		const char *before, *after;
	} words[TIME_CLASSES] = {[CLASS_RUNNING] = {"ran ", ""},
				 [CLASS_RUNNABLE] = {"waited ", " for a CPU"},
				 [CLASS_THROTTLED] = {"was throttled for ", ""},
				 [CLASS_ASLEEP] = {"slept ", ""},
				 [CLASS_UNKNOWN] = {"", " unknown"}};
	char *text = strdup(""), time[DURATION_TEXT];

	for (int class = 0; class < TIME_CLASSES && text; class ++) {
		char *more;

		if (!ns[class])
			continue;
		duration_words(time, ns[class]);
		more = xasprintf("%s%s%s%s%s", text, *text ? ", " : "", words[class].before, time,
				 words[class].after);
		free(text);
		text = more;
	}
	return text;
}

static int64_t classes_sum(const int64_t ns[TIME_CLASSES])
{
	int64_t sum = 0;

	for (int class = 0; class < TIME_CLASSES; class ++)
		sum = clock_sum(sum, ns[class]);
	return sum;
}

char *path_text(const struct overview *o)
{
	const struct finding_path *path = &o->findings.path;
	char *end = tid_names_of_stream(o->names, path->end);
	char *most = tid_names_of_stream(o->names, path->most);
	char *all = classes_text(path->ns), *part = classes_text(path->most_ns), *text = NULL;
	char life[DURATION_TEXT];

	duration_words(life, classes_sum(path->ns));
	if (!end || !most || !all || !part)
		goto out;
	if (path->complete)
		text = xasprintf(
			"Why %s ended no sooner: of %s on the path of wake-ups to its end, "
			"threads %s; %.1f %% of it is %s: it %s",
			end, life, all, percent(classes_sum(path->most_ns), classes_sum(path->ns)),
			path->most == path->end ? "the thread itself" : most, part);
	else
		text = xasprintf("Why %s ended no sooner: left out here, with more than %d events "
				 "of the command",
				 end, FINDING_PATH_EVENTS);
out:
	free(end);
	free(most);
	free(all);
	free(part);
	return text;
}

char *path_command(const struct overview *o)
{
	char *path = shell_word(o->path), *text = NULL;

	if (path)
		text = xasprintf("ovni-report critical --sum --tid %" PRId64 " %s",
				 overview_owner(o, o->findings.path.end)->tid, path);
	free(path);
	return text;
}
