/* SPDX-License-Identifier: MIT */
/*
 * mpi_records: the records of MPI that an archive has beside the events of an ovni trace.
 *
 *   ENTER MPI_Isend                     MPI_ISEND             where the call begins
 *   ...   MPI_Wait      LEAVE           MPI_ISEND_COMPLETE    where the call ends that completes it
 *   ENTER MPI_Barrier   LEAVE           MPI_COLLECTIVE_BEGIN, MPI_COLLECTIVE_END
 *
 * In: a walk of all streams (messages.h); out: for each stream, the records in the order of its
 * calls. Invariant: a record has all its fields from the trace: a call without one of them has no
 * record, and is counted. Memory: 40 bytes for each record.
 * Specification: pallas.md 10 and 23.
 */
#ifndef TOOLS_PALLAS_MPI_RECORDS_H
#define TOOLS_PALLAS_MPI_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct source;

struct mpi_record {
	uint32_t call;	 /* its number in the stream, from 1: messages.h */
	uint32_t number; /* in the stream, before they are sorted */
	bool at_end;	 /* of the call; else at its begin */
	uint8_t record, size;
	uint8_t payload[28];
};

struct mpi_record_list {
	struct mpi_record *records;
	size_t n;
};

struct mpi_records {
	struct mpi_record_list *lists; /* of each stream; NULL: the trace has no calls of MPI */
	size_t nlists;
	uint64_t unsized;	/* messages without a record: their bytes are not known */
	uint64_t not_completed; /* sends and receives, for whose end no record stands */
	uint64_t collectives;	/* calls without a record: communicator, root or bytes not known */
};

/* Walks the streams. Returns 0, or -errno after one message; mpi_records_fini() must follow in both
 * cases. */
int mpi_records_read(struct mpi_records *records, const struct source *source)
	__attribute__((warn_unused_result));
void mpi_records_fini(struct mpi_records *records);

#endif
