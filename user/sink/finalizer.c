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
#include "user/host/privilege.h"
#include "trace/base/log.h"

#define NEWS_MAX 16 /* kept until somebody asks; more are forgotten, the oldest first */

struct closer {
	const struct part_plan *plan;
	const struct account *account;
	unsigned keep;
	int fd;
	pthread_t thread;
	bool started;

	/* Under the lock. */
	pthread_mutex_t lock;
	pthread_cond_t work;
	struct part *spare;
	struct closing waiting;
	bool has_waiting, stop;
	bool unsettled; /* the last empty part has been taken, and is still called so */
	struct closer_news news[NEWS_MAX];
	unsigned told, known; /* news: numbers of the next to tell, and of all there were */

	/* The thread's; the caller's after closer_stop(). */
	struct part_result result;
	unsigned parts, numbers; /* closed, and given */
	_Atomic int error;
};

static void fail(struct closer *closer, int err)
{
	int none = 0;

	atomic_compare_exchange_strong(&closer->error, &none, err);
}

static void add(struct part_result *sum, const struct part_result *r)
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

static void tell(struct closer *closer, const struct closing *closing)
{
	struct closer_news news = {
		.number = closing->part->number,
		.why = closing->end.stopped_by,
		.result = closing->part->result,
	};

	if (closing->end.trigger)
		snprintf(news.trigger, sizeof(news.trigger), "%s", closing->end.trigger);
	pthread_mutex_lock(&closer->lock);
	closer->news[closer->known++ % NEWS_MAX] = news;
	if (closer->known - closer->told > NEWS_MAX)
		closer->told = closer->known - NEWS_MAX;
	pthread_mutex_unlock(&closer->lock);
	eventfd_write(closer->fd, 1);
}

int closer_settle(struct closer *closer, struct part *part)
{
	int err = part_settle(part, closer->numbers + 1);

	if (err)
		return err;
	closer->numbers++;
	pthread_mutex_lock(&closer->lock);
	closer->unsettled = false;
	pthread_cond_signal(&closer->work);
	pthread_mutex_unlock(&closer->lock);
	return 0;
}

int closer_do(struct closer *closer, const struct closing *closing)
{
	struct part *part = closing->part;
	struct snapshot_tasks tasks = closing->tasks;
	int err = 0, failed;

	if (!part->number)
		err = closer_settle(closer, part);
	if (!err && closing->next)
		err = closer_settle(closer, closing->next);
	if (!err && closing->fill)
		err = closing->fill(closing->arg, part);
	/* also after an error: what there is becomes a trace */
	failed = part_finish(part, closer->account, &tasks, &closing->end);
	if (!err)
		err = failed;
	if (!err && closing->may_go && !part->result.threads) {
		err = part_remove(closer->plan, part->number);
	} else {
		closer->parts++;
		add(&closer->result, &part->result);
		if (!err)
			tell(closer, closing);
		if (!err && closer->keep && part->number > closer->keep)
			err = part_remove(closer->plan, part->number - closer->keep);
	}
	if (closing->drop)
		closing->drop(closing->arg);
	snapshot_tasks_free(&tasks);
	part_close(part);
	return err;
}

/* Called with the lock, which is released meanwhile. */
static void make_spare(struct closer *closer)
{
	struct part *part;

	pthread_mutex_unlock(&closer->lock);
	part = part_open(closer->plan, true);
	if (!part)
		fail(closer, -EIO);
	pthread_mutex_lock(&closer->lock);
	closer->spare = part;
}

/* The thread. */
static void *work(void *arg)
{
	struct closer *closer = arg;
	struct closing closing;
	int err;

	privilege_keep(PRIVILEGE_WRITE | PRIVILEGE_DRAIN);
	pthread_mutex_lock(&closer->lock);
	for (;;) {
		if (closer->has_waiting) {
			closing = closer->waiting;
			closer->has_waiting = false;
			pthread_mutex_unlock(&closer->lock);
			err = closer_do(closer, &closing);
			if (err)
				fail(closer, err);
			pthread_mutex_lock(&closer->lock);
		} else if (!closer->spare && !closer->unsettled && !closer->error) {
			make_spare(closer);
		} else if (closer->stop) {
			break;
		} else {
			pthread_cond_wait(&closer->work, &closer->lock);
		}
	}
	pthread_mutex_unlock(&closer->lock);
	return NULL;
}

struct closer *closer_start(const struct part_plan *plan, const struct account *account,
			    unsigned keep)
{
	struct closer *closer = calloc(1, sizeof(*closer));
	sigset_t all, before;
	int err = -ENOMEM;

	if (!closer)
		goto failed;
	closer->plan = plan;
	closer->account = account;
	closer->keep = keep;
	pthread_mutex_init(&closer->lock, NULL);
	pthread_cond_init(&closer->work, NULL);
	closer->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (closer->fd < 0) {
		err = -errno;
		goto failed;
	}
	closer->spare = part_open(plan, true);
	if (!closer->spare) {
		closer_free(closer);
		return NULL;
	}
	sigfillset(&all); /* signals are the main thread's */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = -pthread_create(&closer->thread, NULL, work, closer);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err)
		goto failed;
	pthread_setname_np(closer->thread, "ovni-closer");
	closer->started = true;
	return closer;
failed:
	log_error("cannot start the thread that closes traces: %s", strerror(-err));
	closer_free(closer);
	return NULL;
}

struct part *closer_take(struct closer *closer)
{
	struct part *part;

	pthread_mutex_lock(&closer->lock);
	part = closer->spare;
	closer->spare = NULL;
	closer->unsettled = part;
	pthread_mutex_unlock(&closer->lock);
	return part;
}

void closer_give(struct closer *closer, const struct closing *closing)
{
	pthread_mutex_lock(&closer->lock);
	closer->waiting = *closing;
	closer->has_waiting = true;
	pthread_cond_signal(&closer->work);
	pthread_mutex_unlock(&closer->lock);
}

int closer_fd(const struct closer *closer)
{
	return closer->fd;
}

bool closer_news(struct closer *closer, struct closer_news *news)
{
	eventfd_t n;
	bool any;

	eventfd_read(closer->fd, &n);
	pthread_mutex_lock(&closer->lock);
	any = closer->told < closer->known;
	if (any)
		*news = closer->news[closer->told++ % NEWS_MAX];
	pthread_mutex_unlock(&closer->lock);
	return any;
}

int closer_error(const struct closer *closer)
{
	return closer->error;
}

int closer_stop(struct closer *closer)
{
	if (closer->started) {
		pthread_mutex_lock(&closer->lock);
		closer->stop = true;
		pthread_cond_signal(&closer->work);
		pthread_mutex_unlock(&closer->lock);
		pthread_join(closer->thread, NULL);
		closer->started = false;
	}
	return closer->error;
}

const struct part_result *closer_result(const struct closer *closer)
{
	return &closer->result;
}

unsigned closer_parts(const struct closer *closer)
{
	return closer->parts;
}

void closer_free(struct closer *closer)
{
	if (!closer)
		return;
	closer_stop(closer);
	part_close(closer->spare);
	if (closer->fd >= 0)
		close(closer->fd);
	pthread_cond_destroy(&closer->work);
	pthread_mutex_destroy(&closer->lock);
	free(closer);
}
