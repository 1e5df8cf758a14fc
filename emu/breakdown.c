/* SPDX-License-Identifier: MIT */
/* breakdown: combined values of CPUs, sorted (see breakdown.h). */
#include "emu/breakdown.h"

#include <stdlib.h>
#include <string.h>

#include "trace/base/log.h"

#define UNKNOWN_SUBSYSTEM 2
#define IDLE_PROGRESSING  100

enum choice {
	CHOICE_UNSET,
	CHOICE_SUBSYSTEM,
	CHOICE_TASK,
	CHOICE_NOTHING,
	CHOICE_INNER,
	CHOICE_IDLE
};

struct breakdown_cpu {
	int64_t input[BREAKDOWN_INPUTS];
	int64_t inner; /* intermediate value: subsystem or task */
	int64_t combined;
	int64_t number; /* the value of this CPU in `sorted` */
	uint8_t first, second;
	bool inner_queued, combined_queued;
};

struct breakdown_row {
	struct prv_row row;
	int64_t value, last;
	bool touched, written;
};

struct item { /* of the queue of one event */
	struct breakdown_cpu *cpu;
	bool inner; /* else combined */
};

struct queue {
	struct item items[2 * BREAKDOWN_TOUCHES_MAX];
	unsigned n;
};

struct breakdown *breakdown_new(const struct breakdown_page *page, struct out *out, uint32_t ncpus)
{
	struct breakdown *b = calloc(1, sizeof(*b));

	if (!b)
		goto nomem;
	b->page = page;
	prv_type_init(&b->type, page->type);
	b->ncpus = ncpus;
	if (prv_open(&b->prv, out, ncpus))
		goto fail;
	b->cpus = calloc(ncpus + 1ul, sizeof(*b->cpus));
	b->sorted = calloc(ncpus + 1ul, sizeof(*b->sorted));
	b->rows = calloc(ncpus + 1ul, sizeof(*b->rows));
	b->touched = calloc(ncpus + 1ul, sizeof(*b->touched));
	if (!b->cpus || !b->sorted || !b->rows || !b->touched)
		goto nomem;
	for (uint32_t i = 0; i < ncpus; i++)
		prv_row_init(&b->rows[i].row, i + 1);
	if (prv_start(&b->prv, (ncpus + 1ul) * PRV_LINE_MAX))
		goto fail;
	return b;
nomem:
	log_no_memory("for the view %s of %u CPUs", page->file, ncpus);
	if (!b)
		(void)!out_close(out);
fail:
	(void)!breakdown_close(b, 0);
	return NULL;
}

int breakdown_close(struct breakdown *b, int64_t duration)
{
	int err;

	if (!b)
		return 0;
	err = prv_close(&b->prv, duration);
	free(b->cpus);
	free(b->sorted);
	free(b->rows);
	free(b->touched);
	free(b);
	return err;
}

void breakdown_touch(struct breakdown *b, uint8_t input, const struct cpu *cpu, int64_t value)
{
	if (cpu->physical == UINT32_MAX || b->ntouches == BREAKDOWN_TOUCHES_MAX)
		return; /* breakdowns show physical CPUs only */
	b->cpus[cpu->physical].input[input] = value;
	b->touches[b->ntouches++] = (struct breakdown_touch){cpu->physical, input};
}

static void set_inner(struct queue *queue, struct breakdown_cpu *cpu, int64_t value)
{
	cpu->inner = value;
	if (cpu->inner_queued)
		return;
	cpu->inner_queued = true;
	queue->items[queue->n++] = (struct item){cpu, true};
}

static void set_combined(struct queue *queue, struct breakdown_cpu *cpu, int64_t value)
{
	cpu->combined = value;
	if (cpu->combined_queued)
		return;
	cpu->combined_queued = true;
	queue->items[queue->n++] = (struct item){cpu, false};
}

/* nosv and nanos6: the subsystem; the task while its body runs; or idle. */
static void visit_three(const struct breakdown *b, struct queue *queue, struct breakdown_cpu *cpu,
			uint8_t input)
{
	const int64_t *in = cpu->input;

	switch (input) {
	case BREAKDOWN_SUBSYSTEM:
		if (in[BREAKDOWN_SUBSYSTEM] == b->page->body && in[BREAKDOWN_TASK]) {
			cpu->first = CHOICE_TASK;
			set_inner(queue, cpu, in[BREAKDOWN_TASK]);
		} else if (in[BREAKDOWN_SUBSYSTEM]) {
			cpu->first = CHOICE_SUBSYSTEM;
			set_inner(queue, cpu, in[BREAKDOWN_SUBSYSTEM]);
		} else {
			cpu->first = CHOICE_NOTHING;
			set_inner(queue, cpu, UNKNOWN_SUBSYSTEM);
		}
		break;
	case BREAKDOWN_TASK:
		if (cpu->first == CHOICE_TASK)
			set_inner(queue, cpu, in[BREAKDOWN_TASK]);
		break;
	case BREAKDOWN_IDLE:
		if (in[BREAKDOWN_IDLE] == IDLE_PROGRESSING) {
			cpu->second = CHOICE_INNER;
			set_combined(queue, cpu, cpu->inner);
		} else {
			cpu->second = CHOICE_IDLE;
			set_combined(queue, cpu, in[BREAKDOWN_IDLE]);
		}
		break;
	}
}

/* openmp: the label, or the subsystem of a CPU without a label. */
static void visit_two(struct queue *queue, struct breakdown_cpu *cpu, uint8_t input)
{
	const int64_t *in = cpu->input;

	if (input == BREAKDOWN_TASK) {
		cpu->first = in[BREAKDOWN_TASK] ? CHOICE_TASK : CHOICE_SUBSYSTEM;
		set_combined(queue, cpu,
			     in[BREAKDOWN_TASK] ? in[BREAKDOWN_TASK] : in[BREAKDOWN_SUBSYSTEM]);
	} else if (cpu->first == CHOICE_SUBSYSTEM) {
		set_combined(queue, cpu, in[BREAKDOWN_SUBSYSTEM]);
	}
}

static void touch_row(struct breakdown *b, uint32_t i)
{
	struct breakdown_row *row = &b->rows[i];

	if (b->started && row->value == b->sorted[i])
		return;
	row->value = b->sorted[i];
	if (row->touched)
		return;
	row->touched = true;
	b->touched[b->ntouched++] = i;
}

/* Index of the first number that is not lower. */
static uint32_t lower_bound(const int64_t *sorted, uint32_t n, int64_t number)
{
	uint32_t low = 0;

	while (low < n) {
		uint32_t mid = low + (n - low) / 2;

		if (sorted[mid] < number)
			low = mid + 1;
		else
			n = mid;
	}
	return low;
}

/* Replaces one number. Only rows between its old and its new index can change. */
static void resort(struct breakdown *b, struct breakdown_cpu *cpu)
{
	int64_t *sorted = b->sorted, before = cpu->number, number = cpu->combined;
	uint32_t from, to, first, last;

	if (number == before)
		return;
	cpu->number = number;
	from = lower_bound(sorted, b->ncpus, before);
	to = lower_bound(sorted, b->ncpus, number);
	if (to > from) { /* it moves up, and its old index is free */
		to--;
		memmove(&sorted[from], &sorted[from + 1], (to - from) * sizeof(*sorted));
		first = from;
		last = to;
	} else {
		memmove(&sorted[to + 1], &sorted[to], (from - to) * sizeof(*sorted));
		first = to;
		last = from;
	}
	sorted[to] = number;
	if (!b->started) {
		first = 0;
		last = b->ncpus - 1;
	}
	for (uint32_t i = first; i <= last; i++)
		touch_row(b, i);
	b->started = true;
}

void breakdown_settle(struct breakdown *b, struct prv_time *time)
{
	struct queue queue = {.n = 0};

	for (unsigned i = 0; i < b->ntouches; i++) {
		struct breakdown_cpu *cpu = &b->cpus[b->touches[i].cpu];

		if (b->page->two_inputs)
			visit_two(&queue, cpu, b->touches[i].input);
		else
			visit_three(b, &queue, cpu, b->touches[i].input);
	}
	b->ntouches = 0;
	for (unsigned i = 0; i < queue.n; i++) {
		struct breakdown_cpu *cpu = queue.items[i].cpu;

		if (!queue.items[i].inner)
			resort(b, cpu);
		else if (cpu->second == CHOICE_INNER)
			set_combined(&queue, cpu, cpu->inner);
	}
	for (unsigned i = 0; i < queue.n; i++)
		queue.items[i].cpu->inner_queued = queue.items[i].cpu->combined_queued = false;
	for (uint32_t i = 0; i < b->ntouched; i++) {
		struct breakdown_row *row = &b->rows[b->touched[i]];

		row->touched = false;
		if (row->written && row->last == row->value)
			continue;
		row->written = true;
		row->last = row->value;
		prv_line(&b->prv, &row->row, time, &b->type, row->value);
	}
	b->ntouched = 0;
}
