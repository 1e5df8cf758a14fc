/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * lock_owners: the threads that were found as owners of locks, so that they need no search again.
 *
 * In: a thread of the process of a waiter, as found by its number; out: its tid, while it lives.
 * The search touches memory of the kernel that is in no cache at a switch, and is most of the time
 * of --why=lock. Each word has a process (its tgid), the tid, and the number by which the process
 * knows it, whose low bits choose the word. Invariant: a thread that has begun to exit, or a
 * process that has executed another program, is in no word. A thread writes its word before it
 * looks whether the owner exits, and an exit is marked before the words are looked at, so one of
 * the two sees the other.
 */
#ifndef BPF_LOCK_OWNERS_H
#define BPF_LOCK_OWNERS_H

#include "bpf/compat.bpf.h"

#define NUMBER_BITS 16 /* of a number, without those that choose the word */
#define TID_BITS    22 /* the kernel's limit */

/* Do the programs see the exits and the new programs of all processes? */
#define keeps_owners (settings.locks && kind_recorded(EVENT_EXIT) && kind_recorded(EVENT_EXEC))

static __always_inline __u64 owner_word(__u32 tgid, __u32 tid, __u32 number)
{
	return (__u64)tgid << (TID_BITS + NUMBER_BITS) | (__u64)tid << NUMBER_BITS |
	       number / OWNERS_FOUND;
}

/* The living thread of this process and number, if it was found before; 0: search. */
static __always_inline __u32 owner_kept(__u32 tgid, __u32 number)
{
	__u64 word = *(volatile __u64 *)&owners_found[number % OWNERS_FOUND];
	__u32 tid = word >> NUMBER_BITS & ((1u << TID_BITS) - 1);

	return keeps_owners && tid && word == owner_word(tgid, tid, number) ? tid : 0;
}

static __always_inline void owner_keep(__u32 tgid, __u32 number, struct task_struct *owner)
{
	__u64 *word = &owners_found[number % OWNERS_FOUND];

	if (!keeps_owners || number >> NUMBER_BITS >= OWNERS_FOUND)
		return;
	__sync_lock_test_and_set(word, owner_word(tgid, owner->pid, number)); /* a full barrier */
	if (*(volatile unsigned int *)&owner->flags & PF_EXITING)
		*(volatile __u64 *)word = 0;
}

/* The thread `tid` exits (`tgid` is 0), or the process `tgid` has executed another program. */
static __always_inline void owners_forget(__u32 tid, __u32 tgid)
{
	__u64 barrier = 0, word;

	if (!keeps_owners)
		return;
	__sync_lock_test_and_set(&barrier, 1);
	for (int i = 0; i < OWNERS_FOUND; i++) {
		word = *(volatile __u64 *)&owners_found[i];
		if (tgid ? word >> (TID_BITS + NUMBER_BITS) == tgid
			 : (word >> NUMBER_BITS & ((1u << TID_BITS) - 1)) == tid)
			*(volatile __u64 *)&owners_found[i] = 0;
	}
}

#endif
