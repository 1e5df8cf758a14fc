/* SPDX-License-Identifier: MIT */
/* finalizer: see finalizer.h. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "user/sink/finalizer.h"
#include "user/host/lock.h"
#include "user/host/privilege.h"
#include "trace/base/log.h"

#define REPORTS_MAX 16 /* kept until somebody asks; more are discarded, the oldest first */

struct finalizer {
	const struct segment_plan *plan;
	const struct event_counts *counts;
	unsigned keep;
	int fd;
	pthread_t thread;
	bool started;

	/* Under the lock. */
	pthread_mutex_t lock;
	pthread_cond_t work;
	struct segment *spare;
	struct finalizer_job waiting;
	bool has_waiting, stop;
	bool unnamed; /* the last empty segment has been taken and is still called .next */
	struct finalizer_report report[REPORTS_MAX];
	unsigned next_report, reports; /* number of the next to read, and of all made */

	/* Of the thread; of the caller after finalizer_stop(). */
	struct segment_result result;
	unsigned segments, numbers; /* closed segments; numbers given */
	_Atomic int error;
};

static void fail(struct finalizer *finalizer, int err)
{
	int none = 0;

	atomic_compare_exchange_strong(&finalizer->error, &none, err);
}

static void add(struct segment_result *sum, const struct segment_result *r)
{
	sum->window_ns += r->window_ns;
	sum->events += r->events;
	sum->records += r->records;
	sum->bytes += r->bytes;
	sum->threads += r->threads;
	sum->repairs += r->repairs;
	sum->late += r->late;
	sum->lost += r->lost;
}

static void add_report(struct finalizer *finalizer, const struct finalizer_job *job)
{
	struct finalizer_report report = {
		.number = job->segment->number,
		.why = job->end.stopped_by,
		.result = job->segment->result,
	};

	if (job->end.trigger)
		snprintf(report.trigger, sizeof(report.trigger), "%s", job->end.trigger);
	pthread_mutex_lock(&finalizer->lock);
	finalizer->report[finalizer->reports++ % REPORTS_MAX] = report;
	if (finalizer->reports - finalizer->next_report > REPORTS_MAX)
		finalizer->next_report = finalizer->reports - REPORTS_MAX;
	pthread_mutex_unlock(&finalizer->lock);
	eventfd_write(finalizer->fd, 1);
}

int finalizer_name(struct finalizer *finalizer, struct segment *segment)
{
	int err = segment_name(segment, finalizer->numbers + 1);

	if (err)
		return err;
	finalizer->numbers++;
	pthread_mutex_lock(&finalizer->lock);
	finalizer->unnamed = false;
	pthread_cond_signal(&finalizer->work);
	pthread_mutex_unlock(&finalizer->lock);
	return 0;
}

int finalizer_run(struct finalizer *finalizer, const struct finalizer_job *job)
{
	struct segment *segment = job->segment;
	struct snapshot_tasks tasks = job->tasks;
	int err = segment->number ? 0 : finalizer_name(finalizer, segment), failed;

	if (err)
		goto finish;
	err = job->next ? finalizer_name(finalizer, job->next) : 0;
	if (err)
		goto finish;
	err = job->fill ? job->fill(job->arg, segment) : 0;
finish:
	/* also after an error: the records so far become a trace */
	failed = segment_finish(segment, finalizer->counts, &tasks, &job->end);
	err = err ? err : failed;
	if (!err && job->drop_empty && !segment->result.threads) {
		err = segment_remove(finalizer->plan, segment->number);
		goto out;
	}
	finalizer->segments++;
	add(&finalizer->result, &segment->result);
	if (err)
		goto out;
	add_report(finalizer, job);
	if (finalizer->keep && segment->number > finalizer->keep)
		err = segment_remove(finalizer->plan, segment->number - finalizer->keep);
out:
	if (job->drop)
		job->drop(job->arg);
	snapshot_tasks_free(&tasks);
	segment_close(segment);
	return err;
}

/* Called with the lock held; releases it meanwhile. */
static void make_spare(struct finalizer *finalizer)
{
	struct segment *segment;

	pthread_mutex_unlock(&finalizer->lock);
	segment = segment_open(finalizer->plan, true);
	if (!segment)
		fail(finalizer, -EIO);
	pthread_mutex_lock(&finalizer->lock);
	finalizer->spare = segment;
}

/* The thread. */
static void *work(void *arg)
{
	struct finalizer *finalizer = arg;
	struct finalizer_job job;
	int err;

	privilege_raise_priority(); /* its writers inherit the priority */
	privilege_keep(PRIVILEGE_WRITE | PRIVILEGE_DRAIN);
	pthread_mutex_lock(&finalizer->lock);
	for (;;) {
		if (finalizer->has_waiting) {
			job = finalizer->waiting;
			finalizer->has_waiting = false;
			pthread_mutex_unlock(&finalizer->lock);
			err = finalizer_run(finalizer, &job);
			if (err)
				fail(finalizer, err);
			pthread_mutex_lock(&finalizer->lock);
		} else if (!finalizer->spare && !finalizer->unnamed && !finalizer->error) {
			make_spare(finalizer);
		} else if (finalizer->stop) {
			break;
		} else {
			pthread_cond_wait(&finalizer->work, &finalizer->lock);
		}
	}
	pthread_mutex_unlock(&finalizer->lock);
	return NULL;
}

struct finalizer *finalizer_start(const struct segment_plan *plan,
				  const struct event_counts *counts, unsigned keep)
{
	struct finalizer *finalizer = calloc(1, sizeof(*finalizer));
	sigset_t all, before;
	int err = -ENOMEM;

	if (!finalizer)
		goto failed;
	finalizer->plan = plan;
	finalizer->counts = counts;
	finalizer->keep = keep;
	lock_init(&finalizer->lock);
	pthread_cond_init(&finalizer->work, NULL);
	finalizer->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (finalizer->fd < 0) {
		err = -errno;
		goto failed;
	}
	finalizer->spare = segment_open(plan, true);
	if (!finalizer->spare) {
		finalizer_free(finalizer);
		return NULL;
	}
	sigfillset(&all); /* the main thread takes the signals */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = -pthread_create(&finalizer->thread, NULL, work, finalizer);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err)
		goto failed;
	pthread_setname_np(finalizer->thread, "ovni-finalizer");
	finalizer->started = true;
	return finalizer;
failed:
	log_error("cannot start the thread that closes traces: %s", strerror(-err));
	finalizer_free(finalizer);
	return NULL;
}

struct segment *finalizer_get_empty(struct finalizer *finalizer)
{
	struct segment *segment;

	pthread_mutex_lock(&finalizer->lock);
	segment = finalizer->spare;
	finalizer->spare = NULL;
	finalizer->unnamed = segment;
	pthread_mutex_unlock(&finalizer->lock);
	return segment;
}

void finalizer_submit(struct finalizer *finalizer, const struct finalizer_job *job)
{
	pthread_mutex_lock(&finalizer->lock);
	finalizer->waiting = *job;
	finalizer->has_waiting = true;
	pthread_cond_signal(&finalizer->work);
	pthread_mutex_unlock(&finalizer->lock);
}

int finalizer_fd(const struct finalizer *finalizer)
{
	return finalizer->fd;
}

bool finalizer_report(struct finalizer *finalizer, struct finalizer_report *report)
{
	eventfd_t n;
	bool any;

	eventfd_read(finalizer->fd, &n);
	pthread_mutex_lock(&finalizer->lock);
	any = finalizer->next_report < finalizer->reports;
	if (any)
		*report = finalizer->report[finalizer->next_report++ % REPORTS_MAX];
	pthread_mutex_unlock(&finalizer->lock);
	return any;
}

int finalizer_error(const struct finalizer *finalizer)
{
	return finalizer->error;
}

int finalizer_stop(struct finalizer *finalizer)
{
	if (finalizer->started) {
		pthread_mutex_lock(&finalizer->lock);
		finalizer->stop = true;
		pthread_cond_signal(&finalizer->work);
		pthread_mutex_unlock(&finalizer->lock);
		pthread_join(finalizer->thread, NULL);
		finalizer->started = false;
	}
	return finalizer->error;
}

const struct segment_result *finalizer_result(const struct finalizer *finalizer)
{
	return &finalizer->result;
}

unsigned finalizer_segments(const struct finalizer *finalizer)
{
	return finalizer->segments;
}

void finalizer_free(struct finalizer *finalizer)
{
	if (!finalizer)
		return;
	finalizer_stop(finalizer);
	segment_close(finalizer->spare);
	if (finalizer->fd >= 0)
		close(finalizer->fd);
	pthread_cond_destroy(&finalizer->work);
	pthread_mutex_destroy(&finalizer->lock);
	free(finalizer);
}
