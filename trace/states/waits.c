/* SPDX-License-Identifier: MIT */
#include "trace/states/waits.h"

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
	if (t->on || t->lost)
		return false;
	return t->kernel ? stays : intervals->walk.threads[stream].state == THREAD_STATE_WARMING;
}

/*
 * The CPU on which a thread that begins to wait will run, if its OAs has the clock of its
 * switch-in; else `cpu`. The recorder knows of a move only then.
 */
static int32_t cpu_of_run(const struct stream *stream, int32_t cpu)
{
	struct event move, run;
	const uint8_t *at = stream->at, *end = stream_peek_end(stream);
	ssize_t n = event_decode(&move, at, end);

	if (n <= 0 || event_mcv(&move) != MCV('O', 'A', 's') || move.payload_size < 4)
		return cpu;
	n = event_decode(&run, at + n, end);
	if (n <= 0 || event_mcv(&run) != MCV('O', 'H', 'r') || run.clock != move.clock ||
	    get_i32(move.payload) < 0)
		return cpu;
	return get_i32(move.payload);
}

static bool taken_by_stopper(const struct intervals *intervals, uint32_t stream)
{
	int32_t tid = intervals->threads[stream].interval.next;
	int64_t taker = tid > 0 ? state_walk_find(&intervals->walk, stream, tid) : -1;

	return taker >= 0 && intervals->walk.threads[taker].stopper;
}

int32_t wait_cpu(const struct intervals *intervals, uint32_t stream, enum wait_cause cause,
		 int32_t cpu)
{
	int32_t runs = cpu < 0 ? cpu : cpu_of_run(&intervals->source->streams[stream], cpu);

	if (runs == cpu || cause == WAIT_WOKEN)
		return runs;
	return taken_by_stopper(intervals, stream) ? runs : cpu;
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
