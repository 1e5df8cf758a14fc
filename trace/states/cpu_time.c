/* SPDX-License-Identifier: MIT */
#include "trace/states/cpu_time.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/log.h"

struct cpu_sum { /* packed: most of the memory of a thread that ran on many CPUs */
	int64_t ns;
	uint32_t count; /* saturates, in a stream of more than 100 GB */
} __attribute__((packed));

#define CPUS_MOST 8192 /* the kernel's limit; the virtual CPU and greater ones are not counted */
#define PAGE_CPUS 16
#define BATCH	  256 /* spans: the caches miss most of their rows, but several at a time */

/* The times of one thread: pages of CPUs, by their index; those on which it did not run are NULL.
 * So a hostile index costs 4 KiB at most, not the room for all CPUs. */
struct span_row {
	struct cpu_sum **pages;
	size_t npages;
};

/* The sum of a CPU, made if it is new. NULL: out of memory. */
static struct cpu_sum *sum_of(struct cpu_times *times, uint32_t stream, uint32_t cpu)
{
	struct span_row *row = &times->rows[stream];
	struct cpu_sum **page;

	while (row->npages <= cpu / PAGE_CPUS) {
		page = ARRAY_ADD(row->pages, row->npages);
		if (!page)
			return NULL;
		*page = NULL;
	}
	page = &row->pages[cpu / PAGE_CPUS];
	if (!*page)
		*page = pool_take(&times->sums, PAGE_CPUS * sizeof(**page));
	return *page ? *page + cpu % PAGE_CPUS : NULL;
}

static int add_batch(struct cpu_times *times)
{
	for (size_t i = 0; i < times->nbatch; i++) {
		const struct cpu_span *span = &times->batch[i];
		const struct span_row *row = &times->rows[span->stream];

		if ((uint32_t)span->cpu / PAGE_CPUS < row->npages)
			__builtin_prefetch(&row->pages[span->cpu / PAGE_CPUS]);
	}
	for (size_t i = 0; i < times->nbatch; i++) {
		const struct cpu_span *span = &times->batch[i];
		const struct span_row *row = &times->rows[span->stream];

		if ((uint32_t)span->cpu / PAGE_CPUS < row->npages)
			__builtin_prefetch(row->pages[span->cpu / PAGE_CPUS] +
					   span->cpu % PAGE_CPUS);
	}
	for (size_t i = 0; i < times->nbatch; i++) {
		const struct cpu_span *span = &times->batch[i];
		struct cpu_sum *sum = sum_of(times, span->stream, (uint32_t)span->cpu);

		if (!sum)
			return -ENOMEM;
		times->nsums += !sum->count;
		sum->ns = clock_sum(sum->ns, span->ns);
		sum->count += sum->count < UINT32_MAX;
	}
	times->nbatch = 0;
	return 0;
}

int cpu_times_add(struct cpu_times *times, const struct intervals *intervals, uint32_t stream,
		  int32_t cpu, int64_t from, int64_t to)
{
	if (times->part && from < times->first)
		from = times->first;
	if (times->part && to > times->last)
		to = times->last;
	if (to <= from || cpu < 0 || cpu >= CPUS_MOST)
		return 0;
	if (!times->rows) {
		times->rows = calloc(intervals->source->trace.nstreams, sizeof(*times->rows));
		times->batch = calloc(BATCH, sizeof(*times->batch));
		if (!times->rows || !times->batch)
			return -ENOMEM;
		times->nrows = intervals->source->trace.nstreams;
	}
	times->batch[times->nbatch++] =
		(struct cpu_span){.stream = stream, .cpu = cpu, .ns = clock_distance(from, to)};
	return times->nbatch < BATCH ? 0 : add_batch(times);
}

static void free_row(struct span_row *row)
{
	free(row->pages);
	*row = (struct span_row){.npages = 0};
}

static void free_rows(struct cpu_times *times)
{
	for (size_t i = 0; i < times->nrows; i++)
		free_row(&times->rows[i]);
	free(times->rows);
	free(times->batch);
	pool_free(&times->sums);
	times->rows = NULL;
	times->batch = NULL;
	times->nrows = times->nbatch = times->nsums = 0;
}

/* Finds the CPU, or adds it; NULL: out of memory. The first guess is the one behind the last one:
 * metadata have them in order. */
static struct cpu_time *cpu_of(struct cpu_times *times, const char *loom, int32_t cpu)
{
	struct hash_key key;
	struct cpu_time *added;
	uint32_t *at;
	char *name;

	if (times->next < times->ncpus) {
		struct cpu_time *guess = &times->cpus[times->next];

		if (guess->cpu == cpu && !strcmp(guess->loom, loom)) {
			times->next++;
			return guess;
		}
	}
	key = hash_key_of(loom, strlen(loom));
	key.c = (uint32_t)cpu;
	at = hash_at(&times->cpu_at, key);
	if (!at)
		return NULL;
	if (*at != HASH_NONE) {
		times->next = *at + 1;
		return &times->cpus[*at];
	}
	name = strdup(loom);
	added = name ? ARRAY_ADD(times->cpus, times->ncpus) : NULL;
	if (!added) {
		free(name);
		return NULL;
	}
	*added = (struct cpu_time){.loom = name,
				   .cpu = cpu,
				   .steal = -1,
				   .irq = -1,
				   .running = -1,
				   .until = INT64_MIN};
	*at = (uint32_t)times->ncpus - 1;
	times->next = times->ncpus;
	return added;
}

static int64_t within(const struct cpu_times *times, int64_t from, int64_t to)
{
	from = from < times->first ? times->first : from;
	to = to > times->last ? times->last : to;
	return to > from ? clock_distance(from, to) : 0;
}

/* A thread was lost on the CPU at `from`, and the CPU has a record again at `to`, or when the
 * present thread began. */
static void add_gap(struct cpu_times *times, struct cpu_time *cpu, int64_t from, int64_t to)
{
	if (cpu->running >= 0 && to > cpu->since)
		to = cpu->since;
	if (from < cpu->until)
		from = cpu->until;
	if (to <= from)
		return;
	cpu->gaps_all = clock_sum(cpu->gaps_all, clock_distance(from, to));
	cpu->gaps_part = clock_sum(cpu->gaps_part, within(times, from, to));
}

int cpu_times_step(struct cpu_times *times, const struct intervals *intervals, uint32_t stream,
		   const struct event *ev)
{
	const struct interval_thread *t = &intervals->threads[stream];
	bool moves = ev->model == 'O' && ev->category == 'A';
	struct cpu_time *cpu;
	const char *loom;

	if (!times->part || t->interval.cpu < 0 || t->interval.cpu >= CPUS_MOST ||
	    !(moves || (ev->model == 'O' && ev->category == 'H') ||
	      (ev->model == 'K' && ev->category == 'C')) ||
	    ev->clock != (t->on ? t->span_at : t->off_at))
		return 0;
	loom = intervals->source->owners[stream].loom;
	cpu = cpu_of(times, loom ? loom : "", t->interval.cpu);
	if (!cpu)
		return -ENOMEM;
	if (t->on) {
		cpu->running = stream;
		cpu->since = ev->clock;
		return 0;
	}
	if (cpu->running == stream)
		cpu->running = -1;
	if (t->known < ev->clock && t->known >= t->interval.start)
		add_gap(times, cpu, t->known, ev->clock);
	if (cpu->until < ev->clock)
		cpu->until = ev->clock;
	return 0;
}

static void read_window(struct cpu_times *times, const struct trace *trace, size_t stream,
			const struct json *session)
{
	uint64_t begin, end;
	int64_t t0, t1;

	if (!json_u64(json_get(session, "t0"), &begin) ||
	    !json_u64(json_get(session, "t1"), &end) || begin > end || end > INT64_MAX)
		return;
	t0 = trace_clock(trace, stream, (int64_t)begin);
	t1 = trace_clock(trace, stream, (int64_t)end);
	if (!times->session || times->t0 > t0)
		times->t0 = t0;
	if (!times->session || times->t1 < t1)
		times->t1 = t1;
	times->session = true;
}

/* Older recorders did not say it. Without all threads they counted no idle time at all. */
bool cpu_times_idle_known(const struct json *session)
{
	const struct json *known = json_key(session, "idle_known"), *cpu;
	bool others = false;

	if (known)
		return json_bool(known);
	for (cpu = json_first(json_key(session, "cpus")); cpu; cpu = json_next(cpu)) {
		uint64_t idle = 0, other = 0;

		(void)json_u64(json_get(cpu, "ns.idle"), &idle);
		(void)json_u64(json_get(cpu, "ns.other"), &other);
		if (idle)
			return true;
		others |= other != 0;
	}
	return !others;
}

static void read_times(struct cpu_time *cpu, const struct json *ns, bool idle_known)
{
	uint64_t idle = 0, other = 0, unknown = 0;

	if (!json_is_object(ns))
		return;
	(void)json_u64(json_key(ns, "idle"), &idle);
	(void)json_u64(json_key(ns, "other"), &other);
	(void)json_u64(json_key(ns, "unknown"), &unknown);
	if ((idle | other | unknown) >> 62)
		return; /* no duration of a recording: a damaged file */
	cpu->idle_known = idle_known;
	cpu->idle = (int64_t)idle;
	cpu->other = (int64_t)other;
	cpu->unknown = (int64_t)unknown;
}

/* Adds the interrupt handlers of a CPU. Parts of a damaged file that are no times are left out. */
static int read_irqs(struct cpu_time *cpu, const struct json *list)
{
	if (!json_is_array(list))
		return 0;
	cpu->irq = cpu->irq < 0 ? 0 : cpu->irq;
	for (const struct json *node = json_first(list); node; node = json_next(node)) {
		const char *kind = json_string(json_key(node, "kind"));
		uint64_t ns, times;
		struct cpu_irq *irq;

		if (!kind || !json_u64(json_key(node, "ns"), &ns) || ns >> 62 ||
		    !json_u64(json_key(node, "times"), &times) || cpu->nirqs == CPU_IRQS_MOST)
			continue;
		irq = ARRAY_ADD(cpu->irqs, cpu->nirqs);
		if (!irq)
			return -ENOMEM;
		*irq = (struct cpu_irq){strdup(kind), (int64_t)ns, times};
		if (!irq->kind)
			return -ENOMEM;
		cpu->irq = clock_sum(cpu->irq, (int64_t)ns);
	}
	return 0;
}

static int irq_by_time(const void *pa, const void *pb)
{
	const struct cpu_irq *a = pa, *b = pb;

	if (a->ns != b->ns)
		return a->ns < b->ns ? 1 : -1;
	return strcmp(a->kind, b->kind);
}

/* Adds the CPUs that a stream declares, and their times in its session. */
static int read_metadata(struct cpu_times *times, const struct trace *trace, size_t stream,
			 const struct json *meta, const char *loom)
{
	const struct json *session = json_get(meta, "bpf.session");
	bool idle_known = cpu_times_idle_known(session);
	const struct json *node;

	for (node = json_first(json_get(meta, "ovni.loom_cpus")); node; node = json_next(node)) {
		int64_t index = json_int(json_key(node, "index"));

		if (index >= 0 && index < CPUS_MOST && !cpu_of(times, loom, (int32_t)index))
			return -ENOMEM;
	}
	read_window(times, trace, stream, session);
	for (node = json_first(json_get(session, "cpus")); node; node = json_next(node)) {
		int64_t index = json_int(json_key(node, "index"));
		struct cpu_time *cpu;
		uint64_t steal;

		if (index < 0 || index >= CPUS_MOST)
			continue;
		cpu = cpu_of(times, loom, (int32_t)index);
		if (!cpu)
			return -ENOMEM;
		read_times(cpu, json_key(node, "ns"), idle_known);
		if (json_u64(json_key(node, "steal"), &steal) && !(steal >> 62))
			cpu->steal = (int64_t)steal;
		if (read_irqs(cpu, json_key(node, "interrupts")))
			return -ENOMEM;
	}
	return 0;
}

static int compare(const void *pa, const void *pb)
{
	const struct cpu_time *a = pa, *b = pb;
	int order = strcmp(a->loom, b->loom);

	if (order)
		return order;
	return a->cpu < b->cpu ? -1 : a->cpu > b->cpu;
}

/* Limits the window to the part. The time of other threads in it is not known. */
static void cut_window(struct cpu_times *times)
{
	if (times->t0 < times->first)
		times->t0 = times->first;
	if (times->t1 > times->last)
		times->t1 = times->last;
	if (times->t1 < times->t0)
		times->t1 = times->t0;
	for (size_t i = 0; i < times->ncpus; i++) {
		struct cpu_time *cpu = &times->cpus[i];

		cpu->idle_known &= !cpu->other;
		cpu->other = 0;
		/* more than the gaps of threads: perhaps it was idle at the loss */
		if (cpu->unknown > cpu->gaps_all)
			cpu->unknown = clock_sum(cpu->gaps_part, cpu->unknown - cpu->gaps_all);
		else
			cpu->unknown = cpu->gaps_part;
	}
}

/* Makes the parts add up: where events and session differ, the rest is idle, if that is known. */
static void balance(struct cpu_time *cpu, int64_t window)
{
	int64_t left = clock_distance(cpu->threads, window);

	cpu->window = window;
	if (left < 0) {
		cpu->overlap = clock_distance(left, 0);
		left = 0;
	}
	if (cpu->unknown > left)
		cpu->unknown = left;
	left -= cpu->unknown;
	if (cpu->other > left || !cpu->idle_known)
		cpu->other = left;
	cpu->idle = left - cpu->other;
}

static int add_streams(struct cpu_times *times, const struct source *source)
{
	for (size_t i = 0; i < source->trace.nstreams; i++) {
		struct json *meta;
		int err;

		if (source->owners[i].accelerator || !source->owners[i].has_host)
			continue;
		meta = trace_metadata(&source->trace, i);
		if (!meta)
			return -EINVAL;
		err = read_metadata(times, &source->trace, i, meta, source->owners[i].loom);
		json_free(meta);
		if (err)
			return err;
	}
	return 0;
}

/* Adds the times of a stream to the list, and to its CPUs. */
static int list_row(struct cpu_times *times, const struct owner *owner, uint32_t stream)
{
	const struct span_row *row = &times->rows[stream];

	for (size_t i = 0; i < row->npages * PAGE_CPUS; i++) {
		const struct cpu_sum *page = row->pages[i / PAGE_CPUS];
		const struct cpu_sum *sum = page ? page + i % PAGE_CPUS : NULL;
		struct cpu_time *cpu;

		if (!sum || !sum->count)
			continue;
		times->spans[times->nspans++] =
			(struct cpu_span){stream, (int32_t)i, sum->ns, sum->count};
		if (owner->accelerator)
			continue;
		cpu = cpu_of(times, owner->loom, (int32_t)i);
		if (!cpu)
			return -ENOMEM;
		cpu->threads = clock_sum(cpu->threads, sum->ns);
	}
	return 0;
}

static int list_spans(struct cpu_times *times, const struct source *source)
{
	if (add_batch(times))
		return -ENOMEM;
	times->spans = reallocarray(NULL, times->nsums + 1, sizeof(*times->spans));
	if (!times->spans)
		return -ENOMEM;
	for (size_t i = 0; i < times->nrows; i++) {
		if (list_row(times, &source->owners[i], (uint32_t)i))
			return -ENOMEM;
		free_row(&times->rows[i]);
	}
	free_rows(times);
	return 0;
}

int cpu_times_finish(struct cpu_times *times, const struct intervals *intervals)
{
	const struct source *source = intervals->source;
	int err = add_streams(times, source);

	if (err)
		goto out;
	if (!times->session) {
		times->t0 = intervals->first;
		times->t1 = intervals->last;
	}
	if (times->part)
		cut_window(times);
	err = list_spans(times, source);
	if (err)
		goto out;
	if (times->ncpus)
		qsort(times->cpus, times->ncpus, sizeof(*times->cpus), compare);
	for (size_t i = 0; i < times->ncpus; i++) {
		balance(&times->cpus[i], clock_distance(times->t0, times->t1));
		if (times->cpus[i].nirqs)
			qsort(times->cpus[i].irqs, times->cpus[i].nirqs,
			      sizeof(*times->cpus[i].irqs), irq_by_time);
	}
out:
	if (err == -ENOMEM)
		log_no_memory("while reading %s", source->trace.path);
	return err;
}

void cpu_times_fini(struct cpu_times *times)
{
	free_rows(times);
	free(times->spans);
	for (size_t i = 0; i < times->ncpus; i++) {
		for (size_t k = 0; k < times->cpus[i].nirqs; k++)
			free(times->cpus[i].irqs[k].kind);
		free(times->cpus[i].irqs);
		free(times->cpus[i].loom);
	}
	free(times->cpus);
	hash_free(&times->cpu_at);
	memset(times, 0, sizeof(*times));
}
