/* SPDX-License-Identifier: MIT */
/*
 * tables: macros for the tables of events, and the names of the tables.
 *
 * In: the events of a model; out: entries of struct catalog_event. Private to trace/catalog/.
 */
#ifndef TRACE_CATALOG_TABLES_H
#define TRACE_CATALOG_TABLES_H

#include "trace/catalog/catalog.h"

/* An event that enters a value of a stack, which the event `leave` leaves. */
#define PUSH(chan, event, leave, number, pcf, text)                                                \
	{                                                                                          \
		.signature = event, .english = text, .leaves = leave, .action = ACTION_PUSH,       \
		.channel = chan, .value = number, .label = pcf                                     \
	}

/* An event that leaves a value of a stack. */
#define POP(chan, event, number, pcf, text)                                                        \
	{                                                                                          \
		.signature = event, .english = text, .action = ACTION_POP, .channel = chan,        \
		.value = number, .label = pcf                                                      \
	}

/* Two events: one enters a value of a stack, the other leaves it. */
#define PAIR(chan, enter, leave, number, pcf, what)                                                \
	PUSH(chan, enter, leave, number, pcf, "begins " what),                                     \
		POP(chan, leave, number, pcf, "ends " what)

/* An event that sets a single channel. */
#define SET(chan, event, number, pcf, text)                                                        \
	{                                                                                          \
		.signature = event, .english = text, .action = ACTION_SET, .channel = chan,        \
		.value = number, .label = pcf                                                      \
	}

/* Any other event. */
#define EVENT(event, text)                                                                         \
	{                                                                                          \
		.signature = event, .english = text                                                \
	}

#define EVENTS(table) .events = table, .nevents = sizeof(table) / sizeof((table)[0])
#define LABELS(table) .labels = table, .nlabels = sizeof(table) / sizeof((table)[0])

extern const struct catalog_model catalog_nanos6, catalog_nodes, catalog_kernel, catalog_mpi,
	catalog_ovni, catalog_openmp, catalog_tampi, catalog_nosv;

#endif
