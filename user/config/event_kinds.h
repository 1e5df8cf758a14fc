/* SPDX-License-Identifier: MIT */
/*
 * event_kinds: the kinds of events by their names, as in --events, the account and stats.json.
 *
 *   switch,wake,fork,exec,exit,rename,probe
 *
 * `other` (snapshots, and who an id is) is in the account alone: it cannot be left out.
 */
#ifndef USER_CONFIG_EVENT_KINDS_H
#define USER_CONFIG_EVENT_KINDS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/state.h"

#define KINDS_ALL ((1u << EVENT_KINDS) - 1)

/* By enum event_kind. */
extern const char *const kind_names[EVENT_KINDS];

/* Reads "switch,wake,..." into bits by enum event_kind. NULL, or what is wrong. */
const char *kinds_parse(const char *text, uint32_t *kinds);

/* What kind of event a record tells of; wake-ups are in those of switches. */
enum event_kind kinds_of_record(const struct record_head *record);

#endif
