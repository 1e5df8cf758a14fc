/* SPDX-License-Identifier: MIT */
/*
 * recorder: one session while it lasts, and its steps.
 *
 * In: the options; out: what the steps of session.c have made so far. Each step is one function of
 * session_start.c, session.c or follow_up.c; no other file knows the struct.
 * Specification: event-mapping.md "Clock and window".
 */
#ifndef USER_SESSION_RECORDER_H
#define USER_SESSION_RECORDER_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/utsname.h>

#include "trace/base/status.h"
#include "trace/ovni/job_file.h"
#include "user/config/config.h"
#include "user/host/command.h"
#include "user/host/privilege.h"
#include "user/host/self_cost.h"
#include "user/host/signals.h"
#include "user/host/topology.h"
#include "user/kernel/bpf_load.h"
#include "user/kernel/event_counts.h"
#include "user/kernel/snapshot.h"
#include "user/session/drain.h"
#include "user/session/session_probes.h"
#include "user/session/trigger_command.h"
#include "user/sink/output_dir.h"
#include "user/sink/sink.h"
#include "user/sink/spool.h"
#include "user/stats/live_report.h"
#include "user/stats/stats_output.h"
#include "user/stats/summary_read.h"
#include "user/writer/writer.h"

struct control;
struct kernel_symbols;
struct user_stack_ring;
struct user_stacks;

/* The programs beside ovni-bpf that look at a trace. */
#define EMULATOR "ovni-emu"
#define REPORTER "ovni-report"
#define VIEWER	 "ovni-view"
#define EXPORTER "ovni-export"

/* A session while it lasts. */
struct recorder {
	const struct options *options;
	struct control *control; /* of a named session, else NULL */
	uint64_t traces;	 /* number of complete traces (--rotate, --last) */
	char newest[PATH_MAX];	 /* the newest of them */
	struct utsname host;
	char node[JOB_NODE_MAX]; /* of a job: the name of this node in its files; else "" */
	struct spool spool;	 /* --spool */
	char kernel[sizeof(((struct utsname *)0)->release) +
		    sizeof(((struct utsname *)0)->version) + 2];
	struct identity caller, runner;
	struct topology topology;
	struct target target;
	struct command command;

	struct probes probes;
	struct trigger_plan trigger;
	uint64_t *trigger_sites;
	struct bpf_load bpf;
	struct rings *rings;
	struct kernel_symbols *symbols;		 /* for stacks; NULL: none */
	char *irq_names;			 /* for long interrupts; NULL: none */
	struct user_stack_ring *user_stack_ring; /* NULL: no stacks of user code */
	struct user_stacks *user_stacks;
	struct output_dir output;
	struct sink sink;
	struct event_counts counts;
	struct summary summary; /* mode summary */
	struct stats_file stats;
	char stats_name[JOB_NODE_MAX + sizeof("stats..json")];
	struct time_stats times;      /* at the end */
	struct disk_error disk_error; /* of the trace and the statistics */
	struct cost cost;
	uint64_t next_interval_ns; /* --interval */
	struct drain drain;
	struct snapshot_tasks tasks; /* at the beginning; then those at the end */
	struct summary_live live;

	struct signals signals;
	struct trigger_command on_trigger;
	uint64_t t0;
	struct window_edge begin; /* with t0 */
	char boot_id[64];
	const char *reason; /* of the end of the recording; NULL: it continues */
	int killed_by;	    /* the second signal; 0: none */
	char told[64];	    /* the last line for ovni-job */
	size_t noted;	    /* ranks in the file of the node */
	uint64_t next_note_ns;
	uint64_t command_end_ns;
	bool command_end_reported; /* reported: the command has ended and its children still run */
	bool failed;		   /* after one message */
	struct stats_run run;
	struct summary_end end; /* for the report; valid after summarize() */
};

/* Checks everything that can be refused, and loads the programs. Reports every error. */
enum status recorder_prepare(struct recorder *r);

/* --dry-run: prints what would be recorded. 0, or -errno after one message. */
int recorder_print_plan(const struct recorder *r);

/* Attaches the programs and opens the window. 0, or -errno after one message. */
int recorder_arm(struct recorder *r);

/* The trace is complete: makes the files of other programs, shows the trace, and waits for the
 * command. Signals end these, not us. Errors are reported, and make r->failed true. */
void recorder_follow_up(struct recorder *r);

#endif
