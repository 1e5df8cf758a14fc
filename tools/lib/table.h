/* SPDX-License-Identifier: MIT */
/*
 * table: rows of figures, as columns for people, as JSON or CSV for programs.
 *
 * In: a description of the columns and rows of cells; out: text. A table is either kept, sorted and
 * cut to its first rows, or printed row by row as rows arrive (then the widths are from the
 * description). JSON and CSV have integers in ns and the names of the columns; the columns for
 * people pick a unit.
 */
#ifndef TOOLS_LIB_TABLE_H
#define TOOLS_LIB_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/lib/printer.h"

enum cell_kind {
	CELL_TEXT,     /* a string */
	CELL_COUNT,    /* an integer */
	CELL_DURATION, /* ns */
	CELL_CLOCK,    /* ns since the first event of the trace, shown in s */
	CELL_PERCENT,  /* in thousandths of a percent */
	CELL_RATIO,    /* in millionths, mostly of 1 */
};

enum table_format { TABLE_TEXT, TABLE_JSON, TABLE_CSV };

enum column_shown {
	SHOW_ALWAYS,
	SHOW_IF_ANY, /* for people only if a row has a value but 0 */
	SHOW_DATA,   /* only in JSON and CSV */
	SHOW_PEOPLE, /* only in the text */
};

struct table_column {
	const char *name;   /* in JSON, CSV and --sort: "wait_max" */
	const char *header; /* for people: "max wait" */
	enum cell_kind kind;
	int width; /* least, for people */
	enum column_shown shown;
};

union cell {
	int64_t number;
	char *text; /* owned by the table once the row is added; NULL is empty */
};

#define CELL_UNKNOWN INT64_MIN /* of a number: shown as "-", null in JSON */

struct table {
	const struct table_column *columns;
	size_t ncolumns;
	enum table_format format;
	struct printer *out;
	union cell *cells; /* of the kept rows */
	size_t nrows;
	uint64_t printed;
	bool bold;	 /* the head, on a terminal */
	uint64_t hidden; /* bits: columns that are not printed */
};

void table_init(struct table *table, const struct table_column *columns, size_t ncolumns,
		enum table_format format, struct printer *out);

/* The column with this name, or -1. */
int table_find(const struct table *table, const char *name);

/* Keeps a row (ncolumns cells). The table takes the ownership of the texts, even on failure. A text
 * that is NULL had no memory. Returns 0 or -ENOMEM. */
int table_add(struct table *table, const union cell *row) __attribute__((warn_unused_result));

/* Sorts the kept rows by a column: numbers falling, texts rising; the other way round if `reverse`.
 * Equal ones are sorted by the other columns, so that the order is total. */
void table_sort(struct table *table, size_t column, bool reverse);

/* Prints head, the first `most` kept rows (0: all) and foot, and frees them. */
void table_print(struct table *table, size_t most);

/* Row by row: */
void table_begin(struct table *table);
void table_row(struct table *table, const union cell *row); /* texts stay the caller's */
void table_end(struct table *table);

void table_fini(struct table *table);

/* part / whole in the unit of CELL_PERCENT (1/1000 %); CELL_UNKNOWN if `whole` is 0. */
static inline int64_t table_percent(int64_t part, int64_t whole)
{
	return whole > 0 ? (int64_t)((double)part * 100000 / (double)whole) : CELL_UNKNOWN;
}

#define DURATION_TEXT 32 /* bytes of room for a duration */

/* "1.234 ms" into `text`, or "1.234 s ", so that durations of a column end alike. */
void table_duration(char text[DURATION_TEXT], int64_t ns);
/* The same for a sentence, without a blank at its end. Returns `text`. */
const char *duration_words(char text[DURATION_TEXT], int64_t ns);

#endif
