/* SPDX-License-Identifier: MIT */
/*
 * run_reader_json: reads JSON traces, one event after the other.
 *
 * In: the tokens of a document; out: its metadata and records. Keys may be in any order: opening
 * the file reads those before the events, and those after the events if a required key is missing;
 * each step reads one event.
 */
#include <errno.h>
#include <string.h>

#include "trace/base/log.h"
#include "trace/loom/run_reader.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define LLU(v)	     ((unsigned long long)(v))

/* Reports the mistake of the tokens. Returns -EBADMSG, or -ENOMEM after a message. */
static int report_mistake(struct run_reader *r)
{
	const struct tokens *t = &r->tokens;
	struct loom_place place = {r->path, r->count, t->where};

	if (t->no_memory)
		return log_no_memory("while reading %s", r->path);
	r->is_damaged = true;
	if (t->is_cut)
		loom_violation_add(
			r->findings, LOOM_S4, &place,
			"the file ends at byte %llu, inside the document, after %llu whole records",
			LLU(t->where), LLU(r->count));
	else
		loom_violation_add(r->findings, LOOM_S1, &place, "byte %llu: %s", LLU(t->where),
				   t->why);
	return -EBADMSG;
}

/* ---- the document ---- */

struct head {
	bool version, trace_kind, modules, events;
	struct token version_value;
	char version_text[32];
	uint64_t events_at; /* offset after the bracket */
};

static bool read_string(struct tokens *t, struct token *v)
{
	if (!tokens_value(t, v))
		return false;
	return v->type == TOKEN_STRING ? true : tokens_refuse(t, "this must be a string");
}

static bool put_text(struct tokens *t, char *out, size_t size)
{
	struct token v;

	if (!read_string(t, &v))
		return false;
	if (v.len >= size)
		return tokens_refuse(t, "this string is too long");
	memcpy(out, v.text, v.len + 1);
	return true;
}

static bool head_version(struct run_reader *r, struct head *h)
{
	struct token *v = &h->version_value;

	if (!tokens_value(&r->tokens, v))
		return false;
	if (v->type != TOKEN_NUMBER)
		return tokens_refuse(&r->tokens, "the version must be a number");
	strncpy(h->version_text, v->text, sizeof(h->version_text) - 1);
	h->version = true;
	return true;
}

/* Reads one key of the document. */
static bool head_key(struct run_reader *r, struct head *h, const char *key)
{
	struct tokens *t = &r->tokens;
	struct token v;

	if (!strcmp(key, "version") && !h->version)
		return head_version(r, h);
	if (!strcmp(key, "trace_kind")) {
		h->trace_kind = true;
		return put_text(t, r->trace_kind, sizeof(r->trace_kind));
	}
	if (!strcmp(key, "producer"))
		return put_text(t, r->producer, sizeof(r->producer));
	if (!strcmp(key, "modules") && !h->modules) {
		h->modules = true;
		if (!tokens_value(t, &v))
			return false;
		if (v.type != TOKEN_ARRAY)
			return tokens_refuse(t, "the modules must be an array");
		return loom_modules_read(&r->modules, t, NULL, NULL);
	}
	if (!strcmp(key, "events")) {
		if (h->events)
			return tokens_refuse(t, "a second list of events");
		if (!tokens_value(t, &v))
			return false;
		if (v.type != TOKEN_ARRAY)
			return tokens_refuse(t, "the events must be an array");
		h->events = true;
		h->events_at = inflow_tell(&r->inflow);
		return true;
	}
	return tokens_skip(t);
}

/* Reads the keys up to the events, or all keys if a required one is after the events. */
static void read_head(struct run_reader *r, struct head *h)
{
	const char *key;
	bool had_events = false;

	while (tokens_key(&r->tokens, &key) > 0) {
		if (!head_key(r, h, key))
			return;
		if (!h->events || had_events)
			continue;
		if (h->version && h->trace_kind && h->modules)
			return;
		had_events = true;
		if (!tokens_leave(&r->tokens))
			return;
	}
}

static int refuse(struct run_reader *r, enum loom_rule rule, const char *why, const char *what)
{
	struct loom_place place = {r->path, LOOM_NOWHERE, LOOM_NOWHERE};

	loom_violation_add(r->findings, rule, &place, "%s%s%s%s", why, *what ? " '" : "", what,
			   *what ? "'" : "");
	return -EBADMSG;
}

int loom_json_open(struct run_reader *r)
{
	struct tokens *t = &r->tokens;
	struct head h = {0};
	struct token v;

	tokens_init(t, &r->inflow);
	if (!tokens_value(t, &v))
		return report_mistake(r);
	if (v.type == TOKEN_ARRAY) {
		r->is_bare = true;
		return 0;
	}
	read_head(r, &h);
	if (t->no_memory)
		return report_mistake(r);
	if (!h.events) {
		return t->why ? report_mistake(r)
			      : refuse(r, LOOM_S1, "a JSON document without events: no trace", "");
	}
	/* reading the events finds a mistake after them again */
	if (h.version &&
	    !(token_fits(&h.version_value, UINT32_MAX) && h.version_value.integer == LOOM_VERSION))
		return refuse(r, LOOM_S2, "unsupported version", h.version_text);
	if (!t->why && !h.version)
		return refuse(r, LOOM_S2, "the document has no version", "");
	if (!t->why && !h.trace_kind)
		return refuse(r, LOOM_S1, "the document has no trace_kind", "");
	if (h.trace_kind && strcmp(r->trace_kind, "loom_cycle_trace") != 0 &&
	    strcmp(r->trace_kind, "fcc_cycle_trace") != 0)
		return refuse(r, LOOM_S1, "unknown trace_kind", r->trace_kind);
	r->version = LOOM_VERSION;
	inflow_seek(&r->inflow, h.events_at);
	tokens_resume(t, &r->inflow, 2, true);
	return 0;
}

/* ---- events ---- */

#define FIELD_OF_KEY(bits, name, packed, natural) {#name, bits, offsetof(struct loom_record, name)},

static const struct {
	const char *key;
	unsigned bits;
	size_t offset;
} fields[] = {LOOM_FIELDS(FIELD_OF_KEY)};

#define PHASE_BIT (1u << COUNT(fields))

static bool read_kind(struct tokens *t, struct loom_record *record)
{
	struct token v;

	if (!read_string(t, &v))
		return false;
	if (!loom_kind_parse(v.text, v.len, &record->event_kind))
		record->event_kind = LOOM_KIND_UNNAMED;
	return true;
}

static bool read_phase(struct tokens *t, struct loom_record *record)
{
	struct token v;

	if (!read_string(t, &v))
		return false;
	if (!strcmp(v.text, "evaluate"))
		record->phase = LOOM_EVALUATE;
	else if (!strcmp(v.text, "commit"))
		record->phase = LOOM_COMMIT;
	else
		return tokens_refuse(t, "a phase must be evaluate or commit");
	return true;
}

/* Reads the value of a key of an event, and sets the bit of its field in *seen. */
static bool read_field(struct tokens *t, const char *key, struct loom_record *record,
		       unsigned *seen)
{
	unsigned bit = 0;
	size_t i = 0;

	while (i < COUNT(fields) && strcmp(key, fields[i].key) != 0)
		i++;
	if (i < COUNT(fields) || !strcmp(key, "phase"))
		bit = 1u << i;
	if (*seen & bit)
		return tokens_refuse(t, "a key twice in one event");
	*seen |= bit;
	if (bit == 0)
		return tokens_skip(t);
	if (bit == PHASE_BIT)
		return read_phase(t, record);
	if (fields[i].offset == offsetof(struct loom_record, event_kind))
		return read_kind(t, record);
	return tokens_unsigned(t, fields[i].bits, (char *)record + fields[i].offset);
}

static bool read_event(struct tokens *t, struct loom_record *record)
{
	unsigned seen = 0;
	struct token v;
	const char *key;
	int more;

	memset(record, 0, sizeof(*record));
	if (!tokens_value(t, &v))
		return false;
	if (v.type != TOKEN_OBJECT)
		return tokens_refuse(t, "an event must be an object");
	while ((more = tokens_key(t, &key)) > 0) {
		if (!read_field(t, key, record, &seen))
			return false;
	}
	if (more < 0)
		return false;
	if ((seen | PHASE_BIT) != (PHASE_BIT << 1) - 1)
		return tokens_refuse(t, "this event lacks one of cycle, epoch_id, invocation_id, "
					"core_id, hw_node_id, event_kind, lane, flags, arg0, arg1");
	return true;
}

/* Checks that the rest after the events is JSON. */
static bool read_tail(struct run_reader *r)
{
	const char *key;
	int more = 0;

	while (!r->is_bare && (more = tokens_key(&r->tokens, &key)) > 0) {
		if (!tokens_skip(&r->tokens))
			return false;
	}
	return more == 0 && tokens_end(&r->tokens);
}

static void apply_ids(struct run_reader *r, struct loom_record *record)
{
	if (!r->has_ids) {
		struct loom_place place = {r->path, 0, r->offset};

		r->has_ids = true;
		r->core_id = record->core_id;
		r->epoch_id = record->epoch_id;
		r->invocation_id = record->invocation_id;
		loom_violation_add(r->findings, LOOM_O10, &place,
				   "core, epoch and invocation of the first record (%u, %u, %llu) "
				   "applied to all records",
				   r->core_id, r->epoch_id, LLU(r->invocation_id));
	}
	record->core_id = r->core_id;
	record->epoch_id = r->epoch_id;
	record->invocation_id = r->invocation_id;
}

int loom_json_next(struct run_reader *r, struct loom_record *record)
{
	struct tokens *t = &r->tokens;
	int more = tokens_element(t);

	if (more > 0) {
		while (inflow_look(&r->inflow) == ' ' || inflow_look(&r->inflow) == '\n')
			inflow_skip(&r->inflow, 1);
		r->offset = inflow_tell(&r->inflow);
		if (read_event(t, record)) {
			if (!r->options.as_stored)
				apply_ids(r, record);
			return 1;
		}
	} else if (more == 0 && read_tail(r)) {
		return 0;
	}
	if (r->inflow.error)
		return r->inflow.error;
	more = report_mistake(r);
	return more == -EBADMSG ? 0 : more;
}
