/* SPDX-License-Identifier: MIT */
/*
 * irq_names: the kinds of interrupt handlers (bpf/state.h) in words.
 *
 * In: a kind, and `proc`/interrupts for the names of devices; out: "softirq NET_RX", "local timer",
 * "irq 24 virtio0-input.0". A line that the file does not have is "irq 24". Specification:
 * event-mapping.md, "The time of interrupts".
 */
#ifndef USER_CONFIG_IRQ_NAMES_H
#define USER_CONFIG_IRQ_NAMES_H

#include "trace/base/json.h"

struct window_edge;

/* The text of `proc`/interrupts, for irq_name() and free(). NULL: it cannot be read. */
char *irq_names_read(const char *proc);

/* Puts the handlers of a CPU (kernel number) between the edges into its metadata. */
void irq_names_put(struct json *cpu, const struct window_edge *begin, const struct window_edge *end,
		   unsigned number, const char *names);

/* The name of a kind, for free(); NULL without memory. `names` is the text above, or NULL. */
char *irq_name(unsigned kind, const char *names);

#endif
