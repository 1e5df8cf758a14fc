/* SPDX-License-Identifier: MIT */
/* clock_table: see clock_table.h. */
#include "tools/sync/clock_table.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tools/sync/clock_samples.h"
#include "trace/base/array.h"
#include "trace/base/status.h"
#include "trace/base/files/input.h"
#include "trace/base/log.h"
#include "trace/base/text.h"

#define WARM_UP 20     /* samples, at most as many as are taken */
#define TRIES	8      /* exchanges of which one sample is the quickest */
#define NAP_NS	500000 /* between two polls of a waiting rank */
/* A host with a bound above BOUND_GOOD ns was busy: it is measured again, as long as the
 * measurement of all hosts takes less than a second. While the ranks run, no more samples are taken
 * after that: each may take some ms, and takes a CPU from them. */
#define BOUND_GOOD 50000
#define HOST_SIZE  256
#define LOOM	   "loom."

enum tag { TAG_BEGIN = 1, TAG_PING, TAG_PONG };

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void nap(double seconds)
{
	struct timespec t = {.tv_sec = (time_t)seconds};

	t.tv_nsec = (long)((seconds - (double)t.tv_sec) * 1e9);
	while (nanosleep(&t, &t) < 0 && errno == EINTR)
		;
}

/* ---- both ends of an exchange ---- */

/* Begins a measurement, or ends all of them: with what was measured of the clock of the rank. */
struct begin {
	int64_t more; /* 0: the end */
	int64_t clock, offset, bound;
};
#define BEGIN_WORDS (sizeof(struct begin) / sizeof(int64_t))

static void send_begin(const struct begin *begin, int rank)
{
	MPI_Send(begin, BEGIN_WORDS, MPI_INT64_T, rank, TAG_BEGIN, MPI_COMM_WORLD);
}

/* Answers rank 0 with our clock until it ends the measurement. */
static void answer(struct clock_sum *sum)
{
	for (;;) {
		struct begin begin;
		int64_t clock, more = 1;
		int there = 0;

		/* A poll inside MPI would take a CPU from the measured ranks. */
		while (MPI_Iprobe(0, TAG_BEGIN, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE), !there)
			nap(NAP_NS / 1e9);
		MPI_Recv(&begin, BEGIN_WORDS, MPI_INT64_T, 0, TAG_BEGIN, MPI_COMM_WORLD,
			 MPI_STATUS_IGNORE);
		if (!begin.more) {
			sum->own_clock = begin.clock;
			sum->own_offset = begin.offset;
			sum->own_bound = begin.bound;
			return;
		}
		while (more) {
			MPI_Recv(&more, 1, MPI_INT64_T, 0, TAG_PING, MPI_COMM_WORLD,
				 MPI_STATUS_IGNORE);
			clock = now();
			MPI_Send(&clock, 1, MPI_INT64_T, 0, TAG_PONG, MPI_COMM_WORLD);
		}
	}
}

static struct clock_sample exchange(int rank, int64_t more)
{
	int64_t before = now(), other;

	MPI_Send(&more, 1, MPI_INT64_T, rank, TAG_PING, MPI_COMM_WORLD);
	MPI_Recv(&other, 1, MPI_INT64_T, rank, TAG_PONG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	return clock_exchange(before, other, now());
}

static struct clock_sample sample(int rank, bool last)
{
	struct clock_sample best = exchange(rank, 1);

	for (int i = 1; i < TRIES; i++)
		best = clock_better(best, exchange(rank, !last || i + 1 < TRIES));
	return best;
}

/* Measures the clock of a rank once, with the samples after the warm-up; at the end of the part
 * with those that there are. */
static struct clock_offset measure_once(const struct clock_request *request, int rank,
					const char *host, struct clock_sample *samples,
					struct clock_part part)
{
	int n = (int)request->samples, warm_up = n < WARM_UP ? n : WARM_UP, taken = 0;
	bool last = false;

	send_begin(&(struct begin){.more = 1}, rank);
	while (!last) {
		last = taken + 1 == warm_up + n ||
		       (part.end && taken + 1 >= part.least && now() > part.end);
		samples[taken++] = sample(rank, last);
	}
	if (taken == warm_up + n)
		samples += warm_up;
	else
		n = taken;
	for (int i = 0; request->verbose && i < n; i++)
		printf("%s sample %d: offset %" PRIi64 " ns, error at most %" PRIi64 " ns\n", host,
		       i, samples[i].delta, samples[i].bound);
	/* the columns of the reference are those of all samples */
	return clock_sum_up(samples,
			    request->append ? clock_quickest(samples, (size_t)n) : (size_t)n);
}

/* Measures the clock of a rank; `samples` has room for request->samples and the warm-up. On busy
 * nodes all exchanges of one time slice may be slow, so the clock is measured again until the end
 * of its part. */
static struct clock_offset measure(const struct clock_request *request, int rank, const char *host,
				   struct clock_sample *samples, struct clock_part part)
{
	struct clock_offset best, next;

	if (!rank)
		return (struct clock_offset){.clock = now()};
	best = measure_once(request, rank, host, samples, part);
	while (request->append && best.bound > BOUND_GOOD && now() < part.end) {
		next = measure_once(request, rank, host, samples, part);
		best = next.bound < best.bound ? next : best;
	}
	return best;
}

/* ---- the output, in rank 0 ---- */

struct table {
	char *path, *temporary;
	FILE *out;
	struct begin *ends; /* of --append, of each rank */
	size_t rows;
	bool looms; /* without a row there is no table: readers refuse an empty one */
};

static int make_parents(const char *path)
{
	char *copy = strdup(path);
	int err = 0;

	if (!copy)
		return -ENOMEM;
	for (char *at = copy; *at; at++) {
		if (*at != '/' || at == copy)
			continue;
		*at = '\0';
		if (mkdir(copy, 0755) && errno != EEXIST) {
			err = -errno;
			break;
		}
		*at = '/';
	}
	free(copy);
	return err;
}

/* Opens the new table beside its final name. Returns 0, or -errno after a message. */
static int table_open(struct table *table, const struct clock_request *request)
{
	const char *dir = request->append ? request->append : getenv("OVNI_TRACEDIR");
	int err = -ENOMEM, fd;

	table->looms = request->looms;
	table->path = request->output ? strdup(request->output)
				      : xasprintf("%s/" CLOCK_TABLE, dir && *dir ? dir : "ovni");
	if (!table->path)
		goto out;
	table->temporary = xasprintf("%s.%ld", table->path, (long)getpid());
	if (!table->temporary)
		goto out;
	err = make_parents(table->path);
	if (err)
		goto out;
	fd = open(table->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	table->out = fd < 0 ? NULL : fdopen(fd, "w");
	err = table->out ? 0 : -errno;
out:
	if (err)
		log_error("cannot write '%s': %s", table->path ? table->path : CLOCK_TABLE,
			  strerror(-err));
	return err;
}

/* Renames the complete table to its final name. Returns 0 or -errno without a message. */
static int table_finish(struct table *table)
{
	int err = ferror(table->out) ? -EIO : 0;

	if (fclose(table->out) && !err)
		err = -errno;
	table->out = NULL;
	if (err)
		return err;
	if (table->looms && !table->rows)
		return unlink(table->temporary) || unlink(table->path) ? -errno : 0;
	return rename(table->temporary, table->path) ? -errno : 0;
}

/* Ends the table; after an error (`err`) it is removed. */
static int table_close(struct table *table, int err)
{
	if (table->out && !err) {
		err = table_finish(table);
		if (err)
			log_error("cannot write '%s': %s", table->path, strerror(-err));
		if (err)
			unlink(table->temporary);
	} else if (table->out) {
		fclose(table->out);
		unlink(table->temporary);
	}
	free(table->path);
	free(table->temporary);
	free(table->ends);
	return err;
}

/* ---- rank 0 ---- */

/* The first rank on the host of `rank`, which stands for the host. -EINVAL, after a message, if two
 * hosts have the same name for the emulator. */
static int first_of_host(char (*hosts)[HOST_SIZE], int rank)
{
	size_t length = clock_host_length(hosts[rank]);

	for (int i = 0; i < rank; i++) {
		if (clock_host_length(hosts[i]) != length || memcmp(hosts[i], hosts[rank], length))
			continue;
		if (strcmp(hosts[i], hosts[rank]) == 0)
			return i;
		log_error("the hosts %s and %s have the same name up to the first dot: the table "
			  "of clock offsets needs different ones",
			  hosts[i], hosts[rank]);
		return -EINVAL;
	}
	return rank;
}

static int write_table(const struct clock_request *request, FILE *out, char (*hosts)[HOST_SIZE],
		       int n, struct clock_sample *samples)
{
	clock_print_titles(out);
	for (int rank = 0; rank < n; rank++) {
		struct clock_offset offset;

		if (first_of_host(hosts, rank) != rank)
			continue;
		offset = measure(request, rank, hosts[rank], samples, (struct clock_part){0});
		clock_print_row(out, rank, hosts[rank], &offset);
	}
	return 0;
}

/* ---- a table with two measurements ---- */

struct rows {
	struct clock_row *list;
	size_t n;
};

static int read_rows(struct rows *rows, FILE *file, const char *path)
{
	char line[1024];

	for (unsigned number = 1; fgets(line, sizeof(line), file); number++) {
		struct clock_row *row;

		if (number == 1)
			continue; /* titles */
		row = ARRAY_ADD(rows->list, rows->n);
		if (!row)
			return log_no_memory("for the rows of '%s'", path);
		if (!clock_read_long_row(line, row)) {
			log_error("%s: line %u: not a row of ovni-sync --append: remove the table, "
				  "or choose another directory",
				  path, number);
			return -EINVAL;
		}
	}
	return ferror(file) ? -EIO : 0;
}

/* Reads the rows of the first measurement, if there was one. */
static int load_rows(struct rows *rows, const char *path, const char *reference)
{
	int fd = input_open(AT_FDCWD, path, INPUT_TEXT_MAX, NULL), err;
	FILE *file;

	if (fd == -ENOENT)
		return 0;
	file = fd < 0 ? NULL : fdopen(fd, "r");
	if (!file) {
		err = fd < 0 ? fd : -errno;
		log_error("cannot read '%s': %s", path, input_why(err, INPUT_TEXT_MAX));
		if (fd >= 0)
			close(fd);
		return err;
	}
	err = read_rows(rows, file, path);
	fclose(file);
	if (!err && rows->n &&
	    (strlen(rows->list[0].host) != clock_host_length(reference) ||
	     memcmp(rows->list[0].host, reference, clock_host_length(reference)))) {
		log_error("%s: its offsets are relative to %s, and rank 0 is now on %s: start "
			  "ovni-sync on the same nodes, in the same order",
			  path, rows->list[0].host, reference);
		err = -EINVAL;
	}
	return err;
}

static struct clock_row *row_of(struct rows *rows, const char *host)
{
	size_t length = clock_host_length(host);

	for (size_t i = 0; i < rows->n; i++)
		if (strlen(rows->list[i].host) == length &&
		    !memcmp(rows->list[i].host, host, length))
			return &rows->list[i];
	return NULL;
}

static void add_up(struct clock_sum *sum, const struct clock_row *row)
{
	int64_t length = row->end - row->first.clock;
	double drift = length > 0 ? fabs((double)(row->offset_end - row->first.median)) * 1e6 /
					    (double)length
				  : 0;

	if (llabs(row->first.median) > sum->largest)
		sum->largest = llabs(row->first.median);
	if (row->bound > sum->bound)
		sum->bound = row->bound;
	if (drift > sum->drift)
		sum->drift = drift;
}

/* Does a directory have an entry that begins with `prefix`? */
static bool has_entry(const char *path, const char *prefix)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	bool has = false;

	while (dir && !has && (entry = readdir(dir)))
		has = !strncmp(entry->d_name, prefix, strlen(prefix));
	if (dir)
		closedir(dir);
	return has;
}

/* Does the directory of a trace have streams of the host, in any of its looms? */
static bool has_streams(const char *trace, const char *host)
{
	DIR *dir = opendir(trace);
	char path[PATH_MAX];
	struct dirent *entry;
	bool has = false;

	while (dir && !has && (entry = readdir(dir))) {
		const char *loom = entry->d_name + strlen(LOOM);

		has = !strncmp(entry->d_name, LOOM, strlen(LOOM)) &&
		      clock_host_length(loom) == strlen(host) &&
		      !strncmp(loom, host, strlen(host)) &&
		      snprintf(path, sizeof(path), "%s/%s", trace, entry->d_name) <
			      (int)sizeof(path) &&
		      has_entry(path, "proc.");
	}
	if (dir)
		closedir(dir);
	return has;
}

/* --append: the first measurement makes the rows, the last one completes them. */
static int write_long_table(const struct clock_request *request, struct table *table,
			    char (*hosts)[HOST_SIZE], int n, struct clock_sample *samples,
			    struct clock_sum *sum)
{
	struct rows rows = {0};
	int64_t begin = now();
	int err = load_rows(&rows, table->path, hosts[0]), host = 0, nhosts = 0;

	for (int rank = 0; rank < n; rank++)
		nhosts += first_of_host(hosts, rank) == rank;
	for (int rank = 0; !err && rank < n; rank++) {
		struct clock_offset offset;
		struct clock_row *row;
		bool is_new;

		if (first_of_host(hosts, rank) != rank)
			continue;
		offset = measure(
			request, rank, hosts[rank], samples,
			clock_part(request->samples, begin, host++, nhosts, request->between));
		if (request->between && offset.bound > BOUND_GOOD)
			continue;
		table->ends[rank] = (struct begin){
			.clock = offset.clock, .offset = offset.median, .bound = offset.bound};
		row = row_of(&rows, hosts[rank]);
		is_new = !row;
		if (is_new)
			row = ARRAY_ADD(rows.list, rows.n);
		if (row)
			clock_row_add(row, is_new, rank, hosts[rank], &offset);
		else
			err = log_no_memory("for the rows of '%s'", table->path);
	}
	if (!err)
		clock_print_long_titles(table->out);
	for (size_t i = 0; !err && i < rows.n; i++) {
		if (request->looms && !has_streams(request->append, rows.list[i].host))
			continue;
		clock_print_long_row(table->out, &rows.list[i]);
		table->rows++;
		add_up(sum, &rows.list[i]);
	}
	free(rows.list);
	return err;
}

/* -d: the offsets of all ranks, again and again. */
static int write_drift(const struct clock_request *request, FILE *out, char (*hosts)[HOST_SIZE],
		       int n, struct clock_sample *samples)
{
	fprintf(out, "%-20s", "wallclock");
	for (int rank = 0; rank < n; rank++)
		fprintf(out, " %-20s", hosts[rank]);
	fputc('\n', out);
	for (uint64_t i = 0; i < request->drift; i++) {
		struct timespec t;

		if (i)
			nap(request->wait);
		clock_gettime(CLOCK_REALTIME, &t);
		fprintf(out, "%-20.6f", (double)t.tv_sec + (double)t.tv_nsec / 1e9);
		for (int rank = 0; rank < n; rank++) {
			struct clock_offset offset = measure(request, rank, hosts[rank], samples,
							     (struct clock_part){0});

			fprintf(out, " %-20" PRIi64, offset.median);
		}
		fputc('\n', out);
		if (fflush(out))
			return -errno;
	}
	return 0;
}

static int measure_all(const struct clock_request *request, struct table *table,
		       char (*hosts)[HOST_SIZE], int n, struct clock_sample *samples,
		       struct clock_sum *sum)
{
	int err;

	for (int rank = 0; rank < n; rank++)
		if (first_of_host(hosts, rank) < 0)
			return -EINVAL;
	err = table_open(table, request);
	if (err)
		return err;
	if (request->append)
		return write_long_table(request, table, hosts, n, samples, sum);
	if (request->drift > 1)
		return write_drift(request, table->out, hosts, n, samples);
	return write_table(request, table->out, hosts, n, samples);
}

static int lead(const struct clock_request *request, char (*hosts)[HOST_SIZE], int n,
		struct clock_sum *sum)
{
	struct clock_sample *samples = calloc((size_t)request->samples + WARM_UP, sizeof(*samples));
	struct table table = {.ends = calloc((size_t)n, sizeof(*table.ends))};
	const struct begin end = {0};
	int err;

	if (samples && table.ends)
		err = measure_all(request, &table, hosts, n, samples, sum);
	else
		err = log_no_memory("for %d samples", (int)request->samples);
	for (int rank = 1; rank < n; rank++)
		send_begin(table.ends ? &table.ends[rank] : &end, rank);
	free(samples);
	return table_close(&table, err);
}

int clock_table_measure(const struct clock_request *request, struct clock_sum *sum)
{
	char host[HOST_SIZE] = "", (*hosts)[HOST_SIZE] = NULL;
	struct clock_sum unwanted;
	int rank, n, err = 0;

	sum = sum ? sum : &unwanted;
	*sum = (struct clock_sum){0};
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &n);
	gethostname(host, sizeof(host) - 1);
	if (rank == 0)
		hosts = calloc((size_t)n, sizeof(*hosts));
	if (rank == 0 && !hosts) {
		log_no_memory("for the names of %d hosts", n);
		MPI_Abort(MPI_COMM_WORLD, STATUS_FAILED);
		return -ENOMEM; /* not reached: MPI_Abort() is not declared noreturn */
	}
	MPI_Gather(host, sizeof(host), MPI_CHAR, hosts, sizeof(host), MPI_CHAR, 0, MPI_COMM_WORLD);
	if (rank == 0)
		err = lead(request, hosts, n, sum);
	else
		answer(sum);
	free(hosts);
	MPI_Bcast(&err, 1, MPI_INT, 0, MPI_COMM_WORLD);
	return err;
}
