/* SPDX-License-Identifier: MIT */
/* offsets: the table of clock offsets (see offsets.h). */
#include "emu/system/offsets.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/base/log.h"

#define FILE_MAX (64ul << 20)

struct host { /* of one loom; looms of one host have equal entries */
	const char *name;
	size_t length;
	struct loom *loom;
	bool listed; /* set in the first of equal entries */
};

static int compare_hosts(const void *a, const void *b)
{
	const struct host *x = a, *y = b;
	size_t n = x->length < y->length ? x->length : y->length;
	int order = memcmp(x->name, y->name, n);

	if (order)
		return order;
	return x->length < y->length ? -1 : x->length > y->length;
}

/* Returns one entry per loom, sorted by host; the caller frees. NULL: out of memory. */
static struct host *list_hosts(const struct system *sys)
{
	struct host *hosts = calloc(sys->nlooms + 1ul, sizeof(*hosts));

	if (!hosts)
		return NULL;
	for (uint32_t i = 0; i < sys->nlooms; i++) {
		hosts[i].name = sys->looms[i].name;
		hosts[i].length = loom_host_length(&sys->looms[i]);
		hosts[i].loom = &sys->looms[i];
	}
	qsort(hosts, sys->nlooms, sizeof(*hosts), compare_hosts);
	return hosts;
}

static char *skip_blanks(char *at)
{
	while (*at == ' ' || (*at >= '\t' && *at <= '\r'))
		at++;
	return at;
}

struct row {
	char *host;
	size_t host_length;
	double median;
};

/*
 * Returns 1 with a row, 0 for a line of blanks (the end), -EINVAL for a malformed line, -ERANGE
 * for an offset outside the range of a clock.
 */
static int parse_row(char *line, struct row *row)
{
	char *at = skip_blanks(line), *end;

	if (!*at)
		return 0;
	(void)strtol(at, &end, 10);
	if (end == at)
		return -EINVAL;
	row->host = skip_blanks(end);
	row->host_length = strcspn(row->host, " \t\v\f\r\n");
	if (!row->host_length)
		return -EINVAL;
	at = row->host + row->host_length;
	row->median = strtod(at, &end);
	if (end == at)
		return -EINVAL;
	for (int i = 0; i < 2; i++) { /* mean and deviation are required but not used */
		at = end;
		(void)strtod(at, &end);
		if (end == at)
			return -EINVAL;
	}
	return isfinite(row->median) && fabs(row->median) < 9e18 ? 1 : -ERANGE;
}

/* Applies the row to all looms of its host. */
static int apply(struct system *sys, struct host *hosts, const struct row *row, const char *path,
		 unsigned line)
{
	struct host key = {.name = row->host, .length = row->host_length};
	struct host *host = bsearch(&key, hosts, sys->nlooms, sizeof(*hosts), compare_hosts);

	if (!host) {
		log_error("%s: line %u: no loom of the trace is on the host '%.*s'", path, line,
			  (int)row->host_length, row->host);
		return -EINVAL;
	}
	while (host > hosts && compare_hosts(&host[-1], host) == 0)
		host--;
	if (host->listed) {
		log_error("%s: line %u: the host '%.*s' is listed twice", path, line,
			  (int)row->host_length, row->host);
		return -EINVAL;
	}
	host->listed = true;
	for (; host < hosts + sys->nlooms && compare_hosts(host, &key) == 0; host++)
		host->loom->offset = (int64_t)row->median;
	return 0;
}

int offsets_parse(struct system *sys, char *text, size_t size, const char *path)
{
	struct host *hosts;
	char *at = text, *end = text + size;
	unsigned line = 0, rows = 0;
	int err;

	if (!size) {
		log_error("%s: the file is empty: a table of clock offsets begins with a line of "
			  "titles",
			  path);
		return -EINVAL;
	}
	hosts = list_hosts(sys);
	if (!hosts) {
		log_no_memory("while reading %s", path);
		return -ENOMEM;
	}
	for (char *next; at < end; at = next) {
		struct row row;

		next = memchr(at, '\n', (size_t)(end - at));
		next = next ? next + 1 : end;
		if (next[-1] == '\n')
			next[-1] = '\0';
		if (++line == 1 || !*at)
			continue;
		err = parse_row(at, &row);
		if (err == 0)
			break;
		if (err < 0) {
			log_error("%s: line %u: %s", path, line,
				  err == -ERANGE
					  ? "the offset is out of range: it is in nanoseconds"
					  : "not a row of rank, host and three numbers");
			goto out;
		}
		rows++;
		err = apply(sys, hosts, &row, path, line);
		if (err)
			goto out;
	}
	err = rows ? 0 : -EINVAL;
	if (err)
		log_error("%s: no row after the line of titles", path);
out:
	free(hosts);
	return err;
}

int offsets_load(struct system *sys, int dir_fd, const char *path, bool optional)
{
	struct stat st;
	char *text = NULL;
	size_t size = 0, room;
	ssize_t n = 0;
	int err, fd;

	fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 && errno == ENOENT && optional) {
		if (sys->nlooms > 1)
			log_warn("%u looms without a table of clock offsets: treating their clocks "
				 "as equal (ovni-sync writes the table)",
				 sys->nlooms);
		return 0;
	}
	if (fd < 0)
		goto fail_errno;
	if (fstat(fd, &st))
		goto fail_errno;
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size > FILE_MAX) {
		log_error("%s: not a regular file of at most %lu MiB", path, FILE_MAX >> 20);
		close(fd);
		return -EINVAL;
	}
	room = (size_t)st.st_size + 1;
	text = malloc(room);
	if (!text)
		goto fail_errno;
	while (size + 1 < room && (n = read(fd, text + size, room - 1 - size)) > 0)
		size += (size_t)n;
	if (n < 0)
		goto fail_errno;
	close(fd);
	text[size] = '\0';
	err = offsets_parse(sys, text, size, path);
	free(text);
	return err;

fail_errno:
	err = -errno;
	log_error("%s: cannot read the clock offsets: %s", path, strerror(-err));
	free(text);
	if (fd >= 0)
		close(fd);
	return err;
}
