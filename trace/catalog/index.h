/* SPDX-License-Identifier: MIT */
/*
 * index: the tables of all models, parsed once: an entry for each event.
 *
 * In: an MCV; out: its signature, and its English cut into pieces, so that explaining
 * an event parses nothing. Private to trace/catalog/.
 */
#ifndef TRACE_CATALOG_INDEX_H
#define TRACE_CATALOG_INDEX_H

#include "trace/catalog/catalog.h"

#define PIECES_MAX 12

/* A run of letters, or an argument, or the start of a part that may be left out. */
struct piece {
	enum { PIECE_TEXT, PIECE_ARG, PIECE_PART } kind;
	const char *text; /* of a text */
	unsigned len;
	unsigned arg;  /* index; of a part: how many of the arguments it needs */
	unsigned skip; /* of a part: pieces in it */
};

struct entry {
	const struct catalog_event *event;
	struct signature sig;
	struct piece pieces[PIECES_MAX];
	unsigned npieces;
};

/* The entry of an MCV, by itself or by its category's wildcard, or NULL. */
const struct entry *index_find(uint32_t mcv);

/* Cuts the English of an entry whose signature is known into pieces. False if it is
 * wrong: names an argument that does not exist, has a bracket that is not closed. */
bool explain_parse(struct entry *entry);

#endif
