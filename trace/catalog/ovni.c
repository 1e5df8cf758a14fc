/* SPDX-License-Identifier: MIT */
/* ovni: states of threads, their CPUs, marks (models.md 1). */
#include "trace/catalog/tables.h"

#define FLUSH "flush"
#define MARK  "mark"

static const struct catalog_event events[] = {
	/* thread states; the recorder adds the arguments in brackets (event-mapping.md) */
	EVENT("OHx(i32 cpu[, i32 creator, u64 tag])",
	      "begins to execute on CPU %{cpu}[, created by thread %{creator}][, with tag %{tag}]"),
	EVENT("OHe", "ends its execution"),
	EVENT("OHp([u16 why, i32 next])", "pauses[: %{why}][, the CPU goes to thread %{next}]"),
	EVENT("OHr", "resumes on its CPU"),
	EVENT("OHc", "cools down: is about to pause"),
	EVENT("OHw([i32 waker])", "warms up: is about to run[, woken by thread %{waker}]"),
	EVENT("OHC([i32 cpu, u64 tag])", "creates a thread[ on CPU %{cpu}][, with tag %{tag}]"),

	/* affinity */
	EVENT("OAs(i32 cpu)", "moves itself to CPU %{cpu}"),
	EVENT("OAr(i32 cpu, i32 tid)", "moves thread %{tid} to CPU %{cpu}"),

	/* flushes of the buffer of the runtime library */
	{.signature = "OF[",
	 .english = "begins writing its events to disk",
	 .leaves = "OF]",
	 .action = ACTION_SET,
	 .channel = FLUSH,
	 .value = 1,
	 .label = "Flushing"},
	{.signature = "OF]",
	 .english = "ends writing its events to disk",
	 .action = ACTION_CLEAR,
	 .channel = FLUSH},

	/* marks: the program chooses type and value */
	PUSH(MARK, "OM[(i64 value, i32 type)", "OM]", 0, NULL,
	     "enters the mark %{value} of type %{type}"),
	POP(MARK, "OM](i64 value, i32 type)", 0, NULL, "leaves the mark %{value} of type %{type}"),
	{.signature = "OM=(i64 value, i32 type)",
	 .english = "sets the mark of type %{type} to %{value}",
	 .action = ACTION_SET,
	 .channel = MARK},

	/* without effect */
	EVENT("OU[", "begins a region of events to sort"),
	EVENT("OU]", "ends a region of events to sort"),
	EVENT("OU.", "marks a region of events to sort"),
	EVENT("OB.", "is one of a burst of events, to measure their cost"),
	EVENT("OCn(i32 cpus)", "tells that there are %{cpus} CPUs (obsolete)"),
};

const struct catalog_model catalog_ovni = {
	.character = 'O',
	.name = "ovni",
	.version = "1.1.0",
	.when = WHEN_ANY,
	.repeats = true,
	EVENTS(events),
};
