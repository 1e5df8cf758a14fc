/* SPDX-License-Identifier: MIT */
/*
 * breakdown: the values of all physical CPUs, sorted: one view of -b.
 *
 *   rows of a CPU: subsystem, task type, idle ──► combined value of the CPU ──┐
 *                                                                            ├─► sorted ──► .prv
 *   rows of another CPU ... ──────────────────────────────────────────────────┘
 *
 * In: touches of the inputs, in order, during an event; out: at its end, the changed rows.
 * Invariant: `sorted` holds the numbers of all CPUs in ascending order, and each row
 * shows its element from the first change of any number on.
 * Specification: prv.md 6.
 */
#ifndef EMU_BREAKDOWN_H
#define EMU_BREAKDOWN_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/model.h"
#include "emu/paraver/prv.h"
#include "emu/system/system.h"

enum breakdown_input { BREAKDOWN_SUBSYSTEM, BREAKDOWN_TASK, BREAKDOWN_IDLE, BREAKDOWN_INPUTS };

struct breakdown_touch {
	uint32_t cpu; /* number among the physical CPUs */
	uint8_t input;
};

/* An event touches at most two CPUs. */
#define BREAKDOWN_TOUCHES_MAX (2 * BREAKDOWN_INPUTS)

struct breakdown_cpu;

struct breakdown {
	const struct breakdown_page *page;
	struct prv_type type;
	struct prv prv;
	uint32_t ncpus;
	struct breakdown_cpu *cpus;
	int64_t *sorted; /* the numbers of all CPUs, ascending */
	struct breakdown_row *rows;
	uint32_t *touched; /* rows touched in this event, in order */
	uint32_t ntouched;
	bool started; /* a number has changed: rows are no longer empty */
	struct breakdown_touch touches[BREAKDOWN_TOUCHES_MAX];
	unsigned ntouches;
};

/*
 * Creates a view of `ncpus` CPUs, which owns and writes to `out`. Returns NULL after a message;
 * `out` is then closed.
 */
struct breakdown *breakdown_new(const struct breakdown_page *page, struct out *out, uint32_t ncpus);
/* Completes the file, of `duration` ns, and frees. Returns 0 or -errno. Accepts NULL. */
int breakdown_close(struct breakdown *breakdown, int64_t duration);

/* Notes a touch of an input of a CPU; a value of 0 is empty. */
void breakdown_touch(struct breakdown *breakdown, uint8_t input, const struct cpu *cpu,
		     int64_t value);

/* Ends an accepted event: writes the rows that it changed. */
void breakdown_settle(struct breakdown *breakdown, struct prv_time *time);

static inline void breakdown_end(struct breakdown *breakdown, struct prv_time *time)
{
	if (breakdown->ntouches)
		breakdown_settle(breakdown, time);
}

#endif
