/* SPDX-License-Identifier: MIT */
/* writer: see writer.h. */
#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "trace/base/json.h"
#include "trace/base/log.h"
#include "trace/ovni/stream.h"
#include "user/host/lock.h"
#include "user/writer/writer.h"

#define QUEUE_BYTES   (256u << 20)
#define META_ESTIMATE 1024 /* memory of the metadata while it waits, bytes */

/* The thread waits for a batch, so that it wakes up some ten times a second and not a thousand
 * times: each wake-up is a switch on the traced machine. */
#define GATHER_BYTES (1u << 20)
#define GATHER_NS    (50 * 1000000l)

/* A queue that was longer, while the disk was slow, leaves memory that the allocator keeps; so does
 * each trace of a rotation, in small pieces. */
#define TRIM_BYTES (2 * GATHER_BYTES)

struct job {
	struct job *next;
	void (*fn)(void *arg);
	void *arg;
};

struct item {
	struct item *next;
	struct writer_request request;
	size_t cost; /* bytes that it takes of the queue */
	char path[]; /* request.path */
};

struct writer {
	/* Constant. */
	int trace_fd;
	size_t queue_bytes;
	uint64_t max_bytes;
	struct writer_files files;
	struct disk_error *disk_error;
	pthread_t thread;

	/* Under the lock. */
	pthread_mutex_t lock;
	pthread_cond_t work; /* signalled to the thread: a request, or stop */
	pthread_cond_t done; /* signalled to callers: room, or an empty queue */
	struct job *jobs, **last_job;
	struct item *items, **last_item;
	unsigned waiting; /* callers that wait for room or for an empty queue */
	bool busy;	  /* the thread works on an entry */
	size_t longest;	  /* bytes of the queue since the last trim */
	bool stop;

	/* Written under the lock or by the thread alone; read by any thread. */
	_Atomic size_t queued;
	_Atomic uint64_t given, written;
	_Atomic int error;
};

static const struct writer_files real_files = {
	.create = stream_create,
	.append = stream_append,
	.describe = stream_describe,
	.store = stream_store,
	.append_text = stream_append_text,
};

/* ---- errors ---- */

static const char *remedy(int err)
{
	switch (err) {
	case -ENOSPC:
	case -EDQUOT:
		return "free some space, or record to another place with -o";
	case -EFBIG:
		return "raise the limit on the file size (ulimit -f)";
	case -EIO:
		return "the disk or the network share failed";
	case -ENOENT:
	case -ESTALE:
		return "the output directory was removed";
	case -ENOMEM:
		return "there is too little memory for so many threads or so slow a disk";
	case -EEXIST:
		return "another recorder writes to the same place";
	case -EACCES:
	case -EPERM:
	case -EROFS:
		return "record to a writable place with -o";
	default:
		return "record to another place with -o";
	}
}

void disk_error_report(struct disk_error *disk_error, int err, const char *fmt, ...)
{
	char what[PATH_MAX + 64];
	va_list args;

	if (disk_error && atomic_exchange(&disk_error->reported, true))
		return;
	va_start(args, fmt);
	vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	log_error("%s: %s; the recording ends and the events on disk stay (%s)", what,
		  strerror(-err), remedy(err));
}

/* Keeps and reports the first error. */
static void fail(struct writer *writer, const char *path, int err)
{
	int none = 0;

	if (atomic_compare_exchange_strong(&writer->error, &none, err))
		disk_error_report(writer->disk_error, err, "%s: cannot write", path);
}

/* ---- the thread ---- */

static void release(struct item *item)
{
	if (item->request.drop)
		item->request.drop(item->request.arg);
	free(item->request.events);
	free(item);
}

static int put(struct writer *writer, const struct writer_request *request, const struct json *meta)
{
	const struct writer_files *files = &writer->files;
	int err;

	if (request->text)
		return files->append_text(writer->trace_fd, request->path, request->events,
					  request->size);
	if (request->create && json_get(meta, "ovni.finished"))
		return files->store(writer->trace_fd, request->path, meta, request->events,
				    request->size);
	err = request->create ? files->create(writer->trace_fd, request->path, meta) : 0;
	if (err)
		return err;
	if (request->size) {
		err = files->append(writer->trace_fd, request->path, request->events,
				    request->size);
		if (err)
			return err;
	}
	if (!meta || request->create)
		return 0;
	return files->describe(writer->trace_fd, request->path, meta);
}

static void write_item(struct writer *writer, struct item *item)
{
	struct json *meta = NULL;
	int err = -ENOMEM;

	if (writer->error)
		return;
	if (item->request.meta) {
		meta = item->request.meta(item->request.arg);
		if (!meta)
			goto failed;
	}
	err = put(writer, &item->request, meta);
	json_free(meta);
	if (err)
		goto failed;
	if (!item->request.text)
		writer->written += item->request.size;
	return;
failed:
	fail(writer, item->path, err);
}

static void do_job(struct writer *writer, struct job *job)
{
	writer->jobs = job->next;
	if (!job->next)
		writer->last_job = &writer->jobs;
	pthread_mutex_unlock(&writer->lock);
	job->fn(job->arg);
	free(job);
	pthread_mutex_lock(&writer->lock);
}

static void do_item(struct writer *writer, struct item *item)
{
	size_t cost = item->cost;

	writer->items = item->next;
	if (!item->next)
		writer->last_item = &writer->items;
	pthread_mutex_unlock(&writer->lock);
	write_item(writer, item);
	release(item);
	pthread_mutex_lock(&writer->lock);
	writer->queued -= cost;
	if (writer->waiting)
		pthread_cond_broadcast(&writer->done);
}

/* The queue is empty: gives its memory back to the kernel. */
static void trim(struct writer *writer)
{
	writer->longest = 0;
	pthread_mutex_unlock(&writer->lock);
	malloc_trim(0);
	pthread_mutex_lock(&writer->lock);
}

/* Waits for a batch, or until a caller waits; a job is done at once. */
static void gather(struct writer *writer)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += GATHER_NS;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	while (!writer->jobs && !writer->stop && !writer->waiting && writer->queued < GATHER_BYTES)
		if (pthread_cond_timedwait(&writer->work, &writer->lock, &until))
			return;
}

/* The thread. Jobs first: they read /proc, whose entries may vanish soon. */
static void *work(void *arg)
{
	struct writer *writer = arg;

	pthread_mutex_lock(&writer->lock);
	for (;;) {
		if (writer->jobs) {
			writer->busy = true;
			do_job(writer, writer->jobs);
		} else if (writer->items) {
			writer->busy = true;
			do_item(writer, writer->items);
		} else if (writer->longest >= (writer->stop ? 1 : TRIM_BYTES)) {
			trim(writer);
		} else {
			writer->busy = false;
			pthread_cond_broadcast(&writer->done);
			if (writer->stop)
				break;
			while (!writer->jobs && !writer->items && !writer->stop)
				pthread_cond_wait(&writer->work, &writer->lock);
			gather(writer);
		}
	}
	pthread_mutex_unlock(&writer->lock);
	return NULL;
}

/* Starts the thread with all signals blocked: the main thread takes them. */
static int start_thread(struct writer *writer)
{
	sigset_t all, before;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&writer->thread, NULL, work, writer);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!err)
		pthread_setname_np(writer->thread, "ovni-writer");
	return -err;
}

struct writer *writer_start(const struct writer_options *options)
{
	struct writer *writer = calloc(1, sizeof(*writer));
	pthread_condattr_t monotonic;
	int err = -ENOMEM;

	if (!writer)
		goto failed;
	writer->trace_fd = options->trace_fd;
	writer->queue_bytes = options->queue_bytes ? options->queue_bytes : QUEUE_BYTES;
	writer->max_bytes = options->max_bytes;
	writer->disk_error = options->disk_error;
	writer->files = options->files ? *options->files : real_files;
	writer->last_job = &writer->jobs;
	writer->last_item = &writer->items;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	lock_init(&writer->lock);
	pthread_cond_init(&writer->work, &monotonic);
	pthread_condattr_destroy(&monotonic);
	pthread_cond_init(&writer->done, NULL);
	err = start_thread(writer);
	if (!err)
		return writer;
failed:
	log_error("cannot start the writer thread: %s", strerror(-err));
	free(writer);
	return NULL;
}

static struct item *item_new(const struct writer_request *request)
{
	size_t path = strlen(request->path) + 1;
	struct item *item = malloc(sizeof(*item) + path);

	if (!item)
		return NULL;
	item->next = NULL;
	item->request = *request;
	memcpy(item->path, request->path, path);
	item->request.path = item->path;
	item->cost = sizeof(*item) + path + request->size + (request->arg ? META_ESTIMATE : 0);
	return item;
}

/* Waits until the thread, which now works without delay, has finished an entry. */
static void wait_for_writer(struct writer *writer)
{
	writer->waiting++;
	pthread_cond_signal(&writer->work);
	pthread_cond_wait(&writer->done, &writer->lock);
	writer->waiting--;
}

int writer_put(struct writer *writer, const struct writer_request *request)
{
	struct item *item = item_new(request);
	int err;

	if (!item) {
		if (request->drop)
			request->drop(request->arg);
		free(request->events);
		fail(writer, request->path, -ENOMEM);
		return writer->error;
	}
	pthread_mutex_lock(&writer->lock);
	writer->waiting++;
	while (!writer->error && writer->queued &&
	       writer->queued + item->cost > writer->queue_bytes)
		pthread_cond_wait(&writer->done, &writer->lock);
	writer->waiting--;
	err = writer->error;
	if (!err) {
		writer->queued += item->cost;
		if (writer->queued > writer->longest)
			writer->longest = writer->queued;
		writer->given += request->text ? 0 : request->size;
		*writer->last_item = item;
		writer->last_item = &item->next;
		pthread_cond_signal(&writer->work);
	}
	pthread_mutex_unlock(&writer->lock);
	if (err)
		release(item);
	return err;
}

void writer_abandon(struct writer *writer, int err)
{
	int none = 0;

	atomic_compare_exchange_strong(&writer->error, &none, err);
}

int writer_run(struct writer *writer, void (*fn)(void *arg), void *arg)
{
	struct job *job = malloc(sizeof(*job));

	if (!job)
		return -ENOMEM;
	*job = (struct job){.fn = fn, .arg = arg};
	pthread_mutex_lock(&writer->lock);
	*writer->last_job = job;
	writer->last_job = &job->next;
	pthread_cond_signal(&writer->work);
	pthread_mutex_unlock(&writer->lock);
	return 0;
}

int writer_sync(struct writer *writer)
{
	pthread_mutex_lock(&writer->lock);
	while (writer->busy || writer->items || writer->jobs)
		wait_for_writer(writer);
	pthread_mutex_unlock(&writer->lock);
	return writer->error;
}

int writer_finish(struct writer *writer)
{
	int err;

	if (!writer)
		return 0;
	pthread_mutex_lock(&writer->lock);
	writer->stop = true;
	pthread_cond_signal(&writer->work);
	pthread_mutex_unlock(&writer->lock);
	pthread_join(writer->thread, NULL);
	err = writer->error;
	pthread_cond_destroy(&writer->work);
	pthread_cond_destroy(&writer->done);
	pthread_mutex_destroy(&writer->lock);
	free(writer);
	return err;
}

uint64_t writer_bytes(const struct writer *writer)
{
	return writer->written;
}

size_t writer_queued(const struct writer *writer)
{
	return writer->queued;
}

bool writer_full(const struct writer *writer)
{
	return writer->max_bytes && writer->given >= writer->max_bytes;
}
