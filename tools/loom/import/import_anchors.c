/* SPDX-License-Identifier: MIT */
/* import_anchors: puts invocations where the host called them (see import_anchors.h). */
#include "tools/loom/import/import_anchors.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "trace/base/array.h"
#include "trace/base/log.h"
#include "trace/base/text.h"

int import_calls_load(struct import_calls *calls, const struct run_stats *perf)
{
	for (size_t i = 0; i < perf->ninvocations; i++) {
		const struct stats_invocation *v = &perf->invocations[i];
		struct hash_key key = {.a = v->invocation_id, .b = v->epoch_id};
		struct import_call *call;
		uint32_t *at;

		if (!v->host_clock_ns || v->host_clock_ns > INT64_MAX ||
		    hash_get(&calls->of, key) != HASH_NONE)
			continue;
		call = ARRAY_ADD(calls->list, calls->n);
		at = call ? hash_at(&calls->of, key) : NULL;
		if (!at)
			return -ENOMEM;
		*at = (uint32_t)(calls->n - 1);
		*call = (struct import_call){.anchor.clock = (int64_t)v->host_clock_ns};
	}
	return 0;
}

void import_calls_shift(struct import_calls *calls, struct loom_record *r)
{
	struct hash_key key = {.a = r->invocation_id, .b = r->epoch_id};
	uint32_t at = r->event_kind == LOOM_INVOCATION_START && calls->n ? hash_get(&calls->of, key)
									 : HASH_NONE;
	bool starts = at != HASH_NONE && !calls->list[at].started;

	calls->shift += starts;
	r->cycle = loom_cycle_after(r->cycle, calls->shift);
	if (!starts)
		return;
	calls->list[at].started = true;
	calls->list[at].anchor.cycle = r->cycle;
}

void import_calls_restart(struct import_calls *calls)
{
	calls->shift = 0;
	for (size_t i = 0; i < calls->n; i++)
		calls->list[i].started = false;
}

void import_calls_free(struct import_calls *calls)
{
	free(calls->list);
	hash_free(&calls->of);
}

static int by_cycle(const void *a, const void *b)
{
	const struct run_anchor *x = a, *y = b;

	return x->cycle < y->cycle ? -1 : x->cycle > y->cycle;
}

/* Finds, for each anchor, the latest end of the invocations that begin before the next one. */
static uint64_t *latest_ends(const struct run_anchor *list, size_t n,
			     const struct run_survey *survey)
{
	uint64_t *ends = calloc(n, sizeof(*ends));

	for (size_t s = 0; ends && s < survey->nscopes; s++) {
		const struct loom_scope *scope = &survey->scopes[s];
		size_t low = 0, high = n;

		while (low < high) {
			size_t middle = low + (high - low) / 2;

			if (list[middle].cycle <= scope->begin)
				low = middle + 1;
			else
				high = middle;
		}
		if (low && ends[low - 1] < scope->end)
			ends[low - 1] = scope->end;
	}
	for (size_t i = 0; ends && i < n; i++) {
		uint64_t before = i ? ends[i - 1] : 0;

		ends[i] = ends[i] < before ? before : ends[i];
		ends[i] = ends[i] < list[i].cycle ? list[i].cycle : ends[i];
	}
	return ends;
}

/* Checks that each busy time fits before the host's next call. Returns 0, or -ERANGE after a
 * message with the longest period that fits. */
static int check_room(const struct run_anchor *list, size_t n, const uint64_t *ends,
		      uint64_t period_ps, const char *run)
{
	unsigned __int128 longest = UINT64_MAX;
	size_t where = 0;

	for (size_t i = 0; i + 1 < n; i++) {
		uint64_t busy =
			(ends[i] < list[i + 1].cycle ? ends[i] : list[i + 1].cycle) - list[i].cycle;
		unsigned __int128 fits;

		if (list[i + 1].clock < list[i].clock) {
			log_error(
				"%s: the host called the invocation of cycle %" PRIu64
				" before that of cycle %" PRIu64
				": their order differs; --base places the run without these clocks",
				run, list[i + 1].cycle - i - 2, list[i].cycle - i - 1);
			return -ERANGE;
		}
		fits = (unsigned __int128)(list[i + 1].clock - list[i].clock) * 1000;
		if (busy && fits / busy < longest) {
			longest = fits / busy;
			where = i;
		}
	}
	if (longest >= period_ps)
		return 0;
	log_error("%s: with a period of %" PRIu64 " ps the invocation of cycle %" PRIu64
		  " would go on after the host's call of that of cycle %" PRIu64
		  "; the longest period that fits is %" PRIu64
		  " ps; --base places the run without these clocks",
		  run, period_ps, list[where].cycle - where - 1, list[where + 1].cycle - where - 2,
		  (uint64_t)longest);
	return -ERANGE;
}

int import_anchors(struct run_clock *clock, const struct import_calls *calls,
		   const struct run_survey *survey, const char *run, struct run_anchor **anchors)
{
	struct run_anchor *list = calloc(calls->n + 1, sizeof(*list));
	uint64_t *ends = NULL;
	size_t n = 0;
	int err = 0;

	*anchors = list;
	if (!list)
		return log_no_memory("while converting %s", run);
	for (size_t i = 0; i < calls->n; i++) {
		if (calls->list[i].started)
			list[n++] = calls->list[i].anchor;
	}
	if (!n)
		return 0;
	qsort(list, n, sizeof(*list), by_cycle);
	ends = latest_ends(list, n, survey);
	err = ends ? check_room(list, n, ends, clock->period_ps, run)
		   : log_no_memory("while converting %s", run);
	free(ends);
	if (err)
		return err;
	err = run_clock_anchor(clock, list, n, survey->end);
	if (err)
		log_error(
			"%s: with a period of %" PRIu64
			" ps the clock of the first or the last cycle is outside of 0 to 2^63 ns: "
			"see --clock-period",
			run, clock->period_ps);
	else
		log_info("%s: %zu %s where the host called, from %" PRId64 " ns on", run, n,
			 plural(n, "invocation starts", "invocations start"), list->clock);
	return err;
}
