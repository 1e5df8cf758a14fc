/* SPDX-License-Identifier: MIT */
#include "tools/lib/table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/array.h"
#include "trace/base/text.h"

void table_init(struct table *table, const struct table_column *columns, size_t ncolumns,
		enum table_format format, struct printer *out)
{
	*table = (struct table){
		.columns = columns, .ncolumns = ncolumns, .format = format, .out = out};
}

int table_find(const struct table *table, const char *name)
{
	for (size_t i = 0; i < table->ncolumns; i++)
		if (!strcmp(table->columns[i].name, name))
			return (int)i;
	return -1;
}

int table_add(struct table *table, const union cell *row)
{
	union cell *cells =
		array_more(table->cells, table->nrows, table->ncolumns * sizeof(*cells));
	bool whole = cells;

	for (size_t i = 0; i < table->ncolumns; i++)
		if (table->columns[i].kind == CELL_TEXT && !row[i].text)
			whole = false;
	if (cells)
		table->cells = cells;
	if (!whole) {
		for (size_t i = 0; i < table->ncolumns; i++)
			if (table->columns[i].kind == CELL_TEXT)
				free(row[i].text);
		return -ENOMEM;
	}
	memcpy(table->cells + table->nrows++ * table->ncolumns, row,
	       table->ncolumns * sizeof(*row));
	return 0;
}

struct order {
	const struct table *table;
	size_t column;
	bool reverse;
};

static int compare_cells(const struct table *table, size_t column, const union cell *a,
			 const union cell *b)
{
	if (table->columns[column].kind == CELL_TEXT)
		return strcmp(a[column].text ? a[column].text : "",
			      b[column].text ? b[column].text : "");
	return (a[column].number < b[column].number) - (a[column].number > b[column].number);
}

/* Compares two rows. */
static int compare(const void *a, const void *b, void *arg)
{
	const struct order *order = arg;
	int result = compare_cells(order->table, order->column, a, b);

	if (result)
		return order->reverse ? -result : result;
	for (size_t i = 0; i < order->table->ncolumns && !result; i++)
		result = compare_cells(order->table, i, a, b);
	return result;
}

void table_sort(struct table *table, size_t column, bool reverse)
{
	struct order order = {table, column, reverse};

	if (table->nrows)
		qsort_r(table->cells, table->nrows, table->ncolumns * sizeof(*table->cells),
			compare, &order);
}

void table_duration(char text[DURATION_TEXT], int64_t ns)
{
	static const struct {
		int64_t ns;
		const char *unit;
	} units[] = {{1000000000, "s "}, {1000000, "ms"}, {1000, "us"}};

	for (size_t i = 0; i < 3; i++) {
		if (ns >= units[i].ns || ns <= -units[i].ns) {
			snprintf(text, 32, "%.3f %s", (double)ns / (double)units[i].ns,
				 units[i].unit);
			return;
		}
	}
	snprintf(text, 32, "%" PRId64 " ns", ns);
}

const char *duration_words(char text[DURATION_TEXT], int64_t ns)
{
	size_t n;

	table_duration(text, ns);
	for (n = strlen(text); n && text[n - 1] == ' '; n--)
		text[n - 1] = '\0';
	return text;
}

static void format_cell(const struct table_column *column, const union cell *cell, char *text)
{
	if (cell->number == CELL_UNKNOWN) {
		memcpy(text, "-", 2);
		return;
	}
	switch (column->kind) {
	case CELL_DURATION:
		table_duration(text, cell->number);
		break;
	case CELL_CLOCK:
		snprintf(text, 32, "%.6f", (double)cell->number / 1e9);
		break;
	case CELL_PERCENT:
		snprintf(text, 32, "%.2f", (double)cell->number / 1000);
		break;
	case CELL_RATIO:
		snprintf(text, 32, "%.3f", (double)cell->number / 1e6);
		break;
	default:
		snprintf(text, 32, "%" PRId64, cell->number);
		break;
	}
}

/* Characters on a terminal, escapes included, one column each. */
static size_t shown_width(const char *text)
{
	const char *end = text + strlen(text);
	size_t width = 0, n;

	for (; text < end; text += n) {
		bool shown;

		n = text_char(text, end);
		shown = n && text_printable(text, n);
		n = n ? n : 1;
		width += shown ? 1 : 4 * n; /* \xNN for each byte */
	}
	return width;
}

static int cell_width(const struct table_column *column, const union cell *cell)
{
	char text[32];

	if (column->kind == CELL_TEXT)
		return cell->text ? (int)shown_width(cell->text) : 0;
	format_cell(column, cell, text);
	return (int)strlen(text);
}

static void blanks(struct printer *out, int n)
{
	while (n-- > 0)
		printer_bytes(out, " ", 1);
}

static void print_cell(struct table *table, size_t i, const union cell *cell, int width)
{
	const struct table_column *column = &table->columns[i];
	char text[32];

	if (i)
		printer_bytes(table->out, "  ", 2);
	if (column->kind == CELL_TEXT) {
		const char *shown = cell->text ? cell->text : "";

		printer_escaped(table->out, shown, strlen(shown));
		if (i + 1 < table->ncolumns)
			blanks(table->out, width - cell_width(column, cell));
		return;
	}
	format_cell(column, cell, text);
	blanks(table->out, width - (int)strlen(text));
	printer_text(table->out, text);
}

static bool hidden(const struct table *table, size_t column)
{
	return table->hidden >> column & 1;
}

/* Chooses the columns to print, of which the first is always one. */
static void choose_columns(struct table *table)
{
	table->hidden = 0;
	for (size_t i = 1; i < table->ncolumns; i++) {
		enum column_shown shown = table->columns[i].shown;
		bool people = table->format == TABLE_TEXT, hide;

		hide = (shown == SHOW_DATA && people) || (shown == SHOW_PEOPLE && !people);
		if (shown == SHOW_IF_ANY && people) {
			hide = true;
			for (size_t r = 0; r < table->nrows && hide; r++) {
				const union cell *cell = &table->cells[r * table->ncolumns + i];

				if (table->columns[i].kind == CELL_TEXT)
					hide = !cell->text || !*cell->text;
				else
					hide = cell->number == 0 || cell->number == CELL_UNKNOWN;
			}
		}
		table->hidden |= (uint64_t)hide << i;
	}
}

static void print_head(struct table *table, const int *widths)
{
	if (table->format == TABLE_JSON) {
		printer_text(table->out, "[");
		return;
	}
	if (table->bold)
		printer_text(table->out, "\033[1m");
	for (size_t i = 0; i < table->ncolumns; i++) {
		const struct table_column *column = &table->columns[i];
		const char *text = column->header;

		if (hidden(table, i))
			continue;
		if (table->format == TABLE_CSV) {
			printer_text(table->out, i ? "," : "");
			printer_text(table->out, column->name);
			continue;
		}
		printer_text(table->out, i ? "  " : "");
		if (column->kind != CELL_TEXT)
			blanks(table->out, widths[i] - (int)strlen(text));
		printer_text(table->out, text);
		if (column->kind == CELL_TEXT && i + 1 < table->ncolumns)
			blanks(table->out, widths[i] - (int)strlen(text));
	}
	printer_text(table->out, table->bold ? "\033[0m\n" : "\n");
}

static void print_csv_text(struct printer *out, const char *text)
{
	bool quote = strpbrk(text, ",\"") != NULL;

	text = text_shown(text); /* a terminal may show it */
	if (quote)
		printer_text(out, "\"");
	for (; *text; text++) {
		printer_bytes(out, text, 1);
		if (*text == '"')
			printer_bytes(out, text, 1);
	}
	if (quote)
		printer_text(out, "\"");
}

static void print_row(struct table *table, const union cell *row, const int *widths)
{
	bool json = table->format == TABLE_JSON;

	if (json)
		printer_text(table->out, table->printed ? ",\n {" : "\n {");
	for (size_t i = 0; i < table->ncolumns; i++) {
		const struct table_column *column = &table->columns[i];
		const char *text = column->kind == CELL_TEXT && row[i].text ? row[i].text : "";

		if (hidden(table, i))
			continue;
		if (table->format == TABLE_TEXT) {
			print_cell(table, i, &row[i], widths[i]);
			continue;
		}
		printer_text(table->out, i ? "," : "");
		if (json) {
			printer_json_string(table->out, column->name, strlen(column->name));
			printer_text(table->out, ":");
		}
		if (column->kind == CELL_TEXT && json)
			printer_json_string(table->out, text, strlen(text));
		else if (column->kind == CELL_TEXT)
			print_csv_text(table->out, text);
		else if (row[i].number == CELL_UNKNOWN)
			printer_text(table->out, json ? "null" : "");
		else if (column->kind == CELL_PERCENT)
			printer_format(table->out, "%.3f", (double)row[i].number / 1000);
		else if (column->kind == CELL_RATIO)
			printer_format(table->out, "%.6f", (double)row[i].number / 1e6);
		else
			printer_format(table->out, "%" PRId64, row[i].number);
	}
	printer_text(table->out, json ? "}" : "\n");
	table->printed++;
}

static void print_foot(struct table *table)
{
	if (table->format == TABLE_JSON)
		printer_text(table->out, table->printed ? "\n]\n" : "]\n");
}

#define COLUMNS_MAX 24

static void least_widths(const struct table *table, int *widths)
{
	for (size_t i = 0; i < table->ncolumns && i < COLUMNS_MAX; i++) {
		int header = (int)strlen(table->columns[i].header);

		widths[i] = table->columns[i].width > header ? table->columns[i].width : header;
	}
}

void table_print(struct table *table, size_t most)
{
	int widths[COLUMNS_MAX] = {0};

	if (most == 0 || most > table->nrows)
		most = table->nrows;
	choose_columns(table);
	least_widths(table, widths);
	for (size_t r = 0; r < most; r++) {
		for (size_t i = 0; i < table->ncolumns; i++) {
			int width = cell_width(&table->columns[i],
					       &table->cells[r * table->ncolumns + i]);

			if (width > widths[i])
				widths[i] = width;
		}
	}
	print_head(table, widths);
	for (size_t r = 0; r < most; r++)
		print_row(table, table->cells + r * table->ncolumns, widths);
	print_foot(table);
	table_fini(table);
}

void table_begin(struct table *table)
{
	int widths[COLUMNS_MAX] = {0};

	least_widths(table, widths);
	print_head(table, widths);
}

void table_row(struct table *table, const union cell *row)
{
	int widths[COLUMNS_MAX] = {0};

	least_widths(table, widths);
	print_row(table, row, widths);
}

void table_end(struct table *table)
{
	print_foot(table);
}

void table_fini(struct table *table)
{
	for (size_t r = 0; r < table->nrows; r++)
		for (size_t i = 0; i < table->ncolumns; i++)
			if (table->columns[i].kind == CELL_TEXT)
				free(table->cells[r * table->ncolumns + i].text);
	free(table->cells);
	table->cells = NULL;
	table->nrows = 0;
}
