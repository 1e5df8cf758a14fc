/* SPDX-License-Identifier: MIT */
/*
 * sleep_call: the system call in which a thread sleeps, and what it waits for there.
 *
 * In: the payload of OHp and KCO, and the machine, `bpf.fds` and `bpf.futexes` of the metadata;
 * out: "futex(pool)", "read(3 = /etc/passwd)". A descriptor is named where it was read during the
 * sleep, where it had that name in the reading before and after the beginning of the sleep, or in
 * the nearest one, at most SLEEP_NAME_NS away, if the reading on the other side does not
 * contradict. Otherwise only its number is known. Specification: event-mapping.md "The system call
 * of a sleep".
 */
#ifndef TRACE_STATES_SLEEP_CALL_H
#define TRACE_STATES_SLEEP_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/base/hash.h"
#include "trace/catalog/system_calls.h"
#include "trace/ovni/trace.h"

#define SLEEP_NAME_NS 2000000000 /* the recorder reads a name at most once a second */

struct sleep_call {
	uint64_t object; /* first argument; valid if with_object */
	uint16_t call;	 /* as off_cpu.h says; CALL_UNKNOWN: not known */
	bool with_object;
	bool kernel_lock; /* the object is the number of a lock of the kernel */
};

/* Of an event OHp or KCO; of others, and where it was not recorded, the call is CALL_UNKNOWN. */
struct sleep_call sleep_call_of(const struct event *ev);

/* Of an event OHw or KCI: the owner of the lock on which the thread slept, as off_cpu.h says. */
int32_t sleep_lock_owner(const struct event *ev);

#define SLEEP_STACK_AT 8 /* offset of the number of a stack in a payload */

/* Of the same: the number of the stack in which the thread slept (trace/ovni/stack_file.h); of an
 * OHr that of the wait for a CPU which it ends, of a thread that left its CPU runnable. 0: none. */
uint32_t sleep_stack(const struct event *ev);

/* Of the same: the time at the device of the request that ended the sleep, us; 0: none, or not
 * known. */
uint32_t sleep_device_us(const struct event *ev);

/* The name of the descriptor `fd` in a sleep from `begin` to `end` (`begin` again, if it is not
 * known): its index in owner->fds, or -1. */
int sleep_call_descriptor(const struct owner *owner, int32_t fd, int64_t begin, int64_t end);

/* The name of the futex at `address` in a sleep that ends at `end`: its index in owner->futexes, or
 * -1: the last one that was read until then, else the first one. */
int sleep_call_futex(const struct owner *owner, uint64_t address, int64_t end);

/* Equal for the calls of sleeps of one thread that have the same text, without `exact`. The member
 * `a` is 0; `b` is 0 where the text is that of the call alone, on this machine. */
struct hash_key sleep_call_key(const struct sleep_call *call, enum call_machine machine,
			       const struct owner *owner, int64_t begin, int64_t end);

/* The object of such a sleep: "3 = /data", "pool" or "0x7f10" of a futex, "0x7f10" of a fault,
 * "1204" of a process, "kernel lock 1a"; "" if it is not known. For free(); NULL without memory. */
char *sleep_object_text(const struct sleep_call *call, enum call_machine machine,
			const struct owner *owner, int64_t begin, int64_t end);

/* The call of such a sleep as text, with the address of a nameless futex or a fault and the process
 * that it waits for if `exact`. For free(); NULL without memory. The call must be known. */
char *sleep_call_text(const struct sleep_call *call, enum call_machine machine,
		      const struct owner *owner, int64_t begin, int64_t end, bool exact);

/* The machine of each stream, from the session of its loom; for free(). NULL after one message. */
enum call_machine *sleep_machines(const struct source *source);

#endif
