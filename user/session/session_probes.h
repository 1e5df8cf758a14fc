/* SPDX-License-Identifier: MIT */
/*
 * session_probes: all probes of a session, from the requests to the table of calls.
 *
 * In: the options -u, --usdt and --api; out: sites with their actions, planned to be attached
 * (attach.h, by bpf_load.h), the calls of the timeline (probe_events.h), and at the end the table
 * of functions. Specification: ebpf.md 11;
 * event-mapping.md "User probes and marks", "Library APIs".
 */
#ifndef USER_SESSION_SESSION_PROBES_H
#define USER_SESSION_SESSION_PROBES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/probes/action.h"
#include "user/apis/apis.h"
#include "user/probes/resolve.h"
#include "user/timeline/probe_events.h"

struct attach;
struct options;
struct probe_site;

struct probes {
	struct requests requests; /* -u and --usdt, then the requests of the APIs */
	struct apis apis;
	struct sites sites;
	struct actions actions;
	struct attach *attach; /* NULL: nothing is probed */
	struct calls_plan calls;
	struct calls *sum; /* of all timelines of the session */
};

/* Finds all sites and their actions, with the rights of the effective user. Returns 0, also without
 * requests, or -errno after one message. The caller must call probes_close() in any case. */
int probes_find(struct probes *probes, const struct options *options)
	__attribute__((warn_unused_result));

/* Plans their probes, which needs privileges; nothing is attached yet. 0 or -errno after one
 * message. */
int probes_plan(struct probes *probes, const struct options *options)
	__attribute__((warn_unused_result));

/* Prints a table of functions (`all`: not only those with the most time in them), and the calls
 * that were not recorded as usual. `states` are the states of the sites in the kernel. */
void probes_report(const struct probes *probes, const struct probe_site *states, uint64_t window_ns,
		   bool all);

void probes_close(struct probes *probes); /* also of a zeroed struct */

#endif
