/* SPDX-License-Identifier: MIT */
/*
 * resolve: turns requests into sites.
 *
 * In: requests (request.h) and the scope of the search; out: sites (site.h), sorted by file and
 * offset, and the requests without a site. The files stay open as long as the sites: site.path is
 * /proc/self/fd/N, so the probes attach to the file that was read, even if its name means another
 * one by then, in any mount namespace. Invariants: no two sites have the same file, offset and
 * kind: of two requests for one site, the one that names it wins over a glob, then the earlier one,
 * and the other is reported as a double; the functions of two files never share a label.
 * Specification: ebpf.md 4, 11; event-mapping.md "User probes and marks", "Library APIs".
 */
#ifndef USER_PROBES_RESOLVE_H
#define USER_PROBES_RESOLVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/probes/request.h"
#include "user/probes/site.h"

#define RESOLVE_GLOB_MAX  20000 /* functions that one glob may choose */
#define RESOLVE_LABEL_MAX 511	/* bytes of a label (event-mapping.md) */

/* The scope of the search for a BIN without a '/'. */
struct resolve_scope {
	const uint32_t *pids; /* the recorded processes or threads */
	size_t npids;
	char **command;	  /* the command to run, ended by NULL; or NULL */
	bool all;	  /* the whole machine: in all its processes */
	const char *proc; /* "/proc" */
	const char *root; /* ""; tests: the root of /lib and /etc/ld.so.cache */
};

/* An optional request that found nothing. */
struct resolve_missing {
	uint32_t request; /* index */
	char *why;	  /* "libmpi.so.40 has no function MPI_Foo" */
};

/* A request for a site that another one has. */
struct resolve_double {
	uint32_t request, winner, site; /* indices; the site is the winner's */
	bool joined; /* of API files: without effect, or beside the winner's (apis.h) */
};

struct sites {
	struct site *list;
	size_t count;
	struct resolve_double *doubles;
	size_t ndoubles;
	struct resolve_missing *missing;
	size_t nmissing;
	size_t skipped; /* by globs: functions that cannot be probed in pairs (logged at debug
			   level) */
	struct sites_own *own; /* files, strings */
};

/*
 * Resolves all requests. 0; or -errno after one message with the request and the reason (-ENOENT:
 * no such file, process or function; -EACCES; -ENOEXEC: not a program of this machine), and then
 * there is nothing to free.
 */
int resolve_sites(struct sites *sites, const struct requests *requests,
		  const struct resolve_scope *scope) __attribute__((warn_unused_result));

void resolve_free(struct sites *sites); /* also of a zeroed struct */

/*
 * The name of a site in the trace: the function's name, demangled (ns::f; ns::f(int) where several
 * have that name), f@VERSION for one that is not the default, f+0x10 for a point, provider:name for
 * a USDT probe. Equal labels of two files get the file, f (libx.so.1); equal labels of one file
 * (static functions) the address, f (0x1139). Invariants: UTF-8, at most RESOLVE_LABEL_MAX bytes;
 * two sites share a label only if they are points of one USDT probe in one file.
 */
struct binary;
struct function;
struct usdt_probe;

struct label {
	const struct binary *binary;
	const struct function *function; /* NULL: none is known */
	const struct site *site;
	const struct usdt_probe *probe; /* NULL: none */
	char *text;			/* out; the caller frees it */
};

/* Makes all of them. 0 or -ENOMEM (then some texts may be NULL). */
int labels_make(struct label *labels, size_t count) __attribute__((warn_unused_result));

#endif
