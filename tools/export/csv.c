/* SPDX-License-Identifier: MIT */
/*
 * csv: the tables of a trace as a directory with a file TABLE.csv for each.
 *
 * In: rows (trace_tables.h); out: files by RFC 4180, but with line feeds alone, whose first line
 * has the names of the columns. Invariant: the directory has its name only when all files are
 * complete.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/export/trace_tables.h"
#include "tools/lib/new_file.h"
#include "trace/base/log.h"

struct csv {
	const char *path;
	struct new_file dir;
	struct printer out[EXPORT_TABLES];
	struct table tables[EXPORT_TABLES];
	bool open[EXPORT_TABLES];
};

static void file_name(char name[32], size_t table)
{
	snprintf(name, 32, "%s.csv", export_schemas[table].name);
}

static int refuse(const struct csv *csv, const char *file, int err)
{
	log_error("cannot write '%s/%s': %s", csv->path, file, strerror(-err));
	return err;
}

static int open_table(struct csv *csv, size_t i)
{
	const struct export_schema *schema = &export_schemas[i];
	char name[32];
	int fd;

	file_name(name, i);
	fd = openat(csv->dir.fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return refuse(csv, name, -errno);
	printer_open(&csv->out[i], fd);
	csv->open[i] = true;
	table_init(&csv->tables[i], schema->columns, schema->ncolumns, TABLE_CSV, &csv->out[i]);
	table_begin(&csv->tables[i]);
	return 0;
}

static int open_all(struct csv *csv)
{
	int err = new_file_open_directory(&csv->dir, csv->path);

	for (size_t i = 0; i < EXPORT_TABLES && err == 0; i++)
		err = open_table(csv, i);
	return err;
}

static int put_row(void *to, enum export_table table, const union cell *row)
{
	struct csv *csv = to;
	char name[32];

	table_row(&csv->tables[table], row);
	if (!csv->out[table].error)
		return 0;
	file_name(name, table);
	return refuse(csv, name, csv->out[table].error);
}

/* Returns the first error, after one message unless the walk has reported another one. */
static int close_table(struct csv *csv, size_t i, bool quiet)
{
	struct printer *out = &csv->out[i];
	char name[32];
	int err, fd = out->fd;

	printer_flush(out);
	err = out->error;
	free(out->buf);
	if (close(fd) < 0 && !err)
		err = -errno;
	csv->open[i] = false;
	file_name(name, i);
	return err && !quiet ? refuse(csv, name, err) : err;
}

static void remove_all(struct csv *csv)
{
	for (size_t i = 0; i < EXPORT_TABLES && csv->dir.fd >= 0; i++) {
		char name[32];

		file_name(name, i);
		unlinkat(csv->dir.fd, name, 0);
	}
}

int export_csv(struct export_request *request)
{
	struct csv csv = {.path = request->output};
	int err = open_all(&csv);

	if (!err)
		err = tables_walk(request, put_row, &csv);
	for (size_t i = 0; i < EXPORT_TABLES; i++) {
		int closed = csv.open[i] ? close_table(&csv, i, err) : 0;

		err = err ? err : closed;
	}
	if (!err)
		err = new_file_finish(&csv.dir);
	if (err)
		remove_all(&csv);
	new_file_abandon(&csv.dir);
	return err;
}
