/* SPDX-License-Identifier: MIT */
/*
 * map_find: which file is meant by --map NAME.
 *
 * A name without a slash that does not end in .json is one of ours ("mpi"): beside the installed
 * program, in the source tree that it was built in, or where `make install` puts it. Anything
 * else is a path.
 */
#ifndef USER_APIS_MAP_FIND_H
#define USER_APIS_MAP_FIND_H

#include <stddef.h>

/* 0 with the path, or -errno after one message, which tells which maps there are. */
int map_find(const char *name, char *path, size_t size) __attribute__((warn_unused_result));

#endif
