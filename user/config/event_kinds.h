/* SPDX-License-Identifier: MIT */
/*
 * event_kinds: the kinds of events by their names, as in --events, the metadata and stats.json.
 *
 *   switch,wake,fork,exec,exit,rename,probe
 *
 * `other` (snapshots, and the tasks of ids) is in the counts alone: it cannot be left out.
 */
#ifndef USER_CONFIG_EVENT_KINDS_H
#define USER_CONFIG_EVENT_KINDS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/state.h"

#define KINDS_ALL ((1u << EVENT_KINDS) - 1)

/* By enum event_kind. */
extern const char *const event_kind_names[EVENT_KINDS];

/* Reads "switch,wake,..." into bits by enum event_kind. NULL, or one clause about the mistake. */
const char *event_kinds_parse(const char *text, uint32_t *kinds);

/* The kind of event of a record; wake-ups are in those of switches. */
enum event_kind event_kind_of_record(const struct record_head *record);

#endif
