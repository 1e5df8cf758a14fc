/* SPDX-License-Identifier: MIT */
/* kernel: on and off the CPU, beside the states of a runtime (models.md 2). */
#include "trace/catalog/tables.h"

static const struct catalog_event events[] = {
	PUSH("context switch", "KCO([u16 why, i32 next])", "KCI", 3,
	     "Context switch: Out of the CPU",
	     "leaves the CPU[: %{why}][, which goes to thread %{next}]"),
	POP("context switch", "KCI([i32 cpu])", 3, "Context switch: Out of the CPU",
	    "is back on the CPU[ %{cpu}]"),
};

const struct catalog_model catalog_kernel = {
	.character = 'K',
	.name = "kernel",
	.version = "1.0.0",
	.when = WHEN_ANY,
	.out_of_cpu = true,
	EVENTS(events),
};
