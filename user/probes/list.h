/* SPDX-License-Identifier: MIT */
/*
 * list: the possible probes of a file, as text or JSON on standard output (--list).
 *
 * In: a request whose name is a glob; out: the functions that match by any of their names, each
 * place once, those that cannot be probed in pairs with the reason, and the USDT probes. Needs no
 * privileges for files that can be read.
 */
#ifndef USER_PROBES_LIST_H
#define USER_PROBES_LIST_H

#include <stdbool.h>

#include "user/probes/resolve.h"

/* 0, or -errno after one message (also if nothing matches, or nothing could be written). */
int list_run(const struct request *request, const struct resolve_scope *scope, bool json)
	__attribute__((warn_unused_result));

#endif
