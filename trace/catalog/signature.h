/* SPDX-License-Identifier: MIT */
/*
 * signature: parses the declaration of an event, and reads its arguments.
 *
 *   OAs(i32 cpu)                        a normal event and its packed arguments
 *   OHx(i32 cpu[, i32 tid, u64 tag])    arguments in brackets may be missing, from the end on
 *   VYc+(u32 typeid, str label)         jumbo: the arguments are in the data
 *   VWC+(i64 values...)                 any number of the last argument
 *   OB.                                 no arguments
 *
 * Types: u8 i8 u16 i16 u32 i32 u64 i64 str (text ended by NUL, only as the last argument).
 * In: the text; out: a table of arguments with their offsets in an event.
 */
#ifndef TRACE_CATALOG_SIGNATURE_H
#define TRACE_CATALOG_SIGNATURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/ovni/event.h"

#define SIGNATURE_ARGS_MAX 8

enum arg_type { ARG_U8, ARG_I8, ARG_U16, ARG_I16, ARG_U32, ARG_I32, ARG_U64, ARG_I64, ARG_STR };

struct arg {
	char name[16];
	enum arg_type type;
	bool many;	 /* any number of values, to the end of the payload; the last argument */
	uint32_t offset; /* bytes from the start of the arguments */
	uint32_t size;	 /* bytes; 0 for a string */
};

struct signature {
	uint32_t mcv;
	bool jumbo;
	unsigned nargs;
	unsigned required; /* number of required arguments, before the optional ones */
	uint32_t min_size; /* bytes of the required arguments, except strings and `many` */
	struct arg args[SIGNATURE_ARGS_MAX];
};

/* Parses `text`. Returns 0, or -EINVAL without a message. */
int signature_parse(struct signature *sig, const char *text) __attribute__((warn_unused_result));

/* Number of values of argument i in `ev`: 0 or 1, or more for `many`. */
size_t signature_count(const struct signature *sig, const struct event *ev, unsigned i);
/*
 * Reads the value `nth` of the integer argument i of `ev`, sign extended (u64: the same bits).
 * Returns false if the payload is too short, if the event is jumbo and the signature is not, or the
 * reverse, if the argument is a string, and if it does not exist.
 */
bool signature_nth(const struct signature *sig, const struct event *ev, unsigned i, size_t nth,
		   int64_t *out);

/*
 * The string argument i, inside the event, with its length without the NUL. NULL if the payload is
 * too short or has no NUL, or for the other reasons of signature_nth().
 */
const char *signature_str(const struct signature *sig, const struct event *ev, unsigned i,
			  size_t *len);

#endif
