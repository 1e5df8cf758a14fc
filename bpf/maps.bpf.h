/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * maps: all that the programs share: rings, states of CPUs and tasks, targets and knobs.
 *
 * Every program includes this; maps.bpf.c defines what is only declared here.
 */
#ifndef BPF_MAPS_H
#define BPF_MAPS_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

#include "state.h"

/*
 * One ring per CPU, put in by user code; a CPU without one counts its records as lost. It is plain
 * memory that user code maps, of a power of two bytes (knobs.ring_mask + 1) and then RING_SPILL
 * for the record that begins near its end. Where it stands is in the CPU's state.
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

/* Processes (or with -t threads) named by the user; read by the iterator alone. */
struct targets_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set before load */
	__type(key, __u32);
	__type(value, __u32);
};
extern struct targets_map targets SEC(".maps");

/* By index of the site; read by the probes that need more than their cookie. */
struct sites_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* set before load */
	__type(key, __u32);
	__type(value, struct probe_site);
};
extern struct sites_map sites SEC(".maps");

/* Threads that have died, till user code takes them; by CPU, the sums of those without room. */
struct dead_map {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, DEAD_THREADS);
	__type(value, struct thread_figures);
};
extern struct dead_map dead SEC(".maps");

struct dead_sums_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct thread_counters);
};
extern struct dead_sums_map dead_sums SEC(".maps");

extern const volatile struct knobs knobs;
extern const volatile struct comm_glob comm_glob;
extern const volatile __u32 record_version;

extern __u64 stack_bytes;   /* of a task's kernel stack; 0 till the iterator has run */
extern __u32 next_id;	    /* of the task that becomes wanted next */
extern __u32 members;	    /* alive now; not kept with knobs.all */
extern __u32 iterator_tags; /* the iterator makes members; else it only reports */
extern __u32 recorder;	    /* its process, as the kernel counts; 0 till the iterator has run */
extern __s64 sched_offset;  /* knobs.queued: CLOCK_MONOTONIC - the scheduler's clock, ns, as */
extern __u64 sched_offset_clock; /* it was found then; 0: never */
extern __u32 probes_on;		 /* the probes record; written by user code */
extern __u64 window_begin;	 /* what is counted lies after it ... */
extern __u64 window_end;	 /* ... and not after this; ns, set before the moment comes */

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#define barrier() asm volatile("" ::: "memory")

/* `value`, of which the verifier no longer knows which of a few constants it is: else it goes
 * through all that follows for each of them. `any` is something that it does not know. */
static __always_inline __u64 forget(__u64 value, __u64 any)
{
	asm volatile("%0 ^= %1; %0 ^= %1" : "+r"(value) : "r"(any));
	return value;
}

/* Is this kind of event recorded (--mode, --events)? */
static __always_inline bool kind_wanted(enum event_kind kind)
{
	return knobs.rings && knobs.kinds & (1u << kind);
}

static __always_inline struct cpu_state *cpu_state(__u32 cpu)
{
	return bpf_map_lookup_elem(&cpus, &cpu);
}

#endif
