/* SPDX-License-Identifier: MIT */
/*
 * data_dir: where the data files are that come with the programs.
 *
 * Beside the installed program (../share/ovni-bpf/FOLDER), in the source tree that it was built
 * in (SOURCE, seen from build/bin), or where `make install` puts them. Never a place that the
 * environment names: the program may run as root.
 */
#ifndef TRACE_BASE_DATA_DIR_H
#define TRACE_BASE_DATA_DIR_H

#include <stddef.h>

/*
 * Opens the folder that is called `folder` when installed and `source` ("emu/cfg") in the tree.
 * Returns a descriptor, which the caller closes, with the path in `path` (for messages); or
 * -errno without a message, with the path that was tried last.
 */
int shipped_open(const char *folder, const char *source, char *path, size_t size)
	__attribute__((warn_unused_result));

#endif
