/* SPDX-License-Identifier: MIT */
/* emit_events: see emit_events.h. */
#include "user/timeline/emit_events.h"

#include <stdlib.h>

#include "trace/base/log.h"
#include "user/config/perf_events.h"
#include "user/config/session_info.h"

#define CLOCK_GATE_NS (30 * 60 * 1000000000ull) /* half of the reference's limit */

void emit_unknown(struct timeline *tl, struct task *task, uint32_t mcv, uint64_t clock,
		  const void *payload, size_t size)
{
	uint8_t longer[EVENT_PAYLOAD_MAX];
	uint64_t ns;

	if (clock < task->last)
		clock = task->last; /* as task_put() does */
	ns = clock > task->known ? clock - task->known : 0;
	if (size)
		memcpy(longer, payload, size);
	memcpy(longer + size, &ns, sizeof(ns));
	emit(tl, task, mcv, clock, longer, ns ? size + sizeof(ns) : size);
}

int emit_execute(struct timeline *tl, struct task *task, int32_t cpu, uint64_t clock)
{
	struct {
		int32_t cpu, creator;
		uint64_t parent;
	} payload = {tl->options.kernel_model ? -1 : cpu, task->creator_tid, task->parent_pid};
	int err = task_room(tl->threads, task);

	if (err)
		return err;
	if (task->creator_tid > 0)
		names_mention(&tl->threads->names, (uint32_t)task->creator_tid);
	emit(tl, task, MCV('O', 'H', 'x'), clock, &payload, sizeof(payload));
	task->cpu = cpu;
	task->in = clock;
	task->state = THREAD_STATE_RUNNING;
	task->priority_shown = task->allowed_shown = 0; /* another task may have had the stream */
	err = emit_priority(tl, task, clock);
	return err ? err : calls_show(tl, task, clock);
}

int emit_bind(struct timeline *tl, struct task *task, uint64_t clock, bool before)
{
	bool runnable = task->flags & TASK_RUNNABLE, in_call;
	uint64_t known = task->known;
	int err = threads_bind(tl->threads, task);

	task->flags &= (uint8_t) ~(TASK_BEFORE | TASK_RUNNABLE);
	if (err || task->state != THREAD_STATE_UNKNOWN)
		return err;
	if (!before) {
		if (clock < tl->options.t0 || clock - tl->options.t0 <= CLOCK_GATE_NS)
			return 0;
		err = task_room(tl->threads, task);
		if (err)
			return err;
		emit(tl, task, MCV('O', 'B', '.'), tl->options.t0, NULL, 0);
		return 0;
	}
	err = emit_execute(tl, task, -1, tl->options.t0);
	if (err)
		return err;
	in_call = !runnable && task->call != CALL_UNKNOWN;
	err = emit_leave(tl, task, tl->options.t0, OFF_CPU_UNKNOWN, -1, in_call);
	if (in_call)
		threads_sleep_on(tl->threads, task, tl->options.t0);
	if (!err && runnable && !tl->options.kernel_model) {
		err = task_room(tl->threads, task);
		if (!err)
			emit_wakeup(tl, task, tl->options.t0, 0, WAKER_UNKNOWN);
	}
	task->known = known;
	return err;
}

int emit_create(struct timeline *tl, struct task *task, uint64_t clock, uint32_t tid)
{
	uint8_t payload[12];
	uint64_t tag = tid;
	int err = task_room(tl->threads, task);

	if (err)
		return err;
	memcpy(payload, &task->cpu, sizeof(task->cpu));
	memcpy(payload + sizeof(task->cpu), &tag, sizeof(tag));
	names_mention(&tl->threads->names, tid);
	emit(tl, task, MCV('O', 'H', 'C'), clock, payload, sizeof(payload));
	return 0;
}

int emit_end(struct timeline *tl, struct task *task, uint64_t clock)
{
	int err = calls_hide(tl, task, clock);

	if (err)
		return err;
	err = task_room(tl->threads, task);
	if (err)
		return err;
	emit_after_run(tl, task, MCV('O', 'H', 'e'), clock);
	task->state = THREAD_STATE_DEAD;
	return 0;
}

struct closing {
	struct timeline *tl;
	struct task *task;
	uint64_t clock;
};

static int put_closing(void *arg, uint32_t mcv, int32_t cpu)
{
	const struct closing *c = arg;

	switch (mcv) {
	case MCV('O', 'H', 'w'):
		emit_wakeup(c->tl, c->task, c->clock, 0, WAKER_UNKNOWN);
		break;
	case MCV('O', 'A', 's'):
		emit(c->tl, c->task, mcv, c->clock, &cpu, sizeof(cpu));
		break;
	case MCV('O', 'H', 'e'):
		return emit_end(c->tl, c->task, c->clock);
	default:
		emit_after_run(c->tl, c->task, mcv, c->clock);
	}
	return 0;
}

int emit_close(struct timeline *tl, struct task *task, uint64_t clock)
{
	static const int32_t virtual_cpu = -1;
	struct closing closing = {tl, task, clock};
	int err = task_room(tl->threads, task);
	uint8_t payload[EVENT_PAYLOAD_MAX];
	size_t size;

	if (err)
		return err;
	if (tl->options.kernel_model && task->state == THREAD_STATE_PAUSED) {
		memcpy(payload, &virtual_cpu, sizeof(virtual_cpu));
		size = sizeof(virtual_cpu) + put_sleep(tl, task, payload + sizeof(virtual_cpu));
		emit_state(tl, task, MCV('K', 'C', 'I'), clock, payload, size);
		task->state = THREAD_STATE_RUNNING;
	}
	err = thread_state_close(task->state, task->cpu < 0, put_closing, &closing);
	if (task->state != THREAD_STATE_UNKNOWN)
		task->state = THREAD_STATE_DEAD;
	return err;
}

int emit_mark(struct timeline *tl, struct task *task, uint32_t mcv, uint64_t clock, int32_t type,
	      int64_t value)
{
	uint8_t payload[12];
	int err = task_room(tl->threads, task);

	if (err)
		return err;
	memcpy(payload, &value, sizeof(value));
	memcpy(payload + sizeof(value), &type, sizeof(type));
	emit(tl, task, mcv, clock, payload, sizeof(payload));
	return 0;
}

/* Of a run that the window cuts, the share by time. */
void emit_irqs(struct timeline *tl, const struct record_interrupts *r)
{
	struct task *task = threads_task(tl->threads, r->head.id);
	uint64_t from = r->first, to = r->head.clock < tl->t1 ? r->head.clock : tl->t1, ns = r->ns;

	if (!task || !task->id || task->state != THREAD_STATE_RUNNING || tl->options.kernel_model)
		return;
	if (from < task->in)
		from = task->in;
	if (to <= from)
		return;
	if (to - from < r->head.clock - r->first)
		ns = (uint64_t)((double)ns * (double)(to - from) /
				(double)(r->head.clock - r->first));
	task->irq_ns += ns < to - from ? ns : to - from;
}

static int put_interrupt(struct timeline *tl, struct task *task, uint32_t mcv, uint64_t clock,
			 const struct record_interrupt *r)
{
	uint16_t kind = r->head.why;

	if (!(task->thread->irqs[kind / 64] & 1ull << kind % 64)) {
		task->thread->irqs[kind / 64] |= 1ull << kind % 64;
		task->thread->ndeclared++;
	}
	return emit_mark(tl, task, mcv, clock < tl->t1 ? clock : tl->t1, MARK_INTERRUPT, kind + 1);
}

/* Sorts the handlers by their begin: one that was interrupted comes before those in it. */
static void sort_nested(struct record_interrupt *list, unsigned n)
{
	for (unsigned i = 1; i < n; i++) {
		struct record_interrupt r = list[i];
		unsigned at = i;

		for (; at && list[at - 1].begin >= r.begin; at--)
			list[at] = list[at - 1];
		list[at] = r;
	}
}

int emit_interrupt(struct timeline *tl, struct cpu *cpu, const struct record_interrupt *r)
{
	struct task *task = threads_task(tl->threads, r->head.id);
	struct record_interrupt *list = cpu->nested;
	unsigned n = cpu->nnested, open[IRQ_KEPT], nopen = 0;
	int err = 0;

	if (r->head.why >= IRQ_KINDS || n == IRQ_KEPT) {
		tl->counts.irqs_left_out++;
		return 0;
	}
	list[cpu->nnested++] = *r;
	if (r->head.flags)
		return 0;
	cpu->nnested = 0;
	if (!task || !task->id || !task->thread || task->state != THREAD_STATE_RUNNING)
		return 0;
	sort_nested(list, ++n);
	for (unsigned i = 0; i < n && !err; i++) {
		if (list[i].begin >= tl->t1 || list[i].end <= tl->options.t0)
			continue;
		/* before the task's last event: it came while that was recorded */
		if (list[i].begin < r->begin || list[i].end <= task->last) {
			tl->counts.irqs_left_out++;
			continue;
		}
		while (nopen && list[open[nopen - 1]].end <= list[i].begin && !err) {
			nopen--;
			err = put_interrupt(tl, task, MARK_POP, list[open[nopen]].end,
					    &list[open[nopen]]);
		}
		open[nopen++] = i;
		if (!err)
			err = put_interrupt(tl, task, MARK_PUSH, list[i].begin, &list[i]);
		tl->counts.irq_marks += !err;
	}
	while (nopen-- && !err)
		err = put_interrupt(tl, task, MARK_POP, list[open[nopen]].end, &list[open[nopen]]);
	return err;
}

int emit_counters(struct timeline *tl, const struct record_counters *r)
{
	const struct counters *counters = tl->threads->session.info->counters;
	struct task *task = threads_task(tl->threads, r->head.id);
	uint64_t clock = r->head.clock, from = r->since, to = clock < tl->t1 ? clock : tl->t1;
	int64_t values[COUNTERS_MAX];
	int err;

	if (!task || !task->id || task->state != THREAD_STATE_RUNNING || !counters ||
	    tl->options.kernel_model || !task->thread)
		return 0;
	if (from < tl->options.t0)
		from = tl->options.t0;
	if (to <= from)
		return 0;
	err = task_room(tl->threads, task);
	if (err)
		return err;
	for (unsigned i = 0; i < counters->n; i++) {
		values[i] = r->values[i];
		if (to - from < clock - r->since && values[i] > 0)
			values[i] = (int64_t)((double)values[i] * (double)(to - from) /
					      (double)(clock - r->since));
	}
	task_put_jumbo(task, MCV('V', 'W', 'C'), to, values, counters->n * sizeof(*values));
	tl->counts.events++;
	tl->counts.bytes += EVENT_HEADER_SIZE + sizeof(uint32_t) + counters->n * sizeof(*values);
	return 0;
}

int emit_gap(struct timeline *tl, struct task *task, uint32_t mcv, uint64_t clock, uint64_t count)
{
	int64_t value = count > INT64_MAX ? INT64_MAX : (int64_t)count;
	int err = emit_mark(tl, task, mcv, clock, MARK_LOST, value);

	if (!err)
		task->thread->marks = true;
	return err;
}

void take_priority(struct timeline *tl, struct task *task, const struct record_priority *r)
{
	uint64_t cpus[PRIORITY_CPU_WORDS];

	memcpy(cpus, r->cpus, sizeof(cpus));
	task->priority = priority_value(r->policy, r->priority, r->normal, r->nice);
	task->allowed =
		cpu_sets_number(&tl->threads->cpu_sets, tl->topology, cpus,
				r->words < PRIORITY_CPU_WORDS ? r->words : PRIORITY_CPU_WORDS);
}

/* A mark of a value below the number of bits of `declared`, in which the stream has a bit for each
 * value. */
static int put_declared(struct timeline *tl, struct task *task, uint64_t clock, int32_t type,
			uint16_t value, uint64_t *declared)
{
	if (!(declared[value / 64] & 1ull << value % 64)) {
		declared[value / 64] |= 1ull << value % 64;
		task->thread->ndeclared++;
	}
	return emit_mark(tl, task, MCV('O', 'M', '='), clock, type, value);
}

int emit_priority(struct timeline *tl, struct task *task, uint64_t clock)
{
	struct thread *thread = task->thread;
	int err = 0;

	if (likely(task->priority == task->priority_shown && task->allowed == task->allowed_shown))
		return 0;
	if (!thread->priorities)
		thread->priorities = calloc(1, sizeof(*thread->priorities));
	if (!thread->priorities)
		return log_no_memory("for the priorities of thread %u", task->tid);
	if (task->priority && task->priority != task->priority_shown)
		err = put_declared(tl, task, clock, MARK_PRIORITY, task->priority,
				   thread->priorities->priorities);
	if (!err && task->allowed != task->allowed_shown)
		err = put_declared(tl, task, clock, MARK_ALLOWED_CPUS, task->allowed,
				   thread->priorities->sets);
	task->priority_shown = task->priority;
	task->allowed_shown = task->allowed;
	return err;
}
