/* SPDX-License-Identifier: MIT */
/*
 * many_cpus: records a machine with more CPUs than this one has.
 *
 *   many_cpus DIR CPUS SWITCHES RATE RING [TRUTH]
 *
 * One thread plays the kernel side of all CPUs: it reserves, stamps, fills in and commits records
 * in the rings, by the rules of bpf/emit.bpf.h, SWITCHES on each CPU. The rest is the recorder: its
 * rings of RING bytes, the thread that drains them, merge, timeline, writer, event counts; the
 * trace is DIR. RATE is switches per second and CPU; 0: all records are in the rings before the
 * draining thread starts, so that it never waits. TRUTH gets a line for each time that a thread
 * enters or leaves a CPU: "CLOCK TID in|out CPU".
 *
 * The functions that need the kernel (detach, the snapshots) are replaced by those below.
 * Prints one line of key=value. Status 0; 1 if anything fails.
 */
#include <err.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#include "bpf/state.h"
#include "trace/base/log.h"
#include "user/config/window_edge.h"
#include "user/host/clock.h"
#include "user/kernel/bpf_load.h"
#include "user/kernel/event_counts.h"
#include "user/kernel/rings.h"
#include "user/kernel/snapshot.h"
#include "user/session/drain.h"
#include "user/sink/output_dir.h"
#include "user/sink/sink.h"
#include "user/timeline/state_times.h"

#define LOCAL	    4 /* threads that wait for each CPU */
#define MOVE_EVERY  8 /* switches of a CPU: the next thread comes from another CPU */
#define FIRST_TID   100
#define PID	    50 /* threads of 64 CPUs share a process */
#define CPUS_OF_PID 64

struct cpu {
	struct cpu_state *state;
	uint8_t *ring;
	unsigned on;		 /* id of the running thread */
	unsigned waiting[LOCAL]; /* ids, a queue that begins at `first` */
	unsigned first, turn;
};

static struct {
	unsigned ncpus, nthreads;
	uint64_t switches, rate, ring_bytes;
	struct cpu *cpus;
	uint64_t *left_at; /* by id, ns */
	unsigned moving;   /* the thread that is between two CPUs */
	FILE *truth;
	struct bpf_load bpf;
	struct drain drain;
	pthread_t thread;
	bool joined;
	double cpu_s;  /* of the producing thread */
	uint64_t sent; /* records */
} m;

/* ---- the kernel side ---- */

static unsigned tid_of(unsigned id)
{
	return FIRST_TID + id;
}

static unsigned pid_of(unsigned id)
{
	return PID + (id - 1) / (CPUS_OF_PID * (LOCAL + 1));
}

static void publish(__u64 *position, uint64_t value)
{
	__atomic_store_n(position, value, __ATOMIC_RELEASE);
}

/* Space for a record, its clock read after the reserve; NULL if there is none. */
static void *reserve(struct cpu *cpu, enum record_kind kind, size_t size)
{
	struct cpu_state *s = cpu->state;
	uint64_t at = s->reserved;
	struct record_head *head;

	if (at - __atomic_load_n(&s->consumed, __ATOMIC_ACQUIRE) + size > m.ring_bytes)
		return NULL;
	publish(&s->reserved, at + size);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	head = (struct record_head *)(cpu->ring + (at & (m.ring_bytes - 1)));
	memset(head, 0, size);
	head->clock = clock_now();
	head->kind = (__u8)kind;
	m.sent++;
	return head;
}

static void commit(struct cpu *cpu)
{
	publish(&cpu->state->committed, cpu->state->reserved);
}

/* Writes the record of a gap that ends here. False: the gap stays open. */
static bool end_gap(struct cpu *cpu)
{
	struct cpu_state *s = cpu->state;
	struct record_lost *r = reserve(cpu, RECORD_LOST, sizeof(*r));

	if (!r)
		return false;
	r->first_clock = s->gap_clock;
	r->count = s->gap_count;
	for (unsigned kind = 0; kind < EVENT_KINDS; kind++) {
		r->kinds[kind] = s->events[kind].full - s->reported[kind];
		s->reported[kind] = s->events[kind].full;
	}
	publish(&s->gap_count, 0);
	commit(cpu);
	return true;
}

static void count_lost(struct cpu_state *s, enum event_kind kind)
{
	s->events[kind].full++;
	if (!s->gap_count)
		s->gap_clock = clock_now();
	publish(&s->gap_count, s->gap_count + 1);
}

static void say(uint64_t clock, unsigned id, const char *way, unsigned cpu)
{
	if (m.truth)
		fprintf(m.truth, "%llu %u %s %u\n", (unsigned long long)clock, tid_of(id), way,
			cpu);
}

static unsigned next_thread(struct cpu *cpu)
{
	unsigned *slot = &cpu->waiting[cpu->first], next = *slot;

	if (++cpu->turn % MOVE_EVERY == 0) {
		unsigned moved = m.moving;

		m.moving = next;
		next = moved;
	}
	*slot = cpu->on;
	cpu->first = (cpu->first + 1) % LOCAL;
	return next;
}

static void switch_on(unsigned number)
{
	struct cpu *cpu = &m.cpus[number];
	unsigned prev = cpu->on, next = next_thread(cpu);
	struct record_switch *r = NULL;

	cpu->on = next;
	cpu->state->events[EVENT_SWITCH].seen++;
	cpu->state->events[EVENT_WAKE].seen++;
	if (!cpu->state->gap_count || end_gap(cpu))
		r = reserve(cpu, RECORD_SWITCH, sizeof(*r));
	if (!r) {
		count_lost(cpu->state, EVENT_SWITCH);
		count_lost(cpu->state, EVENT_WAKE);
		return;
	}
	r->head.why = OFF_CPU_SLEEPING;
	r->head.id = prev;
	r->prev_tid = tid_of(prev);
	r->prev_pid = pid_of(prev);
	r->next_id = next;
	r->next_tid = tid_of(next);
	r->next_pid = pid_of(next);
	r->wake_clock = m.left_at[next] + (r->head.clock - m.left_at[next]) / 2;
	r->waker_tid = (__s32)tid_of(prev);
	m.left_at[prev] = r->head.clock;
	say(r->head.clock, prev, "out", number);
	say(r->head.clock + 1, next, "in", number);
	commit(cpu);
}

static double cpu_seconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* All CPUs switch, then all once more; at the rate, none of them before its time. */
static void *produce(void *arg)
{
	uint64_t start = clock_now(), due;

	(void)arg;
	for (uint64_t i = 0; i < m.switches; i++) {
		due = m.rate ? start + i * 1000000000 / m.rate : 0;
		while (clock_now() < due)
			nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
		for (unsigned cpu = 0; cpu < m.ncpus; cpu++)
			switch_on(cpu);
	}
	m.cpu_s = cpu_seconds(CLOCK_THREAD_CPUTIME_ID);
	return NULL;
}

static void prepare_cpus(void)
{
	size_t page = 4096, mapped = (m.ring_bytes + RING_SPILL + page - 1) / page * page;
	unsigned id = 1;

	m.cpus = calloc(m.ncpus, sizeof(*m.cpus));
	m.bpf.cpus = aligned_alloc(64, m.ncpus * sizeof(struct cpu_state));
	m.bpf.npossible = m.ncpus;
	m.nthreads = m.ncpus * (LOCAL + 1) + 1;
	m.left_at = calloc(m.nthreads + 1, sizeof(*m.left_at));
	if (!m.cpus || !m.bpf.cpus || !m.left_at)
		err(1, "CPUs");
	memset(m.bpf.cpus, 0, m.ncpus * sizeof(struct cpu_state));
	for (unsigned i = 0; i < m.ncpus; i++) {
		struct cpu *cpu = &m.cpus[i];

		cpu->state = &m.bpf.cpus[i];
		cpu->ring = mmap(NULL, mapped, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
		if (cpu->ring == MAP_FAILED)
			err(1, "the ring of CPU %u", i);
		cpu->on = id++;
		cpu->turn = i; /* they do not move their threads all at once */
		for (unsigned k = 0; k < LOCAL; k++)
			cpu->waiting[k] = id++;
	}
	m.moving = id;
	for (unsigned i = 1; i <= m.nthreads; i++)
		m.left_at[i] = clock_now();
}

/* ---- instead of user/kernel/bpf_load.c and snapshot.c ---- */

static void join_producer(void)
{
	if (!m.joined)
		pthread_join(m.thread, NULL);
	m.joined = true;
}

int bpf_load_close_window(struct bpf_load *bpf, uint64_t *clock)
{
	(void)bpf;
	join_producer();
	*clock = clock_now();
	return 0;
}

void bpf_load_detach(struct bpf_load *bpf)
{
	(void)bpf;
	join_producer();
}

uint64_t bpf_load_missed(const struct bpf_load *bpf)
{
	(void)bpf;
	return 0;
}

int snapshot_take(const struct bpf_load *bpf, unsigned number, enum snapshot_phase phase,
		  uint64_t *clock)
{
	struct cpu *cpu = &m.cpus[number];
	struct record_snapshot *r;
	uint64_t used = cpu->state->reserved - cpu->state->consumed;

	(void)bpf;
	if (used + sizeof(struct record_lost) + sizeof(*r) > m.ring_bytes)
		return -ENOBUFS;
	if (cpu->state->gap_count && !end_gap(cpu))
		return -ENOBUFS;
	cpu->state->events[EVENT_OTHER].seen++;
	r = reserve(cpu, RECORD_SNAPSHOT, sizeof(*r));
	r->head.flags = (__u8)phase;
	r->head.id = cpu->on;
	r->tid = tid_of(cpu->on);
	r->pid = pid_of(cpu->on);
	*clock = r->head.clock;
	commit(cpu);
	return 0;
}

void snapshot_tasks_free(struct snapshot_tasks *tasks)
{
	free(tasks->tasks);
	*tasks = (struct snapshot_tasks){0};
}

int snapshot_tasks(const struct bpf_load *bpf, bool mark, struct snapshot_tasks *tasks)
{
	(void)bpf;
	(void)mark;
	snapshot_tasks_free(tasks);
	tasks->tasks = calloc(m.nthreads, sizeof(*tasks->tasks));
	if (!tasks->tasks)
		return -ENOMEM;
	for (unsigned id = 1; id <= m.nthreads; id++) {
		struct record_iterated *found = &tasks->tasks[tasks->ntasks++];
		struct record_task *r = &found->task;

		found->call = CALL_UNKNOWN;
		r->head.kind = RECORD_TASK;
		r->head.flags = TASK_ITERATED;
		r->id = id;
		r->tid = r->old_tid = tid_of(id);
		r->pid = pid_of(id);
		r->creator_tid = -1;
		r->flags = TASK_FLAG_TRACED;
		r->state = 1;
		snprintf(r->comm, sizeof(r->comm), "thread %u", id);
	}
	for (unsigned i = 0; i < m.ncpus; i++)
		tasks->tasks[m.cpus[i].on - 1].task.state = 0;
	return 0;
}

/* ---- the recorder ---- */

static unsigned *numbers(void)
{
	unsigned *list = calloc(m.ncpus, sizeof(*list));

	if (!list)
		err(1, "CPUs");
	for (unsigned i = 0; i < m.ncpus; i++)
		list[i] = i;
	return list;
}

static void start_producer(void)
{
	int error = pthread_create(&m.thread, NULL, produce, NULL);

	if (error)
		errx(1, "a thread: %s", strerror(error));
	if (!m.rate)
		join_producer();
}

/* Waits until everything produced has been taken. Returns the fullest ring of that time, in
 * 1/1000. */
static unsigned wait_for_drain(uint64_t records)
{
	unsigned fullest = 0, now;

	while (atomic_load(&m.drain.records) < records) {
		now = atomic_load(&m.drain.fullest);
		fullest = now > fullest ? now : fullest;
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	return fullest;
}

static void print(const struct segment_result *result, const struct event_counts *counts,
		  double seconds, double drain_s, unsigned fullest)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	printf("cpus=%u threads=%llu records=%llu events=%llu bytes=%llu lost=%llu repairs=%llu "
	       "late=%llu seconds=%.3f drain_s=%.3f ns_per_record=%.0f share=%.3f "
	       "writer_s=%.3f fullest=%.3f rings_mib=%.0f rss_mib=%ld\n",
	       m.ncpus, (unsigned long long)result->threads, (unsigned long long)result->records,
	       (unsigned long long)result->events, (unsigned long long)result->bytes,
	       (unsigned long long)counts->lost, (unsigned long long)result->repairs,
	       (unsigned long long)result->late, seconds, drain_s,
	       1e9 * drain_s / (double)result->records, drain_s / seconds,
	       cpu_seconds(CLOCK_PROCESS_CPUTIME_ID) - drain_s - m.cpu_s, fullest / 1000.0,
	       (double)m.ring_bytes * m.ncpus / (1 << 20), usage.ru_maxrss >> 10);
}

int main(int argc, char **argv)
{
	struct output_dir output = {.fd = -1};
	struct window_edge begin_edge = {0};
	struct snapshot_tasks tasks = {0};
	struct event_counts counts;
	struct topology topology;
	struct rings *rings = rings_new();
	struct sink sink;
	char list[32];
	unsigned *cpus, fullest;
	uint64_t t0, started;
	double drain_s, seconds;
	clockid_t clock;

	if (argc < 6 || argc > 7)
		errx(2, "usage: many_cpus DIR CPUS SWITCHES RATE RING [TRUTH]");
	m.ncpus = (unsigned)strtoul(argv[2], NULL, 10);
	m.switches = strtoull(argv[3], NULL, 10);
	m.rate = strtoull(argv[4], NULL, 10);
	m.ring_bytes = strtoull(argv[5], NULL, 10);
	if (!m.ncpus || !m.ring_bytes || m.ring_bytes & (m.ring_bytes - 1))
		errx(2, "RING is no power of two");
	m.truth = argc > 6 ? fopen(argv[6], "w") : NULL;
	if (argc > 6 && !m.truth)
		err(1, "%s", argv[6]);
	log_setup("many_cpus", LOG_WARN);
	clock_prepare();
	snprintf(list, sizeof(list), "0-%u", m.ncpus - 1);
	if (!rings || topology_parse(&topology, list))
		errx(1, "CPUs");
	cpus = numbers();
	prepare_cpus();
	for (unsigned i = 0; i < m.ncpus; i++)
		if (rings_add(rings, i, m.cpus[i].state, m.cpus[i].ring, m.ring_bytes))
			errx(1, "rings");

	/* as in user/session/session.c */
	if (output_dir_create(&output, argv[1], true, false) ||
	    snapshot_tasks(&m.bpf, true, &tasks))
		return 1;
	for (unsigned i = 0; i < m.ncpus; i++) {
		if (snapshot_take(&m.bpf, i, SNAPSHOT_START, &t0))
			return 1;
		say(t0, m.cpus[i].on, "first", i);
	}
	t0 = clock_now();
	window_edge_read(&begin_edge, "/proc", m.ncpus);
	const struct state_times_options times = {
		.t0 = t0,
		.npossible = m.ncpus,
		.cpus = cpus,
		.ncpus = m.ncpus,
		.ended_most = TIME_STATS_ENDED_MAX};
	const struct sink_options options = {
		.plan = {.info = {.loom = "many",
				  .kernel = "none",
				  .machine = "none",
				  .mode = "full",
				  .on_full = "drop-new",
				  .kinds = KINDS_ALL,
				  .buffer_bytes = m.ring_bytes,
				  .wakeup_clock = "tracepoint",
				  .argv = (const char *const *)argv,
				  .command_status = -1,
				  .lost = SESSION_UNKNOWN},
			 .topology = &topology,
			 .fd = output.fd,
			 .path = output.path},
		.flush_ns = OPTIONS_FLUSH_NS,
		.bpf = &m.bpf,
		.counts = &counts,
	};
	m.drain.times = state_times_new(&times);
	if (!m.drain.times || event_counts_open(&counts, &m.bpf, rings))
		return 1;
	for (size_t i = 0; i < tasks.ntasks; i++)
		if (state_times_task(m.drain.times, &tasks.tasks[i].task))
			return 1;
	if (sink_open(&sink, &options) || sink_begin(&sink, t0, &begin_edge, &tasks))
		return 1;
	m.drain.bpf = &m.bpf;
	m.drain.tasks = &tasks;
	m.drain.rings = rings;
	m.drain.sink = &sink;
	m.drain.cpus = cpus;
	m.drain.ncpus = m.ncpus;
	if (!m.rate)
		start_producer();
	started = clock_now();
	if (drain_start(&m.drain))
		return 1;
	if (m.rate)
		start_producer();
	join_producer();
	fullest = wait_for_drain(m.sent);
	pthread_getcpuclockid(m.drain.thread, &clock);
	drain_s = cpu_seconds(clock);
	seconds = (double)(clock_now() - started) / 1e9;
	drain_stop(&m.drain);
	if (drain_join(&m.drain) || event_counts_close(&counts, m.drain.cut) ||
	    sink_end(&sink, &tasks,
		     &(struct segment_end){.stopped_by = "signal", .command_status = -1},
		     m.drain.cut))
		return 1;
	output_dir_release(&output);
	print(sink_result(&sink), &counts, seconds, drain_s, fullest);
	sink_close(&sink);
	event_counts_free(&counts);
	state_times_free(m.drain.times);
	snapshot_tasks_free(&tasks);
	rings_close(rings);
	topology_free(&topology);
	window_edge_free(&begin_edge);
	window_edge_free(&m.drain.end);
	output_dir_close(&output);
	if (m.truth && fclose(m.truth))
		err(1, "%s", argv[6]);
	for (unsigned i = 0; i < m.ncpus; i++)
		munmap(m.cpus[i].ring, m.ring_bytes + RING_SPILL);
	free(m.cpus);
	free(m.bpf.cpus);
	free(m.left_at);
	free(cpus);
	return 0;
}
