/* SPDX-License-Identifier: MIT */
/*
 * json_tree: a struct json is cJSON's node under another name; only json*.c know that.
 */
#ifndef TRACE_BASE_JSON_TREE_H
#define TRACE_BASE_JSON_TREE_H

#include <cjson/cJSON.h>

#include "trace/base/json.h"

static inline cJSON *json_tree(const struct json *node)
{
	return (cJSON *)node;
}

static inline struct json *json_own(const cJSON *node)
{
	return (struct json *)node;
}

#endif
