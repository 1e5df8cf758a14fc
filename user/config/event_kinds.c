/* SPDX-License-Identifier: MIT */
/* event_kinds: see event_kinds.h. */
#include <string.h>

#include "user/config/event_kinds.h"

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
