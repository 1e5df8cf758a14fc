/* SPDX-License-Identifier: MIT */
/*
 * out: files, and the threads that write them (see out.h).
 *
 * In: full buffers; out: writes, in order. The writers take pieces from one queue. A writer with a
 * compressed piece waits for its turn in the file. Turns always come: another writer took the piece
 * before it from the queue earlier, and works on it.
 * Specification: paraver.md 8.
 */
#include "emu/paraver/out.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>

#include "trace/base/log.h"
#include "trace/base/text.h"

#define BUFFERS_PER_FILE 3 /* plus one per writer */

#define GZIP_LEVEL	1	  /* three times as fast as the default, a fifth larger */
#define GZIP_WINDOW	(15 + 16) /* a gzip member, not a bare zlib stream */
#define GZIP_MEMORY	8
#define GZIP_LINE_MAX	256
#define GZIP_STORED_MAX (GZIP_LINE_MAX + 23)

struct gzip { /* of one thread; its members make one file */
	z_stream z;
	bool started;
	char *buffer;
	size_t room;
};

struct piece { /* a buffer, full or empty */
	struct piece *next;
	size_t size;
	uint64_t turn;
	struct out *out;
	char data[];
};

struct out_pool {
	pthread_mutex_t lock;
	pthread_cond_t work;	     /* the queue is not empty, or `over` */
	pthread_cond_t done;	     /* a piece is in its file */
	struct piece *first, **last; /* the queue */
	bool over;
	atomic_bool reported;
	unsigned nthreads;
	struct gzip gzip; /* of the emulator, without writers */
	pthread_t threads[];
};

struct out {
	struct out_pool *pool;
	char *path; /* for messages */
	int fd;
	bool gzip, headed;
	atomic_int error;      /* first error, 0 if none */
	struct piece *filling; /* owned by the emulator */
	/* under pool->lock */
	struct piece *free;
	unsigned nbuffers;
	size_t bytes;		  /* of a buffer */
	uint64_t queued, written; /* pieces; `written` is the next turn */
};

/* ---- compression ---- */

static void gzip_free(struct gzip *gzip)
{
	if (gzip->started)
		deflateEnd(&gzip->z);
	free(gzip->buffer);
}

/*
 * Compresses `size` bytes into an independent gzip member, in *out of *out_size bytes, valid until
 * the next call. Returns 0 or -ENOMEM.
 */
static int gzip_member(struct gzip *gzip, const char *data, size_t size, const char **out,
		       size_t *out_size)
{
	size_t bound;

	if (!gzip->started && deflateInit2(&gzip->z, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW,
					   GZIP_MEMORY, Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	gzip->started = true;
	deflateReset(&gzip->z);
	bound = deflateBound(&gzip->z, size);
	if (bound > gzip->room) {
		char *buffer = realloc(gzip->buffer, bound);

		if (!buffer)
			return -ENOMEM;
		gzip->buffer = buffer;
		gzip->room = bound;
	}
	gzip->z.next_in = (Bytef *)(uintptr_t)data;
	gzip->z.avail_in = (uInt)size;
	gzip->z.next_out = (Bytef *)gzip->buffer;
	gzip->z.avail_out = (uInt)gzip->room;
	if (deflate(&gzip->z, Z_FINISH) != Z_STREAM_END)
		return -ENOMEM;
	*out = gzip->buffer;
	*out_size = gzip->room - gzip->z.avail_out;
	return 0;
}

static char *put_u32(char *at, uint32_t value)
{
	for (int i = 0; i < 4; i++, value >>= 8)
		*at++ = (char)(value & 0xff);
	return at;
}

/*
 * Writes a stored member of `size` (at most GZIP_LINE_MAX) bytes at `out`, and returns its size. It
 * depends on `size` alone, so the first line of a .prv can be rewritten in place.
 */
static size_t gzip_stored(char *out, const char *data, size_t size)
{
	static const char head[] = "\x1f\x8b\x08\0\0\0\0\0\0\xff" /* no name, no time */
				   "\x01";			  /* last block, stored */
	char *at = out;

	memcpy(at, head, sizeof(head) - 1);
	at += sizeof(head) - 1;
	at = put_u32(at, (uint32_t)size | (uint32_t)~size << 16);
	memcpy(at, data, size);
	at = put_u32(at + size, (uint32_t)crc32(0, (const Bytef *)data, (uInt)size));
	at = put_u32(at, (uint32_t)size);
	return (size_t)(at - out);
}

/* ---- writing ---- */

const char *out_remedy(int err)
{
	switch (-err) {
	case ELOOP:
		return " (outputs never follow a symbolic link: remove it)";
	case EACCES:
	case EPERM:
	case EROFS:
		return " (-o DIR writes elsewhere)";
	case ENOSPC:
	case EDQUOT:
		return " (make room there, or write elsewhere with -o DIR)";
	default:
		return "";
	}
}

void out_report(struct out_pool *pool, const char *path, int err)
{
	if (!atomic_exchange(&pool->reported, true))
		log_error("cannot write '%s': %s%s", path, strerror(-err), out_remedy(err));
}

/* Keeps and logs the first error of the file. Returns it. */
static int fail(struct out *out, int err)
{
	int none = 0;

	if (atomic_compare_exchange_strong(&out->error, &none, err))
		out_report(out->pool, out->path, err);
	return atomic_load(&out->error);
}

static int write_all(struct out *out, const char *data, size_t size)
{
	while (size) {
		ssize_t n = write(out->fd, data, size);

		if (n < 0) {
			if (errno == EINTR)
				continue;
			return fail(out, -errno);
		}
		data += n;
		size -= (size_t)n;
	}
	return 0;
}

/* Compresses a piece if the file is compressed: the result is in *data and *size. */
static int prepare(struct out *out, struct gzip *gzip, const struct piece *piece, const char **data,
		   size_t *size)
{
	int err = 0;

	*data = piece->data;
	*size = piece->size;
	if (out->gzip)
		err = gzip_member(gzip, piece->data, piece->size, data, size);
	return err ? fail(out, err) : 0;
}

static void put_queued(struct out_pool *pool, struct gzip *gzip, struct piece *piece)
{
	struct out *out = piece->out;
	const char *data;
	size_t size;
	bool ready = !atomic_load(&out->error) && prepare(out, gzip, piece, &data, &size) == 0;

	pthread_mutex_lock(&pool->lock);
	while (out->written != piece->turn)
		pthread_cond_wait(&pool->done, &pool->lock);
	if (ready) {
		pthread_mutex_unlock(&pool->lock);
		(void)write_all(out, data, size);
		pthread_mutex_lock(&pool->lock);
	}
	out->written++;
	piece->next = out->free;
	out->free = piece;
	pthread_cond_broadcast(&pool->done);
	pthread_mutex_unlock(&pool->lock);
}

static void *run_writer(void *arg)
{
	struct out_pool *pool = arg;
	struct gzip gzip = {.started = false};

	pthread_setname_np(pthread_self(), "emu-writer");
	pthread_mutex_lock(&pool->lock);
	for (;;) {
		struct piece *piece = pool->first;

		if (!piece) {
			if (pool->over)
				break;
			pthread_cond_wait(&pool->work, &pool->lock);
			continue;
		}
		pool->first = piece->next;
		if (!pool->first)
			pool->last = &pool->first;
		pthread_mutex_unlock(&pool->lock);
		put_queued(pool, &gzip, piece);
		pthread_mutex_lock(&pool->lock);
	}
	pthread_mutex_unlock(&pool->lock);
	gzip_free(&gzip);
	return NULL;
}

/* ---- the pool ---- */

struct out_pool *out_pool_new(unsigned threads)
{
	struct out_pool *pool = calloc(1, sizeof(*pool) + threads * sizeof(pool->threads[0]));
	sigset_t all, old;
	int err = 0;

	if (!pool) {
		log_lack("for the output");
		return NULL;
	}
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->work, NULL);
	pthread_cond_init(&pool->done, NULL);
	pool->last = &pool->first;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old); /* the emulator takes the signals */
	for (; pool->nthreads < threads; pool->nthreads++) {
		err = pthread_create(&pool->threads[pool->nthreads], NULL, run_writer, pool);
		if (err)
			break;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err) {
		log_error("cannot start a writer thread: %s (use a lower -j)", strerror(err));
		out_pool_free(pool);
		return NULL;
	}
	return pool;
}

void out_pool_free(struct out_pool *pool)
{
	if (!pool)
		return;
	pthread_mutex_lock(&pool->lock);
	pool->over = true;
	pthread_cond_broadcast(&pool->work);
	pthread_mutex_unlock(&pool->lock);
	for (unsigned i = 0; i < pool->nthreads; i++)
		pthread_join(pool->threads[i], NULL);
	pthread_cond_destroy(&pool->work);
	pthread_cond_destroy(&pool->done);
	pthread_mutex_destroy(&pool->lock);
	gzip_free(&pool->gzip);
	free(pool);
}

/* ---- files ---- */

int out_create(int dir_fd, const char *name)
{
	struct stat st;
	int fd;

	if (dir_fd == OUT_NOWHERE) {
		fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
		return fd < 0 ? -errno : fd;
	}
	/* a file that is there goes, but not its bytes: another name may lead to them */
	if (!fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW)) {
		if (S_ISLNK(st.st_mode))
			return -ELOOP;
		if (S_ISDIR(st.st_mode))
			return -EISDIR;
		if (!S_ISREG(st.st_mode))
			return -EINVAL;
		if (unlinkat(dir_fd, name, 0) && errno != ENOENT)
			return -errno;
	}
	fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	return fd < 0 ? -errno : fd;
}

struct out *out_open(struct out_pool *pool, int dir_fd, const char *dir, const char *name,
		     bool gzip)
{
	struct out *out = calloc(1, sizeof(*out));
	char *path = xasprintf("%s/%s%s", dir, name, gzip ? ".gz" : "");
	int fd;

	if (!out || !path) {
		log_lack("while writing %s/%s", dir, name);
		goto fail;
	}
	fd = out_create(dir_fd, path + strlen(dir) + 1);
	if (fd < 0) {
		log_error("cannot create '%s': %s%s", path, strerror(-fd), out_remedy(fd));
		goto fail;
	}
	*out = (struct out){.pool = pool, .path = path, .fd = fd, .gzip = gzip};
	return out;
fail:
	free(path);
	free(out);
	return NULL;
}

static struct piece *new_piece(struct out *out)
{
	struct piece *piece = malloc(sizeof(*piece) + out->bytes);

	if (piece)
		piece->out = out;
	return piece;
}

char *out_buffer(struct out *out, size_t bytes)
{
	out->bytes = bytes;
	out->filling = new_piece(out);
	if (!out->filling) {
		log_no_memory("for the buffer of %s", out->path);
		return NULL;
	}
	out->nbuffers = 1;
	return out->filling->data;
}

/* Returns an empty buffer: a new one up to the limit, else one whose bytes are in the file. */
static struct piece *take_buffer(struct out *out)
{
	struct out_pool *pool = out->pool;
	struct piece *piece = NULL;

	if (!out->free && out->nbuffers < BUFFERS_PER_FILE + pool->nthreads) {
		piece = new_piece(out);
		out->nbuffers += piece != NULL;
	}
	if (piece)
		return piece;
	while (!out->free)
		pthread_cond_wait(&pool->done, &pool->lock);
	piece = out->free;
	out->free = piece->next;
	return piece;
}

int out_put(struct out *out, size_t size, char **buffer)
{
	struct out_pool *pool = out->pool;
	struct piece *piece = out->filling;
	const char *data;
	int err = atomic_load(&out->error);

	*buffer = piece->data;
	if (err || !size)
		return err;
	piece->size = size;
	if (!pool->nthreads) {
		err = prepare(out, &pool->gzip, piece, &data, &size);
		return err ? err : write_all(out, data, size);
	}
	pthread_mutex_lock(&pool->lock);
	piece->next = NULL;
	piece->turn = out->queued++;
	*pool->last = piece;
	pool->last = &piece->next;
	pthread_cond_signal(&pool->work);
	out->filling = take_buffer(out);
	pthread_mutex_unlock(&pool->lock);
	*buffer = out->filling->data;
	return 0;
}

/* Waits until all pieces are in the file. Returns the error of the file. */
static int drain(struct out *out)
{
	pthread_mutex_lock(&out->pool->lock);
	while (out->written != out->queued)
		pthread_cond_wait(&out->pool->done, &out->pool->lock);
	pthread_mutex_unlock(&out->pool->lock);
	return atomic_load(&out->error);
}

int out_header(struct out *out, const char *line, size_t size)
{
	char member[GZIP_STORED_MAX];
	int err = drain(out);

	if (err)
		return err;
	if (out->gzip) {
		size = gzip_stored(member, line, size);
		line = member;
	}
	if (!out->headed) {
		out->headed = true;
		return write_all(out, line, size);
	}
	errno = 0;
	if (pwrite(out->fd, line, size, 0) != (ssize_t)size)
		return fail(out, errno ? -errno : -EIO);
	return 0;
}

int out_close(struct out *out)
{
	int err;

	if (!out)
		return 0;
	err = drain(out);
	if (close(out->fd) && !err)
		err = fail(out, -errno);
	for (struct piece *piece = out->free, *next; piece; piece = next) {
		next = piece->next;
		free(piece);
	}
	free(out->filling);
	free(out->path);
	free(out);
	return err;
}
