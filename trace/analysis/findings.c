/* SPDX-License-Identifier: MIT */
/* findings: see findings.h. The rules are in findings_*.c, by their topic. */
#include "trace/analysis/findings_rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/array.h"
#include "trace/base/log.h"
#include "trace/messages/messages.h"
#include "trace/messages/mpi_calls.h"
#include "trace/ovni/player.h"

#define GENERATIONS 64 /* between the recorder and a process */

const char *const finding_names[FINDING_KINDS] = {
	[FINDING_NEIGHBOUR] = "neighbour",
	[FINDING_SHARED] = "shared-cpu",
	[FINDING_RANKS_SHARE] = "ranks-share-cpu",
	[FINDING_KERNEL] = "kernel",
	[FINDING_IDLE] = "idle-cpu",
	[FINDING_UNKNOWN] = "unknown-culprit",
	[FINDING_QUOTA] = "quota",
	[FINDING_IMBALANCE] = "imbalance",
	[FINDING_RANK_IMBALANCE] = "rank-imbalance",
	[FINDING_LOCK] = "lock",
	[FINDING_OWNER] = "owner",
	[FINDING_INVERSION] = "inversion",
	[FINDING_LATE_RANK] = "late-rank",
	[FINDING_LATE_SENDER] = "late-sender",
	[FINDING_LATE_RECEIVER] = "late-receiver",
	[FINDING_IO] = "io",
	[FINDING_BLOCKED] = "uninterruptible",
	[FINDING_JITTER] = "jitter",
	[FINDING_STEAL] = "steal",
	[FINDING_IRQ] = "interrupts",
};

const char *const finding_number_names[NUMBERS] = {
	[NUMBER_OF] = "of_ns",		[NUMBER_TIME] = "time_ns",    [NUMBER_BY] = "by_ns",
	[NUMBER_COUNT] = "count",	[NUMBER_THREADS] = "threads", [NUMBER_MOST] = "most_ns",
	[NUMBER_MOST_AT] = "most_at",	[NUMBER_MEAN] = "mean_ns",    [NUMBER_RUN] = "run_ns",
	[NUMBER_WAIT] = "wait_ns",	[NUMBER_SLEEP] = "asleep_ns", [NUMBER_CPU] = "cpu",
	[NUMBER_FUNCTION] = "function", [NUMBER_TAKER] = "taker_tid", [NUMBER_CALL] = "call_ns",
	[NUMBER_PLACE] = "place_ns",
};

int64_t thread_use_sleep(const struct thread_use *use)
{
	int64_t sum = 0;

	for (int why = 0; why < OFF_CPU_COUNT; why++)
		sum = clock_sum(sum, use->sleep[why]);
	return sum;
}

bool findings_worth(const struct findings *f, int64_t ns)
{
	return ns >= FINDING_LEAST &&
	       ns >= clock_distance(f->first, f->last) / 1000 * FINDING_PERMILLE;
}

/* ---- metadata ---- */

/* A number of a text that the hash can take: FNV-1a. */
static uint64_t text_key(const char *text)
{
	uint64_t key = 0xcbf29ce484222325u;

	for (; text && *text; text++)
		key = (key ^ (uint8_t)*text) * 0x100000001b3u;
	return key;
}

static struct hash_key process_key(const char *loom, int64_t pid)
{
	return (struct hash_key){.a = text_key(loom), .b = (uint64_t)pid};
}

/* ovni-bpf itself, or its process that reads an ELF file (user/elf/elf_child.c). */
static bool is_recorder(const char *name)
{
	return name && (!strcmp(name, "ovni-bpf") || !strcmp(name, "ovni-elf"));
}

static int add_process(struct findings *f, uint32_t stream)
{
	const struct owner *owner = &f->source->owners[stream];
	uint32_t *at = hash_at(&f->state->processes, process_key(owner->loom, owner->pid));
	struct process_use *process;

	if (!at)
		return -ENOMEM;
	if (*at == HASH_NONE) {
		process = ARRAY_ADD(f->processes, f->nprocesses);
		if (!process)
			return -ENOMEM;
		*process = (struct process_use){.stream = stream,
						.rank = owner->rank,
						.nranks = -1,
						.recorder = is_recorder(owner->name)};
		*at = (uint32_t)(process - f->processes);
	}
	f->threads[stream].process = *at;
	f->processes[*at].nthreads++;
	return 0;
}

static int init(struct findings *f, const struct source *source)
{
	size_t n = source->trace.nstreams;

	*f = (struct findings){.source = source};
	f->threads = calloc(n + 1, sizeof(*f->threads));
	f->state = calloc(1, sizeof(*f->state));
	if (!f->threads || !f->state)
		goto no_memory;
	f->state->threads = array_lines(n + 1, sizeof(*f->state->threads));
	f->state->holder_of = calloc(n + 1, sizeof(*f->state->holder_of));
	if (!f->state->threads || !f->state->holder_of)
		goto no_memory;
	for (size_t i = 0; i < n; i++) {
		f->threads[i].cpu = CPU_NONE;
		f->state->holder_of[i] = NO_STREAM;
		f->state->threads[i].owner = NO_STREAM;
		f->state->threads[i].released = INTERVAL_UNKNOWN;
		if (add_process(f, (uint32_t)i))
			goto no_memory;
	}
	return 0;
no_memory:
	return log_no_memory("for %zu threads of %s", n, source->trace.path);
}

void findings_fini(struct findings *f)
{
	struct findings_state *s = f->state;

	thread_priorities_fini(&f->priorities);
	if (s) {
		findings_end_path(f);
		findings_end_messages(f);
		free(s->threads);
		free(s->parties);
		free(s->marks);
		free(s->holders);
		free(s->owned);
		hash_free(&s->owned_at);
		free(s->holder_of);
		free(s->ranks);
		free(s->rank_of);
		hash_free(&s->processes);
		free(s->pairs);
		free(s->sums);
		free(s);
	}
	culprits_fini(&f->culprits);
	thread_times_fini(&f->times);
	blocked_fini(&f->blocked);
	for (size_t i = 0; i < f->n; i++) {
		free(f->list[i].call);
		free(f->list[i].place);
		free(f->list[i].lock);
		free(f->list[i].irq);
	}
	cpu_times_fini(&f->cpus);
	findings_end_periods(f);
	free(f->processes);
	free(f->threads);
	free(f->list);
	free(f->steal);
	*f = (struct findings){.n = 0};
}

/* Words of a command line as a number; 0: there are none. */
static uint64_t words_key(const struct json *words)
{
	const struct json *word = json_first(words);
	uint64_t key = 0;

	for (; word; word = json_next(word))
		key = key * 31 + text_key(json_string(word));
	return key;
}

/* Of the recorder, and of a command that it started. */
static void take_session(struct findings_state *s, const struct json *session)
{
	const char *why = json_string(json_key(session, "stopped_by"));

	if (!session)
		return;
	s->words = words_key(json_key(session, "options"));
	s->ended = json_is_object(json_key(session, "command")) && why && !strcmp(why, "target");
}

static void take_owner(struct findings *f, uint32_t stream)
{
	struct process_use *process = &f->processes[f->threads[stream].process];
	const struct owner *owner = &f->source->owners[stream];

	f->state->owners |= owner->locks;
	f->threads[stream].kernel = owner->kernel_thread;
	if (owner->parent)
		process->parent = owner->parent;
	if (process->rank < 0)
		process->rank = owner->known_rank;
	if (process->nranks < 0)
		process->nranks = owner->nranks;
}

static int take_metadata(struct findings *f, uint32_t stream, const struct json *meta)
{
	struct process_use *process = &f->processes[f->threads[stream].process];
	const struct json *cpu = json_first(json_get(meta, "bpf.session.cpus"));

	take_session(f->state, json_get(meta, "bpf.session"));
	if (process->recorder && json_get(meta, "bpf.command"))
		process->words = words_key(json_get(meta, "bpf.command"));
	for (; cpu; cpu = json_next(cpu)) {
		struct cpu_steal *steal;
		uint64_t ns;

		if (!json_u64(json_key(cpu, "steal"), &ns) || ns > INT64_MAX)
			continue;
		steal = ARRAY_ADD(f->steal, f->nsteal);
		if (!steal)
			return -ENOMEM;
		*steal = (struct cpu_steal){stream, (int32_t)json_int(json_key(cpu, "index")),
					    (int64_t)ns};
	}
	for (const struct json *mark = json_first(json_get(meta, "ovni.mark")); mark;
	     mark = json_next(mark)) {
		f->state->with_messages |= mpi_calls_declared(mark);
		if (findings_add_marks(f->state, mark))
			return -ENOMEM;
	}
	return 0;
}

/* ---- the use of the time ---- */

struct times findings_times(const struct findings *f, uint32_t stream, int64_t clock)
{
	int64_t ns[TIME_CLASSES];
	int64_t lost = thread_times_lost(&f->times, stream, clock); /* perhaps it was not asleep */

	thread_times_read(&f->times, stream, clock, ns);
	return (struct times){ns[CLASS_RUNNING], clock_sum(ns[CLASS_RUNNABLE], ns[CLASS_THROTTLED]),
			      clock_sum(ns[CLASS_ASLEEP], ns[CLASS_UNKNOWN] - lost)};
}

/* ---- MPI and runtimes ---- */

const char *findings_loom(const struct findings *f, uint32_t process)
{
	return f->source->owners[f->processes[process].stream].loom;
}

/* ---- events ---- */

/* thread_times: a stay has ended. Only sleeps that the rules ask for are added up by call. */
static void take_stay(void *arg, uint32_t stream, enum time_use use, int64_t begin, int64_t end)
{
	struct findings *f = arg;

	if (use == TIME_ASLEEP + OFF_CPU_IO || use == TIME_ASLEEP + OFF_CPU_UNINTERRUPTIBLE)
		blocked_add(&f->blocked, f->state->intervals, stream, use, begin, end,
			    f->state->ev);
}

static int take_state(struct findings *f, const struct intervals *intervals, uint32_t stream,
		      const struct event *ev)
{
	enum time_use from = f->times.threads[stream].use;
	int err = 0;

	if (f->state->nmarks && ev->model == 'O' && ev->value == 'w' && from >= TIME_ASLEEP &&
	    from < TIME_NONE && f->state->threads[stream].inside == ROLE_LOCK &&
	    ev->payload_size >= 4)
		err = findings_end_lock_sleep(f, intervals, stream, ev->clock,
					      get_i32(ev->payload));
	if (err)
		return err;
	thread_times_step(&f->times, intervals, stream, ev);
	if (f->times.threads[stream].use == from || !f->state->owners)
		return 0;
	if (f->state->threads[stream].owner != NO_STREAM)
		err = findings_end_owned(f, intervals, stream, ev->clock);
	if (err)
		return err;
	if (ev->value == (ev->model == 'K' ? 'O' : 'p'))
		findings_begin_owned(f, intervals, stream, ev);
	return 0;
}

static int take_event(struct findings *f, const struct intervals *intervals, uint32_t stream,
		      const struct event *ev)
{
	switch (ev->model) {
	case 'O':
		if (ev->category == 'H')
			return take_state(f, intervals, stream, ev);
		if (ev->category == 'M' && !thread_priorities_step(&f->priorities, stream, ev))
			findings_take_mark(f, stream, ev);
		return 0;
	case 'K':
		return ev->category == 'C' ? take_state(f, intervals, stream, ev) : 0;
	case 'M':
	case 'P':
		return findings_take_model(f, stream, ev);
	default:
		return 0;
	}
}

/* The times of a thread by their use. */
static void take_times(struct thread_use *use, const struct thread_time *times)
{
	use->run = thread_time_stays(times, TIME_RUNNING)->ns;
	use->irq = times->irq;
	for (int cause = 0; cause < WAIT_CAUSES; cause++) {
		const struct time_stays *stays = thread_time_stays(times, TIME_WAITING + cause);

		if (cause == WAIT_THROTTLED)
			use->throttled = stays->ns;
		if (cause == WAIT_THROTTLED || cause == WAIT_NEWBORN ||
		    stays->max <= use->wait_most)
			continue;
		use->wait_most = stays->max;
		use->wait_most_at = clock_sum(stays->max_at, stays->max);
	}
	for (int why = 0; why < OFF_CPU_COUNT; why++)
		if (TIME_ASLEEP + why != TIME_LOST)
			use->sleep[why] = thread_time_stays(times, TIME_ASLEEP + why)->ns;
	use->unknown = thread_time_stays(times, TIME_LOST)->ns;
	use->io = thread_time_stays(times, TIME_ASLEEP + OFF_CPU_IO)->count;
	use->io_most = thread_time_stays(times, TIME_ASLEEP + OFF_CPU_IO)->max;
}

/* Ends the times at the end of the trace, and adds them up. */
static void end_times(struct findings *f, const struct intervals *intervals)
{
	f->start = intervals->first;
	f->first = f->first > intervals->first ? f->first : intervals->first;
	f->last = f->last < intervals->last ? f->last : intervals->last;
	if (f->last < f->first)
		f->last = f->first;
	for (size_t i = 0; i < f->source->trace.nstreams; i++) {
		findings_take_life(f, (uint32_t)i, &f->threads[i]);
		if (f->times.threads[i].use != TIME_NONE)
			f->threads[i].last = f->last;
	}
	f->state->ev = NULL;
	thread_times_finish(&f->times, intervals);
	for (size_t i = 0; i < f->source->trace.nstreams; i++) {
		struct thread_use *use = &f->threads[i];
		struct process_use *process = &f->processes[use->process];

		if (!use->seen)
			continue;
		take_times(use, &f->times.threads[i]);
		if (f->part) /* with the run in which it begins */
			use->runs = thread_time_stays(&f->times.threads[i], TIME_RUNNING)->count;
		process->run = clock_sum(process->run, use->run);
		process->idle_run = clock_sum(process->idle_run, use->idle_run);
		process->throttled = clock_sum(process->throttled, use->throttled);
		process->sleep = clock_sum(process->sleep, thread_use_sleep(use));
		process->unknown = clock_sum(process->unknown, use->unknown);
	}
}

/* ---- rules ---- */

static const struct finding_party nobody = {PARTY_NONE, 0, -1, CPU_NONE};

struct finding_party findings_thread(const struct findings *f, uint32_t stream)
{
	return (struct finding_party){PARTY_THREAD, stream,
				      f->processes[f->threads[stream].process].rank, CPU_NONE};
}

struct finding_party findings_process(const struct findings *f, uint32_t process)
{
	const struct process_use *p = &f->processes[process];

	if (p->nthreads == 1)
		return findings_thread(f, p->stream);
	return (struct finding_party){p->rank >= 0 ? PARTY_RANK : PARTY_PROCESS, p->stream, p->rank,
				      CPU_NONE};
}

struct finding *findings_add(struct findings *f, enum finding_kind kind, int64_t cost,
			     struct finding_party who)
{
	struct finding *finding = ARRAY_ADD(f->list, f->n);

	if (finding)
		*finding = (struct finding){
			.kind = kind,
			.cost = cost,
			.target =
				f->targets && (who.kind == PARTY_CPU ||
					       f->processes[f->threads[who.stream].process].target),
			.who = who,
			.by = nobody};
	return finding;
}

/* ---- the rest ---- */

static int compare(const void *pa, const void *pb)
{
	const struct finding *a = pa, *b = pb;

	if (a->target != b->target)
		return a->target ? -1 : 1;
	if (a->cost != b->cost)
		return a->cost < b->cost ? 1 : -1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return a->who.stream < b->who.stream ? -1 : a->who.stream > b->who.stream;
}

/* The life of each thread and process, with the wait of a newborn for its first CPU. */
static void add_lives(struct findings *f)
{
	for (size_t i = 0; i < f->source->trace.nstreams; i++) {
		struct thread_use *use = &f->threads[i];
		struct process_use *process = &f->processes[use->process];

		use->life = clock_sum(clock_sum(use->run, use->waited),
				      clock_sum(use->throttled, thread_use_sleep(use)));
		use->life = clock_sum(use->life, use->unknown);
		process->life = clock_sum(process->life, use->life);
	}
}

/* The CPU on which each thread ran. */
static void find_cpus(struct findings *f)
{
	const struct cpu_times *cpus = &f->cpus;

	for (size_t i = 0; i < cpus->nspans; i++) {
		const struct cpu_span *span = &cpus->spans[i];
		struct thread_use *use = &f->threads[span->stream];

		if (span->ns / FINDING_CPU_PERCENT >= use->run / 100)
			use->cpu = span->cpu;
	}
}

static int find_in_group(struct findings *f, const struct group *group)
{
	static int (*const finders[])(struct findings *, const struct group *) = {
		findings_of_waits, findings_of_sums,   findings_of_imbalance,
		findings_of_locks, findings_of_owners, findings_of_irqs};
	int err;

	if (f->processes[group->process].recorder)
		return 0;
	for (size_t i = 0; i < sizeof(finders) / sizeof(finders[0]); i++) {
		err = finders[i](f, group);
		if (err)
			return err;
	}
	for (size_t i = 0; i < group->n; i++) {
		err = findings_of_jitter(f, group->members[i]);
		if (err)
			return err;
	}
	return 0;
}

/* Applies the rules to each process: `members` are the streams, sorted by process. */
static int find_in_groups(struct findings *f)
{
	size_t n = f->source->trace.nstreams, at = 0;
	uint32_t *members = calloc(n + 1, sizeof(*members));
	size_t *ends = calloc(f->nprocesses + 1, sizeof(*ends));
	int err = -ENOMEM;

	if (!members || !ends)
		goto out;
	for (uint32_t p = 0; p < f->nprocesses; p++) {
		ends[p] = at;
		at += f->processes[p].nthreads;
	}
	for (size_t i = 0; i < n; i++)
		members[ends[f->threads[i].process]++] = (uint32_t)i;
	for (uint32_t p = 0; p < f->nprocesses; p++) {
		uint32_t count = f->processes[p].nthreads;
		struct group group = {p, members + ends[p] - count, count};

		err = find_in_group(f, &group);
		if (err)
			goto out;
	}
	err = 0;
out:
	free(members);
	free(ends);
	return err;
}

/* Makes the list, after the walks. */
static int make_list(struct findings *f, const struct intervals *intervals)
{
	static int (*const finders[])(struct findings *) = {
		find_in_groups, findings_of_rank_imbalance, findings_of_late_ranks,
		findings_of_messages, findings_of_steal};
	int err;

	end_times(f, intervals);
	if (f->times.no_memory)
		return -ENOMEM;
	err = findings_of_path(f, intervals);
	if (err)
		return err;
	findings_end_path(f);
	add_lives(f);
	find_cpus(f);
	for (size_t i = 0; i < sizeof(finders) / sizeof(finders[0]); i++) {
		err = finders[i](f);
		if (err)
			return err;
	}
	if (f->n)
		qsort(f->list, f->n, sizeof(*f->list), compare);
	return 0;
}

/* ---- the walk ---- */

static int take_uses_event(void *arg, const struct intervals *intervals, uint32_t stream,
			   const struct event *ev)
{
	struct findings *f = arg;
	int err = 0;

	f->state->intervals = intervals;
	f->state->ev = ev;
	f->events += ev->clock == findings_clamp(f, ev->clock);
	err = culprits_step(&f->culprits, intervals, stream, ev);
	if (err)
		return err;
	if (f->state->path)
		err = findings_take_path(f, intervals, stream, ev);
	if (!err && f->state->messages)
		err = messages_step(f->state->messages, stream, ev);
	return err ? err : take_event(f, intervals, stream, ev);
}

static int take_runs_event(void *arg, const struct intervals *intervals, uint32_t stream,
			   const struct event *ev)
{
	struct findings *f = arg;

	return cpu_times_step(&f->cpus, intervals, stream, ev);
}

static int take_runs_span(void *arg, const struct intervals *intervals, uint32_t stream,
			  int32_t cpu, int64_t from, int64_t to)
{
	struct findings *f = arg;

	return cpu_times_add(&f->cpus, intervals, stream, cpu, from, to);
}

uint32_t findings_parent(const struct findings *f, uint32_t process)
{
	return hash_get(&f->state->processes,
			process_key(findings_loom(f, process), f->processes[process].parent));
}

/* Marks the recorder of this trace by its command line; of a trace without that, each one. */
static void find_recorder(struct findings *f)
{
	bool known = false;

	for (uint32_t p = 0; p < f->nprocesses; p++)
		known |= f->processes[p].recorder && f->processes[p].words == f->state->words;
	for (uint32_t p = 0; p < f->nprocesses; p++)
		f->processes[p].started = f->processes[p].recorder &&
					  (!known || f->processes[p].words == f->state->words);
}

/* Marks the processes that descend from the recorder: its command, where others are recorded, too.
 */
static void find_targets(struct findings *f)
{
	for (uint32_t p = 0; p < f->nprocesses; p++) {
		uint32_t at = p;

		for (int depth = 0; depth < GENERATIONS && at != HASH_NONE; depth++) {
			if (f->processes[at].started)
				break;
			at = findings_parent(f, at);
		}
		f->processes[p].target = at != p && at != HASH_NONE && f->processes[at].started &&
					 !f->processes[p].recorder;
		f->targets |= f->processes[p].target;
	}
}

static int read_metadata(struct findings *f)
{
	for (uint32_t i = 0; i < f->source->trace.nstreams; i++) {
		const struct owner *owner = &f->source->owners[i];
		struct json *meta;
		int err;

		take_owner(f, i);
		if (!owner->has_host && !owner->has_marks &&
		    !f->processes[f->threads[i].process].recorder)
			continue;
		meta = trace_metadata(&f->source->trace, i);
		if (!meta)
			return -EINVAL;
		err = take_metadata(f, i, meta);
		json_free(meta);
		if (err)
			return err;
	}
	findings_sort_marks(f->state);
	find_recorder(f);
	f->locks = f->state->owners;
	find_targets(f);
	return findings_list_ranks(f);
}

static void prefetch_runs(const void *arg, uint32_t stream, bool soon)
{
	const struct findings *f = arg;

	findings_prefetch_period(f, stream, soon);
}

static void prefetch_uses(const void *arg, uint32_t stream, bool soon)
{
	const struct findings *f = arg;

	if (!soon && (f->state->owners || f->state->nmarks))
		__builtin_prefetch(&f->state->threads[stream]);
	culprits_prefetch(&f->culprits, stream, soon);
	thread_times_prefetch(&f->times, stream, soon);
}

const struct interval_listener findings_runs = {
	.event = take_runs_event, .span = take_runs_span, .prefetch = prefetch_runs};
const struct interval_listener findings_uses = {.event = take_uses_event,
						.prefetch = prefetch_uses};

static int take_event_of_both(void *arg, const struct intervals *intervals, uint32_t stream,
			      const struct event *ev)
{
	struct findings *f = arg;
	enum time_use from = f->times.threads[stream].use, to;
	int err = take_runs_event(arg, intervals, stream, ev);

	err = err ? err : take_uses_event(arg, intervals, stream, ev);
	to = f->times.threads[stream].use;
	if (err || from == to)
		return err;
	return findings_take_use(f, intervals, stream, from, to, ev->clock);
}

static void prefetch_both(const void *arg, uint32_t stream, bool soon)
{
	prefetch_runs(arg, stream, soon);
	prefetch_uses(arg, stream, soon);
}

int findings_begin(struct findings *f, const struct source *source, int64_t first, int64_t last)
{
	int err = init(f, source);

	if (err)
		return err;
	f->first = first;
	f->last = last;
	f->part = first != INT64_MIN || last != INT64_MAX;
	cpu_times_begin(&f->cpus, first, last);
	err = findings_begin_periods(f);
	if (err)
		return err;
	err = thread_times_init(&f->times, source, first, last);
	if (err)
		return err;
	f->times.stay = take_stay;
	f->times.arg = f;
	err = thread_priorities_init(&f->priorities, source);
	if (err)
		return err;
	err = blocked_init(&f->blocked, source, false);
	if (err)
		return err;
	err = blocked_add_places(&f->blocked);
	if (err == -ENOMEM)
		return err;
	f->damaged_stacks = err; /* after a message; the rest is still of use */
	err = culprits_init(&f->culprits, source, first, last);
	if (err)
		return err;
	err = read_metadata(f);
	if (err)
		return err;
	err = findings_begin_messages(f);
	if (err)
		return err;
	err = findings_begin_path(f);
	return err ? err : findings_list_parties(f);
}

int findings_end_runs(struct findings *f, const struct intervals *intervals)
{
	int err = findings_settle_periods(f);

	return err ? err : cpu_times_finish(&f->cpus, intervals);
}

int findings_end_uses(struct findings *f, const struct intervals *intervals)
{
	int err = f->blocked.no_memory ? -ENOMEM : culprits_finish(&f->culprits, intervals);

	return err ? err : findings_take_charges(f);
}

int findings_end(struct findings *f, const struct intervals *intervals)
{
	int err = make_list(f, intervals);

	findings_end_periods(f); /* 25 MB of a large job */
	f->complete = !err;
	return err;
}

int findings_read(struct findings *f, const struct source *source, int64_t first, int64_t last)
{
	static const struct interval_listener listener = {
		.event = take_event_of_both, .span = take_runs_span, .prefetch = prefetch_both};
	struct intervals intervals = {0};
	struct source ordered = *source;
	struct play_ahead ahead;
	int err = findings_begin(f, source, first, last), walked;

	if (err)
		goto out;
	trace_drop_metadata(&source->trace); /* 24 MB of a large job */
	ordered.order = play_ahead_begin(&ahead, source->streams, source->trace.nstreams,
					 source->trace.fixes);
	walked = intervals_walk(&intervals, &ordered, &listener, f);
	play_ahead_end(&ahead);
	err = walked;
	if (!intervals.threads || walked == -ENOMEM)
		goto out;
	streams_release(source->streams, source->trace.nstreams); /* the lists take memory, too */
	err = findings_end_runs(f, &intervals);
	err = err ? err : findings_end_uses(f, &intervals);
	err = err ? err : findings_end(f, &intervals);
	err = err ? err : walked;
	err = err || !f->damaged_stacks ? err : -EBADMSG;
out:
	intervals_fini(&intervals);
	if (err == -ENOMEM)
		log_no_memory("while reading %s", source->trace.path);
	return err;
}
