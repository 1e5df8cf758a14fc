/* SPDX-License-Identifier: MIT */
/*
 * doctor: `ovni-bpf doctor`: whether this machine can record, and the remedy if it cannot.
 *
 * Examines the machine by trying (machine.c), judges, and prints a table, or JSON for scripts, on
 * standard output. Programs are loaded and attached, a buffer is made, a probe is set on a function
 * of ours that nobody calls; all of it is gone again when machine_read() returns.
 * Invariant: a finding that stops a recording has a remedy, and if none does, a recording of the
 * scheduler has been seen to work. Specification: ebpf.md 2, 4.
 */
#ifndef USER_DOCTOR_DOCTOR_H
#define USER_DOCTOR_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/state.h"
#include "trace/base/status.h"

/* ---- the machine and this process; an error is 0 or -errno ---- */

#define MACHINE_UNKNOWN (-1) /* of a setting that cannot be read */

enum lockdown { LOCKDOWN_UNKNOWN, LOCKDOWN_NONE, LOCKDOWN_INTEGRITY, LOCKDOWN_CONFIDENTIALITY };
enum cgroups { CGROUPS_NONE, CGROUPS_V1, CGROUPS_BOTH, CGROUPS_V2 };

struct machine {
	/* The kernel, and how it was set up. */
	char release[66], arch[66], clocksource[32];
	unsigned major, minor;
	int btf_err;
	uint64_t btf_bytes;
	enum lockdown lockdown;
	int unprivileged_bpf;	 /* kernel.unprivileged_bpf_disabled */
	int perf_event_paranoid; /* kernel.perf_event_paranoid */
	int kptr_restrict;
	int tracefs_err;
	enum cgroups cgroups;
	unsigned online, possible; /* CPUs */

	/* This process. */
	uint64_t effective, bounding; /* capabilities, one bit each */
	bool root, no_new_privs;
	bool initial_user_ns, initial_pid_ns;
	const char *container; /* the file that shows one; NULL: none is known */
	int seccomp;	       /* 0: no filter */
	uint64_t memlock;      /* bytes; UINT64_MAX: no limit */
	bool memory_charged;   /* to the cgroup: memlock does not count (since 5.11) */

	/* The results of trying. */
	int map_err;	     /* bpf(): a small map */
	int ring_err;	     /* a buffer of ring_bytes, mapped */
	uint64_t ring_bytes; /* of one CPU */
	int sched_err;	     /* all programs of a system-wide recording, attached */
	unsigned attached;   /* how many they are */
	bool yields_unknown, interrupts_unknown, throttled_partly;
	enum locks locks;		 /* how --why=lock finds owners */
	bool kernel_locks;		 /* and those of locks of the kernel */
	enum user_stack_way user_stacks; /* how --why=stack=user takes stacks */
	bool wakeups_probed;		 /* the scheduler's clock of wake-ups cannot be used */
	int multi_err, session_err;	 /* uprobe.multi, uprobe.session */
	int perf_err;			 /* a probe as a perf event */
	int statistics_err;		 /* the kernel measures the cost of programs */
	int output_err;			 /* a folder for the trace in the current one */
	uint64_t disk_free;		 /* bytes there */
};

void machine_read(struct machine *machine);

/* Does the process have the capability (a number of capability.h) effectively? */
static inline bool machine_has(const struct machine *machine, unsigned capability)
{
	return machine->effective >> capability & 1;
}

/* ---- findings ---- */

enum verdict {
	VERDICT_FINE, /* as it should be */
	VERDICT_FACT, /* good to know, and of no consequence here */
	VERDICT_LESS, /* a feature is missing; `remedy` is the advice */
	VERDICT_STOP, /* no recording is possible; `remedy` is the advice */
};

struct finding {
	const char *name;
	enum verdict verdict;
	char found[192];
	char remedy[320]; /* empty: none is needed */
};

#define FINDINGS_MAX 40

/* Fills in up to FINDINGS_MAX findings about the machine and returns their number. Order and names
 * never change: scripts read them. No side effects. */
size_t findings_of(const struct machine *machine, struct finding *findings);

/* True if no finding stops a recording. */
bool findings_permit(const struct finding *findings, size_t count);

/* The word for a verdict in the output: "fine", "fact", "less" or "stop". */
const char *findings_verdict(enum verdict verdict);

/* `argv` begins with "doctor". STATUS_COMPLETE if a recording is possible, else STATUS_FAILED. */
enum status doctor_run(int argc, char **argv);

#endif
