/* SPDX-License-Identifier: MIT */
/*
 * sqlite: the tables of a trace as an SQLite database.
 *
 * In: rows (trace_tables.h); out: a file (new_file.h). Values are bound, never part of a statement.
 * There is no journal: a database that cannot be completed is removed.
 */
#include <errno.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/export/trace_tables.h"
#include "tools/lib/new_file.h"
#include "trace/base/log.h"

struct database {
	const char *path;
	struct new_file file;
	sqlite3 *db;
	sqlite3_stmt *inserts[EXPORT_TABLES];
};

static int refuse(const struct database *d)
{
	int code = d->db ? sqlite3_errcode(d->db) : SQLITE_NOMEM;

	if (code == SQLITE_NOMEM)
		return log_no_memory("for the database");
	log_error("cannot write '%s': %s", d->path, sqlite3_errmsg(d->db));
	return -EIO;
}

static int run(const struct database *d, const char *statement)
{
	return sqlite3_exec(d->db, statement, NULL, NULL, NULL) == SQLITE_OK ? 0 : refuse(d);
}

/* The first column of a table of subjects is their number. */
static bool has_number(enum export_table table)
{
	return table == EXPORT_PROCESSES || table == EXPORT_THREADS || table == EXPORT_FUNCTIONS;
}

static int create_table(struct database *d, enum export_table table)
{
	const struct export_schema *schema = &export_schemas[table];
	char create[1024], insert[256];
	int c, i, err;

	c = snprintf(create, sizeof(create), "CREATE TABLE %s", schema->name);
	i = snprintf(insert, sizeof(insert), "INSERT INTO %s VALUES ", schema->name);
	for (size_t k = 0; k < schema->ncolumns; k++) {
		const struct table_column *column = &schema->columns[k];

		c += snprintf(create + c, sizeof(create) - (size_t)c, "%s%s %s%s", k ? ", " : "(",
			      column->name, column->kind == CELL_TEXT ? "TEXT" : "INTEGER",
			      !k && has_number(table) ? " PRIMARY KEY" : "");
		i += snprintf(insert + i, sizeof(insert) - (size_t)i, "%s?", k ? ", " : "(");
	}
	snprintf(create + c, sizeof(create) - (size_t)c, ")");
	snprintf(insert + i, sizeof(insert) - (size_t)i, ")");
	err = run(d, create);
	if (err)
		return err;
	if (sqlite3_prepare_v2(d->db, insert, -1, &d->inserts[table], NULL) != SQLITE_OK)
		return refuse(d);
	return 0;
}

/* Opens the new file in SQLite: by its path in /proc/self/fd, in which SQLite follows no link. */
static int open_file(struct database *d)
{
	const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW;
	char link[32], name[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", d->file.fd);
	n = readlink(link, name, sizeof(name) - 1);
	if (n < 0) {
		log_error("cannot write '%s': %s: %s", d->path, link, strerror(errno));
		return -EIO;
	}
	name[n] = '\0';
	return sqlite3_open_v2(name, &d->db, flags, NULL) == SQLITE_OK ? 0 : refuse(d);
}

static int open_database(struct database *d)
{
	int err = new_file_open(&d->file, d->path);

	if (err)
		return err;
	/* one thread, and no statistics: no lock for each row and allocation; SQLite works as well
	 * if it refuses */
	sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
	sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
	err = open_file(d);
	if (err)
		return err;
	err = run(d, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; "
		     "PRAGMA locking_mode = EXCLUSIVE; PRAGMA page_size = 16384; BEGIN");
	for (enum export_table i = 0; i < EXPORT_TABLES && err == 0; i++)
		err = create_table(d, i);
	if (err)
		return err;
	return run(d, "CREATE VIEW wakeups AS SELECT * FROM waits WHERE waker_kind <> 'stayed'");
}

static int put_row(void *to, enum export_table table, const union cell *row)
{
	const struct database *d = to;
	const struct export_schema *schema = &export_schemas[table];
	sqlite3_stmt *insert = d->inserts[table];

	for (size_t i = 0; i < schema->ncolumns; i++) {
		int at = (int)i + 1;

		/* a failure is one without memory, which the step reports as well */
		if (schema->columns[i].kind == CELL_TEXT)
			sqlite3_bind_text(insert, at, row[i].text ? row[i].text : "", -1,
					  SQLITE_STATIC);
		else if (row[i].number == CELL_UNKNOWN)
			sqlite3_bind_null(insert, at);
		else
			sqlite3_bind_int64(insert, at, row[i].number);
	}
	if (sqlite3_step(insert) != SQLITE_DONE)
		return refuse(d);
	sqlite3_reset(insert);
	return 0;
}

int export_sqlite(struct export_request *request)
{
	struct database d = {.path = request->output};
	char version[64];
	int err = open_database(&d);

	if (!err)
		err = tables_walk(request, put_row, &d);
	if (!err) {
		snprintf(version, sizeof(version), "PRAGMA user_version = %d; COMMIT",
			 SCHEMA_VERSION);
		err = run(&d, version);
	}
	for (size_t i = 0; i < EXPORT_TABLES; i++)
		sqlite3_finalize(d.inserts[i]);
	if (sqlite3_close(d.db) != SQLITE_OK && !err)
		err = refuse(&d);
	if (!err)
		err = new_file_finish(&d.file);
	new_file_abandon(&d.file);
	return err;
}
