/* SPDX-License-Identifier: MIT */
/*
 * config: what a recording is asked for, as plain data.
 *
 * In: the command line (user/cli/options.h), which contradicts itself nowhere; out: read by
 * every module. Strings point into argv.
 */
#ifndef USER_CONFIG_CONFIG_H
#define USER_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/state.h"
#include "user/host/topology.h"

#define OPTIONS_OUTPUT		"ovni"
#define OPTIONS_BUFFER		(4u << 20)
#define OPTIONS_FLUSH_MIN_NS	10000000u
#define OPTIONS_FLUSH_NS	1000000000ull
#define OPTIONS_BUFFER_MIN	4096u
#define OPTIONS_BUFFER_MAX	(512u << 20)   /* farther than that no program may reach */
#define OPTIONS_LAST		(256ull << 20) /* memory, if --last does not tell it */
#define OPTIONS_ROTATE_MIN	(64u << 10)
#define OPTIONS_ROTATE_MIN_NS	100000000ull
#define OPTIONS_INTERVAL_MIN_NS 10000000u

/* How probes of many sites are attached (user/probes/attach.h). */
enum attach_kind { ATTACH_BEST, ATTACH_SESSION, ATTACH_MULTI, ATTACH_PERF };

enum mode { MODE_OFF, MODE_SUMMARY, MODE_FULL };

/* The event that a flight recorder waits for. Strings and bits stay the caller's. */
struct trigger_plan {
	uint64_t latency_ns;   /* of a thread that waits for a CPU; 0: no such trigger */
	const char *place;     /* name of the probed place; NULL: no such trigger */
	const uint64_t *sites; /* by number of the site: a bit, if it has that name */
	size_t nsites;
};

struct request;
struct requests;

struct options {
	char **argv; /* all of it, for the metadata */

	/* What is recorded. */
	bool all;	/* -a, also if only --comm or --cgroup is given */
	uint32_t *pids; /* -p or -t: npids of them */
	size_t npids;
	bool threads;	/* pids are thread ids (-t) */
	char **command; /* -- COMMAND ARGS, ended by NULL; else NULL */
	const char *cgroup;
	const char *comm;
	struct comm_glob glob;
	bool cpu_list; /* -C */
	struct topology cpus;
	bool follow, self, kthreads; /* not: --no-... */
	bool all_threads, kernel_model;
	const char *user; /* --user */

	/* What is probed. */
	struct requests *probes; /* -u and --usdt, in the order of the command line */
	const char **apis;	 /* --api: napis of them, in the same order */
	size_t napis;
	struct request *list; /* --list: only show what could be probed; NULL: not */
	bool json;	      /* ... as JSON */

	/* How it is probed. */
	enum attach_kind attach; /* --attach */
	bool unsafe_returns, no_returns, unsafe_nop5;
	uint32_t max_rate; /* calls of a probe in a second; 0: no limit */
	uint32_t one_of;   /* every n-th call of a probe; 0: all */

	/* How much. */
	uint64_t flush_ns;		  /* what is buffered is written this often */
	uint64_t duration_ns;		  /* 0: no limit */
	uint64_t max_bytes;		  /* 0: no limit */
	uint64_t buffer_bytes;		  /* of one CPU: a power of two */
	uint64_t rotate_ns, rotate_bytes; /* --rotate: at most one is not 0 */
	uint64_t last_ns, last_bytes;	  /* --last: bytes is not 0 if it was given */
	bool drop_old, drop_new;	  /* --on-full, as it was given */
	struct trigger_plan trigger;
	unsigned keep; /* --keep; 0: all */
	enum mode mode;
	bool wakeup_tracepoint;		 /* --wakeup-clock tracepoint */
	uint32_t kinds;			 /* --events: bits, by enum event_kind */
	uint32_t sample_keep, sample_of; /* --sample; 1 of 1: all */
	uint64_t sample_seed;
	const char *sample;   /* as given, or NULL */
	bool strict_drops;    /* stop at the first loss */
	uint64_t interval_ns; /* --interval; 0: none */

	/* Where to. */
	const char *output;
	bool output_chosen; /* by -o: not to be replaced without --force */
	bool force, emulate, dry_run;
	bool verbose, quiet;
};

#endif
