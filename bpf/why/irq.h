/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * irq: the time of interrupt handlers, as the programs and user code share it (--why=irq).
 *
 * One struct cpu_irqs per possible CPU, in an array that user code maps; written by that CPU alone.
 * Invariant: `ns` is the sum of kinds[].ns, each the time of the handlers of a kind without that of
 * other handlers that interrupted them, so nested handlers count once. The sums begin when the
 * programs are attached, and never fall. Specification: why.md A6, and part B.
 */
#ifndef BPF_WHY_IRQ_H
#define BPF_WHY_IRQ_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

/* Kinds of handlers. A softirq has the number of its vector, a device the number of its line. */
enum irq_kind {
	IRQ_SOFTIRQ = 0, /* + vector */
	IRQ_LOCAL_TIMER = 10,
	IRQ_WORK = 11,
	IRQ_CALL_FUNCTION = 12,
	IRQ_CALL_FUNCTION_SINGLE = 13,
	IRQ_RESCHEDULE = 14,
	IRQ_DEVICES = 15, /* lines that have no kind of their own */
	IRQ_LINE = 16,	  /* + number */
	IRQ_KINDS = 128
};

#define IRQ_NESTED 8 /* handlers that interrupt each other; more are counted as the innermost */

struct irq_sum {
	__u64 ns, times;
};

struct cpu_irqs {	   /* a switch without interrupts touches the first line */
	__u64 ns;	   /* of all handlers */
	__u64 softirq_ns;  /* part of it: softirqs */
	__u64 run_ns;	   /* `ns` at the last switch, */
	__u64 run_softirq; /* and `softirq_ns` */
	__u64 first; /* clock of the first handler since then, ns; valid if ns is above run_ns */
	__u64 since; /* clock up to which the handler that runs now is in the sums, ns */
	__u32 depth; /* of handlers that run now */
	__u32 pad;
	__u16 nested[IRQ_NESTED]; /* their kinds */
	__u64 spare[7];
	struct irq_sum kinds[IRQ_KINDS];
};
_Static_assert(sizeof(struct cpu_irqs) % 64 == 0, "no two CPUs write to a line");

#endif
