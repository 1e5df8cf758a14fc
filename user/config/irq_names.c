/* SPDX-License-Identifier: MIT */
/* irq_names: see irq_names.h. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/state.h"
#include "trace/base/text.h"
#include "user/config/irq_names.h"
#include "user/config/window_edge.h"
#include "user/host/read_file.h"

#define INTERRUPTS_MAX (8 << 20) /* bytes: 8192 CPUs and some 100 lines */

/* linux/interrupt.h: numbers that do not change */
static const char *const softirqs[] = {"HI",	   "TIMER",   "NET_TX", "NET_RX",  "BLOCK",
				       "IRQ_POLL", "TASKLET", "SCHED",	"HRTIMER", "RCU"};
static const char *const others[] = {
	"local timer",		"irq work",   "call function",
	"call function single", "reschedule", "other irqs",
};

char *irq_names_read(const char *proc)
{
	char path[64];
	size_t size;

	snprintf(path, sizeof(path), "%s/interrupts", proc);
	return read_file(AT_FDCWD, path, 0, INTERRUPTS_MAX, &size);
}

/* A line " 24:  10  20  PCI-MSI-0000:00:01.0  0-edge  virtio0-config, another": the device is the
 * last word, or the last ones behind a comma. */
static const char *device(const char *names, unsigned irq, size_t *len)
{
	const char *line = names, *end, *at;
	char *colon;

	for (; line && *line; line = *end ? end + 1 : end) {
		end = strchrnul(line, '\n');
		if (strtoul(line, &colon, 10) != irq || *colon != ':' || colon > end)
			continue;
		at = end;
		while (at > colon + 1 && (at[-1] != ' ' || (at > colon + 2 && at[-2] == ',')))
			at--;
		*len = (size_t)(end - at);
		return at;
	}
	return NULL;
}

char *irq_name(unsigned kind, const char *names)
{
	const char *name;
	size_t len;

	if (kind < IRQ_LOCAL_TIMER)
		return xasprintf("softirq %s", softirqs[kind]);
	if (kind < IRQ_LINE)
		return strdup(others[kind - IRQ_LOCAL_TIMER]);
	name = names ? device(names, kind - IRQ_LINE, &len) : NULL;
	if (!name || !len)
		return xasprintf("irq %u", kind - IRQ_LINE);
	return xasprintf("irq %u %.*s", kind - IRQ_LINE, (int)len, name);
}

void irq_names_put(struct json *cpu, const struct window_edge *begin, const struct window_edge *end,
		   unsigned number, const char *names)
{
	struct json *list = NULL, *node;
	struct irq_sum sum;
	char *name;

	for (unsigned kind = 0; kind < IRQ_KINDS; kind++) {
		if (!window_edge_irq(begin, end, number, kind, &sum))
			return;
		if (!list)
			list = json_put_array(cpu, "interrupts");
		if (!sum.times && !sum.ns)
			continue;
		name = irq_name(kind, names);
		node = json_put_object(list, NULL);
		json_put_string(node, "kind", name ? name : "?");
		json_put_u64(node, "ns", sum.ns);
		json_put_u64(node, "times", sum.times);
		free(name);
	}
}
