/* SPDX-License-Identifier: MIT */
/*
 * pallas_record: the table of Pallas event records: number, name, payload, text.
 *
 * In: the number of a record; out: its entry, or the text of an event. Reader, printer and exporter
 * use this table: a new record is one line in pallas_record.c. Specification: pallas.md 10, 18.
 */
#ifndef TRACE_PALLAS_PALLAS_RECORD_H
#define TRACE_PALLAS_PALLAS_RECORD_H

#include <stddef.h>
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
	 * the string of a u32, %- a hidden u32, %+ a hidden u64, %T the third u32 again. NULL: the
	 * payload has no defined layout.
	 */
	const char *text;
};

/* The entry of a record, or NULL for numbers of 60 and more. */
const struct pallas_record_spec *pallas_record_spec(uint32_t record);

/* Returns the name of a region (kind 'r') or string ('s') by its reference, or NULL. */
typedef const char *(*pallas_record_name_fn)(const void *arg, char kind, uint32_t ref);

/*
 * Writes the text of an event as the reference tools do: at most `size` bytes with the NUL. Returns
 * the full length. A payload that is too short for its record gives "{.record=4, .size=9}".
 */
size_t pallas_record_text(char *out, size_t size, uint32_t record, const uint8_t *payload,
			  size_t payload_size, pallas_record_name_fn name, const void *arg);

#endif
