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
struct probe_values;

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

struct attach;

/*
 * Decides where and how each site is probed, by the options. Sites, actions and options must
 * outlive it. NULL after one message (out of memory; the kernel lacks the requested kind; no site
 * is left). Refused and slow sites are reported.
 */
struct attach *attach_plan(const struct site *sites, size_t nsites, const struct actions *actions,
			   const struct options *options);

/* An estimate of the cost of a call of the site, ns, measured for its kind of instruction (ebpf.md
 * 6). */
uint64_t attach_cost_ns(const struct attach *attach, size_t site);

/* Has the site no probe, because of its instruction or the kernel? A warning has said so. */
bool attach_is_refused(const struct attach *attach, size_t site);

/* Is the entry of the site single-stepped? */
bool attach_is_slow(const struct attach *attach, size_t site);

/* Whether this program is needed, and as which type of attachment it must be loaded (0: none). */
bool attach_needs(const struct attach *attach, enum attach_program program);
int attach_type(const struct attach *attach, enum attach_program program);

/* Fills in the data of the programs about each site; `table` has room for all. */
void attach_fill(const struct attach *attach, struct probe_site *table);

/* Does a site read more than its cookie describes? Then the values of each go into a table. */
bool attach_has_several(const struct attach *attach);
void attach_fill_values(const struct attach *attach, size_t site, struct probe_values *values);

/* Attaches only in this process, which did not exist yet when the probes were planned. */
void attach_only(struct attach *attach, uint32_t pid);

/* Attaches all, by programs that are loaded. 0, or -errno after one message; the probes attached
 * until then stay so until attach_detach(). */
int attach_attach(struct attach *attach, struct bpf_program *const programs[ATTACH_PROGRAMS])
	__attribute__((warn_unused_result));

/* Tries to load an empty program and to attach it to a file, by a link of one of these types (Linux
 * 6.6, 6.13), and detaches it. 0 or -errno. */
#define ATTACH_TYPE_MULTI   48
#define ATTACH_TYPE_SESSION 57
int attach_try(int type, const char *path, uint64_t offset);

void attach_detach(struct attach *attach); /* NULL is fine, here and below */
void attach_free(struct attach *attach);   /* detaches first */

#endif
