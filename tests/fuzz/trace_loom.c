/* SPDX-License-Identifier: MIT */
/*
 * Fuzzer of the Loom reader: any bytes as a trace and as the statistics beside it.
 *
 * A trace without JSON must have the same records, and the same number of bytes left over, as a
 * plain decoding of its bytes. Everything that follows is done with both: order, chaining,
 * counters, statistics held against themselves and against the records.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "trace/base/log.h"
#include "trace/loom/stats/agree.h"
#include "trace/loom/controls.h"
#include "trace/loom/record_order.h"
#include "trace/loom/stats/run_stats.h"
#include "trace/loom/run_reader.h"
#include "trace/loom/run_files.h"
#include "fuzz.h"

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	log_setup("fuzz", LOG_ERROR);
	return 0;
}

static void write_file(const char *name, const uint8_t *data, size_t size)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	MUST(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	close(fd);
}

/* A finding has a rule, a severity and a sentence. */
static void look(void *arg, const struct loom_violation *f)
{
	uint64_t *n = arg;

	MUST(f->rule < LOOM_RULES && loom_rules[f->rule].id);
	MUST(f->severity <= loom_rules[f->rule].severity);
	MUST(f->text[0]);
	++*n;
}

static bool lacks(void *arg, uint8_t kind, uint16_t core)
{
	return run_stats_may_lack(arg, kind, core);
}

/* The record number `index` as it stands in the bytes. */
static void must_be(const struct run_reader *r, const struct loom_record *e, const uint8_t *data,
		    size_t size)
{
	size_t each = r->form == LOOM_NATURAL48 ? LOOM_NATURAL_SIZE : LOOM_PACKED_SIZE;
	uint64_t at = (r->form == LOOM_LTRC ? LOOM_HEADER_SIZE : 0) + r->index * each;
	uint8_t again[LOOM_NATURAL_SIZE];
	struct loom_record back;

	MUST(at == r->offset && at + each <= size);
	loom_encode(e, again, r->form == LOOM_NATURAL48);
	loom_decode(&back, again, r->form == LOOM_NATURAL48);
	MUST(memcmp(&back.cycle, &e->cycle, sizeof(back.cycle)) == 0 && back.arg1 == e->arg1 &&
	     back.invocation_id == e->invocation_id && back.hw_node_id == e->hw_node_id);
	if (r->form != LOOM_NATURAL48)
		MUST(memcmp(again, data + at, each) == 0);
}

static void read_trace(const uint8_t *data, size_t size, enum loom_form layout,
		       struct run_stats *perf)
{
	uint64_t said = 0, seen = 0, answers = 0;
	struct loom_violations findings = {.report = look, .arg = &said};
	struct run_reader_options how = {.layout = layout, .as_stored = size & 1};
	struct loom_agree_options agree = {.leaves_out = false};
	struct run_reader *r = calloc(1, sizeof(*r));
	struct record_order *order = record_order_new(&findings);
	struct loom_controls controls = {.keep = 1, .of = 3};
	struct loom_chain chain = {0};
	struct loom_tally tally;
	struct loom_record e;
	int err;

	MUST(r && order && loom_tally_init(&tally, (enum loom_style)(size % LOOM_STYLES)) == 0);
	MUST(!loom_controls_nodes(&controls, "1,0:2"));
	controls.session_passes = true;
	err = run_reader_open(r, AT_FDCWD, "trace", &how, &findings);
	MUST(err == 0 || (err == -EBADMSG && said > 0));
	while (!err && run_reader_next(r, &e) > 0) {
		struct loom_place place = run_reader_place(r);
		int begins, answer;

		MUST(r->index == seen++ && r->offset < size);
		if (r->form != LOOM_JSON)
			must_be(r, &e, data, size);
		answer = loom_controls_decide(&controls, &e);
		MUST(answer >= 0 && answer <= LOOM_SAMPLED_OUT);
		answers++;
		begins = loom_chain_record(&chain, &e);
		MUST(record_order_add(order, &place, &e, begins > 0) == 0);
		MUST(loom_tally_add(&tally, &e) == 0);
	}
	MUST(r->count == seen && answers == seen);
	if (!err && r->form != LOOM_JSON) {
		size_t each = r->form == LOOM_NATURAL48 ? LOOM_NATURAL_SIZE : LOOM_PACKED_SIZE;

		MUST(seen == (size - (r->form == LOOM_LTRC ? LOOM_HEADER_SIZE : 0)) / each);
	}
	MUST(!r->is_damaged || findings.counts[LOOM_ERROR] > 0);
	record_order_finish(order, lacks, perf);
	MUST(loom_tally_finish(&tally) == 0);
	agree.is_json = r->form == LOOM_JSON;
	agree.without_start = record_order_without_start(order);
	agree.last_config_writes = record_order_last_config_writes(order);
	loom_agree(&tally, perf, &agree, &findings);
	record_order_free(order);
	loom_tally_fini(&tally);
	loom_controls_free(&controls);
	run_reader_close(r);
	free(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t said = 0;
	struct loom_violations findings = {.report = look, .arg = &said};
	struct loom_modules names = {0};
	struct run_stats perf;
	struct run_files run;
	size_t half;
	int err;

	if (size < 3)
		return 0;
	/* two bytes: the length of the trace; the rest is the statistics */
	half = (size_t)data[0] | (size_t)data[1] << 8;
	data += 2;
	size -= 2;
	half = half < size ? half : size;
	write_file("trace", data, half);
	write_file("perf", data + half, size - half);
	err = run_stats_load(&perf, AT_FDCWD, "perf", &findings);
	MUST(err == 0 || (err == -EBADMSG && findings.of_rule[LOOM_P1] > 0));
	if (!err)
		MUST(run_stats_check(&perf, &findings) == 0);
	read_trace(data, half, LOOM_UNKNOWN, &perf);
	read_trace(data, half, (half & 1) ? LOOM_PACKED38 : LOOM_NATURAL48, &perf);
	run_stats_free(&perf);
	(void)loom_content_of(AT_FDCWD, "trace");
	log_setup("fuzz", (enum log_level)(-1)); /* how names are wrong is said each time */
	if (loom_modules_load(&names, AT_FDCWD, "perf") == 0 && names.n > 0)
		MUST(loom_modules_find(&names, names.list[0].core_id, names.list[0].hw_node_id));
	log_setup("fuzz", LOG_ERROR);
	loom_modules_free(&names);
	if (run_files_find(&run, "trace", "perf") == 0)
		MUST(run.trace || run.perf);
	run_files_free(&run);
	return 0;
}
