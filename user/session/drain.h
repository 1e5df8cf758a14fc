/* SPDX-License-Identifier: MIT */
/*
 * drain: the thread that empties the rings into the sink.
 *
 * It wakes on a timer, more often the fuller the rings become, so that no event ever wakes it.
 * From its start to its end the rings and the sink are its own; others read its figures, and the
 * times so far. Asked to stop, it closes the window, reads the tasks, has the programs detached,
 * and takes the rest of the records. It never opens a file.
 * Specification: ebpf.md 7 (timer), 9 (stop), 10 (watermark).
 */
#ifndef USER_SESSION_DRAIN_H
#define USER_SESSION_DRAIN_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "user/config/window_edge.h"

struct snapshot_tasks;
struct state_times;
struct time_stats;
struct bpf_load;
struct rings;
struct sink;

/* Why a ring overflowed: no ring was read for a while. */
struct drain_delay {
	uint64_t ns;		 /* 0: none overflowed */
	uint64_t without_cpu_ns; /* of it, runnable without a CPU; 0 also: not known */
};

struct drain {
	/* The caller's, before drain_start(). */
	struct bpf_load *bpf;
	struct state_times *times;    /* under `lock` */
	struct snapshot_tasks *tasks; /* of the end; the caller's after drain_join() */
	struct rings *rings;
	struct sink *sink;
	const unsigned *cpus; /* those with snapshots, ncpus of them */
	unsigned ncpus;

	/* Any thread, any time. */
	_Atomic uint64_t records, events, streams;
	_Atomic unsigned fullest; /* ring, per mille, the highest of the last quarter second */
	_Atomic bool stop;	  /* close the window */
	_Atomic bool hurry;	  /* leave the rest of the records */
	int wake_fd;		  /* readable for the drain: look at `stop` */
	int done_fd;		  /* readable for others: it has ended, or failed */

	/* Its own; the caller's again after drain_join(). */
	pthread_t thread;
	bool started;
	pthread_mutex_t lock;
	uint64_t released; /* records before this clock have been taken; under `lock` */
	unsigned interval_us, interval_max_us;
	uint64_t fullest_until;
	int schedstat_fd;	  /* of this thread, or -1 */
	uint64_t read_clock;	  /* ns, of the last read of the rings */
	uint64_t without_cpu_ns;  /* of this thread, until then */
	struct drain_delay delay; /* the longest */
	uint64_t t1;		  /* ns; 0: the window was not closed */
	struct window_edge end;	  /* with t1; owned */
	bool cut;		  /* records were left in the rings: it hurried, or failed */
	int err;		  /* first error, already reported */
};

/* Starts the thread. 0, or -errno after one message. */
int drain_start(struct drain *drain) __attribute__((warn_unused_result));

/* Asks it to stop; drain->done_fd becomes readable when it has. */
void drain_stop(struct drain *drain);

/* The times so far, from any thread. For time_stats_free(). 0 or -ENOMEM after one message. */
int drain_times(struct drain *drain, struct time_stats *stats) __attribute__((warn_unused_result));

/* Waits for the end of the draining thread, and frees its resources. Returns drain->err. Does
 * nothing if the thread was not started. */
int drain_join(struct drain *drain);

#endif
