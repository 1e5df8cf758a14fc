/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * vmlinux: the few kernel types that our programs look at, kept by hand.
 *
 * In the structures stand only the fields that are read; their places are found by name when
 * the programs are loaded (preserve_access_index), so the build needs no BTF of any kernel.
 * vmlinux/refresh.sh compares what stands here with the BTF of a kernel.
 * The name of the include guard is the one that libbpf's headers look for.
 */
#ifndef __VMLINUX_H__
#define __VMLINUX_H__

typedef unsigned char __u8;
typedef short int __s16;
typedef unsigned short __u16;
typedef int __s32;
typedef unsigned int __u32;
typedef long long __s64;
typedef unsigned long long __u64;

/* For the prototypes of libbpf's helpers. */
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;

typedef _Bool bool;
#define true 1
#define false 0
#define NULL ((void *)0)

/* Values of the user API of bpf(2) that the programs need. */
#define BPF_MAP_TYPE_HASH	   1
#define BPF_MAP_TYPE_ARRAY	   2
#define BPF_MAP_TYPE_PERF_EVENT_ARRAY 4
#define BPF_MAP_TYPE_PERCPU_ARRAY  6
#define BPF_MAP_TYPE_ARRAY_OF_MAPS 12
#define BPF_MAP_TYPE_QUEUE	   22
#define BPF_MAP_TYPE_RINGBUF	   27
#define BPF_MAP_TYPE_TASK_STORAGE  29

#define BPF_F_NO_PREALLOC (1u << 0)
#define BPF_F_MMAPABLE	  (1u << 10)

#define BPF_LOCAL_STORAGE_GET_F_CREATE (1u << 0)

/* The context of a raw tracepoint program, of the user API too: no relocation. */
struct bpf_raw_tracepoint_args {
	__u64 args[0];
};

/* Of bpf_perf_event_read_value(). */
struct bpf_perf_event_value {
	__u64 counter;
	__u64 enabled;
	__u64 running;
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* A bit for each CPU. */
struct cpumask {
	unsigned long bits[1];
};

typedef struct cpumask cpumask_t;

/* refresh.sh reads from here ... */

struct bpf_local_storage;
struct linux_binprm;
struct irqaction;
struct seq_file;

struct kernfs_node {
	__u64 id;
};

struct cgroup_subsys_state {
	struct cgroup_subsys_state *parent;
};

struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

/* x86 */
struct pt_regs {
	unsigned long r15;
	unsigned long r14;
	unsigned long r13;
	unsigned long r12;
	unsigned long bp;
	unsigned long r11;
	unsigned long r10;
	unsigned long r9;
	unsigned long r8;
	unsigned long cx;
	unsigned long bx;
	unsigned long ax;
	unsigned long dx;
	unsigned long si;
	unsigned long di;
	unsigned long orig_ax;
	unsigned long ip;
	unsigned long sp;
};

struct thread_info {
	unsigned long flags;
	__u32 status;
};

struct ns_common {
	unsigned int inum;
};

struct pid_namespace {
	struct ns_common ns;
};

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

struct vm_area_struct {
	unsigned long vm_start;
	unsigned long vm_end;
};

struct xol_area {
	unsigned long vaddr;
};

struct uprobes_state {
	struct xol_area *xol_area;
};

struct mm_struct {
	unsigned long env_start;
	unsigned long env_end;
	struct uprobes_state uprobes_state;
};

typedef struct {
	__u32 val;
} kuid_t;

struct cred {
	kuid_t uid;
	kuid_t euid;
};

struct sched_info {
	unsigned long long run_delay;
	unsigned long long last_arrival;
	unsigned long long last_queued;
};

struct rq {
	__u64 clock;
};

struct cfs_rq {
	struct rq *rq;
};

struct sched_entity {
	struct cfs_rq *cfs_rq;
};

typedef __u32 dev_t;
typedef __u32 blk_opf_t;
typedef __u64 sector_t;

struct block_device {
	dev_t bd_dev;
};

struct request {
	blk_opf_t cmd_flags;
	unsigned int __data_len;
	sector_t __sector;
	struct block_device *part;
	__u64 io_start_time_ns;
};

struct task_struct {
	struct thread_info thread_info;
	unsigned int __state;
	void *stack;
	unsigned int flags;
	unsigned long jobctl;
	int prio;
	int static_prio;
	int normal_prio;
	struct sched_entity se;
	unsigned int policy;
	cpumask_t cpus_mask;
	int exit_state;
	int exit_code;
	unsigned int in_iowait : 1;
	struct sched_info sched_info;
	unsigned long nvcsw;
	unsigned long nivcsw;
	int pid;
	int tgid;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	const struct cred *cred;
	char comm[16];
	unsigned long sas_ss_sp;
	unsigned long sas_ss_size;
	struct mm_struct *mm;
	struct css_set *cgroups;
	struct bpf_local_storage *bpf_storage;
};

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

/* ... to here. */

/* As older or newer kernels have it (the part from ___ on is ignored when names are matched). */
struct task_struct___before_5_14 {
	long state;
};

struct task_struct___on_cpu { /* an int, of one byte in newer kernels [seen: 7.3] */
	unsigned int on_cpu;  /* libbpf adapts the size of unsigned numbers only */
};

struct task_struct___6_18 {
	bool throttled;
};

/* With CONFIG_DETECT_HUNG_TASK_BLOCKER. */
struct task_struct___blocker {
	unsigned long blocker;
};

typedef struct {
	__s64 counter;
} atomic64_t;

struct mutex {
	atomic64_t owner;
};

struct rw_semaphore {
	atomic64_t owner;
};

struct cfs_rq___before_6_18 {
	int throttle_count;
};

struct pt_regs___of_arm64 {
	unsigned long regs[31];
	unsigned long sp;
	unsigned long pc;
	unsigned long orig_x0;
	int syscallno;
};

struct bpf_mem_alloc {
};

struct bpf_local_storage_map___6_4 {
	struct bpf_mem_alloc selem_ma;
};

struct bpf_local_storage_map___nolock {
	bool use_kmalloc_nolock;
};

#pragma clang attribute pop

#endif
