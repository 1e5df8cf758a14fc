/* SPDX-License-Identifier: MIT */
/*
 * bpf_load: loads, attaches and detaches our programs, and reads their cost.
 *
 * Steps: open (all settings are constants by then, so that the verifier can remove unused code),
 * load, attach, detach, close. Programs are attached in the order of bpf_select.h, and detached in
 * the opposite order.
 */
#ifndef USER_KERNEL_BPF_LOAD_H
#define USER_KERNEL_BPF_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/summary.h"

struct attach;
struct options;
struct rings;
struct topology;

#define LINKS_MAX 96

struct bpf_link;
struct cpu_irqs;
struct perf_events;
struct ovni;

struct bpf_load {
	struct ovni *skeleton;
	struct bpf_link *link[LINKS_MAX]; /* nlinks of them, in the order of attaching */
	unsigned nlinks;
	struct bpf_link *iterator; /* of tasks; in summary mode of their times */
	struct bpf_link *marker;   /* the iterator that marks the tasks in the target */
	int *ring_fds;		   /* of the CPUs of the topology, by index */
	unsigned nrings;
	int template_fd;		   /* a ring as template for the map of rings; -1: none */
	struct cpu_state *cpus;		   /* by kernel number, shared; npossible of them */
	struct cpu_summary *cpu_summaries; /* the same; NULL in full mode */
	struct cpu_irqs *irqs;		   /* the same; NULL without --why=irq */
	unsigned npossible;
	int statistics_fd;	 /* -1: the kernel keeps none */
	bool searches_modules;	 /* libbpf looks in modules for functions that this kernel lacks */
	bool yields_unknown;	 /* yielded and preempted look the same */
	bool interrupts_unknown; /* an interrupt is not recorded as a waker */
	bool calls;		 /* the system calls of sleeps are recorded */
	enum locks locks;	 /* and how the owners of locks are found */
	enum locks can_locks;	 /* how this kernel can find them (--why=lock) */
	bool kernel_locks;	 /* it says on which of its own locks a task sleeps */
	uint64_t stack_ns;	 /* kernel stacks of sleeps of this length or longer; 0: none */
	struct perf_events *perf_events; /* of --counters; NULL: none */
	bool irq;			 /* the time of interrupt handlers is recorded */
	bool io;			 /* the requests of I/O sleeps are */
	uint32_t priority_words; /* of sets of CPUs (--why=prio); 0: no priorities are recorded */
	unsigned stack_parts;	 /* STACK_OF_*: what they have */
	enum user_stack_way user_stack_way; /* how this kernel can have those of user code taken */
	bool wakers;			    /* and with the stacks of the wakers */
	bool preempted;			    /* and waits of preempted threads have some */
	bool throttled_partly;		    /* a wait that begins as preempted stays so */
	bool preempt_calls;		    /* a program may keep its CPU (bpf_preempt_disable) */
	bool find_stack;		    /* the memory that a stack is in can be looked up */
	bool wakeup_from_sched_info;	    /* wake-ups have the scheduler's clock */
	bool lazy_summary;		    /* the lazy variant of summary mode is loaded */
	struct attach *attach;		    /* the probes; the caller's; NULL: there are none */
	struct probe_site *sites;	    /* by site, shared; nsites of them */
	size_t nsites;
	uint32_t kinds; /* of events with a program: bits, by enum event_kind */
};

/*
 * Opens and loads the programs for the options: `targets` are the processes or
 * threads to begin with, `ntargets` of them. Adds a ring for each CPU of the topology to
 * `rings`. `attach` has the probes of `nsites` sites, NULL if there are none.
 * 0, or -errno after one message. bpf_load_close() is due in any case.
 */
int bpf_load_open(struct bpf_load *bpf, const struct options *options,
		  const struct topology *topology, struct rings *rings, const uint32_t *targets,
		  size_t ntargets, struct attach *attach, size_t nsites)
	__attribute__((warn_unused_result));

/* The clock of wake-ups: "scheduler" or "tracepoint"; NULL: no wake-ups are recorded. */
const char *bpf_load_wakeup_clock(const struct bpf_load *bpf);

/* Names one more process before bpf_load_attach(). 0 or -errno after one message. */
int bpf_load_target(struct bpf_load *bpf, uint32_t pid) __attribute__((warn_unused_result));

/* 0, or -errno after one message; attached programs then stay until bpf_load_detach(). */
int bpf_load_attach(struct bpf_load *bpf) __attribute__((warn_unused_result));

/* Attaches the probes, which record nothing yet; then, just before the window opens, enables them.
 * 0, or -errno after one message. */
int bpf_load_attach_probes(struct bpf_load *bpf) __attribute__((warn_unused_result));
void bpf_load_start_probes(struct bpf_load *bpf);

/* Returns once no program runs any more, and no probe records. */
void bpf_load_detach(struct bpf_load *bpf);

/*
 * The window opens, or closes, at *clock (ns), a moment that is chosen a little ahead, so that all
 * programs know it when it comes. Returns after it. 0 or -errno after one message.
 */
int bpf_load_open_window(struct bpf_load *bpf, uint64_t *clock) __attribute__((warn_unused_result));
int bpf_load_close_window(struct bpf_load *bpf, uint64_t *clock)
	__attribute__((warn_unused_result));

/* Members that are alive (not counted with -a). */
uint32_t bpf_load_in_target(const struct bpf_load *bpf);

/* Stacks of user code that were asked for; only with STACK_OF_USER. */
uint32_t bpf_load_user_stacks(const struct bpf_load *bpf);

/* Bytes of the stack of user code of a sleep, at most; only with STACK_OF_USER. */
uint32_t bpf_load_user_stack_bytes(const struct bpf_load *bpf);

/* How often the kernel has skipped a program that interrupted itself. */
uint64_t bpf_load_missed(const struct bpf_load *bpf);

/* Reports the cost of each program (log_info), if the kernel has measured it. */
void bpf_load_report(const struct bpf_load *bpf);

void bpf_load_close(struct bpf_load *bpf);

#endif
