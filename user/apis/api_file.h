/* SPDX-License-Identifier: MIT */
/*
 * api_file: one API file: functions of libraries and programs, and their meaning in a trace.
 *
 * In: the text of a file (docs/apis.md, ovni-apis(5)); out: struct api, in which every event is
 * one of the catalogue, every mark is declared, and nothing contradicts anything else. The
 * resolver finds out whether the functions exist.
 * Invariant: a file with an unknown key is refused, with its line.
 * Specification: event-mapping.md "Library APIs", "User probes and marks"; models.md.
 */
#ifndef USER_APIS_API_FILE_H
#define USER_APIS_API_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include "user/probes/action.h"

struct json;

#define API_VERSION	1
#define API_MARK_MAX	88   /* types of marks that a file may use: 1 to this; 0 is used by -u */
#define API_LABEL_MAX	511  /* bytes */
#define API_SYMBOLS_MAX 4096 /* of one file, in all spellings */

struct api_symbol {
	char *text;    /* a name or a glob, spelt out */
	unsigned name; /* the name of the function that this is a spelling of, from 0 */
	const struct api_function *function;
};

/* Spellings of one name stand side by side, the symbols of a part, too. */
struct api_function {
	struct api_symbol *symbols; /* nsymbols of the symbols of the file */
	size_t nsymbols;
	struct site_value values[SITE_VALUES_MAX]; /* that the steps of `action` need */
	bool first;	      /* only the first of `symbols` that a file has; else all it has */
	struct action action; /* a mark without a label has the label of the function */
	unsigned line;
};

/* Functions of a kind of files. */
struct api_part {
	const char **libraries; /* globs of names ("libgomp.so.*"): nlibraries of them */
	size_t nlibraries;
	bool program;		/* and the programs that are recorded themselves */
	const char **spellings; /* nspellings of them, each with one {name}, {lower} or {upper} */
	size_t nspellings;
	struct api_function *functions;
	size_t nfunctions;
	struct api_symbol *symbols; /* of all functions: nsymbols of the symbols of the file */
	size_t nsymbols;
};

struct api_mark {
	const char *title; /* NULL: the type is not declared */
	bool single;	   /* else a stack */
	unsigned line;
};

struct api {
	char *path;				 /* of the file, for messages */
	struct api_mark marks[API_MARK_MAX + 1]; /* by type */
	struct api_part *parts;
	size_t nparts;
	struct json *text;	    /* the owner of all strings except the symbols' */
	struct api_symbol *symbols; /* nsymbols of at most API_SYMBOLS_MAX */
	size_t nsymbols;
};

/* The path of the file that --api NAME names: a name without a slash that does not end in .json is
 * one of ours ("mpi"), found beside the installed program, in the source tree that it was built in,
 * or where `make install` puts it; anything else is a path. 0, or -errno after one message. */
int api_file_find(const char *name, char *path, size_t size) __attribute__((warn_unused_result));

/* Reads the file that --api NAME names. 0 with *api filled in, which api_file_free() frees; or
 * -errno after one message with the line. */
int api_file_load(struct api *api, const char *name) __attribute__((warn_unused_result));

/* The same for a text; `path` names it in messages. */
int api_file_parse(struct api *api, const char *text, size_t size, const char *path)
	__attribute__((warn_unused_result));

void api_file_free(struct api *api); /* also of a zeroed struct */

#endif
