/* SPDX-License-Identifier: MIT */
/*
 * libraries: the libraries that the dynamic linker of a program finds.
 *
 * In: programs and names; out: the files that would be loaded, by DT_NEEDED. Nothing is run. A name
 * is looked for as ld.so(8) describes: DT_RPATH of the file and of those that loaded it (if it has
 * no DT_RUNPATH), LD_LIBRARY_PATH, DT_RUNPATH of the file, /etc/ld.so.cache, the usual folders.
 * LD_PRELOAD and the linker itself count as needed.
 */
#ifndef USER_ELF_LIBRARIES_H
#define USER_ELF_LIBRARIES_H

#include <stddef.h>

struct libraries {
	const char *root;     /* of all paths: "" or /proc/PID/root */
	char *path, *preload; /* LD_LIBRARY_PATH, LD_PRELOAD of the program; NULL: none */
	char *cache;	      /* /etc/ld.so.cache: cache_count entries */
	size_t cache_size, cache_count;
};

/* Called with the name that a program asks for, and the path of the file. Not 0 ends the visit:
 * only a -errno may be returned. */
typedef int (*library_visit)(const char *name, const char *path, void *arg);

/* `root` must outlive it; `path` and `preload` may be NULL. 0 or -ENOMEM. */
int libraries_open(struct libraries *libraries, const char *root, const char *path,
		   const char *preload) __attribute__((warn_unused_result));
void libraries_close(struct libraries *libraries);

/* All libraries that `program` needs, and what these need, each once, in the order of loading.
 * A file that is no program has none. 0, -ENOMEM, or what `visit` returned. */
int libraries_needed(const struct libraries *libraries, const char *program, library_visit visit,
		     void *arg) __attribute__((warn_unused_result));

/*
 * The files that dlopen(NAME) in `program` (NULL: in any) could mean, for all names that match the
 * glob, in the first folder that has any. 0, -ENOMEM, or what `visit` returned.
 */
int libraries_named(const struct libraries *libraries, const char *program, const char *glob,
		    library_visit visit, void *arg) __attribute__((warn_unused_result));

#endif
