/* SPDX-License-Identifier: MIT */
/* emit_events: see emit_events.h. */
#include "user/timeline/emit_events.h"

#define CLOCK_GATE_NS (30 * 60 * 1000000000ull) /* half of what the reference accepts */

int move_begin(struct moves *m, struct task *task, int32_t cpu, uint64_t clock)
{
	struct {
		int32_t cpu, creator;
		uint64_t parent;
	} payload = {m->kernel_model ? -1 : cpu, task->creator_tid, task->parent_pid};
	int err = task_room(m->threads, task);

	if (err)
		return err;
	if (task->creator_tid > 0)
		names_mention(&m->threads->names, (uint32_t)task->creator_tid);
	move_put(m, task, MCV('O', 'H', 'x'), clock, &payload, sizeof(payload));
	task->cpu = cpu;
	task->in = clock;
	task->state = THREAD_STATE_RUNNING;
	return calls_show(m, task, clock);
}

int move_bind(struct moves *m, struct task *task, uint64_t clock, bool before)
{
	bool runnable = task->flags & TASK_RUNNABLE;
	int err = threads_bind(m->threads, task);

	task->flags &= (uint8_t) ~(TASK_BEFORE | TASK_RUNNABLE);
	if (err || task->state != THREAD_STATE_UNKNOWN)
		return err;
	if (!before) {
		if (clock < m->t0 || clock - m->t0 <= CLOCK_GATE_NS)
			return 0;
		err = task_room(m->threads, task);
		if (!err)
			move_put(m, task, MCV('O', 'B', '.'), m->t0, NULL, 0);
		return err;
	}
	err = move_begin(m, task, -1, m->t0);
	if (!err)
		err = move_out(m, task, m->t0, OFF_CPU_UNKNOWN, -1);
	if (!err && runnable && !m->kernel_model)
		err = task_room(m->threads, task);
	if (!err && runnable && !m->kernel_model)
		move_wake(m, task, m->t0, 0, WAKER_UNKNOWN);
	return err;
}

int move_create(struct moves *m, struct task *task, uint64_t clock, uint32_t tid)
{
	uint8_t payload[12];
	uint64_t tag = tid;
	int err = task_room(m->threads, task);

	if (err)
		return err;
	memcpy(payload, &task->cpu, sizeof(task->cpu));
	memcpy(payload + sizeof(task->cpu), &tag, sizeof(tag));
	names_mention(&m->threads->names, tid);
	move_put(m, task, MCV('O', 'H', 'C'), clock, payload, sizeof(payload));
	return 0;
}

int move_end(struct moves *m, struct task *task, uint64_t clock)
{
	int err = calls_hide(m, task, clock);

	if (!err)
		err = task_room(m->threads, task);
	if (err)
		return err;
	move_put(m, task, MCV('O', 'H', 'e'), clock, NULL, 0);
	task->state = THREAD_STATE_DEAD;
	return 0;
}

struct finalizer_job {
	struct moves *moves;
	struct task *task;
	uint64_t clock;
};

static int put_closing(void *arg, uint32_t mcv, int32_t cpu)
{
	static const int32_t unknown = WAKER_UNKNOWN;
	const struct finalizer_job *c = arg;
	int err = 0;

	switch (mcv) {
	case MCV('O', 'H', 'w'):
		move_put(c->moves, c->task, mcv, c->clock, &unknown, sizeof(unknown));
		break;
	case MCV('O', 'A', 's'):
		move_put(c->moves, c->task, mcv, c->clock, &cpu, sizeof(cpu));
		break;
	case MCV('O', 'H', 'e'):
		err = calls_hide(c->moves, c->task, c->clock);
		if (!err)
			err = task_room(c->moves->threads, c->task);
		if (err)
			return err;
		/* fall through */
	default:
		move_put(c->moves, c->task, mcv, c->clock, NULL, 0);
	}
	return 0;
}

int move_close(struct moves *m, struct task *task, uint64_t clock)
{
	static const int32_t virtual_cpu = -1;
	struct finalizer_job closing = {m, task, clock};
	int err = task_room(m->threads, task);

	if (err)
		return err;
	if (m->kernel_model && task->state == THREAD_STATE_PAUSED) {
		move_put(m, task, MCV('K', 'C', 'I'), clock, &virtual_cpu, sizeof(virtual_cpu));
		task->state = THREAD_STATE_RUNNING;
	}
	err = thread_state_close(task->state, task->cpu < 0, put_closing, &closing);
	if (task->state != THREAD_STATE_UNKNOWN)
		task->state = THREAD_STATE_DEAD;
	return err;
}

static int put_mark(struct moves *m, struct task *task, uint32_t mcv, uint64_t clock,
		    uint64_t count)
{
	const int32_t type = MARK_LOST;
	uint8_t payload[12];
	int64_t value = count > INT64_MAX ? INT64_MAX : (int64_t)count;
	int err = task_room(m->threads, task);

	if (err)
		return err;
	memcpy(payload, &value, sizeof(value));
	memcpy(payload + sizeof(value), &type, sizeof(type));
	move_put(m, task, mcv, clock, payload, sizeof(payload));
	task->thread->marks = true;
	return 0;
}

int move_gap_opens(struct moves *m, struct task *task, uint64_t clock, uint64_t count)
{
	return put_mark(m, task, MCV('O', 'M', '['), clock, count);
}

int move_gap_closes(struct moves *m, struct task *task, uint64_t clock, uint64_t count)
{
	return put_mark(m, task, MCV('O', 'M', ']'), clock, count);
}
