/* SPDX-License-Identifier: MIT */
#include "trace/loom/run_reader.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "trace/base/log.h"
#include "trace/base/text.h"

#define JUDGED	  64 /* records, to find the layout of a file without a header */
#define CORES_FEW 8  /* number of different cores that is always plausible */

#define LLU(v) ((unsigned long long)(v))

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

static size_t record_size(const struct run_reader *r)
{
	return r->form == LOOM_NATURAL48 ? LOOM_NATURAL_SIZE : LOOM_PACKED_SIZE;
}

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

static int refuse(struct run_reader *r, enum loom_rule rule, uint64_t offset, const char *why)
{
	struct loom_place place = at_offset(r, offset);

	loom_violation_add(r->findings, rule, &place, "%s", why);
	return -EBADMSG;
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
	char why[256];

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
	snprintf(why, sizeof(why),
		 "not a form of trace that is known: no header, no JSON, and its %llu bytes are "
		 "not plausible records of 38 or of 48 bytes (if they are, name one with --layout "
		 "packed38 or --layout natural48)",
		 LLU(r->size));
	return refuse(r, LOOM_S1, LOOM_NOWHERE, why);
}

/* ---- opening ---- */

static int open_ltrc(struct run_reader *r)
{
	const uint8_t *header = inflow_peek(&r->inflow, LOOM_HEADER_SIZE);
	char why[64];
	uint32_t version;

	if (!header)
		return refuse(r, LOOM_S4, r->size, "the file ends inside the header");
	memcpy(&version, header + 4, sizeof(version));
	memcpy(&r->announced, header + 8, sizeof(r->announced));
	r->version = le32toh(version);
	r->announced = le64toh(r->announced);
	r->has_announced = true;
	if (r->version == 0x01000000)
		return refuse(
			r, LOOM_S2, 4,
			"the version is 1 in big-endian order; only little-endian files are read");
	if (r->version != LOOM_VERSION) {
		snprintf(why, sizeof(why), "unsupported version %u", r->version);
		return refuse(r, LOOM_S2, 4, why);
	}
	inflow_skip(&r->inflow, LOOM_HEADER_SIZE);
	return 0;
}

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
		return loom_json_open(r);
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
	err = inflow_open(&r->inflow, dirfd, path);
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

/* Checks at the end of a binary file. */
static int end(struct run_reader *r)
{
	uint64_t offset = inflow_tell(&r->inflow);
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

int run_reader_next(struct run_reader *r, struct loom_record *record)
{
	if (r->ended)
		return r->inflow.error;
	if (r->form == LOOM_JSON) {
		int got = loom_json_next(r, record);

		if (got <= 0) {
			r->ended = true;
			return got;
		}
	} else {
		size_t size = record_size(r);
		const uint8_t *at = inflow_peek(&r->inflow, size);

		if (!at)
			return end(r);
		r->offset = inflow_tell(&r->inflow);
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
