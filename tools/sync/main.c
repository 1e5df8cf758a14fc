/* SPDX-License-Identifier: MIT */
/*
 * ovni-sync: the clock offsets between the nodes of a machine, for ovni-emu.
 *
 *   mpirun -N 1 ovni-sync       one process a node; writes ovni/clock-offsets.txt
 *
 * In: the monotonic clocks of all nodes, read through MPI messages; out: the table of offsets
 * (clock_table.h).
 * Specification: tools.md 6; job.md 4.4; emulator.md 5.
 */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/sync/clock_table.h"
#include "tools/sync/first_rank.h"
#include "trace/base/cli.h"
#include "trace/base/log.h"

#define TO(member) offsetof(struct clock_request, member)

static int parse_wait(const struct cli_option *option, const char *text, void *to)
{
	double *wait = to;
	char *end;

	*wait = strtod(text, &end);
	if (end == text || *end || !(*wait >= 0 && *wait <= 86400))
		return cli_refuse(option, text, "not a number of seconds up to a day");
	return 0;
}

static bool appends_alone(const void *settings)
{
	const struct clock_request *request = settings;

	return !request->output && !request->drift;
}

static const struct cli_option cli_options[] = {
	{"output", 'o', "FILE", cli_text, TO(output),
	 "write the table to FILE, not to " CLOCK_TABLE " in $OVNI_TRACEDIR or ovni"},
	{"append", 'a', "TRACE", cli_text, TO(append),
	 "measure into the table of the directory TRACE: before the job, and once more after it",
	 .holds = appends_alone, .rule = "excludes -o and -d"},
	{"samples", 'n', "N", cli_number, TO(samples), "samples of each clock (100)", .min = 1,
	 .max = CLOCK_SAMPLES_MAX},
	{"drift", 'd', "N", cli_number, TO(drift),
	 "measure N times and write how the offsets change", .min = 1, .max = CLOCK_SAMPLES_MAX},
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
		 "  # into ovni/" CLOCK_TABLE "\n"
		 "  mpirun -N 1 ovni-sync\n\n"
		 "  # offsets and drift of a job, in two steps of its script\n"
		 "  srun -n $SLURM_NNODES --ntasks-per-node=1 ovni-sync --append trace\n\n"
		 "  # how they drift in an hour\n"
		 "  mpirun -N 1 ovni-sync -d 60 -w 60",
};

static void silence(void)
{
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

	dup2(fd, STDOUT_FILENO);
	dup2(fd, STDERR_FILENO);
}

int main(int argc, char **argv)
{
	struct clock_request request = {.samples = CLOCK_SAMPLES, .wait = 5};
	struct clock_sum sum;
	int rank, n, err;

	if (!is_first_rank())
		silence();
	cli_parse(&cli, argc, argv, &request);
	MPI_Init(&argc, &argv); /* MPI reports errors and ends the program */
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &n);
	if (rank == 0 && n == 1)
		log_warn("only one process: start it with mpirun, one process a node");
	err = clock_table_measure(&request, &sum);
	if (rank == 0 && !err && request.append)
		printf("largest offset %.9f s, drift up to %.3f ppm, each offset within %.3f us\n",
		       (double)sum.largest / 1e9, sum.drift, (double)sum.bound / 1e3);
	MPI_Finalize();
	return err ? STATUS_FAILED : STATUS_COMPLETE;
}
