/* SPDX-License-Identifier: MIT */
/*
 * config: the configuration of a recording, as plain data.
 *
 * In: the command line (user/cli/options.h), free of contradictions; out: read by every module.
 * Strings point into argv.
 */
#ifndef USER_CONFIG_CONFIG_H
#define USER_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/state.h"
#include "user/config/perf_events.h"
#include "user/host/topology.h"

#define OPTIONS_OUTPUT		"ovni"
#define OPTIONS_BUFFER		(4u << 20)
#define OPTIONS_BUFFERS		(1ull << 30) /* of all CPUs together, without -b */
#define OPTIONS_FLUSH_MIN_NS	10000000u
#define OPTIONS_FLUSH_NS	1000000000ull
#define OPTIONS_BUFFER_MIN	4096u
#define OPTIONS_BUFFER_MAX	(512u << 20)   /* a BPF program reaches no further */
#define OPTIONS_LAST		(256ull << 20) /* memory of --last TIME */
#define OPTIONS_ROTATE_MIN	(64u << 10)
#define OPTIONS_ROTATE_MIN_NS	100000000ull
#define OPTIONS_INTERVAL_MIN_NS 10000000u
#define OPTIONS_STACK_NS	1000000u
#define OPTIONS_STACK_MIN_NS	100000u
#define OPTIONS_IRQ_NS		10000u
#define OPTIONS_IRQ_MIN_NS	1000u

/* How probes of many sites are attached (user/probes/attach.h). */
enum attach_kind { ATTACH_BEST, ATTACH_SESSION, ATTACH_MULTI, ATTACH_PERF };

/* --why: more about the reason why a thread leaves its CPU. */
enum why { WHY_CALL, WHY_LOCK /* and the call */, WHY_NONE };

enum mode { MODE_OFF, MODE_SUMMARY, MODE_FULL };

/* Which events are lost when a buffer is full: the new ones, or the oldest (--last). */
enum on_full { DROP_NEW, DROP_OLD };

/* The threads that meet a trigger: all conditions must hold; zeroed: all threads. */
struct trigger_limit {
	uint32_t pid, tid; /* 0: any; numbers of the initial PID namespace */
	bool comm;	   /* the name must match `glob` */
	struct comm_glob glob;
};

/* The event that makes a flight recorder save. The caller owns strings and bits. */
struct trigger_plan {
	uint64_t latency_ns; /* a longer wait for a CPU triggers; 0: no such trigger */
	struct trigger_limit latency_limit, place_limit;
	char *place;	       /* name of a probed function; NULL: no such trigger */
	const uint64_t *sites; /* a bit for each site: set if it has that name */
	size_t nsites;
};

/* ovni-job: the members of a job by their environment. Variables have the indices of
 * launcher_variables[] (launcher.h). */
struct job_rule {
	struct member_rule rule;
	const char *const *names; /* nvariables of them */
	struct variable variables[VARIABLES_MAX];
	uint32_t nvariables;
};

struct job_members;

/* --job, and ovni-job: the job of which this recorder records one node. The caller owns it all. */
struct job_plan {
	const char *key, *launcher;
	int32_t size, nodes; /* ranks, nodes of the job; -1: not known */
	struct job_members *members;
	char **command; /* ended by NULL; NULL: not known (ovni-job) */
	/* A byte is written there when the recording has begun. With a rule: a line of
	 * "RANKS SIZE RUNNING" then, and at each change. */
	int ready_fd;
	const struct job_rule *rule; /* NULL: the members have registered */
	int stop_fd;		     /* with a rule: its end ends the recording */
};

struct request;
struct requests;

struct options {
	char **argv; /* the whole command line, for the metadata */

	/* Target. */
	bool all;	/* -a; also set by --comm or --cgroup alone */
	uint32_t *pids; /* -p or -t: npids of them */
	size_t npids;
	bool threads;	/* pids are thread ids (-t) */
	char **command; /* -- COMMAND ARGS, ended by NULL; else NULL */
	const char *cgroup;
	const char *comm;
	struct comm_glob glob;
	bool cpu_list; /* -C */
	struct topology cpus;
	bool follow, self, kthreads; /* false: --no-... */
	bool all_threads, kernel_model;
	const char *user; /* --user */

	/* Probes. */
	struct requests *probes; /* -u and --usdt, in the order of the command line */
	const char **apis;	 /* --api: napis of them, in the same order */
	size_t napis;
	struct request *list; /* --list: print the functions of a file; NULL: not given */
	bool json;	      /* ... as JSON */
	enum attach_kind attach;
	bool unsafe_returns, no_returns, unsafe_nop5;
	uint64_t max_rate; /* calls of a probe per second; 0: no limit */
	uint64_t one_of;   /* record every n-th call of a probe; 0: all */

	/* Amount. */
	enum mode mode;
	uint64_t flush_ns;		  /* interval of writing buffered events */
	uint64_t duration_ns;		  /* 0: no limit */
	uint64_t max_bytes;		  /* 0: no limit */
	uint64_t buffer_bytes;		  /* of one CPU: a power of two */
	uint64_t rotate_ns, rotate_bytes; /* --rotate: at most one is not 0 */
	uint64_t last_ns, last_bytes;	  /* --last: bytes is not 0 if it was given */
	enum on_full on_full;
	struct trigger_plan trigger;
	const char *on_trigger;	    /* program to run on a trace that a trigger saved, or NULL */
	uint64_t keep;		    /* --keep; 0: all */
	enum why why;		    /* --why */
	bool irq;		    /* the time of interrupt handlers (--why=irq) */
	uint64_t irq_ns;	    /* single ones of this length or longer are recorded, too */
	bool io;		    /* requests of I/O sleeps (--why=io) */
	unsigned stack_parts;	    /* STACK_OF_*: what they have */
	uint64_t stack_ns;	    /* stacks of sleeps of this length or longer; 0: none */
	bool wakers;		    /* and those of their wakers */
	bool preempted;		    /* and of waits of preempted threads as long */
	bool priorities;	    /* --why=prio */
	struct counters counters;   /* --counters */
	unsigned wakeup_tracepoint; /* --wakeup-clock: 0 scheduler, 1 tracepoint */
	uint32_t kinds;		    /* --events: bits, by enum event_kind */
	uint32_t sample_keep, sample_of; /* --sample; 1 of 1: all */
	uint64_t sample_seed;
	const char *sample;   /* as given, or NULL */
	bool strict_drops;    /* stop at the first lost event */
	uint64_t interval_ns; /* --interval; 0: none */

	/* Output. */
	const char *output;
	bool output_chosen; /* by -o: not replaced without --force */
	bool force, emulate, html, dry_run;
	const char *perfetto; /* file for Perfetto, or NULL */
	bool verbose, quiet;

	/* A parallel job. */
	bool job, job_node;		 /* --job, --job-node: the recorder of ovni-job */
	uint64_t job_timeout_ns, nodes;	 /* nodes: 0 if it is not given */
	const char *spool;		 /* --spool; NULL: none */
	const struct job_plan *job_plan; /* in the recorder of a node; else NULL */
};

/* The rule that finds the members of a job, or NULL: the target is named. */
static inline const struct job_rule *options_job_rule(const struct options *o)
{
	return o->job_plan ? o->job_plan->rule : NULL;
}

/* Does a recording with these options have only the switches of some threads? Then no record tells
 * when a CPU goes idle after one of them. */
static inline bool options_some_threads(const struct options *o)
{
	return !o->all || o->comm || o->cgroup || o->sample;
}

/* The size of the buffer of each of `ncpus` CPUs without -b: OPTIONS_BUFFER, or the largest power
 * of two with which all buffers together have at most OPTIONS_BUFFERS bytes. */
uint64_t options_buffer_default(unsigned ncpus);

/*
 * Patterns for thread names, compiled for the kernel side.
 *
 * In: a pattern with *, ?, [a-z], [!a-z] and \x, as shells have them; out: a machine whose states
 * are the bits of a word (struct comm_glob in bpf/state.h), which the BPF programs step through a
 * name without going back. A name has at most 15 bytes.
 */
#define GLOB_SIGNS_MAX 63

/* Compiles `pattern`. Returns NULL, or one clause about the mistake. */
const char *comm_glob_compile(struct comm_glob *glob, const char *pattern);

/* Does the whole of `name` match? The same steps as in the kernel. */
bool comm_glob_matches(const struct comm_glob *glob, const char *name);

/*
 * The kinds of events by their names, as in --events, the metadata and stats.json.
 *
 *   switch,wake,fork,exec,exit,rename,probe
 *
 * `other` (snapshots, and the tasks of ids) is in the counts alone: it cannot be left out.
 */
#define KINDS_ALL ((1u << EVENT_KINDS) - 1)

/* By enum event_kind. */
extern const char *const event_kind_names[EVENT_KINDS];

/* Reads "switch,wake,..." into bits by enum event_kind. NULL, or one clause about the mistake. */
const char *event_kinds_parse(const char *text, uint32_t *kinds);

/* The kind of event of a record; wake-ups are in the records of switches. */
enum event_kind event_kind_of_record(const struct record_head *record);

#endif
