/* SPDX-License-Identifier: MIT */
/*
 * debug_file: the separate debug file of a stripped file.
 *
 * In: a file and its path; out: the open candidates, by build id (/usr/lib/debug/.build-id) and by
 * .gnu_debuglink (beside the file, in .debug, below /usr/lib/debug). They are opened below the root
 * of the file, with the rights of the recorder, which libdwfl could not do; libdwfl takes the one
 * that belongs to the file. Nothing is fetched over the network.
 */
#ifndef USER_ELF_DEBUG_FILE_H
#define USER_ELF_DEBUG_FILE_H

#include <elfutils/libdwfl.h>
#include <stdint.h>

#include "user/elf/elf_file.h"

#define DEBUG_FILES_MAX 5

struct debug_files {
	int fds[DEBUG_FILES_MAX];
	char *paths[DEBUG_FILES_MAX]; /* below the root */
	size_t count;
};

/* Opens the candidates; none for a file that has its symbols. `root` is the folder for all paths
 * ("" or /proc/PID/root), `path` the file's below it. 0, -ENOMEM, -ENOEXEC (elf_child.h). */
int debug_files_open(struct debug_files *files, const struct elf_file *file, const char *root,
		     const char *path) __attribute__((warn_unused_result));
void debug_files_close(struct debug_files *files);

/* In the child: the candidate that belongs to the file: its build id is the same, or, if one of
 * them has none, its checksum is `crc`. -1: none. */
int debug_files_choose(const struct debug_files *files, Elf *main, uint32_t crc);

#endif
