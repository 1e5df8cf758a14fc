/* SPDX-License-Identifier: MIT */
/*
 * request: the probes that a user or an API file asks for, before any file is opened.
 *
 * In: the texts of -u and --usdt, or entries of an API file; out: requests, which resolve.h turns
 * into sites. Pure: it reads no file, process or clock.
 *
 *   -u      [PID:]BIN:FUNC[,FUNC...]     --usdt  [PID:]BIN:PROVIDER:NAME[,argN]
 *   BIN     a path (with a '/'), or a name: of a library or program that the target has mapped, of
 *           the command, or of a library of the system (binaries.h). With PID it is
 *           searched in that process alone; PID:FUNC means its executable.
 *   FUNC    NAME, a glob, NAME+OFFSET or an address (0x...; as nm and --list show it); with values:
 *           NAME(arg1,arg2:i32,ret), see site_value.h. A type is needed where the debug
 *           information does not have it.
 *
 * A single ':' separates, a '::' of C++ does not; nor does one in brackets, or after a backslash. A
 * ',' inside of brackets belongs to the name.
 * Invariant: all strings belong to the list; binary is NULL only if pid is not 0.
 * Specification: ebpf.md 11; event-mapping.md "User probes and marks".
 */
#ifndef USER_PROBES_REQUEST_H
#define USER_PROBES_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/probes/site.h"

#define REQUEST_NO_MEMORY	   "out of memory" /* instead of an error in the text */
#define REQUEST_USDT_ARGUMENTS_MAX 12		   /* the limit of sys/sdt.h */

enum request_kind {
	REQUEST_FUNCTION, /* name, or a glob; with `offset`, if has_offset */
	REQUEST_ADDRESS,  /* `offset` is the address in the file */
	REQUEST_USDT,	  /* provider and name, each may be a glob */
};

struct request {
	enum request_kind kind;
	char *text;	/* as given, for messages */
	uint32_t pid;	/* the process to search `binary` in; 0: not given */
	char *binary;	/* path, name or glob of names; NULL: the executable of `pid` */
	char *provider; /* USDT */
	char *name;	/* NULL for an address */
	bool has_offset;
	uint64_t offset;
	union { /* bytes 0: not given; USDT: SITE_ARGUMENT is an argument of the probe */
		struct site_value value;		   /* the first */
		struct site_value values[SITE_VALUES_MAX]; /* up to the first SITE_NOTHING */
	};
	bool optional; /* of an API file: if missing, listed, not fatal */
};

struct requests {
	struct request *list;
	size_t count;
};

/*
 * Read the text of one -u, or of one --usdt, and append its requests. Return NULL; or the error, a
 * sentence that needs no freeing, with its position in *at (bytes from the beginning), and append
 * nothing.
 */
const char *requests_add_functions(struct requests *requests, const char *text, size_t *at);
const char *requests_add_usdt(struct requests *requests, const char *text, size_t *at);

/* Reads the text of --list, [PID:]BIN[:GLOB], or PID for its executable; the glob goes to `name`
 * ("*": all). Errors as above. */
const char *request_of_list(struct request *request, const char *text, size_t *at);

/* Appends a deep copy of `request`. `text` NULL: made from the other strings.
 * 0 or -ENOMEM. */
int requests_add(struct requests *requests, const struct request *request)
	__attribute__((warn_unused_result));

void requests_free(struct requests *requests);
void request_free(struct request *request); /* its strings */

#endif
