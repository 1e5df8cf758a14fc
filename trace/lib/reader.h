/* SPDX-License-Identifier: MIT */
/*
 * ovni-trace: reads ovni traces, for programs outside of this project.
 *
 * In: the directory of a trace; out: its threads and CPUs, its events in the order of their clocks
 * with named arguments, and the intervals that each thread spends in a state, with the reason.
 * All times are in ns. A trace is read once, forward: ovni_trace_rewind() begins again. Its bytes
 * are untrusted: texts of a trace may hold any byte but NUL, and damage is an error, never a
 *signal.
 *
 * Errors: functions that return int return a value below 0, -errno, after an error;
 * ovni_trace_error() then has a sentence. The library prints nothing and ends no process.
 * Threads: one thread at a time may use a trace; different traces are independent of each other,
 * and any number of threads may use them at the same time.
 * The library catches SIGBUS while a trace is open, for files that become shorter; a signal that
 * does not concern it goes to the handler that was there before.
 * Memory: what a function returns belongs to the trace, and holds until the next call that says
 * so, at most until ovni_trace_close(). Structures may get members at their end in later versions:
 * do not copy them by their size, and make no arrays of them.
 *
 *	struct ovni_trace *t;
 *	const struct ovni_trace_event *ev;
 *
 *	if (ovni_trace_open(&t, "ovni"))
 *		errx(1, "%s", ovni_trace_error());
 *	while (ovni_trace_next_event(t, &ev) > 0)
 *		printf("%lld %s\n", (long long)ev->clock, ev->mcv);
 *	ovni_trace_close(t);
 */
#ifndef OVNI_TRACE_READER_H
#define OVNI_TRACE_READER_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

struct ovni_trace;

/* A thread: one stream of the trace. Numbers that are not known are -1, texts are "". */
struct ovni_trace_thread {
	const char *path;   /* of the stream, below the trace */
	const char *loom;   /* "node1.1234": the machine, and what separates its recordings */
	const char *name;   /* of the thread */
	const char *cgroup; /* or "" */
	int64_t pid, tid, rank;
	int64_t app_id;
	int32_t finished; /* 1: its stream was written to the end */
};

/* A CPU of a machine. */
struct ovni_trace_cpu {
	const char *loom;
	int32_t index;	/* as in events and intervals */
	int32_t number; /* of the operating system */
};

#define OVNI_TRACE_VIRTUAL_CPU (-1) /* in place of the index of a CPU: not on a known CPU */
#define OVNI_TRACE_NO_CPU      (-2) /* on none */

struct ovni_trace_event {
	int64_t clock;
	uint32_t thread; /* 0 to ovni_trace_nthreads() - 1 */
	int32_t cpu;	 /* of its thread, after the event */
	char mcv[4];	 /* the three characters of the event, and a NUL; untrusted */
	int32_t jumbo;	 /* 1: the payload may be longer than 16 bytes */
	uint32_t payload_size;
	const uint8_t *payload; /* until the next event */
};

enum ovni_trace_arg_type {
	OVNI_TRACE_INTEGER,
	OVNI_TRACE_UNSIGNED,
	OVNI_TRACE_TEXT,
	OVNI_TRACE_LIST, /* of integers */
};

/* An argument of an event. */
struct ovni_trace_arg {
	const char *name; /* "cpu" */
	enum ovni_trace_arg_type type;
	size_t n;	  /* of values; 1 except of a list, which may be empty */
	const char *text; /* OVNI_TRACE_TEXT, with a NUL at its end; else NULL */
	int64_t value;	  /* the first one; OVNI_TRACE_UNSIGNED: its bits are those of a uint64_t */
};

enum ovni_trace_state {
	OVNI_TRACE_RUNNING = 0,
	OVNI_TRACE_RUNNABLE = 1,  /* waits for a CPU */
	OVNI_TRACE_THROTTLED = 2, /* waits for the CPU quota of its cgroup */
	OVNI_TRACE_ASLEEP = 3,
	OVNI_TRACE_UNKNOWN = 4,
};

/* Why a thread is in its state. Of a run: why it ended. */
enum ovni_trace_reason {
	OVNI_TRACE_NO_REASON = 0, /* there is none, or it is not known */
	/* asleep; the end of a run */
	OVNI_TRACE_SLEEPING = 1,
	OVNI_TRACE_UNINTERRUPTIBLE = 2,
	OVNI_TRACE_IO = 3,
	OVNI_TRACE_STOPPED = 4,
	OVNI_TRACE_TRACED = 5,
	OVNI_TRACE_PREEMPTED = 6, /* this and the next one: also of a runnable thread */
	OVNI_TRACE_YIELDED = 7,
	OVNI_TRACE_PARKED = 8,
	OVNI_TRACE_IDLE = 9,
	OVNI_TRACE_DEAD = 10,
	OVNI_TRACE_LOST = 11, /* records were lost */
	OVNI_TRACE_QUOTA = 12,
	/* runnable */
	OVNI_TRACE_WOKEN = 32,
	OVNI_TRACE_NEWBORN = 33,
	/* the end of a run: it goes on, on another CPU */
	OVNI_TRACE_MOVED = 48,
};

/* The time between two changes of the state of a thread, or of its CPU while it runs. */
struct ovni_trace_interval {
	int64_t begin, end;
	uint32_t thread;
	int32_t cpu;	/* of a run; else OVNI_TRACE_NO_CPU */
	int32_t state;	/* enum ovni_trace_state */
	int32_t reason; /* enum ovni_trace_reason */
	int32_t waker;	/* tid of the thread that ended the sleep, of a sleep and of the wait after
			   it; 0: not known, -1: none, -2: an interrupt */
	int32_t next;	/* of a run: tid of the next thread on the CPU; 0 none, -1 not known */
};

/* A function, or another region that threads enter and leave: a value of a stack mark, or a state
 * of a model. Its texts are printable. */
struct ovni_trace_function {
	const char *name;  /* "MPI_Recv": the label of the value, or the value */
	const char *type;  /* "Function", "mpi function": the title of its marks, or model and
			      channel */
	int32_t mark_type; /* -1: a state of a model */
	int64_t value;	   /* of the mark */
};

/* A call of a function by a thread. */
struct ovni_trace_region {
	int64_t begin, end;
	uint32_t thread;
	uint32_t function; /* 0 to ovni_trace_nfunctions() - 1 */
	uint32_t depth;	   /* open regions of the thread around it, when it ends */
	int32_t nested;	   /* 1: inside a region of the same function; sums leave it out */
	int32_t returned;  /* 0: open at the end of the trace */
	/* ns of it in each enum ovni_trace_state; their sum is its length, as far as the thread
	 * lived */
	int64_t state_ns[5];
};

/* "0.2.0". */
const char *ovni_trace_version(void);

/*
 * The sentence of the last error of the calling thread, until its next error: what failed, on what,
 * why. "" before the first one.
 */
const char *ovni_trace_error(void);

/*
 * Opens the trace in the directory `path`, and stores it in *trace; ovni_trace_close() frees it.
 * All clocks of a trace with a clock-offsets.txt are corrected by it.
 * Returns 0, or -errno with NULL: -ENOENT there is none, -EINVAL it is damaged, or several traces
 * are below the directory, -ENOMEM, ...
 */
int ovni_trace_open(struct ovni_trace **trace, const char *path);
void ovni_trace_close(struct ovni_trace *trace); /* accepts NULL */

/* Why the trace is incomplete, in one sentence; "": it is complete, as far as one can see. */
const char *ovni_trace_incomplete(const struct ovni_trace *trace);

size_t ovni_trace_nthreads(const struct ovni_trace *trace);
/* NULL: there is no such thread. Until ovni_trace_close(). */
const struct ovni_trace_thread *ovni_trace_thread(const struct ovni_trace *trace, size_t i);
/* The thread with the id `tid`, as the thread `seen_by` means it: of its machine. -1: none. */
int64_t ovni_trace_find(const struct ovni_trace *trace, size_t seen_by, int64_t tid);

/*
 * The name of the thread with the id `tid`, as the thread `seen_by` means it: also of a thread
 * outside the trace, which woke one of its threads or ran after one. "": not known. NULL: an error.
 * Until ovni_trace_close().
 */
const char *ovni_trace_tid_name(struct ovni_trace *trace, size_t seen_by, int64_t tid);

/* The label of a value of the marks (OM[ OM] OM=) of a type, and the title of the type, printable.
 * "": none. NULL: an error. Until ovni_trace_close(). */
const char *ovni_trace_mark_label(struct ovni_trace *trace, int32_t type, int64_t value);
const char *ovni_trace_mark_title(struct ovni_trace *trace, int32_t type);

/* The CPUs that the metadata name, by loom and index. */
size_t ovni_trace_ncpus(const struct ovni_trace *trace);
const struct ovni_trace_cpu *ovni_trace_cpu(const struct ovni_trace *trace, size_t i);

/*
 * Goes to the next event of all threads, by clock, and stores it in *event until the next call.
 * Returns 1, 0 at the end, or -errno of a damaged trace, from then on at each call. Events and
 * intervals are read by one reader: an event passes the intervals that end at it.
 */
int ovni_trace_next_event(struct ovni_trace *trace, const struct ovni_trace_event **event);

/*
 * Goes to the next interval, and stores it in *interval until the next call. They come in the order
 * of their ends, those of one thread by time; the open ones follow after the last event, also of a
 * damaged trace, before its error. Returns as ovni_trace_next_event().
 */
int ovni_trace_next_interval(struct ovni_trace *trace, const struct ovni_trace_interval **interval);

/*
 * Goes to the next region, and stores it in *region until the next call. They come in the order of
 * their ends, the open ones after the last event, also of a damaged trace, before its error; a
 * leave without an enter is none. Returns as ovni_trace_next_event(). A walk reads regions alone:
 * after events or intervals this returns -EINVAL until ovni_trace_rewind(), and they do after
 * regions.
 */
int ovni_trace_next_region(struct ovni_trace *trace, const struct ovni_trace_region **region);

/* The functions of the regions up to now, and one of them, until ovni_trace_close(); a rewind keeps
 * their numbers. NULL: there is no such function. */
size_t ovni_trace_nfunctions(const struct ovni_trace *trace);
const struct ovni_trace_function *ovni_trace_function(const struct ovni_trace *trace, size_t i);

/* Begins again. Returns 0 or -errno. */
int ovni_trace_rewind(struct ovni_trace *trace);

/* ---- of the present event ---- */

/* Its meaning, printable: "pauses the execution". "UNKNOWN": no model has it. NULL: no memory, or
 * there is no event. Until the next call. */
const char *ovni_trace_event_text(struct ovni_trace *trace);

/* The number of its arguments, and one of them, in the order of the payload, until the next call.
 * Those for which the payload is too short are left out. NULL: there is no such argument. */
size_t ovni_trace_event_nargs(struct ovni_trace *trace);
const struct ovni_trace_arg *ovni_trace_event_arg(struct ovni_trace *trace, size_t i);
/* The argument of this name, or NULL. */
const struct ovni_trace_arg *ovni_trace_event_arg_named(struct ovni_trace *trace, const char *name);
/* Value `k` of argument `i`. Returns 0, or -ENOENT. */
int ovni_trace_event_value(struct ovni_trace *trace, size_t i, size_t k, int64_t *value);

/* ---- of the present interval ---- */

/* The system call in which the thread sleeps, printable: "read(3 = /data)"; "": not known, or no
 * sleep. NULL: no memory. Until the next call. */
const char *ovni_trace_interval_call(struct ovni_trace *trace);

/* "running", "preempted"; "": no such number, and OVNI_TRACE_NO_REASON. */
const char *ovni_trace_state_name(int state);
const char *ovni_trace_reason_name(int reason);

/* ---- columns, for many at a time ---- */

/*
 * Reads up to `n` intervals, and writes one number for each into each array that is not NULL.
 * Returns their number, 0 at the end, or -errno, as ovni_trace_next_interval().
 */
int64_t ovni_trace_read_intervals(struct ovni_trace *trace, size_t n, int64_t *begin, int64_t *end,
				  uint32_t *thread, int32_t *cpu, int32_t *state, int32_t *reason,
				  int32_t *waker, int32_t *next);
/* The same for regions; `state_ns`: five numbers for each. */
int64_t ovni_trace_read_regions(struct ovni_trace *trace, size_t n, int64_t *begin, int64_t *end,
				uint32_t *thread, uint32_t *function, uint32_t *depth,
				int32_t *nested, int32_t *returned, int64_t *state_ns);
/* The same for events; `mcv`: the three characters as one number, the first one times 65536. */
int64_t ovni_trace_read_events(struct ovni_trace *trace, size_t n, int64_t *clock, uint32_t *thread,
			       int32_t *cpu, uint32_t *mcv);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
