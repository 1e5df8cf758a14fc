/* SPDX-License-Identifier: MIT */
/*
 * libraries: where the dynamic linker of a program finds its libraries.
 *
 * In: programs and names; out: the files that would be loaded. Nothing is run, and ld.so.cache is
 * not read: the order is that of ld.so(8): DT_RPATH of the file and of those that have loaded it
 * (if it has no DT_RUNPATH), LD_LIBRARY_PATH, DT_RUNPATH of the file, the folders of
 * /etc/ld.so.conf, the folders of the system; in each, the folders for what the CPU can do
 * (glibc-hwcaps) come first. LD_PRELOAD and the linker itself count as needed.
 */
#ifndef USER_ELF_LIBRARIES_H
#define USER_ELF_LIBRARIES_H

#include <stddef.h>

struct libraries {
	const char *root; /* what all paths are below: "" or /proc/PID/root */
	char **folders;	  /* of the system, in order */
	size_t count;
	char *path, *preload; /* LD_LIBRARY_PATH, LD_PRELOAD of the program; NULL: none */
};

/* Called with the name by which a library is asked for, and the path of the file. Not 0 ends it. */
typedef int (*library_visit)(const char *name, const char *path, void *arg);

/* `root` must outlive it; `path` and `preload` may be NULL. 0 or -ENOMEM. */
int libraries_open(struct libraries *libraries, const char *root, const char *path,
		   const char *preload) __attribute__((warn_unused_result));
void libraries_close(struct libraries *libraries);

/* All libraries that `program` needs, and what these need, each once, in the order of loading.
 * What is no program has none. 0, -ENOMEM, or what `visit` returned. */
int libraries_needed(const struct libraries *libraries, const char *program, library_visit visit,
		     void *arg) __attribute__((warn_unused_result));

/*
 * The files that dlopen(NAME) in `program` (NULL: in any) could mean, for all names that match the
 * glob, in the first folder that has any. 0, -ENOMEM, or what `visit` returned.
 */
int libraries_named(const struct libraries *libraries, const char *program, const char *glob,
		    library_visit visit, void *arg) __attribute__((warn_unused_result));

#endif
