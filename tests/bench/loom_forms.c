/* SPDX-License-Identifier: MIT */
/*
 * Writes a run of a co-simulation of any size, for tests/bench/loom_forms.sh:
 *
 *	loom_forms FORM RECORDS FILE [NODES]
 *
 * FORM is ltrc, natural48 or json. Invocations of 100000 records follow each other on two cores; in
 *a cycle every node fires, routes or stalls with equal probability, which a generator of fixed seed
 *decides. With the same arguments the same bytes come out; they obey all rules.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/loom/loom_record.h"

#define PER_INVOCATION 100000

enum form { LTRC, NATURAL, JSON };

static uint64_t state = 88172645463325252u;

static uint32_t draw(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 32);
}

static void put(FILE *out, enum form form, const struct loom_record *r, uint64_t n)
{
	uint8_t bytes[LOOM_NATURAL_SIZE];

	if (form == JSON) {
		fprintf(out,
			"%s\n  {\"cycle\": %" PRIu64 ", \"phase\": \"commit\", \"epoch_id\": 0, "
			"\"invocation_id\": 0, \"core_id\": 0, "
			"\"hw_node_id\": %" PRIu32
			", \"event_kind\": \"%s\", \"lane\": %u, \"flags\": 0, "
			"\"arg0\": %" PRIu32 ", \"arg1\": %" PRIu32 "}",
			n ? "," : "", r->cycle, r->hw_node_id, loom_kind_json_name(r->event_kind),
			r->lane, r->arg0, r->arg1);
		return;
	}
	loom_encode(r, bytes, form == NATURAL);
	fwrite(bytes, form == NATURAL ? LOOM_NATURAL_SIZE : LOOM_PACKED_SIZE, 1, out);
}

static void run(FILE *out, enum form form, uint64_t records, uint32_t nodes)
{
	struct loom_record r = {.epoch_id = 1};
	uint32_t node = 0;

	for (uint64_t n = 0; n < records; n++) {
		/* the last record ends open invocations */
		uint64_t at = form == JSON ? (n + 1 == records ? PER_INVOCATION - 1 : n > 0)
					   : n % PER_INVOCATION;

		if (n + 1 == records)
			at = PER_INVOCATION - 1;
		r.core_id = form == JSON ? 0 : (uint16_t)(n / PER_INVOCATION % 2);
		r.invocation_id = form == JSON ? 0 : n / PER_INVOCATION;
		r.lane = 0;
		r.arg0 = r.arg1 = 0;
		r.hw_node_id = 0;
		if (at == 0) {
			r.event_kind = LOOM_INVOCATION_START;
			r.cycle++;
			node = 0;
		} else if (at == PER_INVOCATION - 1) {
			r.event_kind = LOOM_INVOCATION_DONE;
			r.cycle++;
		} else {
			r.event_kind = (uint8_t)(draw() % 4);
			r.hw_node_id = node;
			r.lane = (uint8_t)(draw() % 4);
			r.arg0 = draw() % 8;
			r.cycle += node == 0;
			node = node + 1 < nodes ? node + 1 : 0;
		}
		put(out, form, &r, n);
	}
}

int main(int argc, char **argv)
{
	enum form form = JSON;
	uint64_t records;
	FILE *out;

	if (argc < 4) {
		fprintf(stderr, "usage: loom_forms FORM RECORDS FILE [NODES]\n");
		return 2;
	}
	if (!strcmp(argv[1], "ltrc"))
		form = LTRC;
	else if (!strcmp(argv[1], "natural48"))
		form = NATURAL;
	records = strtoull(argv[2], NULL, 10);
	out = fopen(argv[3], "w");
	if (!out) {
		perror(argv[3]);
		return 1;
	}
	if (form == LTRC) {
		uint32_t version = htole32(LOOM_VERSION);
		uint64_t count = htole64(records);

		fwrite(LOOM_MAGIC, 4, 1, out);
		fwrite(&version, sizeof(version), 1, out);
		fwrite(&count, sizeof(count), 1, out);
	} else if (form == JSON) {
		fputs("{\"version\": 1, \"trace_kind\": \"loom_cycle_trace\", \"producer\": "
		      "\"bench\", "
		      "\"modules\": [], \"events\": [",
		      out);
	}
	run(out, form, records, argc > 4 ? (uint32_t)strtoul(argv[4], NULL, 10) : 64);
	if (form == JSON)
		fputs("\n]}\n", out);
	if (fclose(out) != 0) {
		perror(argv[3]);
		return 1;
	}
	return 0;
}
