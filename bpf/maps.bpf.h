/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * maps: shared by the programs: rings, states of CPUs and tasks, targets, and settings.
 *
 * Every program includes this; maps.bpf.c has the definitions.
 */
#ifndef BPF_MAPS_H
#define BPF_MAPS_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

#include "state.h"

/*
 * One ring per CPU, put in by user code; a CPU without one counts its records as lost. A ring is
 * plain memory that user code maps: a power of two bytes (settings.ring_mask + 1), then RING_SPILL
 * bytes for a record that begins near the end. Its positions are in the CPU's state.
 */
struct ring {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, 4096 + RING_SPILL); /* set before load */
};

struct rings_map {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1); /* possible CPUs; set before load */
	__uint(key_size, sizeof(__u32));
	__array(values, struct ring);
};
extern struct rings_map rings SEC(".maps");

struct cpus_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* possible CPUs; set before load */
	__type(key, __u32);
	__type(value, struct cpu_state);
};
extern struct cpus_map cpus SEC(".maps");

struct tasks_map {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task_state);
};
extern struct tasks_map tasks SEC(".maps");

/* With settings.stack_copies, of each task in the target that has user code. */
struct user_copies_map {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct user_copy);
};
extern struct user_copies_map user_copies SEC(".maps");

/* Processes (or with -t threads) named by the user; read by the iterator alone. */
struct targets_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set before load */
	__type(key, __u32);
	__type(value, __u32);
};
extern struct targets_map targets SEC(".maps");

struct irqs_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* possible CPUs; set before load */
	__type(key, __u32);
	__type(value, struct cpu_irqs);
};
extern struct irqs_map irqs SEC(".maps");

/* The block request whose completion runs on a CPU (--why=io). */
struct io_completed_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct io_request);
};
extern struct io_completed_map io_completed SEC(".maps");

/* By index of the site; read by probes that need more than their cookie. */
struct sites_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* set before load */
	__type(key, __u32);
	__type(value, struct probe_site);
};
extern struct sites_map sites SEC(".maps");

/* By index of the site; empty unless settings.several. */
struct probe_values_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set before load */
	__type(key, __u32);
	__type(value, struct probe_values);
};
extern struct probe_values_map probe_values SEC(".maps");

#define OWNER_CACHE_WORDS 64 /* a power of two */

extern const volatile struct settings settings;
extern const volatile struct comm_glob comm_glob;
extern const volatile __u32 record_version;

extern __u64 stack_bytes;    /* of a task's kernel stack; 0 until the iterator has run */
extern __u32 next_id;	     /* of the next task that becomes traced */
extern __u32 in_target;	     /* live tasks in the target; not kept with settings.all */
extern __u32 iterator_marks; /* the iterator marks the tasks in the target; else it reports */
extern __u32 marked;	     /* tasks in the target that an iterator found */
extern __u32 unmarkable;     /* and those for which the kernel had no storage */
extern __u32 recorder;	     /* its process in the initial namespace; 0 until the iterator ran */
extern __s64 sched_offset;   /* CLOCK_MONOTONIC - the scheduler's clock, ns, as measured */
extern __u64 sched_offset_clock;	     /* then; 0: never */
extern __u32 probes_on;			     /* the probes record; written by user code */
extern __u64 stacks_second;		     /* of all threads: see stack.bpf.h */
extern __u32 user_stacks_asked;		     /* numbers given to stacks of user code */
extern __u64 owner_cache[OWNER_CACHE_WORDS]; /* of locks; see lock.bpf.h */
extern __u64 window_begin;		     /* ns; the window begins after this ... */
extern __u64 window_end; /* ... and not after this; ns, set before the moment comes */

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#define barrier() asm volatile("" ::: "memory")

/* Returns `value`, but hides from the verifier which of a few constants it is: else the verifier
 * follows the rest of the program for each of them. `any` is a value that it does not know. */
static __always_inline __u64 forget(__u64 value, __u64 any)
{
	asm volatile("%0 ^= %1; %0 ^= %1" : "+r"(value) : "r"(any));
	return value;
}

/* Is this kind of event recorded (--mode, --events)? */
static __always_inline bool kind_recorded(enum event_kind kind)
{
	return settings.kinds & (1u << kind);
}

/* NULL never happens, but the verifier wants it tested. */
static __always_inline struct cpu_state *this_cpu_state(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&cpus, &cpu);
}

/* Events of a CPU without a switch in between can be left out with a list of CPUs (-C). */
static __always_inline bool cpu_left_out(const struct cpu_state *cpu)
{
	return settings.cpu_list && !cpu->recorded;
}

#endif
