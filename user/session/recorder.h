/* SPDX-License-Identifier: MIT */
/*
 * recorder: one session while it lasts, as its stages hand it on.
 *
 *   prepared ──► armed ──► recording ──► draining ──► done
 *   recorder_arm.c         recorder_loop.c    session.c
 *
 * In: the options; out: a trace, or statistics. Invariant: a stage that fails has said why, and
 * what the stages before it have opened is closed by session.c in any case.
 */
#ifndef USER_SESSION_RECORDER_H
#define USER_SESSION_RECORDER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/utsname.h>

#include "user/kernel/event_counts.h"
#include "user/host/command.h"
#include "user/host/self_cost.h"
#include "user/stats/summary_read.h"
#include "user/session/drain.h"
#include "user/kernel/bpf_load.h"
#include "trace/base/status.h"
#include "user/config/config.h"
#include "user/sink/output_dir.h"
#include "user/stats/stats_output.h"
#include "user/host/privilege.h"
#include "user/session/session_probes.h"
#include "user/writer/disk_error.h"
#include "user/host/signals.h"
#include "user/kernel/snapshot.h"
#include "user/sink/sink.h"
#include "user/stats/live_report.h"
#include "user/host/target_process.h"
#include "user/host/topology.h"

struct control;

#define COMMAND_PATIENCE_MS 1000 /* for a command that was sent a signal */

struct recorder {
	const struct options *options;
	struct control *control; /* of a session with a name, else NULL */
	uint64_t traces;	 /* complete, of several */
	struct utsname host;
	char kernel[sizeof(((struct utsname *)0)->release) +
		    sizeof(((struct utsname *)0)->version) + 2];
	struct identity caller, runner;
	struct topology topology;
	struct target target;
	struct command command;

	struct probes probes;
	struct trigger_plan trigger;
	uint64_t *trigger_sites;
	struct links links;
	struct rings *rings;
	struct order *order;
	struct output_dir output;
	struct sink sink;
	struct account account;
	struct summary summary; /* mode summary */
	struct stats_file stats;
	struct time_stats times;      /* at the end */
	struct disk_error disk_error; /* of the disk, by whatever is written there */
	struct cost cost;
	uint64_t next_interval_ns; /* --interval */
	struct drain drain;
	struct snapshot_tasks tasks; /* at the beginning; then those at the end */
	struct summary_live live;

	struct signals signals;
	uint64_t t0;
	const char *reason; /* why it stops; NULL: it does not */
	int killed_by;	    /* the second signal; 0: none */
	uint64_t command_end_ns;
	bool command_told; /* that it has ended, but not what it has created */
	bool failed;	   /* something went wrong, and has been said */
};

/* Finds what is to be recorded and with what, and loads the programs. */
enum status recorder_prepare(struct recorder *r);
/* What --dry-run prints. 0 or -errno after one message. */
int recorder_tell_plan(const struct recorder *r);
/* Attaches the programs and opens the window. Returns 0 or -errno, after a message. */
int recorder_arm(struct recorder *r);

/* Until there is a reason to stop. */
void recorder_record(struct recorder *r);
/* Signals that have come: reasons to stop, to stop at once, or to save. */
void recorder_read_signals(struct recorder *r);
/* Traces that are complete, of a session with several. */
void recorder_tell_parts(struct recorder *r);

#endif
