/* SPDX-License-Identifier: MIT */
#include "trace/loom/loom_record.h"

#include <stdio.h>
#include <strings.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct {
	const char *name, *json;
} kinds[LOOM_KINDS] = {
	[LOOM_NODE_FIRE] = {"NODE_FIRE", "node_fire"},
	[LOOM_NODE_STALL_IN] = {"NODE_STALL_IN", "node_stall_in"},
	[LOOM_NODE_STALL_OUT] = {"NODE_STALL_OUT", "node_stall_out"},
	[LOOM_ROUTE_USE] = {"ROUTE_USE", "route_use"},
	[LOOM_CONFIG_WRITE] = {"CONFIG_WRITE", "config_write"},
	[LOOM_INVOCATION_START] = {"INVOCATION_START", "invocation_start"},
	[LOOM_INVOCATION_DONE] = {"INVOCATION_DONE", "invocation_done"},
	[LOOM_DEVICE_ERROR] = {"DEVICE_ERROR", "device_error"},
};

/* loom.md 4.2 */
static const struct {
	uint32_t code;
	const char *name;
} errors[] = {
	{1, "configuration: a switch mixes inputs"},
	{2, "configuration: combinational loop"},
	{4, "configuration: temporal switch with the same tag on inputs"},
	{5, "configuration: temporal switch with a tag twice"},
	{6, "configuration: temporal PE with a tag twice"},
	{7, "configuration: illegal register"},
	{8, "configuration: the tag of a register is not zero"},
	{9, "configuration: tag map with a tag twice"},
	{10, "configuration: condition of a stream is not one-hot"},
	{11, "configuration: invalid predicate of a comparison"},
	{12, "configuration: tag ranges of a memory overlap"},
	{13, "configuration: empty tag range of a memory"},
	{14, "configuration: tag ranges of an external memory overlap"},
	{15, "configuration: empty tag range of an external memory"},
	{256, "temporal PE: no match"},
	{257, "temporal switch: no match"},
	{258, "tag map: no match"},
	{259, "stream: step of zero"},
	{260, "memory: tag out of bounds"},
	{261, "memory: deadlock of a store"},
	{262, "switch: input without a route"},
	{263, "temporal switch: input without a route"},
	{264, "memory: no match"},
	{265, "external memory: no match"},
};

bool loom_padding_is_zero(const uint8_t *at)
{
	static const uint8_t zero[4];

	return !memcmp(at + 12, zero, 4) && !memcmp(at + 26, zero, 2) && !memcmp(at + 44, zero, 4);
}

const char *loom_kind_name(uint8_t kind, char room[8])
{
	if (kind < LOOM_KINDS)
		return kinds[kind].name;
	snprintf(room, 8, "EXT_%u", kind);
	return room;
}

const char *loom_kind_json_name(uint8_t kind)
{
	return kind < LOOM_KINDS ? kinds[kind].json : "unknown";
}

bool loom_kind_parse(const char *name, size_t len, uint8_t *kind)
{
	unsigned n = 0;

	for (int k = 0; k < LOOM_KINDS; k++) {
		if (strlen(kinds[k].name) == len && !strncasecmp(kinds[k].name, name, len)) {
			*kind = (uint8_t)k;
			return true;
		}
	}
	if (len < 5 || len > 7 || strncasecmp(name, "EXT_", 4) != 0)
		return false;
	for (size_t i = 4; i < len; i++) {
		if (name[i] < '0' || name[i] > '9')
			return false;
		n = 10 * n + (unsigned)(name[i] - '0');
	}
	if (n < LOOM_KINDS || n > UINT8_MAX)
		return false;
	*kind = (uint8_t)n;
	return true;
}

const char *loom_error_name(uint32_t code)
{
	for (size_t i = 0; i < COUNT(errors); i++) {
		if (errors[i].code == code)
			return errors[i].name;
	}
	return NULL;
}

bool loom_error_reserved(uint32_t code)
{
	return code >= 16 && code <= 255;
}
