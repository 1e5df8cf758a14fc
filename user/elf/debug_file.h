/* SPDX-License-Identifier: MIT */
/*
 * debug_file: the separate file with the symbols or the debug information of a stripped file.
 *
 * In: an open file and its path; out: the open candidates, by build id (/usr/lib/debug/.build-id)
 * and by .gnu_debuglink (beside the file, in .debug, below /usr/lib/debug), of which a child
 * process chooses the one that belongs to the file. They are opened below the root of the file,
 * with the rights of the recorder, which libdwfl could not do. Nothing is fetched over the network.
 */
#ifndef USER_ELF_DEBUG_FILE_H
#define USER_ELF_DEBUG_FILE_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>

#include "user/elf/elf_file.h"

#define DEBUG_FILES_MAX 5

struct debug_files {
	int fds[DEBUG_FILES_MAX];     /* -1: the caller has taken it over */
	char *paths[DEBUG_FILES_MAX]; /* below the root; the same */
	size_t count;
};

/* What is looked for: the symbols (.symtab), or the debug information (.debug_info). */
enum debug_part { DEBUG_SYMBOLS, DEBUG_INFO };

/* In a child: does this file have the part? */
bool debug_part_in(Elf *elf, enum debug_part part);

/* Opens the candidates; none for a file that has the part itself. `path` is its path below `root`
 * ("" or /proc/PID/root). 0 or an error of elf_child_run(). */
int debug_files_open(struct debug_files *files, enum debug_part part, const struct elf_file *file,
		     const char *root, const char *path) __attribute__((warn_unused_result));
void debug_files_close(struct debug_files *files);

/* In the child: the candidate that belongs to the file: its build id is the same, or, if one of
 * them has none, its checksum is that of .gnu_debuglink. -1: none. */
int debug_files_choose(const struct debug_files *files, Elf *main);

#endif
