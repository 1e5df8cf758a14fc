/* SPDX-License-Identifier: MIT */
#include "trace/base/off_cpu.h"

#include <stddef.h>

static const struct {
	const char *word, *label;
} names[OFF_CPU_COUNT] = {
	[OFF_CPU_UNKNOWN] = {"unknown", "not known"},
	[OFF_CPU_SLEEPING] = {"sleeping", "sleeping"},
	[OFF_CPU_UNINTERRUPTIBLE] = {"uninterruptible", "uninterruptible"},
	[OFF_CPU_IO] = {"io", "waiting for I/O"},
	[OFF_CPU_STOPPED] = {"stopped", "stopped"},
	[OFF_CPU_TRACED] = {"traced", "traced"},
	[OFF_CPU_PREEMPTED] = {"preempted", "preempted"},
	[OFF_CPU_YIELDED] = {"yielded", "yielded"},
	[OFF_CPU_PARKED] = {"parked", "parked"},
	[OFF_CPU_IDLE] = {"idle", "idle"},
	[OFF_CPU_DEAD] = {"exited", "dead"},
	[OFF_CPU_LOST] = {"lost", "lost"},
	[OFF_CPU_THROTTLED] = {"throttled", "throttled by a CPU quota"},
};

const char *off_cpu_word(unsigned reason)
{
	return names[reason < OFF_CPU_COUNT ? reason : OFF_CPU_UNKNOWN].word;
}

const char *off_cpu_label(unsigned reason)
{
	return reason < OFF_CPU_COUNT ? names[reason].label : NULL;
}
