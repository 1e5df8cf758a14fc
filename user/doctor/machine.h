/* SPDX-License-Identifier: MIT */
/*
 * machine: what this machine and this process permit, found out by trying.
 *
 * Out: plain data for advice.h. What can be tried is tried: programs are loaded and
 * attached, a buffer is made, a probe is set on a function of ours that nobody calls;
 * all of it is gone again when machine_look() returns. An error is 0 or -errno.
 * Specification: ebpf.md 2, 4.
 */
#ifndef USER_DOCTOR_MACHINE_H
#define USER_DOCTOR_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

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
	const char *container; /* the file that tells of one; NULL: none is known */
	int seccomp;	       /* 0: no filter */
	uint64_t memlock;      /* bytes; UINT64_MAX: no limit */
	bool memory_charged;   /* to the cgroup: memlock does not count (since 5.11) */

	/* What has been tried. */
	int map_err;	     /* bpf(): a small map */
	int ring_err;	     /* a buffer of ring_bytes, mapped */
	uint64_t ring_bytes; /* of one CPU */
	int sched_err;	     /* all programs of a system-wide recording, attached */
	unsigned attached;   /* how many they are */
	bool yields_unknown, interrupts_unknown;
	bool wakeups_probed;	    /* the scheduler does not tell when threads are woken */
	int multi_err, session_err; /* uprobe.multi, uprobe.session */
	int perf_err;		    /* a probe as a perf event */
	int statistics_err;	    /* what programs cost */
	int output_err;		    /* a folder for the trace in the current one */
	uint64_t disk_free;	    /* bytes there */
};

void machine_look(struct machine *machine);

/* Does the process have the capability (a number of capability.h) effectively? */
static inline bool machine_has(const struct machine *machine, unsigned capability)
{
	return machine->effective >> capability & 1;
}

#endif
