/* SPDX-License-Identifier: MIT */
#include "tools/lib/table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static bool make_room(struct table *table)
{
	size_t room = table->room ? 2 * table->room : 64;
	union cell *cells;

	if (table->nrows < table->room)
		return true;
	cells = realloc(table->cells, room * table->ncolumns * sizeof(*cells));
	if (!cells)
		return false;
	table->cells = cells;
	table->room = room;
	return true;
}

int table_add(struct table *table, const union cell *row)
{
	bool whole = make_room(table);

	for (size_t i = 0; i < table->ncolumns; i++)
		if (table->columns[i].kind == CELL_TEXT && !row[i].text)
			whole = false;
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
	int column;
	bool reverse;
};

static int compare_cells(const struct table *table, int column, size_t a, size_t b)
{
	const union cell *ca = &table->cells[a * table->ncolumns + column];
	const union cell *cb = &table->cells[b * table->ncolumns + column];

	if (table->columns[column].kind == CELL_TEXT)
		return strcmp(ca->text ? ca->text : "", cb->text ? cb->text : "");
	return ca->number < cb->number ? 1 : ca->number > cb->number ? -1 : 0;
}

static int compare(const void *pa, const void *pb, void *arg)
{
	const struct order *order = arg;
	size_t a = *(const size_t *)pa, b = *(const size_t *)pb;
	int result = compare_cells(order->table, order->column, a, b);

	if (result)
		return order->reverse ? -result : result;
	for (size_t i = 0; i < order->table->ncolumns && !result; i++)
		result = compare_cells(order->table, (int)i, a, b);
	return result ? result : a < b ? -1 : a > b;
}

int table_sort(struct table *table, int column, bool reverse)
{
	struct order order = {table, column, reverse};
	size_t *index = malloc((table->nrows + 1) * sizeof(*index));
	union cell *cells = malloc((table->room + 1) * table->ncolumns * sizeof(*cells));

	if (!index || !cells) {
		free(index);
		free(cells);
		return -ENOMEM;
	}
	for (size_t i = 0; i < table->nrows; i++)
		index[i] = i;
	qsort_r(index, table->nrows, sizeof(*index), compare, &order);
	for (size_t i = 0; i < table->nrows; i++)
		memcpy(cells + i * table->ncolumns, table->cells + index[i] * table->ncolumns,
		       table->ncolumns * sizeof(*cells));
	free(table->cells);
	free(index);
	table->cells = cells;
	return 0;
}

void table_duration(char *text, int64_t ns)
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

static void print_head(struct table *table, const int *widths)
{
	if (table->format == TABLE_JSON) {
		printer_text(table->out, "[");
		return;
	}
	for (size_t i = 0; i < table->ncolumns; i++) {
		const struct table_column *column = &table->columns[i];
		const char *text = column->header;

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
	printer_text(table->out, "\n");
}

static void print_csv_text(struct printer *out, const char *text)
{
	bool quote = strpbrk(text, ",\"\r\n") != NULL;

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

#define COLUMNS_MAX 16

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
	table->nrows = table->room = 0;
}
