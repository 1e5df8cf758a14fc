/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * lock: the owner of the lock on which a task falls asleep (--why=lock).
 *
 * In: prev at its switch-out, with its system call; out: the tid of the owner, LOCK_OWNER_NONE, or
 * LOCK_OWNER_UNKNOWN. In user code a candidate stands beside the word of the futex, where glibc has
 * it; it is accepted if it is the number of a living thread that can own the lock, as the process
 * of the waiter counts. Locks and waits of other kinds have no owner; a guess is never sent. For
 * its own locks the kernel has the owner. The cache of owners also takes exits and execs.
 * Specification: why.md A2, A3, and part B.
 */
#ifndef BPF_LOCK_H
#define BPF_LOCK_H

#include "compat.bpf.h"

/* linux/futex.h */
#define FUTEX_WAIT	   0
#define FUTEX_LOCK_PI	   6
#define FUTEX_WAIT_BITSET  9
#define FUTEX_LOCK_PI2	   13
#define FUTEX_PRIVATE_FLAG 128
#define FUTEX_COMMAND	   127 /* bits of the operation without flags */
#define FUTEX_WAITERS	   0x80000000u
#define FUTEX_TID	   0x3fffffffu

/* Values that glibc waits for. */
#define MUTEX_CONTENDED	 2
#define RWLOCK_CONTENDED 3

/* `kind` of a mutex of glibc: all bits that it uses, and two of them. */
#define MUTEX_KIND_BITS	  0x3ffu
#define MUTEX_KIND_ROBUST 16u
#define MUTEX_KIND_SHARED 128u

/* struct __pthread_mutex_s: the word, count, owner, users, kind. struct __pthread_rwlock_arch_t,
 * from
 * __wrphase_futex (readers wait there) or __writers_futex (writers do) on: __cur_writer is the 5th
 * or the 4th word. 64-bit programs alone. */
#define LOCK_WORDS 5

/* ---- the cache of owners ---- */

/*
 * The search for a thread by its number reads memory that is in no cache at a switch: it takes most
 * of the time of
 * --why=lock. So the threads that were found are cached, one in each word: the tgid of the process,
 * the tid, and the number of the thread in the PID namespace of the process. The low bits of the
 * number are the index of the word. Invariant: the cache has only living threads. A program at
 * sched_process_exit removes the thread, one at sched_process_exec all threads of the process. The
 * kernel sets PF_EXITING before that tracepoint, and a switch writes a word before it reads
 * PF_EXITING: so one of the two programs removes an owner that exits meanwhile.
 */
#define NUMBER_BITS 16 /* of a number, without those of the index */
#define TID_BITS    22 /* of any number; the kernel's limit */

/* Without the programs at exit and exec nothing is cached. */
#define owner_cache_used (settings.locks && kind_recorded(EVENT_EXIT) && kind_recorded(EVENT_EXEC))

static __always_inline __u64 owner_word(__u32 tgid, __u32 tid, __u32 number)
{
	return (__u64)tgid << (TID_BITS + NUMBER_BITS) | (__u64)tid << NUMBER_BITS |
	       number / OWNER_CACHE_WORDS;
}

/* The tid of the thread with this number in the process; 0: it is not in the cache. */
static __always_inline __u32 owner_cache_get(__u32 tgid, __u32 number)
{
	__u64 word = *(volatile __u64 *)&owner_cache[number % OWNER_CACHE_WORDS];
	__u32 tid = word >> NUMBER_BITS & ((1u << TID_BITS) - 1);

	return owner_cache_used && tid && number >> TID_BITS == 0 &&
			       word == owner_word(tgid, tid, number)
		       ? tid
		       : 0;
}

static __always_inline void owner_cache_put(__u32 tgid, __u32 number, struct task_struct *owner)
{
	__u64 *word = &owner_cache[number % OWNER_CACHE_WORDS];

	if (!owner_cache_used || number >> TID_BITS)
		return;
	__sync_lock_test_and_set(word, owner_word(tgid, owner->pid, number)); /* a full barrier */
	if (*(volatile unsigned int *)&owner->flags & PF_EXITING)
		*(volatile __u64 *)word = 0;
}

/* Removes the thread `tid` (`tgid` is 0), or all threads of the process `tgid`. */
static __always_inline void owner_cache_drop(__u32 tid, __u32 tgid)
{
	__u64 barrier = 0, word;

	if (!owner_cache_used)
		return;
	__sync_lock_test_and_set(&barrier, 1);
	for (int i = 0; i < OWNER_CACHE_WORDS; i++) {
		word = *(volatile __u64 *)&owner_cache[i];
		if (tgid ? word >> (TID_BITS + NUMBER_BITS) == tgid
			 : (word >> NUMBER_BITS & ((1u << TID_BITS) - 1)) == tid)
			*(volatile __u64 *)&owner_cache[i] = 0;
	}
}

/* The living thread that the current process calls `number`: its tid, if it is another thread of
 * this process, or (`anywhere`) of any; else LOCK_OWNER_*. Part of the program itself: user code
 * puts in its calls. */
static __always_inline int search_owner(struct task_struct *waiter, __u32 number, bool anywhere)
{
	struct task_struct *owner;
	int tid = LOCK_OWNER_NONE;

	if (settings.locks == LOCKS_BY_PID && BPF_CORE_READ(waiter, thread_pid, level))
		return LOCK_OWNER_UNKNOWN;
	owner = (struct task_struct *)KERNEL_CALL_1(TASK_FIND_CALL, number);
	if (!owner)
		return LOCK_OWNER_NONE;
	if (owner->pid != waiter->pid && !owner->exit_state &&
	    (anywhere || owner->tgid == waiter->tgid)) {
		tid = owner->pid;
		if (!anywhere)
			owner_cache_put(waiter->tgid, number, owner);
	}
	KERNEL_CALL_1(TASK_RELEASE_CALL, owner);
	return tid;
}

static __always_inline int lock_owner_tid(__u32 number, bool anywhere)
{
	struct task_struct *waiter = bpf_get_current_task_btf();
	__u32 tid;

	if (!number)
		return LOCK_OWNER_NONE;
	tid = anywhere ? 0 : owner_cache_get(waiter->tgid, number);
	if (!tid)
		return search_owner(waiter, number, anywhere);
	return tid == (__u32)waiter->pid ? LOCK_OWNER_NONE : (int)tid;
}

static __always_inline bool is_futex(__u16 call)
{
#if defined(__TARGET_ARCH_x86)
	return call == 202;
#else
	return call == 98;
#endif
}

/* The owner of the futex of a 64-bit task that sleeps; `regs`: the registers of its system call. */
static __always_inline int futex_owner(const user_regs *regs)
{
	__u32 operation = (__u32)regs->CALL_SECOND, value = (__u32)regs->CALL_THIRD;
	__u32 command = operation & FUTEX_COMMAND, word[LOCK_WORDS], number;
	bool shared = !(operation & FUTEX_PRIVATE_FLAG), inherits, anywhere;

	inherits = command == FUTEX_LOCK_PI || command == FUTEX_LOCK_PI2;
	if (!inherits && command != FUTEX_WAIT && command != FUTEX_WAIT_BITSET)
		return LOCK_OWNER_NONE;
	if (!inherits && value != MUTEX_CONTENDED && value != RWLOCK_CONTENDED &&
	    !(value & FUTEX_WAITERS))
		return LOCK_OWNER_NONE;
	if (bpf_probe_read_user(word, sizeof(word), (void *)regs->CALL_FIRST))
		return LOCK_OWNER_UNKNOWN;
	anywhere = shared && word[4] & MUTEX_KIND_SHARED;
	if (inherits) { /* the kernel itself reads the word so */
		number = word[0] & FUTEX_TID;
		anywhere = true;
	} else if (value == RWLOCK_CONTENDED) {
		if (word[1] > RWLOCK_CONTENDED)
			return LOCK_OWNER_NONE;
		number = word[1] ? word[4] : word[3];
		anywhere = false;
	} else if (word[4] & ~MUTEX_KIND_BITS) {
		return LOCK_OWNER_NONE;
	} else if (value == MUTEX_CONTENDED) {
		number = word[2];
	} else if (word[4] & MUTEX_KIND_ROBUST) {
		number = value & FUTEX_TID;
	} else {
		return LOCK_OWNER_NONE;
	}
	return lock_owner_tid(number, anywhere);
}

/* ---- locks of the kernel ---- */

/* hung_task.h: kinds of locks in the low bits of task_struct.blocker */
#define KERNEL_LOCK_KIND      3ull
#define KERNEL_LOCK_MUTEX     0
#define KERNEL_LOCK_SEMAPHORE 1
#define OWNER_BITS	      7ull /* flags of the owner */
#define OWNER_READERS	      1ull /* of an rw_semaphore: readers own it */

/* The mutex or semaphore on which a task sleeps, with its kind in the low bits. 0: none, or a
 * kernel without the field: Linux 6.16 added it for mutexes (commit 77da18de55ac), 6.17 for
 * rw-semaphores. */
static __always_inline __u64 kernel_lock(struct task_struct *task)
{
	struct task_struct___blocker *new = (void *)task;

	return bpf_core_field_exists(new->blocker) ? new->blocker : 0;
}

/* Of readers there may be many: the field then has only one of them. */
static __noinline __attribute__((unused)) int kernel_lock_owner(__u64 lock, __u32 waiter)
{
	__u64 address = lock & ~KERNEL_LOCK_KIND, kind = lock & KERNEL_LOCK_KIND, owner = 0;
	struct rw_semaphore *semaphore = (void *)address;
	struct mutex *mutex = (void *)address;
	__u32 tid;

	if (kind == KERNEL_LOCK_SEMAPHORE)
		return LOCK_OWNER_NONE;
	if (kind == KERNEL_LOCK_MUTEX)
		owner = BPF_CORE_READ(mutex, owner.counter);
	else
		owner = BPF_CORE_READ(semaphore, owner.counter);
	if (kind != KERNEL_LOCK_MUTEX && owner & OWNER_READERS)
		return LOCK_OWNER_NONE;
	owner &= ~OWNER_BITS;
	tid = owner ? BPF_CORE_READ((struct task_struct *)owner, pid) : 0;
	return tid && tid != waiter ? (int)tid : LOCK_OWNER_NONE;
}

#endif
