/* SPDX-License-Identifier: MIT */
/*
 * json: JSON documents, as strict as the reference reader and no stricter.
 *
 * In: text; out: a tree that the rest of the project reads and builds through
 * these functions alone (cJSON stays behind them). Comments are accepted;
 * a key repeated in one object, a byte order mark, a trailing comma, a number beyond
 * the range of a double, control characters and more than 1000 levels are not; text
 * after the closing brace is ignored (emulator.md 3.2).
 * Invariant: no 64-bit number of ours ever passes through a double: they are
 * written and read as decimal strings.
 *
 * A NULL node is accepted by every reader below and has no type, so that
 * json_string(json_get(doc, "ovni.loom")) needs no checks in between.
 */
#ifndef TRACE_BASE_JSON_H
#define TRACE_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct json; /* one node, with all below it */

/*
 * Parses `size` bytes of `text`, which need not end in NUL and are not kept.
 * `path` names the document in messages. Returns the root, which the caller
 * frees with json_free(), or NULL after one message (place and reason).
 */
struct json *json_parse(const char *text, size_t size, const char *path);

/* The same for a file of at most 64 MiB below `dirfd`. */
struct json *json_load(int dirfd, const char *path);

/* The text of such a file, for free(), and its size in bytes. NULL after one message. */
char *json_read(int dirfd, const char *path, size_t *size);

void json_free(struct json *root); /* NULL is fine */

/* The node at a dotted path ("ovni.lib.version") below `node`, or NULL. */
const struct json *json_get(const struct json *node, const char *dotted);
/* The node at one key, taken as it is (it may hold dots), or NULL. */
const struct json *json_key(const struct json *node, const char *key);

/* The line of a parsed node's value in the text, from 1; 0 for NULL. For messages about a
 * document. Undefined for a node that was put into a tree. */
unsigned json_line(const struct json *node);

bool json_is_object(const struct json *node);
bool json_is_array(const struct json *node);
bool json_is_number(const struct json *node);
bool json_is_string(const struct json *node);
bool json_is_bool(const struct json *node);

const char *json_string(const struct json *node); /* NULL if it is not a string */
double json_number(const struct json *node);	  /* 0 if it is not a number */
/* Truncated towards zero, clamped to int64_t; 0 if it is not a number. */
int64_t json_int(const struct json *node);
bool json_bool(const struct json *node); /* false if it is not a boolean */
/* Reads a 64-bit number of ours (a decimal string, or a number that a double
 * holds exactly). Returns false, and leaves *out alone, if it is neither. */
bool json_u64(const struct json *node, uint64_t *out);
bool json_i64(const struct json *node, int64_t *out);

/* Children of an object or array, in order: for (c = json_first(n); c; c = json_next(c)). */
const struct json *json_first(const struct json *node);
const struct json *json_next(const struct json *node);
const char *json_name(const struct json *node); /* its key in the object it is in */
size_t json_count(const struct json *node);

/*
 * Building. A dotted path creates the objects on the way, in the place of damaged metadata that
 * are none, and replaces the node at its end; a path of NULL appends to an array. All return the
 * new node (owned by `node`), or NULL: without memory, if `node` is no object (or NULL), or if a
 * path of NULL meets something that is no array.
 * A document of which a part is missing for lack of memory has no json_text(): so
 * callers need not check each step.
 */
struct json *json_new_object(void);
struct json *json_put_object(struct json *node, const char *dotted);
struct json *json_put_array(struct json *node, const char *dotted);
struct json *json_put_string(struct json *node, const char *dotted,
			     const char *value); /* NULL: puts nothing */
/* |value| < 2^53 */
struct json *json_put_int(struct json *node, const char *dotted, int64_t value);
struct json *json_put_u64(struct json *node, const char *dotted, uint64_t value); /* a string */
struct json *json_put_i64(struct json *node, const char *dotted, int64_t value);  /* a string */
struct json *json_put_real(struct json *node, const char *dotted, double value);
struct json *json_put_bool(struct json *node, const char *dotted, bool value);

/* Adds a string under a key, taken as it is, that the object is known not to have: thousands
 * of names cost no square of their number. */
struct json *json_add_string(struct json *object, const char *key, const char *value);

/*
 * The text, indented by 4 blanks, ended by a newline; the caller frees it. NULL without
 * memory, now or while the document was built. Bytes of strings that are not UTF-8 are written as
 * the four characters \xNN, numbers that are not finite as null.
 */
char *json_text(const struct json *node);

/* Replaces the elements of an array by their text, which takes a quarter of their memory. Only
 * json_text() and further elements may follow. `depth`: of the array, 1 in the root. */
void json_pack(struct json *list, int depth);
#define JSON_PACK_EACH 1024 /* elements, at a time */

#endif
