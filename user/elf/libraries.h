/* SPDX-License-Identifier: MIT */
/*
 * libraries: the libraries that the dynamic linker of a program finds.
 *
 * In: a program, or the name of a library; out: the files that would be loaded. Nothing is run. A
 * name of DT_NEEDED is searched as ld.so(8) describes: DT_RPATH of the file and of those that
 * loaded it (if it has no DT_RUNPATH), LD_LIBRARY_PATH, DT_RUNPATH of the file, /etc/ld.so.cache,
 * the usual folders.
 */
#ifndef USER_ELF_LIBRARIES_H
#define USER_ELF_LIBRARIES_H

/* Called with the name by which a library is known, and the path of the file. Not 0 ends the visit:
 * only a -errno may be returned. */
typedef int (*library_visit)(const char *name, const char *path, void *arg);

/* Visits all libraries that `program` needs, directly or through others, each once, in the order of
 * loading. All paths are below `root` ("" or /proc/PID/root). A file that is no program needs none.
 * 0, -ENOMEM, or the error of `visit`. */
int libraries_needed(const char *root, const char *program, library_visit visit, void *arg)
	__attribute__((warn_unused_result));

/* Visits all libraries of /etc/ld.so.cache below `root`, each once: the one for this CPU. The files
 * may be gone. 0, -ENOMEM, or the error of `visit`. */
int libraries_cached(const char *root, library_visit visit, void *arg)
	__attribute__((warn_unused_result));

#endif
