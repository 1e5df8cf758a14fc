/* SPDX-License-Identifier: MIT */
/*
 * task: task types, tasks and their bodies, for the models of task runtimes.
 *
 *   created ──execute──► running ──end──► dead ──execute (if it may run again)──► running
 *                          │  ▲
 *                    pause ▼  │ resume
 *                         paused
 *
 * In: the task events of a model; out: the body on top of the stack of each thread. Each thread has
 * a stack of bodies per model. Invariant: a running or paused body is on exactly one stack, and
 * only the top of a stack changes. So only create, execute and end look into the table; pause and
 * resume compare with the top.
 * Specification: models.md 3 and 4.
 */
#ifndef EMU_TASK_TASK_H
#define EMU_TASK_TASK_H

#include "emu/emulation.h"
#include "trace/base/hash.h"

enum task_flags {
	TASK_PARALLEL = 1, /* several bodies */
	TASK_AGAIN = 2,	   /* may run again */
	TASK_PAUSES = 4,
	TASK_RELAXED = 8, /* other tasks may run over it */
};

/*
 * A table finds one of millions of tasks by its id, mostly with one access to memory: the entries
 * are the slots of a hash table with open addressing, in which neighbouring ids, close in time, are
 * neighbours. It is at most three quarters full: a task takes 21 to 43 bytes. (A table of
 * trace/base/hash.h has the indices of entries, and takes three times as much.) The hash has a
 * secret seed, since ids come from traces.
 */
struct task { /* of a task (body 0), or of one body of a parallel task */
	uint32_t id, body;
	uint32_t type; /* value in Paraver */
	uint8_t state; /* owned by the caller */
	uint8_t flags; /* owned by the caller */
	uint8_t used;
};
_Static_assert(sizeof(struct task) == 16, "memory per task");

struct task_table {
	struct task *tasks; /* NULL while empty; for free() */
	size_t n, room;	    /* room is a power of two */
};

/* Chooses the seed of all tables; once, before any other call. */
void task_table_seed(void);

/* Returns the entry, or NULL. The pointer is valid as long as table->room stays the same. */
struct task *task_table_find(const struct task_table *table, uint32_t id, uint32_t body);

/*
 * Adds an entry with all other fields zero. Returns NULL out of memory, or if it exists already
 * (*exists is then true).
 */
struct task *task_table_add(struct task_table *table, uint32_t id, uint32_t body, bool *exists);

enum body_state { BODY_CREATED, BODY_ON_STACK, BODY_DEAD };

struct body { /* on the stack of a thread */
	uint32_t task, body;
	uint32_t type; /* value in Paraver */
	uint8_t flags;
	bool running; /* else paused */
	size_t room;  /* of the table at the look-up of `entry` */
	struct task *entry;
};

struct body_stack {
	struct body *bodies;
	uint32_t n, room;
};

#define TYPES_CACHED 8

struct task_space { /* of one process */
	struct task_table tasks, types;
	struct {
		uint32_t id, value; /* value 0: unused */
	} cached[TYPES_CACHED];	    /* recent types, by the lowest bits of their id */
};

struct task_label { /* of task types, in all processes */
	uint32_t value;
	char *text;
};

struct tasks {			   /* of one model */
	struct task_space *spaces; /* by gindex of the process */
	struct body_stack *stacks; /* by gindex of the thread */
	uint32_t nspaces, nstacks;
	struct task_label *labels; /* in the order of their first use */
	size_t nlabels;
	struct hash by_value; /* the first label of each value */
	bool nested;	      /* the warning about a task over a running one was logged */
	bool collides;
	struct task_label collision[2]; /* two labels with one value; `labels` owns the texts */
};

/* Hooks (struct model) of a model with tasks: they allocate and free state->tasks. */
int tasks_start(struct emulator *emu, struct model_state *state);
void tasks_close(struct model_state *state);

/*
 * Value in Paraver of a task type with this label: 1000 to 2^31 - 1 (or 999 more). A label has the
 * same value, and so the same colour, in all traces.
 */
uint32_t task_label_value(const char *label, size_t size);

/* The next functions return 0, or -errno after emu_refuse(), unless they say otherwise. */

/* ?Yc+ and POc+: u32 type id, str label; a model_event_fn. */
int task_create_type(struct emulator *emu, struct thread *th, const struct event *ev,
		     const struct action *action);
/* Returns the value of a task type, or 0 after emu_refuse(). */
uint32_t task_type_value(struct emulator *emu, struct tasks *tasks, const struct thread *th,
			 uint32_t type);
int task_create(struct emulator *emu, struct tasks *tasks, struct thread *th, uint32_t id,
		uint32_t type, uint8_t flags);
/* Executes a body, which gets on top. Body 0 is the only one of a task that is not parallel. */
int task_execute(struct emulator *emu, struct tasks *tasks, struct thread *th, uint32_t id,
		 uint32_t body);
int task_pause(struct emulator *emu, struct tasks *tasks, struct thread *th, uint32_t id,
	       uint32_t body);
int task_resume(struct emulator *emu, struct tasks *tasks, struct thread *th, uint32_t id,
		uint32_t body);
int task_end(struct emulator *emu, struct tasks *tasks, struct thread *th, uint32_t id,
	     uint32_t body);

/* The body on top of the stack of the thread, or NULL. */
static inline const struct body *task_top(const struct tasks *tasks, const struct thread *th)
{
	const struct body_stack *stack = &tasks->stacks[th->index];

	return stack->n ? &stack->bodies[stack->n - 1] : NULL;
}

/*
 * The hook that adds all task types to the labels of the channel model->types_channel. Returns 0 or
 * -errno after a message; -EINVAL if two labels have one value, where the first label stays.
 */
int tasks_describe(struct emulator *emu, struct model_state *state)
	__attribute__((warn_unused_result));

#endif
