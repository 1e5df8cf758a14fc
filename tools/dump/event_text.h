/* SPDX-License-Identifier: MIT */
/*
 * event_text: all that is in an event, for people, as JSON, or as bytes.
 *
 * In: an event; out: the catalog's sentence about it. Bytes of the payload that its
 * declaration does not cover follow as hexadecimal: nothing that the trace has is hidden.
 */
#ifndef TOOLS_DUMP_EVENT_TEXT_H
#define TOOLS_DUMP_EVENT_TEXT_H

#include <stdbool.h>

#include "tools/lib/printer.h"
#include "trace/ovni/event.h"

struct event_text; /* remembers what it has explained */

struct event_text *event_text_new(void); /* NULL without memory; free() it */

/* Appends the explanation; an event that no model knows is UNKNOWN and its bytes. */
void event_text_put(struct event_text *event_text, struct printer *out, const struct event *ev);

/* Appends the arguments as a JSON object: {"cpu":3,"tag":"18446744073709551615"}; 64-bit
 * values are strings, what may be many is an array. False if no model knows the event ({}). */
bool event_text_json(struct printer *out, const struct event *ev);

/* The payload as -x shows it: a colon and two hexadecimal digits for each byte, the length
 * word of a jumbo event included. */
void event_text_raw(struct printer *out, const struct event *ev);

#endif
