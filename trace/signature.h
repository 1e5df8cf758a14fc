/* SPDX-License-Identifier: MIT */
/*
 * signature: the little language in which events are declared.
 *
 *   OHx(i32 cpu, i32 tid, u64 tag)     a normal event and its packed arguments
 *   VYc+(u32 typeid, str label)        jumbo: the arguments are in the data
 *   OB.                                no arguments
 *
 * Types: u8 i8 u16 i16 u32 i32 u64 i64 str (text ended by NUL, only as the last).
 * In: the text; out: a table of arguments with offsets, from which decoder, checker,
 * dump and documentation derive what they need.
 */
#ifndef TRACE_SIGNATURE_H
#define TRACE_SIGNATURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event.h"

#define SIGNATURE_ARGS_MAX 8

enum arg_type { ARG_U8, ARG_I8, ARG_U16, ARG_I16, ARG_U32, ARG_I32, ARG_U64, ARG_I64, ARG_STR };

struct arg {
	char name[16];
	enum arg_type type;
	uint32_t offset; /* bytes from the start of the arguments */
	uint32_t size;	 /* bytes; 0 for a string */
};

struct signature {
	uint32_t mcv;
	bool jumbo;
	unsigned nargs;
	uint32_t min_size; /* bytes that all but a string take */
	struct arg args[SIGNATURE_ARGS_MAX];
};

/* Parses `text`. Returns 0, or -EINVAL without a message. */
int signature_parse(struct signature *sig, const char *text) __attribute__((warn_unused_result));

/* The integer argument i of `ev`, sign extended; false if the payload is too short for it. */
bool signature_int(const struct signature *sig, const struct event *ev, unsigned i, int64_t *out);

/* The string argument i, inside the event, with its length without the NUL; NULL if
 * the payload is too short or has no NUL. */
const char *signature_str(const struct signature *sig, const struct event *ev, unsigned i,
			  size_t *len);

#endif
