/* SPDX-License-Identifier: MIT */
/*
 * list: the possible probes of a file, as text or JSON on standard output (--list).
 *
 * In: a request whose name is a glob; out: the functions that match by any of their names, each
 * address once, with the reason if entry and return cannot both be probed, and the USDT probes.
 * Needs no privileges for files that can be read.
 */
#ifndef USER_PROBES_LIST_H
#define USER_PROBES_LIST_H

#include <stdbool.h>

#include "user/probes/resolve.h"

/* Returns 0, or -errno after one message; no match and a failed write are errors, too. */
int list_run(const struct request *request, const struct resolve_scope *scope, bool json)
	__attribute__((warn_unused_result));

#endif
