/* SPDX-License-Identifier: MIT */
/* kernel: on and off the CPU, beside the states of a runtime (models.md 2). */
#include "trace/catalog/tables.h"

static const struct catalog_event events[] = {
	{.signature = "KCO([u16 why, i32 next])",
	 .english = "leaves the CPU[: %{why}][, which goes to thread %{next}]",
	 .leaves = "KCI",
	 .action = ACTION_PUSH,
	 .channel = "context switch",
	 .value = 3,
	 .label = "Context switch: Out of the CPU"},
	{.signature = "KCI([i32 cpu])",
	 .english = "is back on the CPU[ %{cpu}]",
	 .action = ACTION_POP,
	 .channel = "context switch",
	 .value = 3,
	 .label = "Context switch: Out of the CPU"},
};

const struct catalog_model catalog_kernel = {
	.character = 'K',
	.name = "kernel",
	.version = "1.0.0",
	.when = WHEN_ANY,
	.out_of_cpu = true,
	EVENTS(events),
};
