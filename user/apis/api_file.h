/* SPDX-License-Identifier: MIT */
/*
 * api_file: one runtime map: which functions, in which files, and what they mean.
 *
 * In: the text of a map (docs/maps.md, ovni-maps(5)); out: struct map, in which every event is
 * one of the catalogue, every mark is declared, and nothing contradicts anything else. No library
 * is looked at: that its functions exist is found out by the resolver.
 * Invariant: a map that is not understood to its last key is refused, with its line.
 * Specification: event-mapping.md "Runtime maps", "User probes and marks"; models.md.
 */
#ifndef USER_APIS_API_FILE_H
#define USER_APIS_API_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include "user/probes/action.h"

struct json;

#define MAP_VERSION	1
#define MAP_MARK_MAX	89   /* types of marks that a map may use: 1 to this; 0 is that of -u */
#define MAP_LABEL_MAX	511  /* bytes */
#define MAP_SYMBOLS_MAX 4096 /* of one map, in all spellings */

struct map_symbol {
	const char *text; /* a name or a glob, spelt out */
	unsigned name;	  /* which name of the file this is a spelling of, from 0 */
};

struct map_function {
	struct map_symbol *symbols; /* nsymbols of them, spellings of one name side by side */
	size_t nsymbols;
	bool first;	      /* only the first of `symbols` that a file has; else all it has */
	struct action action; /* a mark without a label: the function's own is meant */
	const char *note;     /* where the meaning is an approximation; else NULL */
	unsigned line;
};

/* Functions of a kind of files. */
struct map_part {
	const char **libraries; /* globs of names ("libgomp.so.*"): nlibraries of them */
	size_t nlibraries;
	bool program; /* and the programs that are recorded themselves */
	struct map_function *functions;
	size_t nfunctions;
	unsigned line;
};

struct map_mark {
	int type;
	const char *title;
	bool single; /* else a stack */
	unsigned line;
};

struct map {
	char *path;	   /* of the file, for messages */
	const char *title; /* what it shows */
	struct map_mark *marks;
	size_t nmarks;
	struct map_part *parts;
	size_t nparts;
	struct json *text; /* who owns most of the strings */
	char **spelt;	   /* and the others: nspelt of them */
	size_t nspelt, nsymbols;
};

/* Reads the map that --map NAME means (map_find.h). 0 with *map filled in, which map_free() frees;
 * or -errno after one message, which tells the line. */
int map_load(struct map *map, const char *name) __attribute__((warn_unused_result));

/* The same for a text; `path` names it in messages. */
int map_parse(struct map *map, const char *text, size_t size, const char *path)
	__attribute__((warn_unused_result));

void map_free(struct map *map); /* also of a zeroed struct */

#endif
