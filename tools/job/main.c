/* SPDX-License-Identifier: MIT */
/*
 * ovni-job: records a parallel job on all of its nodes, beside it.
 *
 *   srun --overlap -N4 -n4 --ntasks-per-node=1 ovni-job -o trace &
 *   srun -N4 -n256 ./app
 *
 * An MPI program with one process per node; more on a node do nothing. In: the processes of the job
 * with a rank; out: one directory with a loom of each node, the offsets of their clocks at both
 * ends and now and then between them, and one report by rank 0. Each process starts the recorder of
 * its node as a child (recorder_child.h), and measures the clocks (clock_table.h).
 *
 *   directory ─► clocks ─► recorders ─► rounds until all record ─► rounds until the job has ended,
 *             with further measurements of the clocks ─► recorders end ─► clocks ─► report
 *
 * A round is one MPI_Iallreduce() of what each process knows, so that all decide the same, at the
 * same point. Invariant: nothing of the job waits for us, and no recorder for another one.
 * Specification: job.md 4.1, 4.4, 4.7.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <mpi.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tools/job/recorder_child.h"
#include "tools/lib/job_table.h"
#include "tools/lib/printer.h"
#include "tools/sync/clock_table.h"
#include "tools/sync/first_rank.h"
#include "trace/base/array.h"
#include "trace/base/cli.h"
#include "trace/base/files/input.h"
#include "trace/base/log.h"
#include "trace/base/status.h"
#include "trace/base/text.h"
#include "trace/ovni/clock_fix.h"
#include "trace/ovni/job_file.h"

#define RECORDER    "ovni-bpf"
#define ROUND_NS    100000000 /* between two rounds */
#define NAP_NS	    5000000   /* between two looks at a round */
#define HOST_SIZE   256
#define OPTIONS_MAX 256 /* of the recorder */
#define SECOND	    1000000000ull

struct settings {
	const char *output;
	uint64_t timeout_ns;
	uint64_t clocks_ns; /* between two measurements of the clocks */
	char **recorder;    /* options of the recorder, ended by NULL */
};

#define TO(member) offsetof(struct settings, member)

static const struct cli_option cli_options[] = {
	{"output", 'o', "DIR", cli_text, TO(output),
	 "directory of the trace, which all nodes reach; empty, not there, or of this job "
	 "(default: "
	 "ovni)"},
	{"job-timeout", 0, "TIME", cli_time, TO(timeout_ns),
	 "begin without a node whose recorder has not begun in this time, and end without a rank "
	 "that "
	 "does not come in this time after all others have ended (default: 30s)",
	 .min = 1000000, .max = 3600 * SECOND},
	{"clock-interval", 0, "TIME", cli_time, TO(clocks_ns),
	 "measure the clocks so often in a recording that takes more than twice this time "
	 "(default: 5min)",
	 .min = SECOND, .max = 86400 * SECOND},
	{0},
};

static int take_operands(void *settings, char **operands)
{
	((struct settings *)settings)->recorder = operands;
	return 0;
}

static const struct cli cli = {
	.name = "ovni-job",
	.synopsis = "ovni-job [OPTION]... [-- OPTIONS of ovni-bpf]",
	.about = "Record a parallel job on all of its nodes, beside it: an MPI program with one "
		 "process per node.",
	.options = cli_options,
	.command = true,
	.finish = take_operands,
	.notes = "Members are the processes of the same job of Slurm that have a rank, and their "
		 "children; with\nOVNI_JOB in the environment those with the same value of it.\n\n"
		 "Examples:\n"
		 "  # in a script of Slurm; the program needs no change\n"
		 "  srun --overlap -N4 -n4 --ntasks-per-node=1 ovni-job -o trace &\n"
		 "  srun -N4 -n256 ./app; wait\n\n"
		 "  # Open MPI without Slurm, with the calls of MPI\n"
		 "  export OVNI_JOB=$$\n"
		 "  mpirun -x OVNI_JOB -n 4 --map-by ppr:1:node ovni-job -o trace -- --api mpi &\n"
		 "  mpirun -x OVNI_JOB -n 256 ./app; wait",
};

/* What all processes know after a round. */
struct known {
	int waiting; /* nodes whose recorder has not begun, and has not failed */
	int alive;   /* recorders that have not ended */
	int ready;   /* recorders that have begun */
	int ranks;   /* seen so far */
	int running; /* threads of the job */
	int stop;    /* signals that end it */
	int size;    /* of the job; -1: not known */
};

struct ovni_job {
	struct settings settings;
	int rank, n;
	int nodes;
	int told;   /* recorders that had begun, as last reported */
	bool leads; /* the first process of this host */
	struct recorder_child child;
	int64_t recorder;	    /* the pid of the child, also after its end */
	struct clock_point *points; /* of the clock of this host, from the first one on */
	size_t npoints;
	char path[PATH_MAX]; /* of the recorder */
};

enum next { END, GO_ON, MEASURE };
enum clock_place { FIRST, BETWEEN, LAST };

static volatile sig_atomic_t stopped;

static void on_signal(int number)
{
	(void)number;
	stopped = 1;
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

static void nap(long ns)
{
	const struct timespec t = {.tv_nsec = ns};

	nanosleep(&t, NULL);
}

/* ---- rounds ---- */

/* Waits without a busy loop: MPI's own wait takes a whole CPU from the job. */
static void wait_for(MPI_Request *requests, int n)
{
	int done = 0;

	while (MPI_Testall(n, requests, &done, MPI_STATUSES_IGNORE), !done)
		nap(NAP_NS);
}

static struct known round_of(struct ovni_job *job)
{
	struct recorder_child *child = &job->child;
	MPI_Request requests[2];
	int mine[6], all[6], size;

	if (job->leads)
		recorder_child_poll(child);
	mine[0] = child->pid && !child->ready;
	mine[1] = child->pid != 0;
	mine[2] = child->ready;
	mine[3] = child->ranks;
	mine[4] = child->running;
	mine[5] = stopped;
	MPI_Iallreduce(mine, all, 6, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
	MPI_Iallreduce(&child->size, &size, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &requests[1]);
	wait_for(requests, 2);
	return (struct known){all[0], all[1], all[2], all[3], all[4], all[5], size};
}

/* The same decision everywhere, though clocks differ: that of rank 0. */
static int decide(int value)
{
	MPI_Request request;

	MPI_Ibcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD, &request);
	wait_for(&request, 1);
	return value;
}

/* Reports the recorders that have begun, and later those that came late. */
static void tell_ready(struct ovni_job *job, const struct known *k)
{
	if (k->ready > job->told && !job->rank)
		log_report("recording %d of %d node%s to %s", k->ready, job->nodes,
			   plural((uint64_t)job->nodes, "", "s"), job->settings.output);
	job->told = k->ready;
}

/* Rounds until all recorders have begun, have failed, or take too long. */
static struct known wait_ready(struct ovni_job *job)
{
	uint64_t end = now() + job->settings.timeout_ns;
	struct known k;

	while (k = round_of(job), decide(k.waiting && !k.stop && now() < end))
		nap(ROUND_NS / 2);
	tell_ready(job, &k);
	return k;
}

/* ---- clocks ---- */

/* Measures the clocks. 0, or -errno after one message. Measurements that contradict each other by
 * more than a clock drifts: the last one counts. A host whose clock all others are compared to has
 * no points. */
static int measure(struct ovni_job *job, enum clock_place place)
{
	const struct clock_request request = {.append = job->settings.output,
					      .samples = CLOCK_SAMPLES,
					      .looms = place == LAST,
					      .between = place == BETWEEN};
	struct clock_sum sum;
	struct clock_point point, *added;
	int err = clock_table_measure(&request, &sum);

	if (err || !job->leads || !job->rank || !sum.own_clock)
		return err;
	point = (struct clock_point){sum.own_clock, sum.own_offset, sum.own_bound};
	while (job->npoints > 1 && !clock_point_follows(&job->points[job->npoints - 1], &point))
		job->npoints--;
	if (place == LAST || (job->npoints && !clock_point_follows(job->points, &point)))
		return 0;
	added = ARRAY_ADD(job->points, job->npoints);
	if (added)
		*added = point;
	else
		log_no_memory("for the measurements of the clock");
	return 0;
}

/* The measurements after the first and before the last one, which the table has. */
static void put_points(const struct ovni_job *job)
{
	int dir = job->npoints > 1 ? input_open_directory(AT_FDCWD, job->settings.output) : -1;

	if (dir < 0)
		return;
	job_node_put_points(dir, job->recorder, job->points + 1, job->npoints - 1);
	close(dir);
}

/* Rounds until the job has ended: no thread of it runs, and all its ranks were there. Without the
 * number of its ranks, or if one does not come, also after a while. */
static void wait_end(struct ovni_job *job)
{
	uint64_t quiet = 0; /* since then no thread runs; 0: one does, or none has come */
	uint64_t clocks = now() + 2 * job->settings.clocks_ns;
	unsigned measured = 0;
	struct known k;
	int next;

	do {
		bool idle, go_on;

		nap(ROUND_NS);
		k = round_of(job);
		tell_ready(job, &k);
		idle = k.ranks && !k.running;
		quiet = !idle ? 0 : quiet ? quiet : now();
		go_on = !k.stop && k.alive &&
			!(idle && ((k.size > 0 && k.ranks >= k.size) ||
				   now() - quiet > job->settings.timeout_ns));
		next = !go_on						? END
		       : now() > clocks && measured < CLOCK_POINTS_MOST ? MEASURE
									: GO_ON;
		next = decide(next);
		if (next == MEASURE) {
			(void)!measure(job, BETWEEN);
			clocks = now() + job->settings.clocks_ns;
			measured++;
		}
	} while (next != END);
}

/* All recorders end; one that was killed cannot say so itself. */
static void end_recorders(struct ovni_job *job)
{
	int dir;

	recorder_child_stop(&job->child);
	while (round_of(job).alive)
		nap(ROUND_NS / 2);
	if (!job->leads || !WIFSIGNALED(job->child.status))
		return;
	dir = input_open_directory(AT_FDCWD, job->settings.output);
	if (dir >= 0) {
		char why[64];

		snprintf(why, sizeof(why), "the recorder was killed by signal %d",
			 WTERMSIG(job->child.status));
		job_node_killed(dir, job->recorder, why);
		close(dir);
	}
}

/* ---- the begin ---- */

/* A launcher binds the only process of a node to a CPU that a rank has, too. The clocks and the
 * recorder, which inherits this, may use any CPU of the job. */
static void unbind(void)
{
	cpu_set_t all;

	memset(&all, 0xff, sizeof(all));
	if (sched_setaffinity(0, sizeof(all), &all))
		log_debug("cannot leave the CPUs of the launcher: %s", strerror(errno));
}

/* Standard error goes nowhere, but for rank 0. Returns a descriptor for unmute(). */
static int mute(void)
{
	int kept = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	int null = is_first_rank() ? -1 : open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (null >= 0) {
		dup2(null, STDERR_FILENO);
		close(null);
	}
	return kept;
}

static void unmute(int kept)
{
	dup2(kept, STDERR_FILENO);
	close(kept);
}

/* Finds the recorder beside this program. */
static int find_recorder(struct ovni_job *job)
{
	ssize_t n = readlink("/proc/self/exe", job->path, sizeof(job->path) - sizeof(RECORDER));
	char *slash;

	job->path[n > 0 ? n : 0] = '\0';
	slash = strrchr(job->path, '/');
	snprintf(slash ? slash + 1 : job->path, sizeof(RECORDER), "%s", RECORDER);
	if (!access(job->path, X_OK))
		return 0;
	log_error("cannot execute '%s': %s", job->path, strerror(errno));
	return -errno;
}

/* The directory of the trace must be empty, not there, or have another step of our job: nothing of
 * another job is touched. */
static int check_directory(const char *path)
{
	struct job files = {0};
	char id[JOB_ID_MAX];
	DIR *dir = opendir(path);
	struct dirent *entry;
	int err = 0;

	if (!dir && errno == ENOENT)
		return 0;
	if (!dir) {
		err = -errno;
		log_error("cannot read the directory '%s': %s", path, strerror(-err));
		return err;
	}
	while (!err && (entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			err = -EEXIST;
	if (err && !job_read(&files, dirfd(dir)) && files.napps && job_of_process(id) &&
	    !strcmp(files.apps[0].job, id))
		err = 0;
	job_free(&files);
	closedir(dir);
	if (err)
		log_error("'%s' exists, and is not empty: choose another directory with -o", path);
	return err;
}

static void find_nodes(struct ovni_job *job)
{
	char host[HOST_SIZE] = "", (*hosts)[HOST_SIZE] = calloc((size_t)job->n, sizeof(*hosts));

	if (!hosts) {
		log_no_memory("for the names of %d hosts", job->n);
		MPI_Abort(MPI_COMM_WORLD, STATUS_FAILED);
		return;
	}
	gethostname(host, sizeof(host) - 1);
	MPI_Allgather(host, sizeof(host), MPI_CHAR, hosts, sizeof(host), MPI_CHAR, MPI_COMM_WORLD);
	for (int i = 0; i < job->n; i++) {
		int first = 0;

		while (strcmp(hosts[first], hosts[i]))
			first++;
		job->nodes += first == i;
		job->leads |= first == i && i == job->rank;
	}
	free(hosts);
}

static int start_recorder(struct ovni_job *job)
{
	char timeout[32], nodes[16], *argv[OPTIONS_MAX + 10];
	int n = 0;

	snprintf(nodes, sizeof(nodes), "%d", job->nodes);
	snprintf(timeout, sizeof(timeout), "%lluns", (unsigned long long)job->settings.timeout_ns);
	argv[n++] = job->path;
	argv[n++] = (char *)"--job-node";
	argv[n++] = (char *)"--nodes";
	argv[n++] = nodes;
	argv[n++] = (char *)"-o";
	argv[n++] = (char *)job->settings.output;
	for (char **option = job->settings.recorder; *option && n < OPTIONS_MAX; option++)
		argv[n++] = *option;
	argv[n] = NULL;
	n = recorder_child_start(&job->child, argv);
	job->recorder = job->child.pid;
	return n;
}

/* ---- the end ---- */

/* The last line, for programs. */
static void print_last(const struct ovni_job *job, const struct job *files,
		       const struct clock_table *clocks, enum status status)
{
	uint64_t threads = 0, events = 0, lost = 0;

	for (size_t i = 0; i < files->nnodes; i++) {
		threads += files->nodes[i].threads;
		events += files->nodes[i].events;
		lost += files->nodes[i].lost;
	}
	log_report(
		"recorded dir=%s threads=%" PRIu64 " events=%" PRIu64 " lost=%" PRIu64
		" nodes=%d nodes_complete=%zu ranks=%d ranks_recorded=%zu clock_bound_ns=%" PRIi64
		" status=%d",
		text_shown(job->settings.output), threads, events, lost, job->nodes,
		job_complete_nodes(files), job_expected_ranks(files), job_recorded_ranks(files),
		clocks->n ? clock_table_bound(clocks) : CLOCK_BOUND_UNKNOWN, status);
}

static enum status judge(const struct job *files, const char *path)
{
	char text[JOB_TEXT];

	if (!files->is) {
		log_error("no node has recorded anything to '%s'", path);
		return STATUS_FAILED;
	}
	if (!files->nnodes || !job_recorded_ranks(files))
		log_warn("no process of the job was seen");
	if (!*job_text(files, text))
		return STATUS_COMPLETE;
	log_warn("%s is incomplete: %s", path, text);
	return STATUS_LOST;
}

/* The report, in rank 0. Returns the exit status. */
static enum status report(const struct ovni_job *job)
{
	int dir = input_open_directory(AT_FDCWD, job->settings.output), err = dir;
	enum status status = STATUS_FAILED;
	struct clock_table clocks = {0};
	struct job files = {0};
	struct printer out;

	if (dir >= 0)
		err = job_read(&files, dir);
	if (!err)
		err = clock_table_load(&clocks, dir, CLOCK_OFFSETS_FILE, true, true);
	if (!err) {
		printer_open(&out, STDERR_FILENO);
		if (files.nnodes)
			job_table_print(&out, "", &files, &clocks);
		status = printer_close(&out) ? STATUS_FAILED : judge(&files, job->settings.output);
		print_last(job, &files, &clocks, status);
	} else if (dir < 0) {
		log_error("cannot open '%s': %s", job->settings.output, strerror(-dir));
	}
	clock_table_fini(&clocks);
	job_free(&files);
	if (dir >= 0)
		close(dir);
	return status;
}

static enum status run(struct ovni_job *job)
{
	int err = job->rank ? 0 : check_directory(job->settings.output);

	if (!err && !job->rank)
		err = find_recorder(job);
	MPI_Bcast(&err, 1, MPI_INT, 0, MPI_COMM_WORLD);
	if (err || measure(job, FIRST))
		return STATUS_FAILED;
	if (job->leads && !find_recorder(job))
		(void)!start_recorder(job);
	if (wait_ready(job).alive)
		wait_end(job);
	end_recorders(job);
	err = measure(job, LAST);
	if (!err)
		put_points(job);
	MPI_Barrier(MPI_COMM_WORLD); /* rank 0 reads the files of all nodes */
	return job->rank ? STATUS_COMPLETE : err ? STATUS_FAILED : report(job);
}

int main(int argc, char **argv)
{
	struct ovni_job job = {.settings = {.output = "ovni",
					    .timeout_ns = 30 * SECOND,
					    .clocks_ns = 300 * SECOND},
			       .child = {.to = -1, .from = -1, .size = -1}};
	const struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	enum status status;
	int kept = mute();

	cli_parse(&cli, argc, argv, &job.settings);
	unmute(kept);
	MPI_Init(NULL, NULL); /* MPI reports errors and ends the program */
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &job.n);
	find_nodes(&job);
	unbind();
	status = run(&job);
	free(job.points);
	MPI_Finalize();
	return status;
}
