/* SPDX-License-Identifier: MIT */
/*
 * generate: large traces for measurements, the same bytes in every run.
 *
 *   generate KIND EVENTS DIR [THREADS [CPUS]]
 *
 *   tasks   a task runtime: 2 looms of 4 CPUs and 4 threads; 12 nosv events a task (created,
 *           submitted, served, executed, paused, resumed, ended)
 *   sched   a scheduler trace as our recorder writes it: 64 threads on 8 CPUs that are switched
 *           out (asleep or preempted), woken, moved, and switched in
 *   stock   the same without the payloads of our recorder
 *   ranks   sched with a rank of MPI for each thread, which makes a call in each run
 *   wide    sched with 10,000 threads of 100 processes on 128 CPUs
 *   job     a node of 64 CPUs for every 64 of THREADS (64,000), a rank of MPI each, and the table
 * of clock offsets; CPUS has no meaning
 *
 * About EVENTS events in all. In: parameters; out: streams below DIR, which must not exist.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/ovni/event.h"

#define BUFFER_BYTES 16384

struct thread {
	char path[192];
	uint8_t *buffer;
	size_t used;
	int64_t clock; /* of its last event */
	int32_t tid, pid;
	int cpu; /* it runs on, or ran last */
	bool running, runnable, entered;
};

static struct thread *threads;
static uint64_t written; /* events */
static uint64_t dice = 88172645463325252ull;

static void die(const char *what)
{
	fprintf(stderr, "generate: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint32_t roll(uint32_t n)
{
	dice ^= dice << 13;
	dice ^= dice >> 7;
	dice ^= dice << 17;
	return (uint32_t)((dice >> 32) * n >> 32);
}

/* ---- streams ---- */

static void flush(struct thread *th)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/stream.obs", th->path);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0644);
	if (fd < 0 || write(fd, th->buffer, th->used) != (ssize_t)th->used || close(fd))
		die(path);
	th->used = 0;
}

static void put(struct thread *th, const char *mcv, int64_t clock, const void *payload, size_t size)
{
	if (clock < th->clock)
		clock = th->clock;
	th->clock = clock;
	if (th->used + EVENT_SIZE_MAX > BUFFER_BYTES)
		flush(th);
	th->used += event_encode(th->buffer + th->used, MCV(mcv[0], mcv[1], mcv[2]), clock, payload,
				 size);
	written++;
}

static void put_u32s(struct thread *th, const char *mcv, int64_t clock, uint32_t a, uint32_t b)
{
	uint32_t args[2] = {a, b};

	put(th, mcv, clock, args, sizeof(args));
}

static void put_type(struct thread *th, int64_t clock, uint32_t type, const char *label)
{
	uint32_t size = 4 + (uint32_t)strlen(label) + 1;

	th->used += event_encode_jumbo(th->buffer + th->used, MCV('V', 'Y', 'c'), clock, size);
	memcpy(th->buffer + th->used, &type, 4);
	memcpy(th->buffer + th->used + 4, label, size - 4);
	th->used += size;
	th->clock = clock;
	written++;
}

/* Makes the directory of a thread and its stream.json. */
static void create(struct thread *th, const char *dir, const char *loom, int32_t pid, int32_t tid,
		   const char *require, const char *more, int ncpus)
{
	char path[256];
	FILE *file;

	th->tid = tid;
	th->pid = pid;
	snprintf(path, sizeof(path), "%s/loom.%s", dir, loom);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/loom.%s/proc.%d", dir, loom, pid);
	mkdir(path, 0755);
	snprintf(th->path, sizeof(th->path), "%.160s/thread.%d", path, tid);
	if (mkdir(th->path, 0755))
		die(th->path);
	snprintf(path, sizeof(path), "%s/stream.json", th->path);
	file = fopen(path, "w");
	if (!file)
		die(path);
	fprintf(file,
		"{\n    \"version\": 3,\n    \"ovni\": {\n        \"lib\": { \"version\": "
		"\"1.0.0\", "
		"\"commit\": \"generate\" },\n        \"part\": \"thread\",\n        \"tid\": %d,\n"
		"        \"pid\": %d,\n        \"loom\": \"%s\",\n        \"app_id\": 1,\n"
		"        \"require\": { \"ovni\": \"1.1.0\"%s },\n",
		tid, pid, loom, require);
	if (ncpus) {
		fprintf(file, "        \"loom_cpus\": [");
		for (int i = 0; i < ncpus; i++)
			fprintf(file, "%s{ \"index\": %d, \"phyid\": %d }", i ? ", " : "", i, i);
		fprintf(file, "],\n");
	}
	fprintf(file, "        \"finished\": 1\n    }%s\n}\n", more);
	if (fclose(file))
		die(path);
	th->buffer = malloc(BUFFER_BYTES);
	if (!th->buffer)
		die("memory");
	memcpy(th->buffer, "ovni\1\0\0\0", STREAM_HEADER_SIZE);
	th->used = STREAM_HEADER_SIZE;
	th->cpu = -1;
}

static void execute(struct thread *th, int64_t clock, int32_t cpu)
{
	int32_t args[4] = {cpu, -1, 0, 0};

	put(th, "OHx", clock, args, sizeof(args));
}

/* ---- tasks ---- */

static void generate_tasks(const char *dir, uint64_t events)
{
	const char *nosv =
		",\n    \"nosv\": { \"can_breakdown\": true, \"lib_version\": \"3.0.0\" }";
	static const char *const labels[] = {"solve", "update halo", "reduce", "checkpoint"};
	uint64_t ntasks = events / 12;
	uint32_t next[2] = {1, 1};
	int64_t clock = 1000000000;

	threads = calloc(8, sizeof(*threads));
	for (int i = 0; i < 8; i++) {
		char loom[20];

		snprintf(loom, sizeof(loom), "node%d.0", i / 4);
		create(&threads[i], dir, loom, 1000 + i / 4, 1000 + i / 4 + 10 * (i % 4),
		       ", \"nosv\": \"2.6.0\"", nosv, i % 4 ? 0 : 4);
		execute(&threads[i], clock + i, i % 4);
		put(&threads[i], "VHw", clock + 10 + i, NULL, 0);
		for (uint32_t t = 0; i % 4 == 0 && t < 4; t++)
			put_type(&threads[i], clock + 100 + t, t + 1, labels[t]);
	}
	clock += 1000;
	/* eight threads, each in the middle of its own task */
	struct {
		uint32_t task;
		int step;
	} at[8] = {{0, 0}};
	for (uint64_t n = 0; n < ntasks;) {
		int i = (int)roll(8);
		struct thread *th = &threads[i];
		uint32_t *task = &at[i].task;

		clock += 20 + roll(60);
		switch (at[i].step++) {
		case 0:
			*task = next[i / 4]++;
			put(th, "VAr", clock, NULL, 0);
			break;
		case 1:
			put_u32s(th, "VTc", clock, *task, 1 + *task % 4);
			break;
		case 2:
			put(th, "VAR", clock, NULL, 0);
			break;
		case 3:
			put(th, "VAs", clock, NULL, 0);
			break;
		case 4:
			put(th, "VAS", clock, NULL, 0);
			break;
		case 5:
			put(th, "VS[", clock, NULL, 0);
			break;
		case 6:
			put(th, "VS@", clock, NULL, 0);
			break;
		case 7:
			put(th, "VS]", clock, NULL, 0);
			break;
		case 8:
			put_u32s(th, "VTx", clock, *task, 0);
			break;
		case 9:
			put_u32s(th, "VTp", clock, *task, 0);
			break;
		case 10:
			put_u32s(th, "VTr", clock, *task, 0);
			break;
		default:
			put_u32s(th, "VTe", clock, *task, 0);
			at[i].step = 0;
			n++;
		}
	}
	for (int i = 0; i < 8; i++) { /* threads in the middle continue to the end */
		struct thread *th = &threads[i];

		clock += 1000;
		for (; at[i].step && at[i].step <= 11; at[i].step++) {
			static const char *const rest[] = {"VAr", "VTc", "VAR", "VAs",
							   "VAS", "VS[", "VS@", "VS]",
							   "VTx", "VTp", "VTr", "VTe"};
			const char *mcv = rest[at[i].step];

			if (mcv[1] == 'T')
				put_u32s(th, mcv, ++clock, at[i].task,
					 mcv[2] == 'c' ? 1 + at[i].task % 4 : 0);
			else
				put(th, mcv, ++clock, NULL, 0);
		}
		put(th, "VHW", clock + 10, NULL, 0);
		put(th, "OHe", clock + 20, NULL, 0);
		flush(th);
	}
}

/* ---- scheduler ---- */

static bool ours;  /* with the payloads of our recorder */
static bool ranks; /* threads call MPI */

static void leave(struct thread *th, int64_t clock, uint16_t why, int32_t taker)
{
	uint8_t args[6];

	memcpy(args, &why, 2);
	memcpy(args + 2, &taker, 4);
	put(th, "OHp", clock, args, ours ? sizeof(args) : 0);
	th->running = false;
}

static void wake(struct thread *th, int64_t clock, int32_t waker)
{
	put(th, "OHw", clock, &waker, ours ? sizeof(waker) : 0);
	th->runnable = true;
}

static void enter(struct thread *th, int64_t clock, int cpu)
{
	int32_t index = cpu;

	if (!th->entered) {
		execute(th, clock, cpu);
		if (ranks)
			put(th, "MUi", clock, NULL, 0), put(th, "MUI", clock + 5, NULL, 0);
	} else {
		if (th->cpu != cpu)
			put(th, "OAs", clock, &index, sizeof(index));
		put(th, "OHr", clock, NULL, 0);
	}
	if (ranks)
		put(th, "MR[", clock + 10, NULL, 0), put(th, "MR]", clock + 20, NULL, 0);
	th->entered = th->running = true;
	th->runnable = false;
	th->cpu = cpu;
}

static void generate_sched(const char *dir, uint64_t events, int nthreads, int ncpus,
			   int per_process)
{
	int *on = malloc((size_t)ncpus * sizeof(*on));
	int64_t clock = 1000000000;

	threads = calloc((size_t)nthreads, sizeof(*threads));
	if (!threads || !on || nthreads < 1)
		die("memory");
	for (int i = 0; i < nthreads; i++) {
		const char *require = ours ? ", \"bpf\": \"1.0.0\"" : "";
		char more[96] = "", rank[48] = "";

		if (ranks) {
			require = ", \"bpf\": \"1.0.0\", \"mpi\": \"1.0.0\"";
			snprintf(rank, sizeof(rank), ", \"rank\": %d, \"nranks\": %d", i, nthreads);
		}
		if (ours)
			snprintf(more, sizeof(more),
				 ",\n    \"bpf\": { \"name\": \"worker-%d\"%s }", i, rank);
		create(&threads[i], dir, "node0", 1000 + i - i % per_process, 1000 + i, require,
		       more, i % per_process ? 0 : ncpus);
	}
	for (int c = 0; c < ncpus; c++) {
		on[c] = c;
		enter(&threads[c], clock += 10, c);
	}
	while (written + 3ull * (uint64_t)nthreads < events) {
		int c = (int)roll((uint32_t)ncpus), next = (int)roll((uint32_t)nthreads);
		struct thread *out = &threads[on[c]], *in = &threads[next];

		if (in->running)
			continue;
		clock += 50 + roll(500);
		if (in->entered && !in->runnable)
			wake(in, clock - 20, threads[on[roll((uint32_t)ncpus)]].tid);
		if (roll(3)) {
			leave(out, clock, 1, in->tid);
		} else {
			leave(out, clock, 6, in->tid);
			wake(out, clock, -1);
		}
		enter(in, clock + 1, c);
		on[c] = next;
	}
	clock += 50;
	for (int i = 0; i < nthreads; i++) {
		struct thread *th = &threads[i];

		clock += 5;
		if (!th->entered)
			execute(th, clock, -1);
		else if (!th->running) {
			int32_t virtual = -1;

			if (!th->runnable)
				wake(th, clock, 0);
			put(th, "OAs", clock, &virtual, sizeof(virtual));
			put(th, "OHr", clock, NULL, 0);
		}
		if (ranks)
			put(th, "MUf", clock, NULL, 0), put(th, "MUF", clock, NULL, 0);
		put(th, "OHe", clock, NULL, 0);
		flush(th);
	}
	free(on);
}

/* ---- a job ---- */

#define NODE_THREADS 64

static int64_t nap(int node, int k, uint64_t n)
{
	return 1000 + (int64_t)((uint64_t)(node * 7919 + k * 104729) + n * 15485863) % 1000000;
}

/* The metadata of our recorder; the first thread of a node has its session. */
static void describe_member(char *more, size_t size, int node, int nranks, int k, uint64_t events,
			    int64_t first, int64_t last)
{
	/* OHx, then OHp, OHw and OHr, then OHe */
	uint64_t bytes = STREAM_HEADER_SIZE + 28 + (events - 2) / 3 * 46 + 12;
	int n = snprintf(more, size,
			 ",\n    \"bpf\": { \"name\": \"rank-%d\", \"rank\": %d, \"nranks\": %d, "
			 "\"events\": \"%" PRIu64 "\", \"bytes\": \"%" PRIu64 "\", "
			 "\"first\": \"%" PRIi64 "\", \"last\": \"%" PRIi64 "\"",
			 node, node, nranks, events, bytes, first, last);

	if (!k)
		n += snprintf(
			more + n, size - (size_t)n,
			", \"session\": { \"t0\": \"1000000000\", \"t1\": \"9000000000\", "
			"\"lost\": \"0\", \"streams\": \"%d\", \"counts\": { \"events\": \"%" PRIu64
			"\" } }",
			NODE_THREADS, NODE_THREADS * events);
	snprintf(more + n, size - (size_t)n, " }");
}

/* A thread runs on a CPU of its own, and sleeps now and then. Every fourth one lives at the same
 * time. */
static void generate_member(struct thread *th, const char *dir, int node, int nranks, int k,
			    uint64_t events)
{
	int64_t first = 1000000000 + node * 7 + k + k % 4 * 30000000, clock = first, last = first;
	char loom[16], more[512];

	for (uint64_t n = 2; n < events; n += 3)
		last += nap(node, k, n) + nap(node, k, n + 1);
	snprintf(loom, sizeof(loom), "n%04d", node);
	describe_member(more, sizeof(more), node, nranks, k, events, first, last + 2000);
	create(th, dir, loom, 1000, 1000 + k, ", \"bpf\": \"1.0.0\"", more, k ? 0 : NODE_THREADS);
	enter(th, clock, k);
	for (uint64_t n = 2; n < events; n += 3) {
		clock += nap(node, k, n);
		leave(th, clock, 1, 0);
		clock += nap(node, k, n + 1);
		wake(th, clock, -1);
		enter(th, clock + 1000, k);
	}
	put(th, "OHe", last + 2000, NULL, 0);
	flush(th);
	free(th->buffer);
}

static void generate_job(const char *dir, uint64_t events, int nthreads)
{
	uint64_t each = events / (uint64_t)nthreads / 3 * 3 + 2;
	int nranks = (nthreads + NODE_THREADS - 1) / NODE_THREADS;
	char path[256];
	FILE *table;

	snprintf(path, sizeof(path), "%.200s/clock-offsets.txt", dir);
	table = fopen(path, "w");
	if (!table)
		die(path);
	fprintf(table,
		"rank hostname offset_median offset_mean offset_std begin end offset_end bound\n");
	for (int i = 0; i < nthreads; i++) {
		struct thread th = {0};
		int node = i / NODE_THREADS;

		generate_member(&th, dir, node, nranks, i % NODE_THREADS, each);
		if (i % NODE_THREADS == 0)
			fprintf(table, "%d n%04d %d %d 0 1000000000 2000000000 %d 500\n", node,
				node, -node, -node, -node);
	}
	if (fclose(table))
		die(path);
}

int main(int argc, char **argv)
{
	const char *kind = argc > 3 ? argv[1] : "";
	uint64_t events = argc > 3 ? strtoull(argv[2], NULL, 10) : 0;
	int nthreads = argc > 4 ? atoi(argv[4]) : 0, ncpus = argc > 5 ? atoi(argv[5]) : 0;

	if (argc < 4 || !events) {
		fprintf(stderr, "usage: generate tasks|sched|stock|ranks|wide|job EVENTS DIR "
				"[THREADS [CPUS]]\n");
		return 2;
	}
	if (mkdir(argv[3], 0755))
		die(argv[3]);
	ours = strcmp(kind, "stock") != 0;
	ranks = strcmp(kind, "ranks") == 0;
	if (strcmp(kind, "tasks") == 0)
		generate_tasks(argv[3], events);
	else if (strcmp(kind, "job") == 0)
		generate_job(argv[3], events, nthreads ?: 64000);
	else if (strcmp(kind, "wide") == 0)
		generate_sched(argv[3], events, nthreads ?: 10000, ncpus ?: 128, 100);
	else if (ranks)
		generate_sched(argv[3], events, nthreads ?: 64, ncpus ?: 8, 1);
	else if (strcmp(kind, "sched") == 0 || strcmp(kind, "stock") == 0)
		generate_sched(argv[3], events, nthreads ?: 64, ncpus ?: 8, 64);
	else
		fprintf(stderr, "generate: no kind '%s'\n", kind);
	printf("%" PRIu64 " events\n", written);
	return written ? 0 : 2;
}
