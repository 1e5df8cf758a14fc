/* SPDX-License-Identifier: MIT */
/*
 * ovni-sync: the clock offsets between the nodes of a machine, for ovni-emu.
 *
 *   mpirun -N 1 ovni-sync       one process a node; writes ovni/clock-offsets.txt
 *
 * In: the monotonic clocks of all nodes, read through MPI messages; out: the table of offsets. Rank
 * 0 measures one host after the other, while the rest sleeps: a sample is the quickest of a few
 * exchanges, so its error is at most half the time of that exchange (clock_samples.h). Invariant: a
 * table that exists is replaced by a complete one or not at all.
 * Specification: tools.md 6; emulator.md 5.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tools/sync/clock_samples.h"
#include "trace/base/cli.h"
#include "trace/base/log.h"
#include "trace/base/text.h"

#define TABLE	    "clock-offsets.txt"
#define SAMPLES	    100
#define WARM_UP	    20 /* samples, at most as many as are taken */
#define TRIES	    8  /* exchanges of which one sample is the quickest */
#define SAMPLES_MAX 1000000
#define NAP_NS	    500000 /* between two polls of a waiting rank */
#define HOST_SIZE   256

enum tag { TAG_BEGIN = 1, TAG_PING, TAG_PONG };

struct request {
	const char *output; /* NULL: the default */
	uint64_t samples, drift;
	double wait; /* between the measures of -d, s */
	bool verbose;
};

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

/* Answers rank 0 with our clock until it ends the measurement. */
static void answer(void)
{
	for (;;) {
		int64_t exchanges, clock;
		int there = 0;

		/* A poll inside MPI would take a CPU from the measured ranks. */
		while (MPI_Iprobe(0, TAG_BEGIN, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE), !there)
			nap(NAP_NS / 1e9);
		MPI_Recv(&exchanges, 1, MPI_INT64_T, 0, TAG_BEGIN, MPI_COMM_WORLD,
			 MPI_STATUS_IGNORE);
		if (!exchanges)
			return;
		while (exchanges--) {
			MPI_Recv(NULL, 0, MPI_BYTE, 0, TAG_PING, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			clock = now();
			MPI_Send(&clock, 1, MPI_INT64_T, 0, TAG_PONG, MPI_COMM_WORLD);
		}
	}
}

static struct clock_sample exchange(int rank)
{
	int64_t before = now(), other;

	MPI_Send(NULL, 0, MPI_BYTE, rank, TAG_PING, MPI_COMM_WORLD);
	MPI_Recv(&other, 1, MPI_INT64_T, rank, TAG_PONG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	return clock_exchange(before, other, now());
}

static struct clock_sample sample(int rank)
{
	struct clock_sample best = exchange(rank);

	for (int i = 1; i < TRIES; i++)
		best = clock_better(best, exchange(rank));
	return best;
}

/* Measures the clock of a rank; `samples` has room for request->samples. */
static struct clock_offset measure(const struct request *request, int rank, const char *host,
				   struct clock_sample *samples)
{
	int n = (int)request->samples, warm_up = n < WARM_UP ? n : WARM_UP;
	int64_t exchanges = (int64_t)(warm_up + n) * TRIES;

	if (!rank)
		return (struct clock_offset){0};
	MPI_Send(&exchanges, 1, MPI_INT64_T, rank, TAG_BEGIN, MPI_COMM_WORLD);
	for (int i = 0; i < warm_up; i++)
		(void)sample(rank);
	for (int i = 0; i < n; i++)
		samples[i] = sample(rank);
	for (int i = 0; request->verbose && i < n; i++)
		printf("%s sample %d: offset %" PRIi64 " ns, error at most %" PRIi64 " ns\n", host,
		       i, samples[i].delta, samples[i].bound);
	return clock_sum_up(samples, (size_t)n);
}

/* ---- the output, in rank 0 ---- */

struct table {
	char *path, *temporary;
	FILE *out;
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
static int table_open(struct table *table, const char *path)
{
	const char *dir = getenv("OVNI_TRACEDIR");
	int err = -ENOMEM, fd;

	table->path = path ? strdup(path) : xasprintf("%s/" TABLE, dir && *dir ? dir : "ovni");
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
		log_error("cannot write '%s': %s", table->path ? table->path : TABLE,
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

static int write_table(const struct request *request, FILE *out, char (*hosts)[HOST_SIZE], int n,
		       struct clock_sample *samples)
{
	clock_print_titles(out);
	for (int rank = 0; rank < n; rank++) {
		struct clock_offset offset;

		if (first_of_host(hosts, rank) != rank)
			continue;
		offset = measure(request, rank, hosts[rank], samples);
		clock_print_row(out, rank, hosts[rank], &offset);
	}
	return 0;
}

/* -d: the offsets of all ranks, again and again. */
static int write_drift(const struct request *request, FILE *out, char (*hosts)[HOST_SIZE], int n,
		       struct clock_sample *samples)
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
			struct clock_offset offset = measure(request, rank, hosts[rank], samples);

			fprintf(out, " %-20" PRIi64, offset.median);
		}
		fputc('\n', out);
		if (fflush(out))
			return -errno;
	}
	return 0;
}

static int measure_all(const struct request *request, struct table *table, char (*hosts)[HOST_SIZE],
		       int n, struct clock_sample *samples)
{
	int err;

	for (int rank = 0; rank < n; rank++)
		if (first_of_host(hosts, rank) < 0)
			return -EINVAL;
	err = table_open(table, request->output);
	if (err)
		return err;
	if (request->drift > 1)
		return write_drift(request, table->out, hosts, n, samples);
	return write_table(request, table->out, hosts, n, samples);
}

static int lead(const struct request *request, char (*hosts)[HOST_SIZE], int n)
{
	struct clock_sample *samples = calloc((size_t)request->samples, sizeof(*samples));
	struct table table = {0};
	int err;

	if (samples)
		err = measure_all(request, &table, hosts, n, samples);
	else
		err = log_no_memory("for %d samples", (int)request->samples);
	for (int rank = 1; rank < n; rank++) {
		int64_t end = 0; /* exchanges */

		MPI_Send(&end, 1, MPI_INT64_T, rank, TAG_BEGIN, MPI_COMM_WORLD);
	}
	free(samples);
	return table_close(&table, err);
}

/* ---- the command line ---- */

#define TO(member) offsetof(struct request, member)

static int parse_wait(const struct cli_option *option, const char *text, void *to)
{
	double *wait = to;
	char *end;

	*wait = strtod(text, &end);
	if (end == text || *end || !(*wait >= 0 && *wait <= 86400))
		return cli_refuse(option, text, "not a number of seconds up to a day");
	return 0;
}

static const struct cli_option cli_options[] = {
	{"output", 'o', "FILE", cli_text, TO(output),
	 "write the table to FILE, not to " TABLE " in $OVNI_TRACEDIR or ovni"},
	{"samples", 'n', "N", cli_number, TO(samples), "samples of each clock (100)", .min = 1,
	 .max = SAMPLES_MAX},
	{"drift", 'd', "N", cli_number, TO(drift),
	 "measure N times and write how the offsets change", .min = 1, .max = SAMPLES_MAX},
	{"wait", 'w', "S", parse_wait, TO(wait), "seconds between two measurements of -d (5)"},
	{"verbose", 'v', NULL, cli_flag, TO(verbose),
	 "print each sample with the bound of its error"},
	{0},
};

static const struct cli cli = {
	.name = "ovni-sync",
	.about =
		"Measure the clock offsets between nodes, with one process per node, for ovni-emu.",
	.options = cli_options,
	.notes = "Examples:\n"
		 "  # into ovni/" TABLE "\n"
		 "  mpirun -N 1 ovni-sync\n\n"
		 "  # how they drift in an hour\n"
		 "  mpirun -N 1 ovni-sync -d 60 -w 60",
};

/* All processes read the same command line; only rank 0 reports its mistakes. The launchers of
 * OpenMPI, MPICH and Slurm tell each process its rank. */
static void silence_all_but_one(void)
{
	static const char *const ranks[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK",
					    "SLURM_PROCID"};

	for (size_t i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++) {
		const char *rank = getenv(ranks[i]);

		if (rank && strcmp(rank, "0") != 0) {
			int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

			dup2(fd, STDOUT_FILENO);
			dup2(fd, STDERR_FILENO);
			return;
		}
	}
}

int main(int argc, char **argv)
{
	struct request request = {.samples = SAMPLES, .wait = 5};
	char host[HOST_SIZE] = "", (*hosts)[HOST_SIZE] = NULL;
	int rank, n, err = 0;

	silence_all_but_one();
	cli_parse(&cli, argc, argv, &request);
	MPI_Init(&argc, &argv); /* MPI reports errors and ends the program */
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &n);
	gethostname(host, sizeof(host) - 1);
	if (rank == 0)
		hosts = calloc((size_t)n, sizeof(*hosts));
	if (rank == 0 && !hosts) {
		log_no_memory("for the names of %d hosts", n);
		MPI_Abort(MPI_COMM_WORLD, STATUS_FAILED);
		return STATUS_FAILED; /* not reached: MPI_Abort() is not declared noreturn */
	}
	MPI_Gather(host, sizeof(host), MPI_CHAR, hosts, sizeof(host), MPI_CHAR, 0, MPI_COMM_WORLD);
	if (rank == 0 && n == 1)
		log_warn("only one process: start it with mpirun, one process a node");
	if (rank == 0)
		err = lead(&request, hosts, n);
	else
		answer();
	free(hosts);
	MPI_Bcast(&err, 1, MPI_INT, 0, MPI_COMM_WORLD);
	MPI_Finalize();
	return err ? STATUS_FAILED : STATUS_COMPLETE;
}
