/* SPDX-License-Identifier: MIT */
/*
 * trace_tables: a trace as rows of tables, for CSV, SQLite and JSON trace events.
 *
 * In: a trace, walked once; out: the rows of all tables: a function before its first call, a stack
 * before its first sleep, the other subjects last, and the facts about the trace behind them. Times
 * are clocks and durations in ns; CELL_UNKNOWN is a number without a value. Texts are printable
 * UTF-8. Memory follows threads, CPUs and functions. Specification: docs/export.md.
 */
#ifndef TOOLS_EXPORT_TRACE_TABLES_H
#define TOOLS_EXPORT_TRACE_TABLES_H

#include "tools/export/formats.h"
#include "tools/lib/table.h"
#include "trace/analysis/thread_times.h"

#define SCHEMA_VERSION 1 /* grows when a table or a column changes its meaning or goes */

enum export_table {
	EXPORT_META,
	EXPORT_CPUS,
	EXPORT_PROCESSES,
	EXPORT_THREADS,
	EXPORT_FUNCTIONS,
	EXPORT_STACKS,
	EXPORT_INTERVALS,
	EXPORT_WAITS,
	EXPORT_INTERRUPTS,
	EXPORT_REQUESTS,
	EXPORT_REGIONS,
	EXPORT_MARKS,
	EXPORT_LOSSES,
	EXPORT_TABLES
};

#define EXPORT_COLUMNS 16 /* of a table, at most */

struct export_schema {
	const char *name;
	const struct table_column *columns; /* CELL_TEXT, or CELL_COUNT for integers */
	size_t ncolumns;
};
extern const struct export_schema export_schemas[EXPORT_TABLES];

enum interval_column {
	INTERVAL_THREAD,
	INTERVAL_STATE,
	INTERVAL_REASON,
	INTERVAL_BEGIN,
	INTERVAL_END,
	INTERVAL_NS,
	INTERVAL_CPU,
	INTERVAL_LEFT,
	INTERVAL_NEXT_TID,
	INTERVAL_CALL,
	INTERVAL_LOCK_OWNER,
	INTERVAL_LOCK_OWNER_TID,
	INTERVAL_STACK,
	INTERVAL_WAKER_STACK,
};

enum wait_column {
	WAIT_THREAD,
	WAIT_BEGIN,
	WAIT_END,
	WAIT_NS,
	WAIT_CPU,
	WAIT_WAKER_KIND,
	WAIT_WAKER,
	WAIT_WAKER_TID,
};

enum region_column {
	REGION_THREAD,
	REGION_FUNCTION,
	REGION_BEGIN,
	REGION_END,
	REGION_NS,
	REGION_DEPTH,
	REGION_INNER,
	REGION_RETURNED,
	REGION_CLASSES, /* from here on, the times by enum time_class */
	/* No column: the region begins with the one around it, or ends after it. */
	REGION_APART = REGION_CLASSES + TIME_CLASSES,
};

/* Takes one row; its texts stay the caller's. Returns 0, or -errno after one message. */
typedef int (*table_row_fn)(void *to, enum export_table table, const union cell *row);

/* Returns 0, or -errno after one message; of a damaged trace, 0 after the rows of the part before
 * the damage, and request->damaged. */
int tables_walk(struct export_request *request, table_row_fn row, void *to)
	__attribute__((warn_unused_result));

#endif
