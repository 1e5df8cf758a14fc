/* SPDX-License-Identifier: MIT */
/* probe_events: see probe_events.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/timeline/emit_events.h"
#include "user/timeline/probe_events.h"
#include "trace/base/log.h"

struct calls *calls_new(const struct calls_plan *plan)
{
	struct calls *calls = calloc(1, sizeof(*calls));
	size_t count = plan->actions->count;

	if (!calls)
		return NULL;
	calls->plan = plan;
	calls->figures = calloc(count ? count : 1, sizeof(*calls->figures));
	if (calls->figures)
		return calls;
	free(calls);
	return NULL;
}

void calls_free(struct calls *calls)
{
	if (!calls)
		return;
	free(calls->figures);
	free(calls);
}

void calls_add(struct calls *sum, const struct calls *calls)
{
	const struct calls_counts *counts = &calls->counts;

	for (size_t i = 0; i < calls->plan->actions->count; i++) {
		sum->figures[i].calls += calls->figures[i].calls;
		sum->figures[i].wall_ns += calls->figures[i].wall_ns;
		sum->figures[i].on_cpu_ns += calls->figures[i].on_cpu_ns;
		sum->figures[i].left += calls->figures[i].left;
	}
	sum->thread_ns += calls->thread_ns;
	sum->counts.unmatched += counts->unmatched;
	sum->counts.valueless += counts->valueless;
	sum->counts.strays += counts->strays;
	sum->counts.stacks.too_deep += counts->stacks.too_deep;
	sum->counts.stacks.equal += counts->stacks.equal;
	sum->counts.stacks.reopened += counts->stacks.reopened;
}

/* ---- events ---- */

struct writing {
	struct timeline *tl;
	struct task *task;
	uint64_t clock;
	bool before; /* the window is not open yet: nothing is counted */
};

static int write_mark(struct writing *w, uint32_t mcv, int32_t type, int64_t value)
{
	return emit_mark(w->tl, w->task, mcv, w->clock, type, value);
}

static int declare(struct writing *w, uint32_t declaration)
{
	return threads_declare(w->tl->threads, w->task->thread, declaration);
}

/* Also stacks_put_fn. */
static int write_effect(void *arg, const struct effect *effect, bool begin)
{
	struct writing *w = arg;
	uint32_t mcv = begin ? effect->enter : effect->leave;
	int err = declare(w, effect->declared);

	if (err)
		return err;
	if (effect->enter == MARK_PUSH || effect->enter == MARK_SET)
		return write_mark(w, mcv, effect->type, effect->value);
	err = task_room(w->tl->threads, w->task);
	if (!err)
		emit(w->tl, w->task, mcv, w->clock, NULL, 0);
	return err;
}

#define OUT(w) (&(struct stacks_out){write_effect, w, &(w)->tl->calls->counts.stacks})

/* ---- steps ---- */

/* The value of the site that a step needs, as it was read; false: it is not there. */
static bool find_value(const struct step *step, const struct record_probe *r, int64_t *value)
{
	const struct record_probe_values *several = (const struct record_probe_values *)r;

	if (!(r->head.flags & PROBE_SEVERAL)) {
		*value = r->value;
		return !step->index && r->head.flags & PROBE_VALUE;
	}
	*value = several->values[step->index];
	return several->valid >> step->index & 1;
}

/* The value with its width and sign in the program. */
static int64_t typed(const struct site_value *type, int64_t raw)
{
	switch (type->bytes) {
	case 1:
		return type->is_signed ? (int8_t)raw : (int64_t)(uint8_t)raw;
	case 2:
		return type->is_signed ? (int16_t)raw : (int64_t)(uint16_t)raw;
	case 4:
		return type->is_signed ? (int32_t)raw : (int64_t)(uint32_t)raw;
	default:
		return raw;
	}
}

static int write_value(struct writing *w, const struct step *step, const struct record_probe *r)
{
	struct calls *calls = w->tl->calls;
	const struct effect *effect = &step->effect;
	const struct site_value *type;
	int64_t value;
	int err;

	if (!find_value(step, r, &value)) {
		calls->counts.valueless++;
		return 0;
	}
	type = &calls->plan->sites[r->site].values[step->index];
	value = typed(type, value);
	if (type->is_address && value)
		threads_name_address(w->tl->threads, w->task, (uint64_t)value, w->clock);
	err = declare(w, effect->declared);
	if (!err && !value)
		err = declare(w, effect->declared + 1); /* the label of 0 */
	return err ? err : write_mark(w, MARK_SET, effect->type, value ? value : ACTION_ZERO);
}

/* True if the step has no condition, or the returned value fulfils it. */
static bool holds(struct calls *calls, const struct step *step, const struct record_probe *r)
{
	int64_t value;

	if (step->when == WHEN_ALWAYS)
		return true;
	if (!find_value(step, r, &value)) {
		calls->counts.valueless++;
		return false;
	}
	if (step->when == WHEN_FALSE || step->when == WHEN_TRUE)
		return !(uint8_t)value == (step->when == WHEN_FALSE);
	return !(int32_t)value == (step->when == WHEN_ZERO);
}

static int do_step(struct writing *w, const struct step *step, const struct record_probe *r)
{
	struct stacks *stacks = w->task->stacks;

	if (!holds(w->tl->calls, step, r))
		return 0;
	if (step->kind == STEP_BEGIN)
		return stacks_begin(stacks, &step->effect, false, OUT(w));
	if (step->kind == STEP_END)
		return stacks_end(stacks, &step->effect, OUT(w));
	if (!stacks->shown)
		return 0;
	return step->kind == STEP_SET ? write_effect(w, &step->effect, true)
				      : write_value(w, step, r);
}

static int do_steps(struct writing *w, const struct step *steps, unsigned n,
		    const struct record_probe *r)
{
	for (unsigned i = 0; i < n; i++) {
		int err = do_step(w, &steps[i], r);

		if (err)
			return err;
	}
	return 0;
}

/* ---- frames ---- */

static struct stacks *stacks_of(struct task *task)
{
	if (!task->stacks) {
		task->stacks = calloc(1, sizeof(*task->stacks));
		if (task->stacks)
			task->stacks->shown = task->state == THREAD_STATE_RUNNING;
		else
			log_no_memory("for the probes of thread %u", task->tid);
	}
	return task->stacks;
}

/* How long the task has been on CPUs. */
static uint64_t ran(const struct task *task, uint64_t clock)
{
	if (task->state != THREAD_STATE_RUNNING || clock < task->in)
		return task->ran;
	return task->ran + clock - task->in;
}

static void add_call(struct calls *calls, const struct task *task, const struct frame *frame,
		     uint64_t clock, bool returned)
{
	struct call_figures *figures = &calls->figures[frame->site];

	figures->left += !returned;
	if (frame->inner || clock < frame->clock)
		return;
	figures->wall_ns += clock - frame->clock;
	figures->on_cpu_ns += ran(task, clock) - frame->ran;
}

/* The topmost frame has been left. */
static int leave(struct writing *w, bool returned)
{
	struct stacks *stacks = w->task->stacks;
	int err = stacks_end_frame(stacks, OUT(w));

	add_call(w->tl->calls, w->task, &stacks->frames[stacks->nframes - 1], w->clock, returned);
	stacks_pop(stacks);
	return err;
}

static int leave_down_to(struct writing *w, uint32_t nframes)
{
	while (w->task->stacks->nframes > nframes) {
		int err = leave(w, false);

		if (err)
			return err;
	}
	return 0;
}

static int enter(struct writing *w, const struct record_probe *r, const struct stacks_at *at)
{
	struct calls *calls = w->tl->calls;
	const struct action *action = &calls->plan->actions->list[r->site];
	struct stacks *stacks = w->task->stacks;
	struct frame *frame;
	bool deep;
	int err = leave_down_to(w, stacks_alive_at_entry(stacks, at));

	calls->figures[r->site].calls += !w->before;
	if (err)
		return err;
	err = do_steps(w, action->entry, action->nentry, r);
	if (err || !action_returns(action))
		return err;
	frame = stacks_push(stacks, at, &deep);
	if (!frame) {
		calls->counts.stacks.too_deep += deep;
		return deep ? 0 : -ENOMEM;
	}
	frame->clock = w->clock;
	frame->ran = ran(w->task, w->clock);
	if (action->has_during)
		err = stacks_begin(stacks, &action->during, true, OUT(w));
	if (err)
		return err;
	for (unsigned i = 0; i < action->nalso; i++) {
		err = stacks_begin(stacks, &action->also[i], true, OUT(w));
		if (err)
			return err;
	}
	return 0;
}

static int come_back(struct writing *w, const struct record_probe *r, const struct stacks_at *at)
{
	struct calls *calls = w->tl->calls;
	const struct action *action = &calls->plan->actions->list[r->site];
	int64_t i = stacks_find(w->task->stacks, at);
	int err;

	if (i < 0) {
		/* an exit may be a jump to a cold part of the same function */
		if (!(r->head.flags & PROBE_AT_EXIT))
			calls->counts.unmatched +=
				!w->before && (!calls->plan->sampled || at->call);
		return leave_down_to(w, stacks_alive_at_point(w->task->stacks, at));
	}
	err = leave_down_to(w, (uint32_t)i + 1);
	if (err)
		return err;
	err = leave(w, true);
	return err ? err : do_steps(w, action->at_return, action->nreturn, r);
}

static int pass(struct writing *w, const struct record_probe *r, const struct stacks_at *at)
{
	const struct action *action = &w->tl->calls->plan->actions->list[r->site];
	int err = leave_down_to(w, stacks_alive_at_point(w->task->stacks, at));

	w->tl->calls->figures[r->site].calls += !w->before;
	return err ? err : do_steps(w, action->entry, action->nentry, r);
}

/* It has returned where nothing is recorded (-C): its frame goes when it is on top. */
static void returned_elsewhere(struct task *task, const struct stacks_at *at)
{
	int64_t i;

	if (!task || !task->stacks)
		return;
	i = stacks_find(task->stacks, at);
	if (i >= 0 && task->stacks->frames)
		task->stacks->frames[i].gone = true;
}

static int leave_gone(struct writing *w)
{
	struct stacks *stacks = w->task->stacks;
	while (stacks->nframes && stacks->frames[stacks->nframes - 1].gone) {
		int err = leave(w, true);

		if (err)
			return err;
	}
	return 0;
}

static int take(struct writing *w, const struct record_probe *r)
{
	const struct stacks_at at = {
		.sp = r->sp,
		.call = r->call,
		.stack = r->stack,
		.site = r->site,
		.tail = r->head.flags & PROBE_TAIL,
	};
	int err;

	if (r->head.flags & PROBE_ELSEWHERE) {
		returned_elsewhere(w->task, &at);
		return 0;
	}
	if (!stacks_of(w->task))
		return -ENOMEM;
	err = leave_gone(w);
	if (err)
		return err;
	switch (r->head.flags & PROBE_SIDE) {
	case PROBE_ENTRY:
		return enter(w, r, &at);
	case PROBE_RETURN:
		return come_back(w, r, &at);
	case PROBE_POINT:
		return pass(w, r, &at);
	default:
		return 0;
	}
}

/* ---- records ---- */

int calls_record(struct timeline *tl, struct cpu *cpu, const struct record_probe *r)
{
	struct writing w = {tl, NULL, r->head.clock, false};
	int err;

	if (!tl->calls || r->site >= tl->calls->plan->actions->count)
		return 0;
	if (r->head.flags & PROBE_ELSEWHERE) {
		w.task = threads_task(tl->threads, r->head.id);
		return take(&w, r);
	}
	err = timeline_context(tl, cpu, &r->head, r->pid, r->tid, &w.task);
	if (err)
		return err;
	if (!w.task) {
		tl->calls->counts.strays++;
		return 0;
	}
	return take(&w, r);
}

int calls_before(struct timeline *tl, struct task *task, const struct record_probe *r)
{
	struct writing w = {tl, task, tl->options.t0, true};

	if (!tl->calls || r->site >= tl->calls->plan->actions->count)
		return 0;
	if (!stacks_of(task))
		return -ENOMEM;
	task->stacks->shown = false;
	return take(&w, r);
}

int calls_show(struct timeline *tl, struct task *task, uint64_t clock)
{
	struct writing w = {tl, task, clock, false};
	int err;

	if (!task->stacks)
		return 0;
	err = leave_gone(&w);
	return err ? err : stacks_show(task->stacks, OUT(&w));
}

int calls_hide(struct timeline *tl, struct task *task, uint64_t clock)
{
	struct writing w = {tl, task, clock, false};

	return task->stacks ? stacks_hide(task->stacks, OUT(&w)) : 0;
}

int calls_exec(struct timeline *tl, struct task *task, uint64_t clock)
{
	struct writing w = {tl, task, clock, false};
	int err;

	if (!task->stacks)
		return 0;
	err = leave_down_to(&w, 0);
	if (!err && task->stacks->shown) {
		err = stacks_hide(task->stacks, OUT(&w));
		task->stacks->shown = true;
	}
	stacks_clear(task->stacks);
	return err;
}

int calls_carry_over(struct task *task, const struct task *old, uint64_t t0)
{
	if (!old->stacks)
		return 0;
	task->stacks = stacks_copy(old->stacks);
	if (!task->stacks)
		return log_no_memory("for the functions of a thread");
	for (uint32_t i = 0; i < task->stacks->nframes; i++) {
		task->stacks->frames[i].clock = t0;
		task->stacks->frames[i].ran = 0;
	}
	return 0;
}

void calls_account(struct timeline *tl, struct task *task, uint64_t clock)
{
	for (uint32_t i = 0; task->stacks && i < task->stacks->nframes; i++)
		add_call(tl->calls, task, &task->stacks->frames[i], clock, false);
}

void calls_forget(struct task *task)
{
	stacks_free(task->stacks);
	task->stacks = NULL;
}
