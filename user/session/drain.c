/* SPDX-License-Identifier: MIT */
/* drain: see drain.h. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "user/host/clock.h"
#include "user/session/drain.h"
#include "user/kernel/bpf_load.h"
#include "user/kernel/rings.h"
#include "user/host/lock.h"
#include "user/host/privilege.h"
#include "user/kernel/snapshot.h"
#include "user/sink/sink.h"
#include "user/timeline/state_times.h"
#include "trace/base/log.h"

#define INTERVAL_MIN_US 1000
#define INTERVAL_MAX_US 50000
#define FULL		(1.0 / 8)  /* a ring this full: come twice as often */
#define EMPTY		(1.0 / 32) /* all rings emptier: half as often */
#define OVERFLOWN	0.98	   /* a ring this full may have had no space for a record */
#define QUARTER_SECOND	250000000
#define SNAPSHOT_TRIES	200
#define RATE_MAX	64 /* bytes per us */

static int take(void *arg, unsigned cpu, const struct record_head *record)
{
	struct drain *drain = arg;

	if (__builtin_expect(atomic_load_explicit(&drain->hurry, memory_order_relaxed), 0))
		return -ECANCELED;
	if (state_times_record(drain->times, cpu, record))
		return log_no_memory("for the times of the threads");
	return sink_take(drain->sink, cpu, record);
}

static void publish_progress(struct drain *drain, double fullest)
{
	unsigned permille = (unsigned)(1000 * fullest);
	struct segment_result figures;
	uint64_t now = clock_now();

	sink_progress(drain->sink, &figures);
	atomic_store(&drain->records, figures.records);
	atomic_store(&drain->events, figures.events);
	atomic_store(&drain->streams, figures.threads);
	if (permille >= atomic_load(&drain->fullest) || now > drain->fullest_until) {
		atomic_store(&drain->fullest, permille);
		drain->fullest_until = now + QUARTER_SECOND;
	}
}

/* How long this thread was runnable and had no CPU, ns; 0 if the kernel does not count it. */
static uint64_t time_without_cpu(const struct drain *drain)
{
	char text[64] = "", *end;
	ssize_t n = pread(drain->schedstat_fd, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return 0;
	strtoull(text, &end, 10); /* on a CPU */
	return strtoull(end, NULL, 10);
}

/* Keeps the longest time between two reads of the rings after which one had overflown. `before` is a
 * clock before this read: the process may be stopped beside any line. */
static void note_delay(struct drain *drain, uint64_t before, double fullest)
{
	struct drain_delay delay = {.ns = clock_now() - drain->read_clock};
	uint64_t without_cpu = time_without_cpu(drain);

	delay.without_cpu_ns = without_cpu - drain->without_cpu_ns;
	if (fullest >= OVERFLOWN && delay.ns > drain->delay.ns)
		drain->delay = delay;
	drain->read_clock = before;
	drain->without_cpu_ns = without_cpu;
}

/* Takes the records below the watermark. */
static int release(struct drain *drain)
{
	uint64_t now = clock_now(), watermark = now - RINGS_SLACK_NS;
	double fullest;
	int err;

	rings_refresh(drain->rings);
	fullest = rings_fullest(drain->rings);
	note_delay(drain, now, fullest);
	pthread_mutex_lock(&drain->lock);
	err = rings_release(drain->rings, watermark, take, drain);
	drain->released = rings_released(drain->rings);
	pthread_mutex_unlock(&drain->lock);
	if (!err)
		err = sink_advance(drain->sink, rings_released(drain->rings));
	if (fullest > FULL && drain->interval_us > INTERVAL_MIN_US)
		drain->interval_us /= 2;
	else if (fullest < EMPTY)
		drain->interval_us += drain->interval_us / 2 + 1;
	if (drain->interval_us > drain->interval_max_us)
		drain->interval_us = drain->interval_max_us;
	publish_progress(drain, fullest);
	return err;
}

static void pause_us(struct drain *drain, unsigned us)
{
	struct pollfd wake = {.fd = drain->wake_fd, .events = POLLIN};
	struct timespec time = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000L};

	ppoll(&wake, 1, &time, NULL);
}

/*
 * Closes the window, and reads the tasks: once a task runs, the scheduler no longer knows that it
 * waited for a CPU. Then each CPU writes one more record, which reports a gap before it; a ring
 * without space for it is emptied first. Reading the tasks may take long, so the rings are emptied
 * before and after it.
 */
static int close_window(struct drain *drain)
{
	uint64_t clock;
	int err = release(drain);

	if (err)
		return err;
	err = bpf_load_close_window(drain->bpf, &drain->t1);
	if (err)
		return err;
	window_edge_read(&drain->end, "/proc", drain->bpf->npossible);
	sink_stop(drain->sink, drain->t1, &drain->end);
	state_times_stop(drain->times, drain->t1);
	err = snapshot_tasks(drain->bpf, false, drain->tasks);
	if (err)
		return err;
	err = release(drain);
	if (err)
		return err;
	for (unsigned i = 0; i < drain->ncpus; i++) {
		for (unsigned tries = 0; tries < SNAPSHOT_TRIES; tries++) {
			err = snapshot_take(drain->bpf, drain->cpus[i], SNAPSHOT_STOP, &clock);
			if (err != -ENOBUFS)
				break;
			err = release(drain);
			if (err)
				return err;
		}
		if (err && err != -ENXIO) /* it has gone offline */
			log_warn("cannot read the current task of CPU %u at the end: %s",
				 drain->cpus[i], strerror(-err));
	}
	return 0;
}

/* No program writes to the rings any more: takes all records. */
static int take_remaining(struct drain *drain)
{
	int err;

	rings_refresh(drain->rings);
	err = rings_release(drain->rings, UINT64_MAX, take, drain);
	publish_progress(drain, 0);
	return err;
}

static void *run(void *arg)
{
	struct drain *drain = arg;
	int err;

	drain->schedstat_fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	privilege_go_first();
	privilege_keep(PRIVILEGE_DRAIN);
	/* after both, which these threads inherit */
	if (drain->rings->nrings >= 2 * RINGS_OF_GROUP &&
	    rings_split(drain->rings, drain->rings->nrings / RINGS_OF_GROUP))
		log_warn(
			"cannot start the threads that copy records: one thread reads all buffers");
	while (!atomic_load(&drain->stop)) {
		err = release(drain);
		if (err)
			goto detach;
		pause_us(drain, drain->interval_us);
	}
	err = close_window(drain);
detach:
	bpf_load_detach(drain->bpf);
	if (!drain->t1) {
		drain->t1 = clock_now();
		window_edge_read(&drain->end, "/proc", drain->bpf->npossible);
		sink_stop(drain->sink, drain->t1, &drain->end);
		state_times_stop(drain->times, drain->t1);
	}
	if (!err)
		err = take_remaining(drain);
	if (drain->schedstat_fd >= 0)
		close(drain->schedstat_fd);
	drain->cut = err != 0;
	drain->err = err == -ECANCELED ? 0 : err;
	eventfd_write(drain->done_fd, 1);
	return NULL;
}

/* A CPU that only switches fills a ring at RATE_MAX: no ring may be full before the timer. */
static unsigned longest_interval(const struct rings *rings)
{
	uint64_t us = INTERVAL_MAX_US;

	for (unsigned i = 0; i < rings->nrings; i++)
		if ((rings->ring[i].mask + 1) / RATE_MAX < us)
			us = (rings->ring[i].mask + 1) / RATE_MAX;
	return us < INTERVAL_MIN_US ? INTERVAL_MIN_US : (unsigned)us;
}

int drain_times(struct drain *drain, struct time_stats *stats)
{
	int err;

	pthread_mutex_lock(&drain->lock);
	err = state_times_read(drain->times, drain->released, stats);
	pthread_mutex_unlock(&drain->lock);
	return err ? log_no_memory("for the times of the threads") : 0;
}

int drain_start(struct drain *drain)
{
	int err;

	lock_init(&drain->lock);
	drain->read_clock = clock_now();
	drain->interval_us = INTERVAL_MIN_US;
	drain->interval_max_us = longest_interval(drain->rings);
	drain->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	drain->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = drain->wake_fd < 0 || drain->done_fd < 0
		      ? -errno
		      : -pthread_create(&drain->thread, NULL, run, drain);
	if (err) {
		log_error("cannot start a thread: %s", strerror(-err));
		return err;
	}
	pthread_setname_np(drain->thread, "ovni-drain");
	drain->started = true;
	return 0;
}

void drain_stop(struct drain *drain)
{
	atomic_store(&drain->stop, true);
	eventfd_write(drain->wake_fd, 1);
}

int drain_join(struct drain *drain)
{
	if (!drain->started)
		return 0;
	pthread_join(drain->thread, NULL);
	drain->started = false;
	close(drain->wake_fd);
	close(drain->done_fd);
	return drain->err;
}
