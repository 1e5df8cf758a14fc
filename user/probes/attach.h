/* SPDX-License-Identifier: MIT */
/*
 * attach: attaches the probes of many sites in bulk, and detaches them.
 *
 * In: sites and their actions; out: the position of the probe of each site, then links, one per
 * file and program. Trying finds the kernel's best way: sessions (6.13: one program for entry and
 * return, which matches the two), pairs of multi links (6.6), perf events (any kernel; slow to
 * detach). A site that the kernel refuses costs itself alone. A return probe replaces a return
 * address, which no unwinder of C++ exceptions can pass: the program would end. So in files that
 * can throw the instructions that leave a function are probed instead. Specification: ebpf.md
 * 6, 11.1, 11.2.
 */
#ifndef USER_PROBES_ATTACH_H
#define USER_PROBES_ATTACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/config/config.h"
#include "user/probes/action.h"
#include "user/probes/site.h"

struct bpf_program;
struct probe_site;

extern const char *const attach_kind_names[]; /* "session"; of ATTACH_BEST "best" */

/* The programs of bpf/probe.bpf.c. */
enum attach_program {
	ATTACH_PROGRAM_SESSION,
	ATTACH_PROGRAM_ENTRY,
	ATTACH_PROGRAM_RETURN,
	ATTACH_PROGRAM_POINT,
	ATTACH_PROGRAMS
};
extern const char *const attach_program_names[ATTACH_PROGRAMS];

struct attach_options {
	enum attach_kind kind; /* ATTACH_BEST: the best of the kernel */
	bool unsafe_nop5;      /* also points on nops of five bytes (instruction.h) */
	bool unsafe_returns;   /* return probes also where an exception would end the program */
	bool no_returns;       /* no return probes at all: exits instead */
	const uint32_t *pids;  /* only in these processes, npids of them; none: in all */
	size_t npids;
};

/* The way a site is probed, for messages and estimates. */
enum attach_leave {
	LEAVE_NOT,    /* its end is not probed: a point, or no action there */
	LEAVE_RETURN, /* by a return probe */
	LEAVE_EXITS,  /* by probes at the instructions that leave it */
	LEAVE_AFTER,  /* by the events after it: it can throw, and its exits were not found */
};

struct attach_site {
	bool refused; /* not probed; reported */
	bool slow;    /* its entry is single-stepped */
	enum attach_leave leave;
	uint32_t shift;	 /* of the entry's probe behind site.offset */
	uint32_t nexits; /* LEAVE_EXITS */
};

struct attach;

/*
 * Decides where and how each site is probed. Sites and actions must outlive it. NULL after one
 * message (out of memory; the kernel lacks the requested kind; no site is left). Refused and slow
 * sites are reported.
 */
struct attach *attach_plan(const struct site *sites, size_t nsites, const struct actions *actions,
			   const struct attach_options *options);

/* An estimate of the cost of a call of the site, ns, measured for its kind of instruction (ebpf.md
 * 6). */
uint64_t attach_cost_ns(const struct attach *attach, size_t site);

enum attach_kind attach_kind_of(const struct attach *attach);
const struct attach_site *attach_site(const struct attach *attach, size_t site);

/* Is this program needed, and as which type of attachment is it to be loaded (0: none)? */
bool attach_needs(const struct attach *attach, enum attach_program program);
int attach_type(const struct attach *attach, enum attach_program program);

/* What the programs have to know about each site; `table` has room for all. */
void attach_fill(const struct attach *attach, struct probe_site *table);

/* Only in this process, which has not been there when it was planned. */
void attach_only(struct attach *attach, uint32_t pid);

/* Attaches all, by programs that are loaded. 0, or -errno after one message; what has been attached
 * then stays so until attach_detach(). */
int attach_attach(struct attach *attach, struct bpf_program *const programs[ATTACH_PROGRAMS])
	__attribute__((warn_unused_result));

/* How many probes and links are attached, and how long that took. */
struct attach_figures {
	size_t probes, links, refused;
	uint64_t attach_ns, detach_ns;
};
struct attach_figures attach_figures(const struct attach *attach);

void attach_detach(struct attach *attach); /* NULL is fine, here and below */
void attach_free(struct attach *attach);   /* detaches first */

#endif
