/* SPDX-License-Identifier: MIT */
/*
 * format: the numbers of the Pallas trace format, ABI version 20; versions 16 to 19 are read, too.
 *
 *   TRACE/main.pallas                           struct pallas_trace
 *   TRACE/archive_P/archive.pallas              struct pallas_archive
 *   TRACE/archive_P/thread_T/thread.pallas      struct pallas_thread: the grammar
 *                            event_durations.dat      times of the events
 *                            sequence_durations.dat   three vectors per sequence
 *
 * A token is 32 bits: two of type, thirty of id. All integers are little endian.
 * Specification: pallas.md 2 to 11, 18, 19.
 */
#ifndef TRACE_PALLAS_FORMAT_H
#define TRACE_PALLAS_FORMAT_H

#include <stdint.h>

#define PALLAS_ABI     20
#define PALLAS_ABI_MIN 16	   /* the oldest that is read */
#define PALLAS_NONE    UINT32_MAX  /* no reference, or an empty map entry */
#define PALLAS_INVALID UINT64_MAX  /* no timestamp */
#define PALLAS_UNUSED  0xfffffffcu /* the token of an unused loop */

#define PALLAS_MAIN	  "main.pallas"
#define PALLAS_ARCHIVE	  "archive.pallas"
#define PALLAS_THREAD	  "thread.pallas"
#define PALLAS_EVENT_DATA "event_durations.dat"
#define PALLAS_SEQ_DATA	  "sequence_durations.dat"

#define PALLAS_PAYLOAD_MAX    250 /* bytes of one event */
#define PALLAS_DEPTH_MAX      100 /* levels; the limit of the reference readers (rule R12) */
#define PALLAS_ID_MAX	      0x3ffffffeu
#define PALLAS_ITERATIONS_MAX 0x7fffffffu

enum pallas_compression {
	PALLAS_COMPRESSION_NONE = 0,
	PALLAS_COMPRESSION_ZSTD = 1,
	PALLAS_COMPRESSION_HISTOGRAM = 2,
	PALLAS_COMPRESSION_SZ = 3,
	PALLAS_COMPRESSION_ZFP = 4,
	PALLAS_COMPRESSION_ZSTD_HISTOGRAM = 5,
	PALLAS_COMPRESSION_COUNT
};

enum pallas_encoding {
	PALLAS_ENCODING_NONE = 0,
	PALLAS_ENCODING_MASKING = 1,
	PALLAS_ENCODING_LEADING_ZEROES = 2,
	PALLAS_ENCODING_COUNT
};

enum pallas_token_type { TOKEN_INVALID = 0, TOKEN_EVENT = 1, TOKEN_SEQUENCE = 2, TOKEN_LOOP = 3 };

enum pallas_sequence_type { SEQUENCE_BLOCK = 0, SEQUENCE_LOOP = 1 };

enum pallas_vector_kind { VECTOR_TIMES, VECTOR_DURATIONS };

/* Lists of the values of an occurrence, pallas.md 11. */
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

static inline uint32_t pallas_token(enum pallas_token_type type, uint32_t id)
{
	return id << 2 | (uint32_t)type;
}

static inline enum pallas_token_type token_type(uint32_t token)
{
	return (enum pallas_token_type)(token & 3);
}

static inline uint32_t token_id(uint32_t token)
{
	return token >> 2;
}

/* Event records, pallas.md 10 and 18: reader, printer and exporter use the table in
 * pallas_record.c, where a new record is one line. */
enum pallas_record {
	PALLAS_ENTER = 2,
	PALLAS_LEAVE = 3,
	PALLAS_MPI_SEND = 4,
	PALLAS_MPI_ISEND = 5,
	PALLAS_MPI_ISEND_COMPLETE = 6,
	PALLAS_MPI_IRECV_REQUEST = 7,
	PALLAS_MPI_RECV = 8,
	PALLAS_MPI_IRECV = 9,
	PALLAS_MPI_COLLECTIVE_BEGIN = 12,
	PALLAS_MPI_COLLECTIVE_END = 13,
	PALLAS_OMP_FORK = 14,
	PALLAS_OMP_JOIN = 15,
	PALLAS_THREAD_FORK = 25,
	PALLAS_THREAD_JOIN = 26,
	PALLAS_THREAD_TEAM_BEGIN = 27,
	PALLAS_THREAD_TEAM_END = 28,
	PALLAS_THREAD_BEGIN = 35,
	PALLAS_THREAD_END = 37,
	PALLAS_GENERIC = 58,
	PALLAS_BUFFER_FLUSH = 59,
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
