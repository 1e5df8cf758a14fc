/* SPDX-License-Identifier: MIT */
/*
 * build_info: the version of this project, and the folders of the data files that come with it.
 *
 * The version appears in --version and in ovni.lib of a trace. A data file is beside the installed
 * program (../share/ovni-bpf/FOLDER), in the source tree that it was built in (SOURCE, seen from
 * build/bin), or where `make install` puts it. Never a path from the environment: the program may
 * run as root.
 */
#ifndef TRACE_BASE_BUILD_INFO_H
#define TRACE_BASE_BUILD_INFO_H

#include <stddef.h>

extern const char version_string[]; /* "0.1.0" */
extern const char version_commit[]; /* "3f2a1b0", "release" outside a checkout */

/*
 * Opens the folder that is called `folder` when installed and `source` ("emu/cfg") in the tree.
 * Returns a descriptor, which the caller closes, with the path in `path` (for messages); or
 * -errno without a message, with the path that was tried last.
 */
int shipped_open(const char *folder, const char *source, char *path, size_t size)
	__attribute__((warn_unused_result));

#endif
