/* SPDX-License-Identifier: MIT */
/*
 * threads: tasks, processes and streams, and the buffer of each stream.
 *
 * A task is found by the dense id that the kernel side gave it (id_pages.h): no hashing on the
 * hot path, and a page goes when its tasks are dead. A stream is a (pid, tid)
 * and a struct thread, found once, when a task writes its first event; a task that takes
 * the place of an earlier one with the same pair continues its stream. Buffers grow
 * from 256 bytes to 16 KiB and are handed to the writer when full and when the
 * thread dies, then with its finished stream.json.
 * Invariants: memory follows the number of threads, not of events; a stream has at most
 * one task at a time; only whole events are handed over.
 * Specification: event-mapping.md "Identity", ebpf.md 13.
 */
#ifndef USER_TIMELINE_THREADS_H
#define USER_TIMELINE_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/record.h"
#include "user/host/clock.h"
#include "user/host/cpu_sets.h"
#include "user/timeline/fd_names.h"
#include "trace/base/id_pages.h"
#include "user/timeline/lock_names.h"
#include "user/timeline/metadata.h"
#include "trace/base/hash.h"
#include "trace/catalog/system_calls.h"
#include "user/timeline/thread_names.h"
#include "trace/ovni/event.h"
#include "trace/ovni/thread_state.h"

struct session_info;
struct threads;
struct topology;
struct writer;

/* ---- for the live part ---- */

/* All three stay the caller's and must outlive the threads. NULL after one message. */
struct threads *threads_new(struct writer *writer, const struct session_info *info,
			    const struct topology *topology);
/* After writer_finish(): until then the writer reads the threads. */
void threads_free(struct threads *threads);

/* The number of streams with events (live line). */
uint64_t threads_streams(const struct threads *threads);

/* Hands over all that is buffered (--flush-interval). 0 or the writer's error. */
int threads_flush(struct threads *threads);

/* ---- for the timeline ---- */

#define TASK_ROOM  128 /* bytes that task_room() guarantees: the events of one step */
#define TASKS_PAGE 8   /* tasks in a page: one that lives on keeps its page */

enum task_flags {
	TASK_BEFORE = 1,   /* it existed when the window opened */
	TASK_RUNNABLE = 2, /* with TASK_BEFORE: it was not asleep */
	TASK_EXITING = 4,  /* RECORD_EXIT seen: it keeps its stream, even if its tid changes */
	TASK_GONE = 8,	   /* another task has its stream: its records mean nothing any more */
	TASK_JOINED = 16,  /* traced since `joined`, maybe while it ran */
	TASK_KERNEL = 32,  /* kernel thread */
	TASK_SETTLED = 64, /* what follows the window says nothing more of its state at the end */
};

struct task {
	/* Used at each switch. */
	uint64_t key;	   /* of the stream that it writes to; 0: none (thread is NULL) */
	uint8_t *at, *end; /* the next event goes to `at`, if that is below `end` */
	uint64_t last;	   /* clock of the last event in the stream */
	uint64_t out;	   /* clock of the record that took it off its CPU */
	int32_t cpu;	   /* index of the CPU it belongs to; -1: the virtual one */
	uint8_t state;	   /* enum thread_state */
	uint8_t flags;	   /* enum task_flags */
	uint64_t events;   /* written since it was bound */
	struct thread *thread;
	uint64_t in;	    /* clock at which it got its CPU */
	uint64_t ran;	    /* time on CPUs before that, ns */
	uint64_t moved;	    /* clock of the last move to another queue; older than its wait: none */
	uint64_t known;	    /* its state is not known since that clock; 0: it is */
	uint64_t object;    /* of the call: its first argument */
	uint16_t call;	    /* the system call of its last sleep; CALL_UNKNOWN: not known */
	bool kernel_lock;   /* the object is a lock of the kernel */
	int32_t lock_owner; /* of the lock on which it sleeps, until its wake-up; see off_cpu.h */
	uint16_t priority, allowed; /* as last recorded, values of marks; 0: not known; */
	uint16_t priority_shown, allowed_shown; /* and in the stream */
	uint32_t sleep_stack; /* number of the stack of the sleep that ends; 0: none */
	uint32_t waker_stack; /* the same of its waker, until the record of its own stack */
	uint64_t irq_ns;      /* taken by interrupts from its run, until the OHr or OHe after it */
	struct io_request io; /* that ended its sleep, until the OHr after it; device 0: none */

	/* The rest. */
	struct stacks *stacks; /* of its probes; NULL: none yet */
	uint8_t *buffer;
	uint32_t size; /* bytes at buffer */
	uint32_t id;   /* 0: the slot is free */
	uint32_t tid, pid, parent_pid;
	int32_t creator_tid; /* -1: not seen */
	uint32_t exit_code;
	uint64_t joined;    /* ns, with TASK_JOINED */
	struct rename name; /* the latest; an empty name is not known */
};

struct task_page {
	uint32_t used;
	struct task tasks[TASKS_PAGE];
};

/* One process: its metadata, and the stream that has them. */
struct process {
	uint32_t pid, parent_pid;
	uint32_t live; /* tasks bound to streams of it */
	bool kernel;
	struct thread *first;	   /* its first stream */
	uint32_t programs;	   /* that were read: changes at an exec */
	struct lock_cache *locks;  /* NULL: none */
	struct process_info *info; /* the writer's thread's; after writer_sync() anybody's */
};

/* One stream. */
struct thread {
	uint64_t key;
	struct process *process;
	struct task *owner; /* the task that writes to it, or NULL */
	uint64_t last;	    /* clock of its last event, as long as it has no owner */
	uint64_t events;    /* of the owners before this one */
	uint64_t bytes;	    /* of events, handed over; */
	uint64_t first;	    /* and the clock of the first of them */
	uint64_t repairs;
	struct rename *names; /* nnames of them */
	uint32_t nnames, nnames_more;
	uint32_t exit_code;
	bool created;			   /* on disk, or queued */
	bool finished;			   /* and described as finished */
	bool marks;			   /* it has marks, */
	bool marks_written;		   /* and its stream.json says so */
	struct fd_names *fds;		   /* of the descriptors on which it sleeps; NULL: none */
	struct lock_names *locks;	   /* of the futexes */
	struct priority_marks *priorities; /* that it has; NULL: none */
	uint64_t irqs[IRQ_KINDS / 64];	   /* kinds of long interrupts that it has: bits */
	uint64_t *declared; /* bits, by struct declaration: declared by the stream; or NULL, */
	uint32_t ndeclared, declared_written; /* how many, and how many are in stream.json */
	bool exited;
};

struct threads {
	struct id_pages pages; /* of struct task_page */
	uint64_t known;
	struct thread **streams; /* in the order of their birth */
	size_t nstreams;
	struct process **processes;
	size_t nprocesses;
	struct hash stream_of, process_of; /* indices by pid and tid, by pid */
	struct writer *writer;
	const struct topology *topology;
	char *loom;
	const char *proc;	  /* NULL: not to be read */
	struct process_info *own; /* of the recorder, or NULL */
	_Atomic bool rankless;	  /* some process has no MPI rank */
	bool kernel_model;
	enum call_machine machine; /* whose system calls the records have */
	struct fd_readings fd_readings;
	struct lock_readings lock_readings;
	struct sleep_stacks *sleep_stacks; /* NULL: none are recorded */
	struct cpu_sets cpu_sets;	   /* on which threads may run */
	const struct actions *actions;	   /* of the probes; NULL: there are none */
	struct session session;
	struct names names;
};

static inline uint64_t thread_key(uint32_t pid, uint32_t tid)
{
	return (uint64_t)pid << 32 | tid;
}

struct task *threads_task_new_page(struct threads *threads, uint32_t id);

/* The slot of `id`, which may be free (task->id is 0 then); NULL for id 0 and without memory. */
static inline struct task *threads_task(struct threads *threads, uint32_t id)
{
	struct task_page *page = id_page(&threads->pages, id / TASKS_PAGE);

	if (__builtin_expect(!page, 0))
		return threads_task_new_page(threads, id);
	return id ? &page->tasks[id % TASKS_PAGE] : NULL;
}

/* The tasks in use, in the order of their ids; *id is 0 at first. NULL: no other. A task may be
 * released meanwhile. */
struct task *threads_next(const struct threads *threads, uint32_t *id);

/* Takes a free slot into use, and gives it back with all it holds (it must not be bound). */
void threads_use(struct threads *threads, struct task *task, uint32_t id, uint32_t pid,
		 uint32_t tid);
void threads_release(struct threads *threads, struct task *task);

/* The stream (pid, tid), or NULL. */
struct thread *threads_find(const struct threads *threads, uint32_t pid, uint32_t tid);

/*
 * Makes `task` the owner of the stream of its (pid, tid), which must have none, and creates the
 * stream if necessary. task->state becomes unknown in a new stream, else dead. 0 or -errno.
 */
int threads_bind(struct threads *threads, struct task *task) __attribute__((warn_unused_result));
/* The stream of `task` ends here, maybe for good: all is handed over, finished. */
int threads_unbind(struct threads *threads, struct task *task) __attribute__((warn_unused_result));

int threads_make_room(struct threads *threads, struct task *task);

/* Room for TASK_ROOM bytes at task->at. 0 or -errno (no memory, the writer's error). */
static inline int task_room(struct threads *threads, struct task *task)
{
	if (__builtin_expect(task->at >= task->end, 0))
		return threads_make_room(threads, task);
	return 0;
}

/* Appends an event at `clock`, or at the stream's last clock if that is later. */
static inline void task_put(struct task *task, uint32_t mcv, uint64_t clock, const void *payload,
			    size_t size)
{
	if (clock < task->last)
		clock = task->last;
	task->at += event_encode(task->at, mcv, (int64_t)clock_in_trace(clock), payload, size);
	task->last = clock;
	task->events++;
}

/* The same with `size` bytes of data, at most TASK_ROOM - 16. */
static inline void task_put_jumbo(struct task *task, uint32_t mcv, uint64_t clock, const void *data,
				  uint32_t size)
{
	if (clock < task->last)
		clock = task->last;
	task->at += event_encode_jumbo(task->at, mcv, (int64_t)clock_in_trace(clock), size);
	memcpy(task->at, data, size);
	task->at += size;
	task->last = clock;
	task->events++;
}

/* The task is called `comm` (RECORD_COMM_SIZE bytes) from `clock` on. 0 or -ENOMEM. */
int threads_name(struct task *task, uint64_t clock, const char *comm);

/* The stream has the mark, label or model of `declaration` of the actions. 0 or -ENOMEM after one
 * message. */
int threads_declare_new(struct thread *thread, const struct actions *actions, uint32_t declaration);

static inline int threads_declare(struct threads *threads, struct thread *thread,
				  uint32_t declaration)
{
	if (thread->declared && thread->declared[declaration / 64] & 1ull << declaration % 64)
		return 0;
	return threads_declare_new(thread, threads->actions, declaration);
}

/* The task falls asleep at `clock` in task->call: its descriptor or futex gets its name. */
void threads_sleep_on(struct threads *threads, struct task *task, uint64_t clock);

/* Gives an address in the task, which has a stream, its name in the metadata (lock_names.h). */
void threads_name_address(struct threads *threads, struct task *task, uint64_t address,
			  uint64_t clock);

/* /proc has something new about the task's process (first sight, exec). Its stream must exist. */
void threads_read_process(struct threads *threads, struct process *process);

/* All streams are closed: the ranks, and the event counts of the session, with which the first
 * stream is finished, too, so that without it no trace looks complete. Takes session->cpus over,
 * also on failure. 0 or the writer's error. */
int threads_finish(struct threads *threads, const struct session *session);

#endif
