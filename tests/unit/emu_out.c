/* SPDX-License-Identifier: MIT */
/* out: pieces in order for any number of writers, safe creation, and errors said once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include <zlib.h>

#include "emu/paraver/out.h"

#define PIECES 50
#define HEAD   "first line, 0000\n"
#define TAIL   "first line, 1234\n"

static char folder[64];
static int dir_fd;

static int make_folder(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/emu-out.XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	dir_fd = open(folder, O_RDONLY | O_DIRECTORY);
	return dir_fd < 0 ? -1 : 0;
}

static int remove_folder(void **state)
{
	static const char *const names[] = {"a", "a.gz", "b", "b.gz", "link", "fifo", "target"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unlinkat(dir_fd, names[i], 0);
	close(dir_fd);
	return rmdir(folder);
}

/* Pieces of different lengths, so that a wrong order or buffer shows. */
static size_t fill(char *buffer, int i)
{
	size_t n = 100 + (size_t)i * 977 % 5000;

	for (size_t k = 0; k < n; k++)
		buffer[k] = (char)('a' + (i + (int)k / 7) % 26);
	return n;
}

static void write_file(const char *name, unsigned threads, bool gzip)
{
	struct out_pool *pool = out_pool_new(threads);
	struct out *out = out_open(pool, dir_fd, folder, name, gzip);
	char *buffer;

	assert_non_null(out);
	assert_int_equal(out_header(out, HEAD, strlen(HEAD)), 0);
	buffer = out_buffer(out, 6000);
	for (int i = 0; i < PIECES; i++)
		assert_int_equal(out_put(out, fill(buffer, i), &buffer), 0);
	assert_int_equal(out_header(out, TAIL, strlen(TAIL)), 0);
	assert_int_equal(out_close(out), 0);
	out_pool_free(pool);
}

/* gzopen() also reads uncompressed files. */
static void check_file(const char *name)
{
	char path[128], want[6000], got[6000];
	gzFile file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = gzopen(path, "rb");
	assert_non_null(file);
	assert_int_equal(gzread(file, got, (unsigned)strlen(TAIL)), strlen(TAIL));
	assert_memory_equal(got, TAIL, strlen(TAIL));
	for (int i = 0; i < PIECES; i++) {
		size_t n = fill(want, i);

		assert_int_equal(gzread(file, got, (unsigned)n), n);
		assert_memory_equal(got, want, n);
	}
	assert_int_equal(gzread(file, got, 1), 0);
	assert_int_equal(gzclose(file), Z_OK);
}

static void pieces_are_in_order_for_any_number_of_writers(void **state)
{
	(void)state;
	for (unsigned threads = 0; threads < 6; threads++) {
		write_file("a", threads, false);
		check_file("a");
		write_file("b", threads, true);
		check_file("b.gz");
	}
}

static void nothing_is_created_through_a_link_or_in_a_fifo(void **state)
{
	struct stat st;

	(void)state;
	assert_int_equal(symlinkat("target", dir_fd, "link"), 0);
	assert_true(out_create(dir_fd, "link") < 0);
	assert_int_equal(fstatat(dir_fd, "target", &st, 0), -1);
	assert_int_equal(mkfifoat(dir_fd, "fifo", 0600), 0);
	assert_true(out_create(dir_fd, "fifo") < 0);
}

static void earlier_contents_of_a_file_are_gone(void **state)
{
	int fd;

	(void)state;
	fd = openat(dir_fd, "a", O_WRONLY | O_CREAT, 0600);
	assert_int_equal(write(fd, "old", 3), 3);
	close(fd);
	fd = out_create(dir_fd, "a");
	assert_true(fd >= 0);
	assert_int_equal(lseek(fd, 0, SEEK_END), 0);
	close(fd);
}

static void a_write_that_fails_is_an_error_of_the_file(void **state)
{
	struct rlimit old, tiny;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	for (unsigned threads = 0; threads < 3; threads++) {
		struct out_pool *pool = out_pool_new(threads);
		struct out *out = out_open(pool, dir_fd, folder, "a", false);
		char *buffer = out_buffer(out, 6000);
		int err = 0;

		tiny = old;
		tiny.rlim_cur = 20000;
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &tiny), 0);
		for (int i = 0; i < PIECES && !err; i++)
			err = out_put(out, fill(buffer, i), &buffer);
		assert_true(out_close(out) < 0);
		out_pool_free(pool);
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_are_in_order_for_any_number_of_writers),
		cmocka_unit_test(nothing_is_created_through_a_link_or_in_a_fifo),
		cmocka_unit_test(earlier_contents_of_a_file_are_gone),
		cmocka_unit_test(a_write_that_fails_is_an_error_of_the_file),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
