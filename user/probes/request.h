/* SPDX-License-Identifier: MIT */
/*
 * request: the probes that a user or an API file asks for, before any file is opened.
 *
 * In: the texts of -u and --usdt, or entries of an API file; out: requests, which resolve.h turns
 * into sites. Pure: no file, process or clock is looked at.
 *
 *   -u      [PID:]BIN:FUNC[,FUNC...]     --usdt  [PID:]BIN:PROVIDER:NAME[,argN]
 *   BIN     a path (it has a '/'), or a name: of a library or program that the target has mapped,
 *           of the command, or to be found where the system keeps them (binary_candidates.h). With
 * PID in front it is looked for in that process alone; PID:FUNC means its executable. FUNC    NAME,
 * a glob, NAME+OFFSET or an address (0x...; as nm and --list show it); with a value in place of the
 * function's id: NAME(argN), NAME(ret), and how large it is, if the debug information does not say
 * so: NAME(arg2:i32).
 *
 * A single ':' separates, a '::' of C++ does not; nor does what stands in brackets, or after
 * a backslash. A ',' inside of brackets belongs to the name.
 * Invariant: all strings belong to the list; binary is NULL only if pid is not 0.
 * Specification: ebpf.md 11; event-mapping.md "User probes and marks".
 */
#ifndef USER_PROBES_REQUEST_H
#define USER_PROBES_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/probes/site.h"

#define REQUEST_ARGUMENTS_MAX	   6  /* integer arguments in registers, on every machine */
#define REQUEST_NO_MEMORY	   "out of memory" /* instead of a mistake in the text */
#define REQUEST_USDT_ARGUMENTS_MAX 12 /* what sys/sdt.h can say */

enum request_kind {
	REQUEST_FUNCTION, /* name, or a glob; with `offset`, if has_offset */
	REQUEST_ADDRESS,  /* `offset` is the address in the file */
	REQUEST_USDT,	  /* provider and name, each may be a glob */
};

struct request {
	enum request_kind kind;
	char *text;	/* as it was given, for messages */
	uint32_t pid;	/* where `binary` is looked for; 0: not said */
	char *binary;	/* path, name or glob of names; NULL: the executable of `pid` */
	char *provider; /* USDT */
	char *name;	/* NULL for an address */
	bool has_offset;
	uint64_t offset;
	struct site_value value; /* bytes 0: not said; USDT: SITE_ARGUMENT is one of its own */
	bool optional;		 /* of an API file: if missing, listed, not fatal */
};

struct requests {
	struct request *list;
	size_t count;
};

/*
 * Read the text of one -u, or of one --usdt, and append what it asks for. Return NULL; or what
 * is wrong, a sentence that needs no freeing, with the place in *at (bytes from the beginning),
 * and nothing is appended.
 */
const char *requests_add_functions(struct requests *requests, const char *text, size_t *at);
const char *requests_add_usdt(struct requests *requests, const char *text, size_t *at);

/* Reads the text of --list, [PID:]BIN[:GLOB], or PID for its executable: what there is to choose
 * from, by a glob in `name` ("*": all). The same way of telling what is wrong. */
const char *request_of_list(struct request *request, const char *text, size_t *at);

/* Appends a copy of `request`, its strings copied too. `text` NULL: made from the others.
 * 0 or -ENOMEM. */
int requests_add(struct requests *requests, const struct request *request)
	__attribute__((warn_unused_result));

void requests_free(struct requests *requests);
void request_free(struct request *request); /* its strings */

#endif
