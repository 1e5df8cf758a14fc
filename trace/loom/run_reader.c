/* SPDX-License-Identifier: MIT */
#include "trace/loom/run_reader.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "trace/base/files/input.h"
#include "trace/base/log.h"
#include "trace/base/text.h"

#define JUDGED	  64 /* records, to find the layout of a file without a header */
#define CORES_FEW 8  /* number of different cores that is always plausible */

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define LLU(v)	     ((unsigned long long)(v))

static const char *const form_names[] = {
	[LOOM_UNKNOWN] = "unknown",	[LOOM_LTRC] = "ltrc", [LOOM_PACKED38] = "packed38",
	[LOOM_NATURAL48] = "natural48", [LOOM_JSON] = "json",
};

const char *loom_form_name(enum loom_form form)
{
	return form_names[form];
}

enum loom_form loom_layout_parse(const char *name)
{
	if (!strcmp(name, form_names[LOOM_PACKED38]))
		return LOOM_PACKED38;
	return !strcmp(name, form_names[LOOM_NATURAL48]) ? LOOM_NATURAL48 : LOOM_UNKNOWN;
}

static struct loom_place at_offset(const struct run_reader *r, uint64_t offset)
{
	return (struct loom_place){r->path, LOOM_NOWHERE, offset};
}

/* Reports why the trace is unreadable. Returns -EBADMSG. */
__attribute__((format(printf, 4, 5))) static int refuse(struct run_reader *r, enum loom_rule rule,
							uint64_t offset, const char *fmt, ...)
{
	struct loom_place place = at_offset(r, offset);
	char why[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(why, sizeof(why), fmt, args);
	va_end(args);
	loom_violation_add(r->findings, rule, &place, "%s", why);
	return -EBADMSG;
}

static size_t record_size(const struct run_reader *r)
{
	return r->form == LOOM_NATURAL48 ? LOOM_NATURAL_SIZE : LOOM_PACKED_SIZE;
}

#define ZEROS_MOST 1024 /* records */

/* ---- the layout of a file without a header ---- */

enum fit { FITS_NOT, FITS_WITH_EXTENSIONS, FITS };

/* Judges the first records of a file in one layout, by their cycles, padding, cores and kinds. */
static enum fit judge(const uint8_t *bytes, size_t n, bool is_natural)
{
	size_t size = is_natural ? LOOM_NATURAL_SIZE : LOOM_PACKED_SIZE, ncores = 0, extensions = 0;
	uint16_t cores[JUDGED];
	uint64_t before = 0;

	for (size_t i = 0; i < n; i++) {
		struct loom_record r;
		size_t c = 0;

		loom_decode(&r, bytes + i * size, is_natural);
		extensions += r.event_kind >= LOOM_KINDS;
		if (r.cycle < before || (is_natural && !loom_padding_is_zero(bytes + i * size)))
			return FITS_NOT;
		before = r.cycle;
		while (c < ncores && cores[c] != r.core_id)
			c++;
		if (c == ncores)
			cores[ncores++] = r.core_id;
	}
	if ((ncores > CORES_FEW && ncores > n / 2) || extensions > n / 4)
		return FITS_NOT;
	return extensions ? FITS_WITH_EXTENSIONS : FITS;
}

/*
 * Finds the layout: the one that divides the size of the file and fits its first records. One with
 * only specified kinds is preferred to one with extensions; if both or none fit, the user must
 * choose.
 */
static int find_layout(struct run_reader *r)
{
	size_t most = inflow_fill(&r->inflow, JUDGED * LOOM_NATURAL_SIZE);
	enum fit fits[2] = {FITS_NOT, FITS_NOT};

	for (int natural = 0; natural < 2; natural++) {
		size_t size = natural ? LOOM_NATURAL_SIZE : LOOM_PACKED_SIZE;
		size_t n = most / size < JUDGED ? most / size : JUDGED;

		if (r->size % size == 0 && n > 0)
			fits[natural] = judge(r->inflow.buf + r->inflow.at, n, natural);
	}
	if (fits[0] != fits[1]) {
		r->form = fits[1] > fits[0] ? LOOM_NATURAL48 : LOOM_PACKED38;
		return 0;
	}
	if (fits[0] != FITS_NOT)
		return refuse(r, LOOM_S1, LOOM_NOWHERE,
			      "no header, and records of 38 and of 48 bytes are both possible: "
			      "name one with --layout packed38 or --layout natural48");
	if (r->size == 0)
		return refuse(r, LOOM_S1, LOOM_NOWHERE,
			      "the file is empty: an empty trace has a header");
	return refuse(r, LOOM_S1, LOOM_NOWHERE,
		      "not a known form of trace: no header, no JSON, and its %llu bytes "
		      "are not plausible records of 38 or of 48 bytes (if they are, name one with "
		      "--layout packed38 or --layout natural48)",
		      LLU(r->size));
}

static int open_ltrc(struct run_reader *r)
{
	const uint8_t *header = inflow_peek(&r->inflow, LOOM_HEADER_SIZE);
	uint32_t version;

	if (!header)
		return refuse(r, LOOM_S4, r->size, "the file ends inside the header");
	memcpy(&version, header + 4, sizeof(version));
	memcpy(&r->announced, header + 8, sizeof(r->announced));
	version = le32toh(version);
	r->announced = le64toh(r->announced);
	r->has_announced = true;
	if (version == 0x01000000)
		return refuse(
			r, LOOM_S2, 4,
			"the version is 1 in big-endian order; only little-endian files are read");
	if (version != LOOM_VERSION)
		return refuse(r, LOOM_S2, 4, "unsupported version %u", version);
	inflow_skip(&r->inflow, LOOM_HEADER_SIZE);
	return 0;
}

/*
 * ---- JSON: the document ----
 *
 * Keys may be in any order: opening the file reads those before the events, and those after the
 * events if a required key is missing; each step reads one event.
 */

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

struct head {
	bool version, trace_kind, modules, events;
	struct token version_value;
	char version_text[32], trace_kind_text[32], producer[64];
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
		return put_text(t, h->trace_kind_text, sizeof(h->trace_kind_text));
	}
	if (!strcmp(key, "producer"))
		return put_text(t, h->producer, sizeof(h->producer));
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
		h->events_at = inflow_offset(&r->inflow);
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

static int open_json(struct run_reader *r)
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
			      : refuse(r, LOOM_S1, LOOM_NOWHERE,
				       "a JSON document without events: no trace");
	}
	/* reading the events finds a mistake after them again */
	if (h.version &&
	    !(token_fits(&h.version_value, UINT32_MAX) && h.version_value.integer == LOOM_VERSION))
		return refuse(r, LOOM_S2, LOOM_NOWHERE, "unsupported version '%s'", h.version_text);
	if (!t->why && !h.version)
		return refuse(r, LOOM_S2, LOOM_NOWHERE, "the document has no version");
	if (!t->why && !h.trace_kind)
		return refuse(r, LOOM_S1, LOOM_NOWHERE, "the document has no trace_kind");
	if (h.trace_kind && strcmp(h.trace_kind_text, "loom_cycle_trace") != 0 &&
	    strcmp(h.trace_kind_text, "fcc_cycle_trace") != 0)
		return refuse(r, LOOM_S1, LOOM_NOWHERE, "unknown trace_kind '%s'",
			      h.trace_kind_text);
	inflow_seek(&r->inflow, h.events_at);
	tokens_resume(t, &r->inflow, 2, true);
	return 0;
}

/* ---- JSON: the events ---- */

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

static int next_json(struct run_reader *r, struct loom_record *record)
{
	struct tokens *t = &r->tokens;
	int more = tokens_element(t);

	if (more > 0) {
		while (inflow_peek_byte(&r->inflow) == ' ' || inflow_peek_byte(&r->inflow) == '\n')
			inflow_skip(&r->inflow, 1);
		r->offset = inflow_offset(&r->inflow);
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

/* ---- opening ---- */

/*
 * True for JSON, by the first byte after blanks. In a record, that byte belongs to the cycle, and a
 * zero follows, which JSON does not have.
 */
static bool looks_like_json(struct run_reader *r)
{
	size_t size = inflow_fill(&r->inflow, 4096);

	for (size_t i = 0; i < size; i++) {
		uint8_t c = r->inflow.buf[r->inflow.at + i];

		if (c == '{' || c == '[')
			return i + 1 == size || r->inflow.buf[r->inflow.at + i + 1];
		if (c != ' ' && c != '\t' && c != '\n' && c != '\r')
			return false;
	}
	return false;
}

static int open_form(struct run_reader *r)
{
	const uint8_t *magic = inflow_peek(&r->inflow, 4);

	if (magic && !memcmp(magic, LOOM_MAGIC, 4)) {
		r->form = LOOM_LTRC;
		return open_ltrc(r);
	}
	if (looks_like_json(r)) {
		r->form = LOOM_JSON;
		return open_json(r);
	}
	r->form = r->options.layout;
	return r->form == LOOM_UNKNOWN ? find_layout(r) : 0;
}

int run_reader_open(struct run_reader *r, int dirfd, const char *path,
		    const struct run_reader_options *options, struct loom_violations *findings)
{
	int err;

	memset(r, 0, sizeof(*r));
	r->path = path;
	r->findings = findings;
	if (options)
		r->options = *options;
	err = inflow_open(&r->inflow, dirfd, path, INPUT_EVENTS_MAX);
	if (err)
		return err;
	r->size = r->inflow.size;
	err = open_form(r);
	if (r->inflow.error)
		err = r->inflow.error;
	if (err) {
		r->is_damaged = true;
		r->ended = true;
	}
	return err;
}

void run_reader_close(struct run_reader *r)
{
	loom_modules_free(&r->modules);
	inflow_close(&r->inflow);
}

/* ---- reading ---- */

/* Checks at the end of a binary file. */
static int end(struct run_reader *r)
{
	uint64_t offset = inflow_offset(&r->inflow);
	size_t rest = r->inflow.len - r->inflow.at;
	struct loom_place place = at_offset(r, offset);

	r->ended = true;
	if (r->inflow.error)
		return r->inflow.error;
	if (rest > 0) {
		loom_violation_add(r->findings, LOOM_S4, &place,
				   "%zu trailing bytes do not make a record", rest);
		r->is_damaged = true;
	}
	if (r->has_announced && r->announced != r->count) {
		place = at_offset(r, 8);
		loom_violation_add(r->findings, LOOM_S3, &place,
				   "the header announces %llu records, the file holds %llu",
				   LLU(r->announced), LLU(r->count));
		r->is_damaged = true;
	}
	if (r->padded > 0) {
		place = (struct loom_place){r->path, r->first_padded,
					    r->first_padded * LOOM_NATURAL_SIZE};
		loom_violation_add(r->findings, LOOM_S5, &place,
				   "the padding of %llu %s is not zero, first here", LLU(r->padded),
				   plural(r->padded, "record", "records"));
	}
	return 0;
}

/* A file has zeros where it was never written, and a sparse one may have any number of them. One
 * record may be zeros, not ZEROS_MOST in a row. */
static bool in_zeros(struct run_reader *r, const uint8_t *at, size_t size)
{
	static const uint8_t zeros[LOOM_NATURAL_SIZE];
	struct loom_place place;

	r->zeros = memcmp(at, zeros, size) ? 0 : r->zeros + 1;
	if (r->zeros < ZEROS_MOST)
		return false;
	place = at_offset(r, r->offset - (ZEROS_MOST - 1) * size);
	loom_violation_add(r->findings, LOOM_S4, &place, "only zeros instead of records");
	r->is_damaged = true;
	r->ended = true;
	return true;
}

int run_reader_next(struct run_reader *r, struct loom_record *record)
{
	if (r->ended)
		return r->inflow.error;
	if (r->form == LOOM_JSON) {
		int got = next_json(r, record);

		if (got <= 0) {
			r->ended = true;
			return got;
		}
	} else {
		size_t size = record_size(r);
		const uint8_t *at = inflow_peek(&r->inflow, size);

		if (!at)
			return end(r);
		r->offset = inflow_offset(&r->inflow);
		if (in_zeros(r, at, size))
			return 0;
		loom_decode(record, at, r->form == LOOM_NATURAL48);
		if (r->form == LOOM_NATURAL48 && !loom_padding_is_zero(at)) {
			if (r->padded++ == 0)
				r->first_padded = r->count;
		}
		inflow_skip(&r->inflow, size);
	}
	r->index = r->count++;
	r->sequence = r->index > 0 && record->cycle == r->last_cycle ? r->sequence + 1 : 0;
	r->last_cycle = record->cycle;
	return 1;
}

/* ---- chaining ---- */

int loom_chain_record(struct loom_chain *c, struct loom_record *r)
{
	bool falls = c->any && r->cycle < c->raw;
	bool begins = falls && !c->off &&
		      (r->epoch_id != c->epoch_id || r->invocation_id != c->invocation_id);
	uint64_t shift = c->shift, cycle;

	if (begins && c->has_done && c->done >= c->last)
		shift = c->done;
	else if (begins && __builtin_add_overflow(c->last, 1, &shift))
		return -EOVERFLOW;
	if (__builtin_add_overflow(r->cycle, shift, &cycle))
		return -EOVERFLOW;
	if (begins) {
		c->parts++;
		c->shift = shift;
		c->has_done = false;
	}
	c->fell = falls && !begins;
	c->raw = r->cycle;
	c->epoch_id = r->epoch_id;
	c->invocation_id = r->invocation_id;
	c->any = true;
	c->last = r->cycle = cycle;
	if (r->event_kind == LOOM_INVOCATION_DONE) {
		c->done = cycle;
		c->has_done = true;
	}
	return begins;
}

int loom_chain_step(struct loom_chain *c, struct loom_record *r)
{
	uint64_t cycle = r->cycle;
	int begins = loom_chain_record(c, r);

	if (begins < 0)
		return begins;
	if (!c->fell)
		return 0;
	r->cycle = cycle;
	return -ERANGE;
}
