/* SPDX-License-Identifier: MIT */
/*
 * json_tokens: a JSON document, one token after the other, however large it is.
 *
 * In: the bytes of an inflow; out: keys and values in the order of the file. No tree is built, so
 * that a trace of gigabytes needs no memory; trace/base/json.h is for documents that are kept. A
 * caller goes in the order of the document:
 *
 *	tokens_value(t, &v);                     the value itself: {
 *	while (tokens_key(t, &key) > 0)          "key":
 *		tokens_value(t, &v) or tokens_skip(t)
 *
 * Invariants: integers keep all of their 64 bits; all returned tokens are well formed;
 * the first mistake is kept, with its place, and everything after it fails.
 */
#ifndef TRACE_BASE_JSON_TOKENS_H
#define TRACE_BASE_JSON_TOKENS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/base/inflow.h"

#define TOKENS_DEPTH 64 /* more levels are refused */
/* Longer strings are refused where they are read, not where they are skipped. */
#define TOKENS_TEXT 4096

enum token_type {
	TOKEN_NULL,
	TOKEN_BOOL,
	TOKEN_NUMBER,
	TOKEN_STRING,
	TOKEN_ARRAY,  /* its elements follow: tokens_element() */
	TOKEN_OBJECT, /* its keys follow: tokens_key() */
};

struct token {
	enum token_type type;
	bool truth;	  /* TOKEN_BOOL */
	bool is_integer;  /* a TOKEN_NUMBER without fraction and exponent, */
	bool is_negative; /* below zero (-0 is not), */
	bool is_huge;	  /* whose magnitude exceeds 64 bits */
	uint64_t integer; /* the magnitude */
	/* TOKEN_STRING, decoded, and the letters of a TOKEN_NUMBER; ended by NUL, valid until the
	 * next call */
	const char *text;
	size_t len;
};

struct tokens {
	struct inflow *in;
	const char *why; /* the mistake, NULL as long as there is none */
	uint64_t where;	 /* its offset */
	bool is_cut;	 /* the mistake is that the file ends */
	bool no_memory;	 /* the mistake is not the document's */
	unsigned depth;
	bool first;	    /* nothing of the innermost object or array has been seen */
	uint64_t in_object; /* bit n: level n is an object */
	char text[TOKENS_TEXT];
};

/* Starts where the inflow is. */
void tokens_init(struct tokens *t, struct inflow *in);
/* Starts anew, inside of an array (`depth` levels below the root) whose next element, with a comma
 * before it unless `first`, starts where the inflow is. */
void tokens_resume(struct tokens *t, struct inflow *in, unsigned depth, bool first);

/* The next value. Of an array or object only the bracket is taken. False after a mistake. */
bool tokens_value(struct tokens *t, struct token *v) __attribute__((warn_unused_result));
/* The next key of the object, valid until the next call: 1, or 0 after its closing brace, -1 after
 * a mistake. */
int tokens_key(struct tokens *t, const char **key) __attribute__((warn_unused_result));
/* Is there another element in the array? Likewise. */
int tokens_element(struct tokens *t) __attribute__((warn_unused_result));
/* Passes over the next value with all in it. */
bool tokens_skip(struct tokens *t) __attribute__((warn_unused_result));
/* Skips the rest of the array or object whose opening bracket was the last token. */
bool tokens_leave(struct tokens *t) __attribute__((warn_unused_result));
/* Nothing but blanks follows. */
bool tokens_end(struct tokens *t) __attribute__((warn_unused_result));

/* The next value as an unsigned integer of 8, 16, 32 or 64 bits; other values are a mistake. */
bool tokens_unsigned(struct tokens *t, unsigned bits, void *to) __attribute__((warn_unused_result));

/* Notes a mistake of the caller's at the current place, unless there is one already. Returns false.
 */
bool tokens_refuse(struct tokens *t, const char *why);

/* Notes that the caller is out of memory. Returns false. */
bool tokens_no_memory(struct tokens *t);

/* A TOKEN_NUMBER as a double. */
double token_real(const struct token *v);
/* True if it is an integer in [0, most], which is then in v->integer. */
static inline bool token_fits(const struct token *v, uint64_t most)
{
	return v->type == TOKEN_NUMBER && v->is_integer && !v->is_negative && !v->is_huge &&
	       v->integer <= most;
}

#endif
