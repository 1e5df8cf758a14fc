/* SPDX-License-Identifier: MIT */
/*
 * task_bodies: the bodies of tasks that a thread executes, with the names of their types.
 *
 * In: the events of the models with tasks, of all threads by clock; out: begins and ends of bodies.
 * A body that pauses ends, and begins again when it resumes. Types and tasks belong to the process
 * of the thread that creates them. Memory follows types and tasks, as in the emulator.
 * Specification: models.md 4, 5.3, 6 and 7; perfetto.md 9.
 */
#ifndef TOOLS_EXPORT_TASK_BODIES_H
#define TOOLS_EXPORT_TASK_BODIES_H

#include "tools/export/subjects.h"
#include "trace/base/hash.h"
#include "trace/ovni/event.h"

enum task_act { TASK_NOTHING, TASK_BEGINS, TASK_ENDS };

#define TASK_UNKNOWN (-1)

struct task_body {
	int64_t task, type, body; /* TASK_UNKNOWN: the event or the trace does not say it */
	int64_t number;		  /* the same of its begin and its end */
	const char *label;	  /* of its type, printable; a constant if that is not known */
};

struct task_bodies {
	const struct subjects *subjects;
	struct hash types; /* index of the label, by process, model and type */
	struct hash tasks; /* type, by process, model and task */
	char **labels;
	size_t nlabels;
};

/* The meaning of an event, which fills *body unless it is TASK_NOTHING; or -ENOMEM. A zeroed
 * `tasks` with its subjects is ready. */
int task_bodies_take(struct task_bodies *tasks, uint32_t stream, const struct event *ev,
		     struct task_body *body) __attribute__((warn_unused_result));
void task_bodies_fini(struct task_bodies *tasks);

#endif
