/* SPDX-License-Identifier: MIT */
/*
 * tables: the words in which the tables of this folder are written, and their names.
 * Private to trace/catalog/ and trace/catalog/catalog.c.
 */
#ifndef TRACE_CATALOG_TABLES_H
#define TRACE_CATALOG_TABLES_H

#include "trace/catalog/catalog.h"

/* Entering and leaving a value of a stack: two events. */
#define PAIR(chan, enter, leave, number, pcf, what)                                                \
	{.signature = enter,                                                                       \
	 .english = "begins " what,                                                                \
	 .leaves = leave,                                                                          \
	 .action = ACTION_PUSH,                                                                    \
	 .channel = chan,                                                                          \
	 .value = number,                                                                          \
	 .label = pcf},                                                                            \
	{                                                                                          \
		.signature = leave, .english = "ends " what, .action = ACTION_POP,                 \
		.channel = chan, .value = number, .label = pcf                                     \
	}

/* A single channel gets a value. */
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
