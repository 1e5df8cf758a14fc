/* SPDX-License-Identifier: MIT */
/*
 * pallas_record: the table of Pallas event records: number, name, payload, text.
 *
 * In: the number of a record; out: its entry. Reader, printer and exporter use this table: a new
 * record is one line in pallas_record.c. Specification: pallas.md 10, 18.
 */
#ifndef TRACE_PALLAS_PALLAS_RECORD_H
#define TRACE_PALLAS_PALLAS_RECORD_H

#include <stdint.h>

enum pallas_record {
	PALLAS_ENTER = 2,
	PALLAS_LEAVE = 3,
	PALLAS_OMP_FORK = 14,
	PALLAS_OMP_JOIN = 15,
	PALLAS_THREAD_FORK = 25,
	PALLAS_THREAD_JOIN = 26,
	PALLAS_THREAD_TEAM_BEGIN = 27,
	PALLAS_THREAD_TEAM_END = 28,
	PALLAS_THREAD_BEGIN = 35,
	PALLAS_THREAD_END = 37,
	PALLAS_GENERIC = 58,
	PALLAS_RECORD_COUNT = 60,
};

enum pallas_record_kind { PALLAS_SINGLE, PALLAS_START, PALLAS_END };

struct pallas_record_spec {
	const char *name; /* "ENTER" */
	enum pallas_record_kind kind;
	uint16_t closes; /* of an END: the record that opens the block */
	/*
	 * Text with the fields of the payload in order: %u a u32, %U a u64, %r the region and %s
	 * the string of a u32, %+ a hidden u64, %T the third u32 again. NULL: the
	 * payload has no defined layout.
	 */
	const char *text;
};

/* The entry of a record, or NULL for numbers of 60 and more. */
const struct pallas_record_spec *pallas_record_spec(uint32_t record);

#endif
