/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/pallas/call_lists.h"
#include "tools/pallas/calls.h"
#include "trace/base/array.h"
#include "trace/base/log.h"
#include "trace/base/text.h"

#define CLASSES	  65 /* 0 ns, then from 2^(i - 1) ns to below 2^i ns */
#define BAR_WIDTH 40

struct histogram {
	const char *name; /* NULL: the region has no name */
	uint64_t calls[CLASSES], all;
	uint64_t cut; /* of them, parts of calls that the window cuts */
};

struct slow_call {
	const struct pallas_thread *thread;
	const char *region;
	uint64_t begin, duration, called;
	bool cut;
};

int call_lists_init(struct call_lists *l, struct pallas_trace *trace, struct pallas_loader *loader,
		    const struct pallas_options *o)
{
	*l = (struct call_lists){.o = o, .trace = trace, .loader = loader};
	if (!o->slowest)
		return 0;
	l->slow = calloc(o->slowest, sizeof(*l->slow));
	return l->slow ? 0 : log_no_memory("for the slowest calls");
}

void call_lists_fini(struct call_lists *l)
{
	free(l->histograms);
	hash_free(&l->histogram_of);
	free(l->slow);
}

/* The histogram of a name, or NULL out of memory. */
static uint32_t histogram_at(struct call_lists *l, const char *name)
{
	uint32_t *at = hash_at(&l->histogram_of,
			       hash_key_of(name ? name : "", name ? strlen(name) + 1 : 0));
	struct histogram *h;

	if (!at || *at != HASH_NONE)
		return at ? *at : HASH_NONE;
	h = ARRAY_ADD(l->histograms, l->nhistograms);
	if (!h)
		return HASH_NONE;
	*h = (struct histogram){.name = name};
	*at = l->nhistograms - 1;
	return *at;
}

/* True if a is the slower call; of equal ones, the earlier. */
static bool slower(const struct slow_call *a, const struct slow_call *b)
{
	if (a->duration != b->duration)
		return a->duration > b->duration;
	if (a->begin != b->begin)
		return a->begin < b->begin;
	return a->thread < b->thread; /* both in the table of threads */
}

static void swap(struct slow_call *a, struct slow_call *b)
{
	struct slow_call c = *a;

	*a = *b;
	*b = c;
}

static void slow_add(struct call_lists *l, const struct slow_call *call)
{
	size_t i = l->nslow;

	if (l->nslow < l->o->slowest) {
		l->slow[l->nslow++] = *call;
		for (; i && slower(&l->slow[(i - 1) / 2], &l->slow[i]); i = (i - 1) / 2)
			swap(&l->slow[(i - 1) / 2], &l->slow[i]);
		return;
	}
	if (!slower(call, &l->slow[0]))
		return;
	l->slow[0] = *call;
	for (i = 0; 2 * i + 1 < l->nslow;) {
		size_t least = 2 * i + 1;

		if (least + 1 < l->nslow && slower(&l->slow[least], &l->slow[least + 1]))
			least++;
		if (!slower(&l->slow[i], &l->slow[least]))
			break;
		swap(&l->slow[i], &l->slow[least]);
		i = least;
	}
}

/* The regions of the present thread. */
struct thread_rows {
	struct call_lists *lists;
	const struct pallas_thread *thread;
	const char **names;
	uint32_t *histograms; /* HASH_NONE: not selected */
};

static int add_call(void *to, const struct call *call)
{
	struct thread_rows *r = to;
	struct call_lists *l = r->lists;
	uint64_t duration = call->end - call->begin;
	struct histogram *h;

	if (r->histograms[call->row] == HASH_NONE)
		return 0;
	if (l->o->slowest) {
		struct slow_call slow = {.thread = r->thread,
					 .region = r->names[call->row],
					 .begin = call->begin,
					 .duration = duration,
					 .called = call->called,
					 .cut = call->cut};

		slow_add(l, &slow);
	}
	h = &l->histograms[r->histograms[call->row]];
	h->calls[duration ? 64 - __builtin_clzll(duration) : 0]++;
	h->all++;
	h->cut += call->cut;
	return 0;
}

int call_lists_add(struct call_lists *l, const struct pallas_thread *t)
{
	struct thread_rows r = {.lists = l, .thread = t};
	struct calls calls;
	int err = calls_init(&calls, &l->o->selection, l->trace, t);

	if (err)
		return err;
	r.names = calloc(calls.nrows + 1, sizeof(*r.names));
	r.histograms = calloc(calls.nrows + 1, sizeof(*r.histograms));
	if (!r.names || !r.histograms)
		err = log_no_memory("for the regions of a thread");
	for (uint32_t i = 0; !err && i < calls.nrows; i++) {
		r.names[i] = pallas_region(l->trace, t->archive, calls.refs[i]);
		r.histograms[i] = HASH_NONE;
		if (!selection_region(&l->o->selection, r.names[i]))
			continue;
		r.histograms[i] = histogram_at(l, r.names[i]);
		if (r.histograms[i] == HASH_NONE)
			err = log_no_memory("for the regions of a thread");
	}
	if (!err)
		err = calls_walk(&calls, l->loader, &l->o->selection, add_call, &r);
	free(r.names);
	free(r.histograms);
	calls_fini(&calls);
	return err;
}

static int by_calls(const void *a, const void *b)
{
	const struct histogram *x = a, *y = b;

	if (x->all != y->all)
		return x->all < y->all ? 1 : -1;
	return strcmp(x->name ? x->name : "", y->name ? y->name : "");
}

static void show_histogram(const struct histogram *h)
{
	uint64_t most = 0, so_far = 0;
	unsigned first = CLASSES, last = 0;

	for (unsigned i = 0; i < CLASSES; i++) {
		most = h->calls[i] > most ? h->calls[i] : most;
		if (!h->calls[i])
			continue;
		first = first == CLASSES ? i : first;
		last = i;
	}
	printf("\n%s: %" PRIu64 " call%s", text_shown(h->name), h->all, plural(h->all, "", "s"));
	if (h->cut)
		printf(", %" PRIu64 " of them cut by the window", h->cut);
	printf("\n%14s %20s %11s %8s\n", "from (ns)", "to below (ns)", "calls", "so far");
	for (unsigned i = first; i <= last; i++) {
		uint64_t bar = (uint64_t)((unsigned __int128)h->calls[i] * BAR_WIDTH / most);
		char to[24] = "-";

		if (i < 64)
			snprintf(to, sizeof(to), "%" PRIu64, (uint64_t)1 << i);
		so_far += h->calls[i];
		printf("%14" PRIu64 " %20s %11" PRIu64 " %7.2f%%  %.*s\n",
		       i ? (uint64_t)1 << (i - 1) : 0, to, h->calls[i],
		       100.0 * (double)so_far / (double)h->all, (int)bar,
		       "########################################");
	}
}

static int by_slowness(const void *a, const void *b)
{
	return slower(b, a) - slower(a, b);
}

static void show_slowest(struct call_lists *l)
{
	qsort(l->slow, l->nslow, sizeof(*l->slow), by_slowness);
	printf("\n%17s %17s %20s %8s %8s %-24s %s\n", "duration (ns)", "exclusive (ns)",
	       "start (ns)", "archive", "thread", "name", "region");
	for (size_t i = 0; i < l->nslow; i++) {
		const struct slow_call *c = &l->slow[i];

		printf("%17" PRIu64 " %17" PRIu64 " %20" PRIu64 " %8u %8u %-24s %s%s\n",
		       c->duration, c->duration - c->called, c->begin, c->thread->archive->id,
		       c->thread->id, text_shown(pallas_thread_name(l->trace, c->thread)),
		       text_shown(c->region), c->cut ? " (cut)" : "");
	}
}

void call_lists_show(struct call_lists *l)
{
	if (l->o->histogram && l->nhistograms) {
		qsort(l->histograms, l->nhistograms, sizeof(*l->histograms), by_calls);
		for (uint32_t i = 0; i < l->nhistograms && l->histograms[i].all; i++)
			show_histogram(&l->histograms[i]);
	}
	if (l->o->slowest)
		show_slowest(l);
}
