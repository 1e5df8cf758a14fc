/* SPDX-License-Identifier: MIT */
/*
 * record_size: finds the record size, 38 or 48 bytes, of a file without a header.
 *
 * In: the first records of the file, in each size that divides the size of the file; out: the size
 * with plausible cycles, padding, cores and kinds. A size with only specified kinds is preferred to
 * one with extensions; if both or none fit, the user must choose.
 */
#include <stdlib.h>

#include "trace/loom/run_reader.h"

#define JUDGED	  64 /* records */
#define CORES_FEW 8  /* number of different cores that is always plausible */

#define LLU(v) ((unsigned long long)(v))

enum fit { FITS_NOT, FITS_WITH_EXTENSIONS, FITS };

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

enum loom_form loom_layout_find(struct run_reader *r)
{
	size_t most = inflow_fill(&r->inflow, JUDGED * LOOM_NATURAL_SIZE);
	const uint8_t *bytes = r->inflow.buf + r->inflow.at;
	struct loom_place place = {r->path, LOOM_NOWHERE, LOOM_NOWHERE};
	enum fit fits[2] = {FITS_NOT, FITS_NOT};

	for (int natural = 0; natural < 2 && r->size > 0; natural++) {
		size_t size = natural ? LOOM_NATURAL_SIZE : LOOM_PACKED_SIZE;
		size_t n = most / size < JUDGED ? most / size : JUDGED;

		if (r->size % size == 0 && n > 0)
			fits[natural] = judge(bytes, n, natural);
	}
	if (fits[0] != fits[1])
		return fits[1] > fits[0] ? LOOM_NATURAL48 : LOOM_PACKED38;
	if (fits[0] != FITS_NOT)
		loom_violation_add(
			r->findings, LOOM_S1, &place,
			"no header, and records of 38 and of 48 bytes are both possible: name "
			"one with "
			"--layout packed38 or --layout natural48");
	else if (r->size == 0)
		loom_violation_add(r->findings, LOOM_S1, &place,
				   "the file is empty: an empty trace has a header");
	else
		loom_violation_add(
			r->findings, LOOM_S1, &place,
			"not a form of trace that is known: no header, no JSON, and its %llu "
			"bytes are "
			"not plausible records of 38 or of 48 bytes (if they are, name one with "
			"--layout "
			"packed38 or --layout natural48)",
			LLU(r->size));
	return LOOM_UNKNOWN;
}
