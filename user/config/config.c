/* SPDX-License-Identifier: MIT */
/* config: see config.h. */
#include <stdint.h>
#include <string.h>

#include "user/config/config.h"

uint64_t options_buffer_default(unsigned ncpus)
{
	uint64_t bytes = OPTIONS_BUFFER;

	while (bytes > OPTIONS_BUFFER_MIN && bytes * ncpus > OPTIONS_BUFFERS)
		bytes /= 2;
	return bytes;
}

/* ---- patterns; bit i of a set of states: the first i signs have been matched ---- */

/* Reads a set after its '[': the sign `sign` then accepts its members. Returns the text after the
 * ']', or NULL if there is none. */
static const char *compile_set(struct comm_glob *glob, const char *at, unsigned sign)
{
	bool in[256] = {false}, outside = false, first = true;

	if (*at == '!' || *at == '^') {
		outside = true;
		at++;
	}
	for (; *at && (*at != ']' || first); first = false) {
		unsigned char low = (unsigned char)*at++, high;

		if (low == '\\' && *at)
			low = (unsigned char)*at++;
		high = low;
		if (at[0] == '-' && at[1] && at[1] != ']') {
			high = (unsigned char)at[1];
			at += 2;
			if (high == '\\' && *at)
				high = (unsigned char)*at++;
		}
		for (unsigned c = low; c <= high; c++)
			in[c] = true;
	}
	if (*at != ']')
		return NULL;
	for (unsigned c = 1; c < 256; c++)
		if (in[c] != outside)
			glob->accept[c] |= 1ull << sign;
	return at + 1;
}

const char *comm_glob_compile(struct comm_glob *glob, const char *pattern)
{
	const char *at = pattern;
	unsigned signs = 0;

	memset(glob, 0, sizeof(*glob));
	if (!*pattern)
		return "an empty pattern matches no thread";
	while (*at) {
		if (*at == '*') {
			glob->stay |= 1ull << signs;
			at++;
			continue;
		}
		if (signs == GLOB_SIGNS_MAX)
			return "the pattern is too long";
		if (*at == '?') {
			for (unsigned c = 1; c < 256; c++)
				glob->accept[c] |= 1ull << signs;
			at++;
		} else if (*at == '[') {
			at = compile_set(glob, at + 1, signs);
			if (!at)
				return "a '[' has no ']'";
		} else {
			if (*at == '\\' && at[1])
				at++;
			glob->accept[(unsigned char)*at++] |= 1ull << signs;
		}
		signs++;
	}
	if (signs >= RECORD_COMM_SIZE)
		return "the pattern matches no name: names have at most 15 bytes";
	glob->start = 1;
	glob->final = 1ull << signs;
	return NULL;
}

bool comm_glob_matches(const struct comm_glob *glob, const char *name)
{
	uint64_t states = glob->start;

	for (; *name; name++)
		states = ((states & glob->accept[(unsigned char)*name]) << 1) |
			 (states & glob->stay);
	return states & glob->final;
}

/* ---- kinds of events ---- */

const char *const event_kind_names[EVENT_KINDS] = {
	[EVENT_SWITCH] = "switch", [EVENT_WAKE] = "wake",   [EVENT_FORK] = "fork",
	[EVENT_EXEC] = "exec",	   [EVENT_EXIT] = "exit",   [EVENT_RENAME] = "rename",
	[EVENT_PROBE] = "probe",   [EVENT_OTHER] = "other",
};

const char *event_kinds_parse(const char *text, uint32_t *kinds)
{
	*kinds = 1u << EVENT_OTHER;
	for (;;) {
		size_t len = strcspn(text, ",");
		unsigned kind = 0;

		while (kind < EVENT_OTHER && (strlen(event_kind_names[kind]) != len ||
					      strncmp(event_kind_names[kind], text, len)))
			kind++;
		if (kind == EVENT_OTHER)
			return "not a list of kinds: switch, wake, fork, exec, exit, rename, probe";
		*kinds |= 1u << kind;
		text += len;
		if (!*text)
			break;
		text++;
	}
	if (*kinds & 1u << EVENT_WAKE && !(*kinds & 1u << EVENT_SWITCH))
		return "wake needs switch: the switch that follows reports the wake-up";
	return NULL;
}

enum event_kind event_kind_of_record(const struct record_head *record)
{
	switch (record->kind) {
	case RECORD_SWITCH:
	case RECORD_SWITCH_CALL:
		return EVENT_SWITCH;
	case RECORD_EXIT:
		return EVENT_EXIT;
	case RECORD_PROBE:
		return EVENT_PROBE;
	case RECORD_TASK:
		switch (record->flags) {
		case TASK_BORN:
			return EVENT_FORK;
		case TASK_EXECED:
			return EVENT_EXEC;
		case TASK_RENAMED:
			return EVENT_RENAME;
		default:
			return EVENT_OTHER;
		}
	default:
		return EVENT_OTHER;
	}
}
