/* SPDX-License-Identifier: MIT */
/*
 * session_info: the session, for its metadata.
 *
 * In: the live part fills one struct session_info, the first half before threads_new(), the second
 * half before timeline_close(); out: `bpf.session` in the first stream of the session
 * (metadata.h). All memory stays the live part's and must outlive the threads.
 * A pointer of NULL, and a figure of SESSION_UNKNOWN, is left out of the metadata.
 * Specification: event-mapping.md "Metadata".
 */
#ifndef USER_CONFIG_SESSION_INFO_H
#define USER_CONFIG_SESSION_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/state.h"
#include "user/config/window_edge.h"

#define SESSION_UNKNOWN UINT64_MAX

/* seen = written + filtered + sampled + full + user + aged: the calls of the
 * attached programs. Aged events were discarded by the flight recorder before its trace was saved:
 * no loss. */
struct event_count {
	uint64_t seen, written, filtered, sampled;
	uint64_t full; /* lost: no room in the ring, or no ring */
	uint64_t user; /* lost after the ring: it was not emptied to the end */
	uint64_t aged;
};

static inline void event_count_add(struct event_count *to, const struct event_count *from)
{
	to->seen += from->seen;
	to->written += from->written;
	to->filtered += from->filtered;
	to->sampled += from->sampled;
	to->full += from->full;
	to->user += from->user;
	to->aged += from->aged;
}

struct cpu_event_counts {
	unsigned cpu; /* the kernel's number */
	struct event_count kinds[EVENT_KINDS];
	uint64_t missed; /* runs that the kernel skipped (recursion_misses) */
};

struct counters;
struct job_plan;
struct perf_events;
struct kernel_symbols;
struct user_stacks;

struct session_info {
	/* Before threads_new(). */
	const char *loom;	 /* host name as the system gives it; a slash becomes '-' */
	const char *kernel;	 /* "6.18.44 #1 SMP ...": release and version of uname() */
	uint32_t app_id;	 /* ovni.app_id of all processes; 0: 1 */
	const char *machine;	 /* "x86_64" */
	const char *mode;	 /* "full" */
	const char *sampling;	 /* as given; NULL: none */
	const char *on_full;	 /* "drop-new", "drop-old" */
	unsigned part;		 /* its number, of several traces of a session; 0: the only one */
	uint32_t kinds;		 /* of events with a program: bits, by enum event_kind */
	const char *const *argv; /* the command line of the recorder, ended by NULL */
	uint64_t buffer_bytes;	 /* of the ring of one CPU */
	bool yields_unknown; /* this kernel does not distinguish yielded (7) from preempted (6) */
	bool interrupts_unknown; /* a waker that is an interrupt is recorded as 0, unknown */
	bool calls;		 /* sleeps have their system calls (--why=call) */
	bool locks;		 /* and the owners of locks (--why=lock) */
	bool irq;		 /* runs have the time that interrupts took (--why=irq) */
	uint64_t irq_ns;	 /* and single ones of this length or longer have marks; 0: none */
	const char *irq_names;	 /* for irq_name(), the same for all streams; NULL: not known */
	bool io;		 /* I/O sleeps have their request (--why=io) */
	const struct counters *counters; /* of each run (--counters); NULL: none */
	const struct perf_events
		*perf_events; /* with counters: how much of the time they counted */
	bool priorities;      /* threads have priorities (--why=prio) */
	uint64_t stack_ns; /* sleeps of this length or longer have stacks (--why=stack); 0: none */
	bool wakers;	   /* and those of their wakers */
	bool preempted;	   /* and waits of preempted threads as long have some */
	const struct kernel_symbols *symbols; /* NULL: the kernel shows none */
	struct user_stacks *user_stacks;      /* NULL: stacks have no frames of user code */
	uint32_t user_stack_bytes;  /* with user_stacks: of the stack of a sleep, at most */
	bool throttled_partly;	    /* a wait that a CPU quota prolongs counts as preempted (6) */
	bool idle_known;	    /* the account tells idle CPUs from other threads */
	const char *wakeup_clock;   /* "scheduler", "tracepoint"; NULL: no wake-ups are recorded */
	const char *boot_id;	    /* of this boot of the kernel; NULL: not known */
	struct window_edge begin;   /* the window has opened; its clock may be before t0. Owned */
	const struct job_plan *job; /* whose members have ranks; NULL: none (--job) */
	const char *proc; /* "/proc" (another one in tests); NULL: nothing is read there */

	/* Before timeline_close(). */
	const char *stopped_by;		     /* "duration", "signal", "target", "size", "error";
					      * of one of several: "rotation", "request", "trigger" */
	const char *trigger;		     /* the reason, in words; NULL: none */
	int command_status;		     /* of `-- COMMAND`, in the form of wait(); -1: none */
	const struct cpu_event_counts *cpus; /* counts by CPU and kind */
	size_t ncpus;
	struct window_edge end;	  /* the window has closed. Owned */
	bool stats;		  /* stats.json will be beside the streams */
	uint64_t lost;		  /* all events lost; SESSION_UNKNOWN until the end */
	uint64_t stacks_left_out; /* more than the limits, or without space; or SESSION_UNKNOWN */
	uint64_t irqs_left_out;	  /* long interrupts, without space; or SESSION_UNKNOWN */
};

#endif
