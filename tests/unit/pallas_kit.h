/* SPDX-License-Identifier: MIT */
/*
 * kit: shared by the tests of archives: a folder to write in, streams of events, writers, and
 * numbers that are random but the same each time.
 */
#ifndef TESTS_PALLAS_KIT_H
#define TESTS_PALLAS_KIT_H

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
#include <sys/stat.h>
#include <unistd.h>

#include "trace/base/log.h"
#include "trace/pallas/read/archive.h"
#include "trace/pallas/write/archive_writer.h"

#define UNUSED __attribute__((unused))

struct sample {
	uint32_t record, region;
	uint64_t time;
};

static UNUSED char *scratch;
static UNUSED unsigned made;

static UNUSED uint64_t state = 1;

static UNUSED uint32_t below(uint32_t n)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (uint32_t)((state * 0x2545f4914f6cdd1du >> 32) * n >> 32);
}

struct stream_of {
	struct sample *e;
	size_t n, room;
	uint64_t now;
};

static UNUSED void add(struct stream_of *s, uint32_t record, uint32_t region, uint32_t gap)
{
	if (s->n == s->room) {
		s->room = s->room ? 2 * s->room : 1024;
		s->e = realloc(s->e, s->room * sizeof(*s->e));
		assert_non_null(s->e);
	}
	s->now += gap;
	s->e[s->n++] = (struct sample){record, region, s->now};
}

static UNUSED void call(struct stream_of *s, uint32_t region)
{
	add(s, PALLAS_ENTER, region, 1 + below(1000));
	add(s, PALLAS_LEAVE, region, 1 + below(1000));
}

static UNUSED const struct thread_writer_options all_options[] = {
	{PALLAS_COMPRESSION_ZSTD, PALLAS_ENCODING_NONE, 1, false},
	{PALLAS_COMPRESSION_NONE, PALLAS_ENCODING_NONE, 0, false},
	{PALLAS_COMPRESSION_NONE, PALLAS_ENCODING_MASKING, 0, false},
	{PALLAS_COMPRESSION_ZSTD, PALLAS_ENCODING_MASKING, 3, false},
	{PALLAS_COMPRESSION_ZSTD, PALLAS_ENCODING_NONE, 9, false},
};

static UNUSED char *new_path(void)
{
	char *path;

	assert_true(asprintf(&path, "%s/archive%u", scratch, made++) > 0);
	return path;
}

static UNUSED void put_events(struct thread_writer *t, const struct stream_of *s)
{
	for (size_t i = 0; i < s->n; i++) {
		uint32_t entry = thread_writer_entry(t, s->e[i].record, s->e[i].region);

		assert_int_not_equal(entry, PALLAS_NONE);
		assert_int_equal(thread_writer_event(t, entry, s->e[i].time), 0);
	}
}

static UNUSED int make_scratch(void **unused)
{
	const char *tmp = getenv("T");

	(void)unused;
	log_setup("pallas", LOG_INFO);
	if (asprintf(&scratch, "%s/pallas.XXXXXX", tmp ? tmp : "/tmp") < 0)
		return -1;
	return mkdtemp(scratch) ? 0 : -1;
}

static UNUSED int forget(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	return remove(path);
}

static UNUSED int remove_scratch(void **unused)
{
	int err = nftw(scratch, forget, 16, FTW_DEPTH | FTW_PHYS);

	(void)unused;
	free(scratch);
	return err;
}

#endif
