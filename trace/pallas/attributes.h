/* SPDX-License-Identifier: MIT */
/*
 * attributes: reads the values of single occurrences of an event.
 *
 * In: the attribute buffer of an event; out: its lists, and the values of a list, one after the
 * other. Invariant: a list ends inside its buffer, and a value inside its list, or the walk ends.
 * Specification: pallas.md 11.
 */
#ifndef TRACE_PALLAS_ATTRIBUTES_H
#define TRACE_PALLAS_ATTRIBUTES_H

#include <stddef.h>
#include <stdint.h>

#include "trace/pallas/thread_grammar.h"

#define PALLAS_LIST_HEADER  7
#define PALLAS_VALUE_HEADER 6
#define PALLAS_LIST_VALUES  127

enum pallas_attribute_type {
	PALLAS_TYPE_NONE = 0,
	PALLAS_TYPE_U8,
	PALLAS_TYPE_U16,
	PALLAS_TYPE_U32,
	PALLAS_TYPE_U64,
	PALLAS_TYPE_I8,
	PALLAS_TYPE_I16,
	PALLAS_TYPE_I32,
	PALLAS_TYPE_I64,
	PALLAS_TYPE_FLOAT,
	PALLAS_TYPE_DOUBLE,
	PALLAS_TYPE_STRING,
	PALLAS_TYPE_REFERENCE, /* this one and all after it: a u32 */
};

struct pallas_list {
	int32_t occurrence; /* 0 is the first of its event */
	uint8_t nvalues;
	const uint8_t *values, *end;
};

struct pallas_value {
	uint32_t ref; /* the attribute */
	const uint8_t *bytes;
	uint16_t size;
};

/*
 * Reads the list at *at, which starts at e->attributes, and advances *at. Returns 1, 0 at the end,
 * or -EBADMSG without a message.
 */
int pallas_list_next(const struct pallas_event *e, const uint8_t **at, struct pallas_list *list);

/* Reads the value at list->values and advances it. Returns 1, 0 at the end, or -EBADMSG. */
int pallas_value_next(struct pallas_list *list, struct pallas_value *value);

#endif
