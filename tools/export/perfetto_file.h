/* SPDX-License-Identifier: MIT */
/*
 * perfetto_file: the packets of a Perfetto trace, one behind the other.
 *
 * In: messages in a buffer; out: a file. The packet under construction is in `packet`; the first
 * error is kept, and nothing is written after it. Specification: perfetto.md 2.
 */
#ifndef TOOLS_EXPORT_PERFETTO_FILE_H
#define TOOLS_EXPORT_PERFETTO_FILE_H

#include "tools/export/protobuf.h"
#include "tools/lib/new_file.h"

struct perfetto_file {
	struct new_file file;
	struct bytes packet, buffer; /* buffer: whole packets that are not written yet */
	uint64_t size;		     /* bytes of all packets */
	int error;
};

/* Fields of a packet. */
enum packet_field {
	PACKET_FTRACE = 1,
	PACKET_PROCESS_TREE = 2,
	PACKET_CLOCKS = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED = 12,
	PACKET_FLAGS = 13,
	PACKET_SYSTEM = 45,
	PACKET_DEFAULTS = 59,
	PACKET_DESCRIPTOR = 60,
	PACKET_MACHINE = 98,
};

#define CLOCK_MONOTONIC_ID 3
#define CLOCK_BOOT_ID	   6
#define CLOCK_SEQUENCE_ID  64 /* the first id for a clock of one sequence alone */
#define FLAG_BEGIN	   1  /* the sequence forgets its names and defaults */
#define FLAG_NEEDED	   2  /* the packet is read only if the state of the sequence is known */

/* Begins a file; `first`: in the directory of that one; NULL: in that of the path. */
int perfetto_file_open(struct perfetto_file *file, const char *path, const struct new_file *first)
	__attribute__((warn_unused_result));
/* Writes the packet, on a sequence, of a machine; machine 0 is not named. */
void perfetto_file_put(struct perfetto_file *file, uint32_t sequence, uint32_t machine);
/* Completes the file, which keeps its temporary name. Returns 0, or the first -errno after one
 * message. */
int perfetto_file_finish(struct perfetto_file *file) __attribute__((warn_unused_result));
void perfetto_file_abandon(struct perfetto_file *file); /* also a finished one; frees */

#endif
