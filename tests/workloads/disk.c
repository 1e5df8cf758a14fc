/* SPDX-License-Identifier: MIT */
/*
 * disk: a thread that waits for the disk: direct reads, or writes with fsync where
 * the file system of the current folder knows no direct I/O. The file has no name. An access
 * whose data is there before the thread sleeps is no wait, so it reads until it has slept -n times.
 */
#include "workload.h"

#define BLOCK 4096

static long nwaits = 100, nblocks = 64;

static const struct knob knobs[] = {
	{'n', &nwaits, "times to wait: in direct reads, or in writes with fsync"},
	{'b', &nblocks, "size of the file, blocks of 4 KiB"},
	{0, NULL, NULL},
};

int main(int argc, char **argv)
{
	bool direct = true;
	char *block;
	long i, first;
	int fd;

	workload_begin(argc, argv, knobs);
	if (nblocks < 1)
		fail("-b takes 1 or more");
	block = aligned_alloc(BLOCK, BLOCK);
	must(block != NULL, "aligned_alloc");
	memset(block, 'o', BLOCK);
	fd = open(".", O_TMPFILE | O_RDWR | O_DIRECT | O_CLOEXEC, 0600);
	if (fd < 0) {
		direct = false;
		fd = open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	}
	must(fd >= 0, "file without a name in the current folder");
	for (i = 0; i < nblocks; i++)
		must(pwrite(fd, block, BLOCK, i * BLOCK) == BLOCK, "write");
	must(!fsync(fd), "fsync");
	first = my_switches().voluntary;
	for (i = 0; my_switches().voluntary < first + nwaits && i < 1000 * nwaits; i++) {
		if (direct) {
			must(pread(fd, block, BLOCK, i % nblocks * BLOCK) == BLOCK, "read");
		} else {
			must(pwrite(fd, block, BLOCK, i % nblocks * BLOCK) == BLOCK, "write");
			must(!fsync(fd), "fsync");
		}
	}
	say("tid=%d waits=%ld accesses=%ld direct=%d", gettid(), my_switches().voluntary - first, i,
	    direct);
	return 0;
}
