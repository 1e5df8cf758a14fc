/* SPDX-License-Identifier: MIT */
#include "trace/analysis/waits.h"

static enum wait_cause cause_of(unsigned why)
{
	if (why == OFF_CPU_THROTTLED)
		return WAIT_THROTTLED;
	return why == OFF_CPU_YIELDED ? WAIT_YIELDED : WAIT_PREEMPTED;
}

bool wait_cause_now(const struct intervals *intervals, uint32_t stream, enum wait_cause *cause)
{
	const struct interval_thread *t = &intervals->threads[stream];
	bool stays = off_cpu_runnable(t->interval.why);

	*cause = stays ? cause_of(t->interval.why) : WAIT_WOKEN;
	if (t->on)
		return false;
	return t->kernel ? stays : intervals->walk.threads[stream].state == THREAD_STATE_WARMING;
}

int64_t wait_newborn(const struct intervals *intervals, uint32_t creator, const struct event *ev)
{
	const struct event *first;
	int64_t child;
	int32_t tid;

	if (ev->payload_size < 12)
		return -1;
	tid = get_i32(ev->payload + 4);
	child = tid > 0 ? state_walk_find(&intervals->walk, creator, tid) : -1;
	if (child < 0 || child == creator || intervals->threads[child].on ||
	    (intervals->walk.threads[child].state != THREAD_STATE_UNKNOWN &&
	     intervals->walk.threads[child].state != THREAD_STATE_DEAD))
		return -1;
	first = &intervals->source->streams[child].ev; /* the next one of that stream */
	if (!first->size || event_mcv(first) != MCV('O', 'H', 'x') || first->payload_size < 4)
		return -1;
	return child;
}

const char *wait_cause_word(enum wait_cause cause)
{
	static const char *const words[WAIT_CAUSES] = {
		[WAIT_PREEMPTED] = "preempted", [WAIT_YIELDED] = "yielded",
		[WAIT_THROTTLED] = "throttled", [WAIT_WOKEN] = "woken",
		[WAIT_NEWBORN] = "newborn",
	};

	return words[cause];
}
