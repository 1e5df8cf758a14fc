/* SPDX-License-Identifier: MIT */
/*
 * kit: shared by the tests of trace/: a folder to write in, the messages on standard error, streams
 * in memory, numbers that are random but the same each time.
 */
#ifndef TESTS_TRACE_KIT_H
#define TESTS_TRACE_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/base/log.h"
#include "trace/ovni/stream.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

/* ---- a folder: in the working directory, which tests/run makes for each program ---- */

static char kit_folder[64];
static int kit_dir = -1;

__attribute__((unused)) static int kit_open(void **state)
{
	(void)state;
	log_setup("test", LOG_DEBUG);
	snprintf(kit_folder, sizeof(kit_folder), "trace-kit.XXXXXX");
	if (!mkdtemp(kit_folder))
		return -1;
	kit_dir = open(kit_folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return kit_dir < 0 ? -1 : 0;
}

static int kit_remove(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

__attribute__((unused)) static int kit_close(void **state)
{
	(void)state;
	close(kit_dir);
	return nftw(kit_folder, kit_remove, 64, FTW_DEPTH | FTW_PHYS);
}

/* Makes the file `name` in the folder, in place of an older one. */
__attribute__((unused)) static void kit_file(const char *name, const void *data, size_t size)
{
	int fd = openat(kit_dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, size), (ssize_t)size);
	close(fd);
}

__attribute__((unused)) static void kit_mkdir(const char *name)
{
	assert_int_equal(mkdirat(kit_dir, name, 0755), 0);
}

__attribute__((unused)) static off_t kit_size(const char *name)
{
	struct stat st;

	return fstatat(kit_dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ? -1 : st.st_size;
}

/* ---- messages ---- */

static int kit_ears = -1, kit_stderr = -1;
static char kit_words[16384];

/* From here to kit_heard() standard error is kept. */
__attribute__((unused)) static void kit_listen(void)
{
	fflush(stderr);
	kit_ears = memfd_create("heard", MFD_CLOEXEC);
	kit_stderr = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 10);
	assert_true(kit_ears >= 0 && kit_stderr >= 0);
	dup2(kit_ears, STDERR_FILENO);
}

__attribute__((unused)) static const char *kit_heard(void)
{
	ssize_t n;

	fflush(stderr);
	dup2(kit_stderr, STDERR_FILENO);
	n = pread(kit_ears, kit_words, sizeof(kit_words) - 1, 0);
	close(kit_ears);
	close(kit_stderr);
	assert_true(n >= 0);
	kit_words[n] = '\0';
	return kit_words;
}

/* Fails unless exactly one line was said, and `part` is in it. */
__attribute__((unused)) static void kit_one_line_with(const char *heard, const char *part)
{
	const char *newline = strchr(heard, '\n');

	if (!newline || newline[1] || !strstr(heard, part))
		fail_msg("wanted one line with '%s', heard: '%s'", part, heard);
}

/* ---- bytes ---- */

struct kit_bytes {
	uint8_t *data;
	size_t size, capacity;
};

static uint8_t *kit_room(struct kit_bytes *b, size_t more)
{
	if (b->size + more > b->capacity) {
		b->capacity = 2 * (b->size + more);
		b->data = realloc(b->data, b->capacity);
		assert_non_null(b->data);
	}
	return b->data + b->size;
}

__attribute__((unused)) static void kit_header(struct kit_bytes *b)
{
	const uint32_t version = STREAM_VERSION;

	memcpy(kit_room(b, 8), STREAM_MAGIC, 4);
	memcpy(b->data + b->size + 4, &version, 4);
	b->size += 8;
}

__attribute__((unused)) static void kit_event(struct kit_bytes *b, const char *mcv, int64_t clock,
					      const void *payload, size_t size)
{
	b->size += event_encode(kit_room(b, EVENT_SIZE_MAX), MCV(mcv[0], mcv[1], mcv[2]), clock,
				payload, size);
}

__attribute__((unused)) static void kit_jumbo(struct kit_bytes *b, const char *mcv, int64_t clock,
					      const void *data, uint32_t size)
{
	b->size += event_encode_jumbo(kit_room(b, 16 + (size_t)size), MCV(mcv[0], mcv[1], mcv[2]),
				      clock, size);
	memcpy(b->data + b->size, data, size);
	b->size += size;
}

/* A stream over bytes (with header) that stay the caller's; not to be closed. */
__attribute__((unused)) static void kit_stream(struct stream *stream, const struct kit_bytes *b,
					       const char *path)
{
	memset(stream, 0, sizeof(*stream));
	stream->base = b->data;
	stream->at = b->data + STREAM_HEADER_SIZE;
	stream->end = b->data + b->size;
	stream->size = b->size;
	stream->path = (char *)path;
}

/* ---- numbers ---- */

static uint64_t kit_seed = 88172645463325252u;

__attribute__((unused)) static uint64_t kit_random(uint64_t below)
{
	kit_seed ^= kit_seed << 13;
	kit_seed ^= kit_seed >> 7;
	kit_seed ^= kit_seed << 17;
	return kit_seed % below;
}

#endif
