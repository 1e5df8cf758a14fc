/* SPDX-License-Identifier: MIT */
/* idle_waits: see idle_waits.h. */
#include "trace/states/idle_waits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/array.h"
#include "trace/base/hash.h"
#include "trace/base/log.h"
#include "trace/states/cpu_time.h"

#define MARK_ALLOWED "ovni.mark.89"
#define TYPE_ALLOWED 89
#define TYPE_LOST    92
#define CPUS_MOST    8192 /* the kernel's limit */
#define NO_SET	     UINT32_MAX

struct idle_cpu {
	uint32_t loom;
	int32_t number; /* of the kernel */
	bool seen;	/* the recorder saw all of its threads */
	bool idle;
};

struct idle_loom {
	uint32_t *cpus; /* by index in the trace: the place in `cpus`, or NO_SET; ncpus of them */
	uint32_t ncpus;
};

struct idle_set { /* of CPUs, of one loom */
	uint32_t loom;
	char *list;
	uint64_t *members; /* bits, by place in `cpus` */
	uint32_t idle;	   /* how many of them are idle now */
	int64_t since;	   /* clock at which the first of them became idle, if some are */
	int64_t ns;	   /* in which some were, up to then */
};

struct label { /* of a mark of a stream */
	int64_t value;
	uint32_t set;
};

struct idle_thread {
	struct label *labels; /* nlabels of them */
	size_t nlabels;
	uint32_t loom;
	uint32_t set;  /* the present one; NO_SET: not known */
	uint32_t cpu;  /* on which it runs, a place in `cpus`; NO_SET: none */
	bool waits;    /* since the clock at which its set had been idle for `begin` ns */
	int64_t begin; /* INTERVAL_UNKNOWN: its set changed */
	int64_t last;  /* of the last wait */
};

/* ---- metadata ---- */

/* The number of a loom. Returns 0 or -ENOMEM. */
static int find_loom(struct idle_waits *idle, struct hash *known, const char *name,
		     uint32_t *number)
{
	uint32_t *at = hash_at(known, hash_key_of(name ?: "", name ? strlen(name) : 0));
	struct idle_loom *loom;

	if (!at)
		return -ENOMEM;
	if (*at == HASH_NONE) {
		loom = ARRAY_ADD(idle->looms, idle->nlooms);
		if (!loom)
			return -ENOMEM;
		*loom = (struct idle_loom){NULL, 0};
		*at = (uint32_t)idle->nlooms - 1;
	}
	*number = *at;
	return 0;
}

static uint32_t cpu_at(const struct idle_waits *idle, uint32_t loom, int64_t index)
{
	const struct idle_loom *l = &idle->looms[loom];

	return index < 0 || index >= l->ncpus ? NO_SET : l->cpus[index];
}

/* Returns 0 or -ENOMEM. */
static int add_cpu(struct idle_waits *idle, uint32_t loom, uint32_t index, int32_t number)
{
	struct idle_loom *l = &idle->looms[loom];
	struct idle_cpu *cpu = ARRAY_ADD(idle->cpus, idle->ncpus);

	if (!cpu)
		return -ENOMEM;
	*cpu = (struct idle_cpu){loom, number, false, false};
	if (index >= l->ncpus) {
		uint32_t n = index < 2 * l->ncpus ? 2 * l->ncpus : index + 1;
		uint32_t *grown = reallocarray(l->cpus, n, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		l->cpus = grown;
		while (l->ncpus < n)
			grown[l->ncpus++] = NO_SET;
	}
	l->cpus[index] = (uint32_t)idle->ncpus - 1;
	return 0;
}

static int read_cpus(struct idle_waits *idle, const struct json *meta, uint32_t loom)
{
	const struct json *session = json_get(meta, "bpf.session"), *node;
	bool known = cpu_times_idle_known(session);

	for (node = json_first(json_get(meta, "ovni.loom_cpus")); node; node = json_next(node)) {
		int64_t index = json_int(json_key(node, "index"));

		if (index < 0 || index >= CPUS_MOST || cpu_at(idle, loom, index) != NO_SET)
			continue;
		if (add_cpu(idle, loom, (uint32_t)index,
			    (int32_t)json_int(json_key(node, "phyid"))))
			return -ENOMEM;
	}
	for (node = json_first(json_key(session, "cpus")); node && known; node = json_next(node)) {
		uint32_t at = cpu_at(idle, loom, json_int(json_key(node, "index")));
		uint64_t other = 0;

		(void)json_u64(json_get(node, "ns.other"), &other);
		if (at != NO_SET && json_is_object(json_key(node, "ns")) && !other)
			idle->cpus[at].seen = idle->cpus[at].idle = true;
	}
	return 0;
}

/* Is a CPU in a list such as "0-3,8"? *valid: it is one. */
static bool in_list(const char *list, long number, bool *valid)
{
	bool found = false;
	char *end;

	*valid = *list != 0;
	while (*list && *valid) {
		long from = strtol(list, &end, 10), to = from;

		*valid = end != list && from >= 0;
		if (*valid && *end == '-') {
			list = end + 1;
			to = strtol(list, &end, 10);
			*valid = end != list && to >= from;
		}
		*valid &= !*end || (*end == ',' && end[1]);
		found |= number >= from && number <= to;
		list = *end == ',' ? end + 1 : end;
	}
	return *valid && found;
}

/* The set of a list, NO_SET if it is none, or there are too many. Returns 0 or -ENOMEM. */
static int add_set(struct idle_waits *idle, uint32_t loom, const char *list, uint32_t *number)
{
	struct idle_set *set;
	bool valid;

	for (*number = 0; *number < idle->nsets; ++*number)
		if (idle->sets[*number].loom == loom && !strcmp(idle->sets[*number].list, list))
			return 0;
	*number = NO_SET;
	(void)in_list(list, 0, &valid);
	if (!valid || idle->nsets == IDLE_SETS_MOST)
		return 0;
	set = ARRAY_ADD(idle->sets, idle->nsets);
	if (!set)
		return -ENOMEM;
	*set = (struct idle_set){.loom = loom, .list = strdup(list)};
	*number = (uint32_t)idle->nsets - 1;
	return set->list ? 0 : -ENOMEM;
}

static int read_labels(struct idle_waits *idle, const struct json *meta, struct idle_thread *thread)
{
	const struct json *node = json_first(json_get(meta, MARK_ALLOWED ".labels"));

	for (; node; node = json_next(node)) {
		const char *list = json_string(node);
		struct label *label;
		char *end;
		long long value = strtoll(json_name(node), &end, 10);
		uint32_t set;

		if (!list || *end)
			continue;
		if (add_set(idle, thread->loom, list, &set))
			return -ENOMEM;
		label = ARRAY_ADD(thread->labels, thread->nlabels);
		if (!label)
			return -ENOMEM;
		*label = (struct label){value, set};
	}
	return 0;
}

/* The members of each set, when all CPUs are known. */
static int fill_sets(struct idle_waits *idle)
{
	for (size_t i = 0; i < idle->nsets; i++) {
		struct idle_set *set = &idle->sets[i];
		bool valid;

		set->members = calloc(idle->ncpus / 64 + 1, sizeof(*set->members));
		if (!set->members)
			return -ENOMEM;
		set->since = INTERVAL_UNKNOWN; /* of the first event */
		for (size_t c = 0; c < idle->ncpus; c++) {
			if (idle->cpus[c].loom != set->loom ||
			    !in_list(set->list, idle->cpus[c].number, &valid))
				continue;
			set->members[c / 64] |= 1ull << c % 64;
			set->idle += idle->cpus[c].idle;
			idle->any |= idle->cpus[c].seen;
		}
	}
	return 0;
}

int idle_waits_init(struct idle_waits *idle, const struct source *source)
{
	struct hash known = {0};
	int err = -ENOMEM;

	memset(idle, 0, sizeof(*idle));
	idle->threads = calloc(source->trace.nstreams + 1, sizeof(*idle->threads));
	for (size_t i = 0; idle->threads && i < source->trace.nstreams; i++) {
		struct idle_thread *thread = &idle->threads[i];
		struct json *meta;

		idle->nthreads = i + 1;
		*thread = (struct idle_thread){
			.set = NO_SET, .cpu = NO_SET, .last = INTERVAL_UNKNOWN};
		err = find_loom(idle, &known, source->owners[i].loom, &thread->loom);
		if (err)
			goto out;
		if (source->owners[i].accelerator ||
		    (!source->owners[i].has_host && !source->owners[i].has_marks))
			continue;
		meta = trace_metadata(&source->trace, i);
		if (!meta) {
			hash_free(&known);
			return -EINVAL;
		}
		err = read_cpus(idle, meta, thread->loom);
		if (!err)
			err = read_labels(idle, meta, thread);
		json_free(meta);
		if (err)
			goto out;
	}
	err = idle->threads ? fill_sets(idle) : -ENOMEM;
out:
	hash_free(&known);
	return err ? log_no_memory("while reading %s", source->trace.path) : 0;
}

void idle_waits_fini(struct idle_waits *idle)
{
	for (size_t i = 0; i < idle->nsets; i++) {
		free(idle->sets[i].list);
		free(idle->sets[i].members);
	}
	for (size_t i = 0; i < idle->nlooms; i++)
		free(idle->looms[i].cpus);
	free(idle->looms);
	for (size_t i = 0; i < idle->nthreads; i++)
		free(idle->threads[i].labels);
	free(idle->sets);
	free(idle->cpus);
	free(idle->threads);
	memset(idle, 0, sizeof(*idle));
}

/* ---- the walk ---- */

/* The CPU changes at `clock`. */
static void set_idle(struct idle_waits *idle, uint32_t at, bool now, int64_t clock)
{
	struct idle_cpu *cpu = &idle->cpus[at];

	now &= cpu->seen && !idle->gaps;
	if (cpu->idle == now)
		return;
	cpu->idle = now;
	for (size_t i = 0; i < idle->nsets; i++) {
		struct idle_set *set = &idle->sets[i];

		if (!(set->members[at / 64] & 1ull << at % 64))
			continue;
		set->idle += now ? 1 : (uint32_t)-1;
		if (now && set->idle == 1)
			set->since = clock;
		if (!now && !set->idle && set->since != INTERVAL_UNKNOWN)
			set->ns = clock_sum(set->ns, clock_distance(set->since, clock));
	}
}

/* ns in which some CPU of the set was idle, up to `clock`. */
static int64_t idle_up_to(const struct idle_waits *idle, uint32_t at, int64_t clock)
{
	const struct idle_set *set = &idle->sets[at];

	return set->idle ? clock_sum(set->ns, clock_distance(set->since, clock)) : set->ns;
}

/* CPUs that are idle when the walk begins are so since then. */
static void begin(struct idle_waits *idle, int64_t clock)
{
	for (size_t i = 0; i < idle->nsets; i++)
		if (idle->sets[i].idle && idle->sets[i].since == INTERVAL_UNKNOWN)
			idle->sets[i].since = clock;
}

static void take_mark(struct idle_waits *idle, struct idle_thread *t, const struct event *ev)
{
	int64_t value = get_i64(ev->payload);
	int32_t type = get_i32(ev->payload + 8);

	if (type == TYPE_LOST) {
		idle->gaps += ev->value == '[' ? 1 : idle->gaps ? (uint32_t)-1 : 0;
		for (uint32_t i = 0; i < idle->ncpus && idle->gaps; i++)
			set_idle(idle, i, false, ev->clock);
	}
	if (type != TYPE_ALLOWED || ev->value != '=')
		return;
	t->set = NO_SET;
	for (size_t i = 0; i < t->nlabels; i++)
		if (t->labels[i].value == value)
			t->set = t->labels[i].set;
	if (t->waits)
		t->begin = INTERVAL_UNKNOWN;
	else /* the set may have changed before or in the wait: the recorder sees it in the run */
		t->last = INTERVAL_UNKNOWN;
}

static void take_wait(struct idle_waits *idle, struct idle_thread *t, bool waits, int64_t clock)
{
	int64_t now = t->set == NO_SET ? INTERVAL_UNKNOWN : idle_up_to(idle, t->set, clock);

	if (waits && !t->waits)
		t->begin = now;
	else if (!waits && t->waits)
		t->last = t->begin == INTERVAL_UNKNOWN ? INTERVAL_UNKNOWN
						       : clock_distance(t->begin, now);
	t->waits = waits;
}

void idle_waits_step(struct idle_waits *idle, const struct intervals *intervals, uint32_t stream,
		     const struct event *ev)
{
	const struct interval_thread *on = &intervals->threads[stream];
	struct idle_thread *t = &idle->threads[stream];
	bool state = (ev->model == 'O' && (ev->category == 'H' || ev->category == 'A')) ||
		     (ev->model == 'K' && ev->category == 'C');
	enum off_cpu why = on->interval.why;

	if (!idle->any)
		return;
	begin(idle, ev->clock);
	if (ev->model == 'O' && ev->category == 'M' && ev->payload_size >= 12)
		take_mark(idle, t, ev);
	if (!state || ev->value == 'C')
		return;
	/* before this thread takes its CPU */
	take_wait(idle, t, !on->on && !on->lost && on->woken_at != INTERVAL_UNKNOWN, ev->clock);
	if (on->on) {
		uint32_t cpu = cpu_at(idle, t->loom, on->interval.cpu);

		if (t->cpu != NO_SET && t->cpu != cpu)
			set_idle(idle, t->cpu, true, ev->clock);
		t->cpu = cpu;
		if (cpu != NO_SET)
			set_idle(idle, cpu, false, ev->clock);
	} else if (t->cpu != NO_SET) {
		set_idle(idle, t->cpu, why != OFF_CPU_LOST && on->interval.next <= 0, ev->clock);
		t->cpu = NO_SET;
	}
}

int64_t idle_waits_ns(const struct idle_waits *idle, uint32_t stream)
{
	return idle->any ? idle->threads[stream].last : INTERVAL_UNKNOWN;
}
