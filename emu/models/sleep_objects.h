/* SPDX-License-Identifier: MIT */
/*
 * sleep_objects: the values of types 304 and 305, and their labels.
 *
 * In: the calls of sleeps, and from the metadata the machine and the names of descriptors; out: for
 * 304 the number of the call, for 305 a dense id from 1 on for each object: a descriptor with its
 * file or a futex, in its process, a process that is waited for, a lock of the kernel. Invariant:
 * objects with one label have one value. Memory follows the objects that occur.
 * Specification: event-mapping.md, "richer payloads".
 */
#ifndef EMU_MODELS_SLEEP_OBJECTS_H
#define EMU_MODELS_SLEEP_OBJECTS_H

#include "emu/emulation.h"
#include "trace/base/hash.h"
#include "trace/states/sleep_call.h"

/* Values of 304: the number of the call + 1, of each machine in a range of its own. */
#define CALL_RANGE  0x20000
#define CALL_VALUES ((CALL_OTHER_MACHINE + 1) * CALL_RANGE)

struct sleep_objects {
	struct owner *owners; /* by stream: nstreams, zeroed without the model */
	size_t nstreams;
	enum call_machine *machines;	 /* by loom */
	uint64_t seen[CALL_VALUES / 64]; /* bits: values of 304 */
	char **labels;			 /* of 304 and 305 */
	size_t nlabels;
	uint32_t *objects; /* of 305: the index of the label of value i + 1 */
	size_t nobjects;
	struct hash at; /* values of 305, less 1, by object and by label */
};

/* The functions return 0 or -ENOMEM, without a message. sleep_objects_fini() accepts zeros. */
int sleep_objects_init(struct sleep_objects *o, size_t nstreams)
	__attribute__((warn_unused_result));
int sleep_objects_metadata(struct sleep_objects *o, const struct json *meta, size_t stream)
	__attribute__((warn_unused_result));
/* Once the threads and looms are known. */
int sleep_objects_start(struct sleep_objects *o, const struct emulator *emu)
	__attribute__((warn_unused_result));
void sleep_objects_fini(struct sleep_objects *o);

/* Value of 304 for a call; 0: it is not known. */
int64_t sleep_objects_call(struct sleep_objects *o, const struct emulator *emu,
			   const struct thread *th, const struct sleep_call *call);

/* Stores the value of 305 for a sleep between two clocks of the stream; 0: the object is not known.
 */
int sleep_objects_object(struct sleep_objects *o, const struct emulator *emu,
			 const struct thread *th, const struct sleep_call *call, int64_t begin,
			 int64_t end, int64_t *value) __attribute__((warn_unused_result));

/* Adds the labels of the values that occur. */
int sleep_objects_describe(struct sleep_objects *o, struct channel *calls, struct channel *objects)
	__attribute__((warn_unused_result));

#endif
