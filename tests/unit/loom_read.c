/* SPDX-License-Identifier: MIT */
/* Reading runs of Loom: bytes, documents, layouts, parts, controls, the order of records. */
#include <errno.h>
#include <math.h>

#include "trace/loom/controls.h"
#include "trace/loom/record_order.h"
#include "trace/loom/stats/run_stats.h"
#include "trace/loom/run_reader.h"
#include "trace/loom/run_files.h"
#include "trace/loom/stats/tally.h"
#include "trace_kit.h"

/* ---- record ---- */

static const struct loom_record all_different = {
	.cycle = 0x0102030405060708,
	.epoch_id = 0x11121314,
	.invocation_id = 0x2122232425262728,
	.core_id = 0x3132,
	.hw_node_id = 0x41424344,
	.event_kind = 0x51,
	.lane = 0x61,
	.flags = 0x7172,
	.arg0 = 0x81828384,
	.arg1 = 0x91929394,
};

static void bytes_are_those_of_the_specification(void **state)
{
	static const uint8_t packed[LOOM_PACKED_SIZE] = {
		8,    7,    6,	  5,	4,    3,    2,	  1,	0x14, 0x13, 0x12, 0x11, 0x28,
		0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21, 0x32, 0x31, 0x44, 0x43, 0x42, 0x41,
		0x51, 0x61, 0x72, 0x71, 0x84, 0x83, 0x82, 0x81, 0x94, 0x93, 0x92, 0x91};
	static const uint8_t natural[LOOM_NATURAL_SIZE] = {
		8,    7,    6,	  5,	4,    3,    2,	  1,	0x14, 0x13, 0x12, 0x11,
		0,    0,    0,	  0,	0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21,
		0x32, 0x31, 0,	  0,	0x44, 0x43, 0x42, 0x41, 0x51, 0x61, 0x72, 0x71,
		0x84, 0x83, 0x82, 0x81, 0x94, 0x93, 0x92, 0x91, 0,    0,    0,	  0};
	uint8_t bytes[LOOM_NATURAL_SIZE];
	struct loom_record back;

	(void)state;
	memset(bytes, 0xff, sizeof(bytes));
	loom_encode(&all_different, bytes, false);
	assert_memory_equal(bytes, packed, sizeof(packed));
	loom_encode(&all_different, bytes, true);
	assert_memory_equal(bytes, natural, sizeof(natural));
	assert_true(loom_padding_is_zero(bytes));
	for (size_t i = 0; i < sizeof(bytes); i++) {
		bool is_padding = (i >= 12 && i < 16) || i == 26 || i == 27 || i >= 44;

		bytes[i] ^= 1;
		assert_int_equal(loom_padding_is_zero(bytes), !is_padding);
		bytes[i] ^= 1;
	}
	for (int is_natural = 0; is_natural < 2; is_natural++) {
		memset(&back, 0, sizeof(back));
		loom_decode(&back, is_natural ? natural : packed, is_natural);
		assert_memory_equal(&back, &all_different, sizeof(back));
	}
}

static void kinds_have_names(void **state)
{
	static const struct {
		const char *name;
		int kind; /* -1: none */
	} names[] = {
		{"NODE_FIRE", 0}, {"node_fire", 0}, {"DEVICE_ERROR", 7}, {"EXT_8", 8},
		{"ext_255", 255}, {"EXT_7", -1},    {"EXT_256", -1},	 {"EXT_", -1},
		{"EXT_9x", -1},	  {"", -1},	    {"NODE_FIR", -1},	 {"NODE_FIRES", -1},
		{"EXT_0009", -1},
	};
	char room[8];

	(void)state;
	for (size_t i = 0; i < COUNT(names); i++) {
		uint8_t kind = 99;
		bool known = loom_kind_parse(names[i].name, strlen(names[i].name), &kind);

		assert_int_equal(known ? kind : -1, names[i].kind);
	}
	for (int kind = 0; kind < 256; kind++) {
		const char *name = loom_kind_name((uint8_t)kind, room);
		uint8_t back;

		assert_true(loom_kind_parse(name, strlen(name), &back));
		assert_int_equal(back, kind);
	}
	assert_non_null(loom_error_name(262));
	assert_null(loom_error_name(0));
	assert_null(loom_error_name(3));
	assert_true(loom_error_reserved(16) && loom_error_reserved(255));
	assert_false(loom_error_reserved(15) || loom_error_reserved(256));
}

/* ---- tokens ---- */

/* Passes over a whole document. Returns its mistake, or NULL. */
static const char *wrong_with(const char *text, size_t size, bool *is_cut)
{
	static struct tokens t;
	struct inflow in;
	const char *why;

	kit_file("document", text, size);
	assert_int_equal(inflow_open(&in, kit_dir, "document", UINT64_MAX), 0);
	tokens_init(&t, &in);
	why = tokens_skip(&t) && tokens_end(&t) ? NULL : t.why;
	*is_cut = t.is_cut;
	inflow_close(&in);
	return why;
}

static void documents_are_held_to_the_grammar(void **state)
{
	static const char *const good[] = {
		"{}",
		"[]",
		" [ ] ",
		"0",
		"-0",
		"1.5e-3",
		"1E+9",
		"\"\"",
		"null",
		"[true,false,null]",
		"{\"a\":{\"b\":[1,{\"c\":\"\\u00e9\\ud83d\\ude00\\\"\\\\\\/\\b\\f\\n\\r\\t\"}]}}",
		"\"as upstream has them: \x01 \b \x1f \x7f\"",
		"18446744073709551615",
		"99999999999999999999999999",
	};
	static const char *const bad[] = {
		"[1,]",
		"{\"a\":1,}",
		"[1 2]",
		"{a:1}",
		"{\"a\" 1}",
		"01",
		"-",
		"1.",
		".5",
		"+1",
		"1e",
		"'a'",
		"[1}",
		"{\"a\":1]",
		"tru e",
		"nul",
		"\"\\x\"",
		"\"\\u12g4\"",
		"\"\\ud800\"",
		"\"\\udc00\"",
		"\"\\u0000\"",
		"\"a\nb\"",
		"\"a\tb\"",
		"1 2",
		"//",
		"{\"a\"}",
		"{1:2}",
		"[,1]",
		"\"\\ud800\\u0041\"",
	};
	static const char *const cut[] = {
		"",	    " ",  "[",	  "{",	     "[1", "[1,", "{\"a", "{\"a\"", "{\"a\":",
		"{\"a\":1", "\"", "\"\\", "\"\\u00", "tr", "1.",  "1e",	  "1e+",    "-",
	};
	bool is_cut;

	(void)state;
	for (size_t i = 0; i < COUNT(good); i++) {
		const char *why = wrong_with(good[i], strlen(good[i]), &is_cut);

		if (why)
			fail_msg("%s: %s", good[i], why);
	}
	for (size_t i = 0; i < COUNT(bad); i++) {
		if (!wrong_with(bad[i], strlen(bad[i]), &is_cut))
			fail_msg("%s: nothing is found wrong", bad[i]);
	}
	for (size_t i = 0; i < COUNT(cut); i++) {
		if (!wrong_with(cut[i], strlen(cut[i]), &is_cut) || !is_cut)
			fail_msg("%s: not seen as cut", cut[i]);
	}
}

static void depth_is_bounded(void **state)
{
	char text[2 * (TOKENS_DEPTH + 1)];
	bool is_cut;

	(void)state;
	for (unsigned depth = TOKENS_DEPTH; depth <= TOKENS_DEPTH + 1; depth++) {
		memset(text, '[', depth);
		memset(text + depth, ']', depth);
		assert_int_equal(wrong_with(text, 2 * (size_t)depth, &is_cut) == NULL,
				 depth == TOKENS_DEPTH);
	}
}

/* Text at the edge of the buffer is read as anywhere else. */
static void nothing_is_special_at_the_edge_of_the_buffer(void **state)
{
	static const char tail[] = "\"\\ud83d\\ude00x\", 18446744073709551615, true]";
	static struct tokens t;
	enum { EDGE = 256 << 10 };
	static char text[EDGE + sizeof(tail) + 8];

	(void)state;
	for (size_t before = EDGE - sizeof(tail) - 2; before < EDGE + 2; before++) {
		struct inflow in;
		struct token v;

		memset(text, ' ', before);
		text[0] = '[';
		memcpy(text + before, tail, sizeof(tail) - 1);
		kit_file("document", text, before + sizeof(tail) - 1);
		assert_int_equal(inflow_open(&in, kit_dir, "document", UINT64_MAX), 0);
		tokens_init(&t, &in);
		assert_true(tokens_value(&t, &v) && v.type == TOKEN_ARRAY);
		assert_int_equal(tokens_element(&t), 1);
		assert_true(tokens_value(&t, &v));
		assert_string_equal(v.text, "\xf0\x9f\x98\x80x");
		assert_int_equal(tokens_element(&t), 1);
		assert_true(tokens_value(&t, &v) && token_fits(&v, UINT64_MAX));
		assert_true(v.integer == UINT64_MAX);
		assert_int_equal(tokens_element(&t), 1);
		assert_true(tokens_value(&t, &v) && v.type == TOKEN_BOOL && v.truth);
		assert_int_equal(tokens_element(&t), 0);
		assert_true(tokens_end(&t));
		inflow_close(&in);
	}
}

static void integers_keep_their_bits(void **state)
{
	static const struct {
		const char *text;
		bool fits;
		uint64_t value;
	} numbers[] = {
		{"9007199254740993", true, 9007199254740993u},
		{"18446744073709551615", true, UINT64_MAX},
		{"18446744073709551616", false, 0},
		{"184467440737095516150", false, 0},
		{"-1", false, 0},
		{"-0", true, 0},
		{"1.0", false, 0},
		{"1e3", false, 0},
	};
	static struct tokens t;

	(void)state;
	for (size_t i = 0; i < COUNT(numbers); i++) {
		struct inflow in;
		struct token v;

		kit_file("document", numbers[i].text, strlen(numbers[i].text));
		assert_int_equal(inflow_open(&in, kit_dir, "document", UINT64_MAX), 0);
		tokens_init(&t, &in);
		assert_true(tokens_value(&t, &v));
		assert_int_equal(token_fits(&v, UINT64_MAX), numbers[i].fits);
		if (numbers[i].fits)
			assert_true(v.integer == numbers[i].value);
		inflow_close(&in);
	}
}

/* ---- reader ---- */

static void a_file_that_shrinks_ends_earlier(void **state)
{
	enum { RECORDS = 20000 };
	struct loom_violations findings = {.report = loom_violation_ignore};
	static struct run_reader r;
	static uint8_t bytes[LOOM_HEADER_SIZE + RECORDS * LOOM_PACKED_SIZE];
	struct loom_record e;
	uint64_t count = htole64(RECORDS);
	uint32_t version = htole32(1);
	int fd, got;

	(void)state;
	memcpy(bytes, LOOM_MAGIC, 4);
	memcpy(bytes + 4, &version, 4);
	memcpy(bytes + 8, &count, 8);
	for (size_t i = 0; i < RECORDS; i++) /* cycle 1: zeros are no records */
		bytes[LOOM_HEADER_SIZE + i * LOOM_PACKED_SIZE] = 1;
	kit_file("run.trace.bin", bytes, sizeof(bytes));
	assert_int_equal(run_reader_open(&r, kit_dir, "run.trace.bin", NULL, &findings), 0);
	assert_int_equal(run_reader_next(&r, &e), 1);
	fd = openat(kit_dir, "run.trace.bin", O_WRONLY | O_CLOEXEC);
	assert_int_equal(ftruncate(fd, LOOM_HEADER_SIZE + 10000 * LOOM_PACKED_SIZE + 7), 0);
	close(fd);
	do
		got = run_reader_next(&r, &e);
	while (got > 0);
	assert_int_equal(got, 0);
	assert_true(r.count >= 1 && r.count <= 10000);
	assert_true(r.is_damaged);
	assert_int_equal(findings.of_rule[LOOM_S3], 1);
	assert_int_equal(findings.of_rule[LOOM_S4], 1);
	/* asked once more, it says the same */
	assert_int_equal(run_reader_next(&r, &e), 0);
	assert_int_equal(findings.of_rule[LOOM_S3], 1);
	run_reader_close(&r);
}

static void paths_that_are_no_files_are_refused(void **state)
{
	struct loom_violations findings = {.report = loom_violation_ignore};
	static struct run_reader r;

	(void)state;
	kit_mkdir("folder");
	assert_int_equal(mkfifoat(kit_dir, "fifo", 0600), 0);
	kit_listen();
	assert_int_equal(run_reader_open(&r, kit_dir, "none", NULL, &findings), -ENOENT);
	run_reader_close(&r);
	assert_int_equal(run_reader_open(&r, kit_dir, "folder", NULL, &findings), -EISDIR);
	run_reader_close(&r);
	assert_int_equal(run_reader_open(&r, kit_dir, "fifo", NULL, &findings), -EINVAL);
	run_reader_close(&r);
	kit_heard();
	assert_int_equal(findings.counts[LOOM_ERROR], 0);
	assert_int_equal(loom_content_of(kit_dir, "fifo"), LOOM_OTHER);
}

/* ---- layout ---- */

static void layouts_are_distinguished_or_required(void **state)
{
	enum { RECORDS = 24 * 38 }; /* a number that both sizes divide, in bytes */
	static uint8_t bytes[RECORDS * LOOM_NATURAL_SIZE];

	(void)state;
	for (int is_natural = 0; is_natural < 2; is_natural++) {
		size_t size = is_natural ? LOOM_NATURAL_SIZE : LOOM_PACKED_SIZE;
		struct loom_violations findings = {.report = loom_violation_ignore};
		static struct run_reader r;

		for (unsigned i = 0; i < RECORDS; i++) {
			struct loom_record e = {.cycle = i,
						.hw_node_id = i % 7,
						.event_kind = i % 4,
						.core_id = i % 3,
						.arg0 = i};

			/* one in eight is an extension */
			if (i % 8 == 7)
				e.event_kind = 200;
			loom_encode(&e, bytes + i * size, is_natural);
		}
		kit_file("plain", bytes, RECORDS * size);
		assert_int_equal(run_reader_open(&r, kit_dir, "plain", NULL, &findings), 0);
		assert_int_equal(r.form, is_natural ? LOOM_NATURAL48 : LOOM_PACKED38);
		run_reader_close(&r);
		/* a cycle that falls, or a core each, is not plausible */
		memset(bytes + 3 * size, 0, 8);
		kit_file("plain", bytes, RECORDS * size);
		assert_int_equal(run_reader_open(&r, kit_dir, "plain", NULL, &findings), -EBADMSG);
		assert_int_equal(findings.of_rule[LOOM_S1], 1);
		run_reader_close(&r);
	}
}

/* ---- chain ---- */

static void parts_follow_each_other(void **state)
{
	static const struct {
		uint64_t cycle, invocation;
		uint8_t kind;
		int begins;
		uint64_t becomes;
	} records[] = {
		{5, 0, LOOM_INVOCATION_START, 0, 5},
		{9, 0, LOOM_INVOCATION_DONE, 0, 9},
		{0, 1, LOOM_CONFIG_WRITE, 1, 9}, /* behind the end */
		{4, 1, LOOM_NODE_FIRE, 0, 13},
		{3, 1, LOOM_NODE_FIRE, 0, 12},	  /* falls without a new part: stays wrong */
		{0, 2, LOOM_CONFIG_WRITE, 1, 13}, /* behind the last one, no end */
		{2, 2, LOOM_INVOCATION_DONE, 0, 15},
		{3, 2, LOOM_NODE_STALL_IN, 0, 16}, /* went on after its end */
		{3, 3, LOOM_NODE_FIRE, 0, 16}, /* a new one, without a fall: the same time line */
		{0, 4, LOOM_NODE_FIRE, 1, 17},
	};
	struct loom_chain chain = {0};
	struct loom_record e = {0};

	(void)state;
	for (size_t i = 0; i < COUNT(records); i++) {
		e.cycle = records[i].cycle;
		e.invocation_id = records[i].invocation;
		e.event_kind = records[i].kind;
		assert_int_equal(loom_chain_record(&chain, &e), records[i].begins);
		assert_int_equal(e.cycle, records[i].becomes);
	}
	assert_int_equal(chain.parts, 3);
	/* a reader that cannot go back, and one without chaining */
	e = (struct loom_record){.cycle = 0, .invocation_id = 4};
	assert_int_equal(loom_chain_step(&chain, &e), 0);
	e.cycle = 3;
	assert_int_equal(loom_chain_step(&chain, &e), 0);
	e.cycle = 2;
	assert_int_equal(loom_chain_step(&chain, &e), -ERANGE);
	assert_int_equal(e.cycle, 2);
	chain.off = true;
	e = (struct loom_record){.cycle = 1, .invocation_id = 5};
	assert_int_equal(loom_chain_step(&chain, &e), -ERANGE);
	chain.off = false;
	e = (struct loom_record){.cycle = UINT64_MAX, .invocation_id = 5};
	assert_int_equal(loom_chain_record(&chain, &e), -EOVERFLOW);
	assert_true(e.cycle == UINT64_MAX);
}

/* ---- controls ---- */

static void lists_are_read_or_refused(void **state)
{
	static const char *const bad_kinds[] = {"", "fire,", ",fire", "FIRES", "0", "fire route"};
	static const char *const bad_cores[] = {"",   "1,",    "65536", "3-1", "1-",
						"-1", "1-2-3", "a",	"1 2"};
	static const char *const bad_nodes[] = {"",   "4294967296", "65536:1", ":1",
						"1:", "1:2:3",	    "x",       "1,"};
	static const char *const bad_ratios[] = {"",   "1",	"0/2", "3/2",	      "1/",
						 "/2", "1/2/3", "a/b", "1/4294967296"};
	struct loom_controls c = {0};

	(void)state;
	for (size_t i = 0; i < COUNT(bad_kinds); i++)
		assert_non_null(loom_controls_kinds(&c, bad_kinds[i]));
	for (size_t i = 0; i < COUNT(bad_cores); i++)
		assert_non_null(loom_controls_cores(&c, bad_cores[i]));
	for (size_t i = 0; i < COUNT(bad_nodes); i++)
		assert_non_null(loom_controls_nodes(&c, bad_nodes[i]));
	for (size_t i = 0; i < COUNT(bad_ratios); i++)
		assert_non_null(loom_controls_sample(&c, bad_ratios[i]));
	loom_controls_free(&c);
	assert_null(loom_controls_kinds(&c, "fire,ROUTE_USE,EXT_9"));
	assert_null(loom_controls_cores(&c, "0,2-4,65535"));
	assert_null(loom_controls_nodes(&c, "7,2:1,4294967295"));
	assert_true(loom_controls_filters_pass(&c, LOOM_NODE_FIRE, 3, 7));
	assert_true(loom_controls_filters_pass(&c, 9, 2, 1));
	assert_true(loom_controls_filters_pass(&c, LOOM_ROUTE_USE, 65535, UINT32_MAX));
	assert_false(loom_controls_filters_pass(&c, LOOM_NODE_STALL_IN, 3, 7));
	assert_false(loom_controls_filters_pass(&c, LOOM_NODE_FIRE, 1, 7));
	assert_false(loom_controls_filters_pass(&c, LOOM_NODE_FIRE, 3, 1));
	loom_controls_free(&c);
	/* records of no node */
	assert_null(loom_controls_nodes(&c, "7"));
	assert_false(loom_controls_filters_pass(&c, LOOM_INVOCATION_START, 0, 0));
	c.session_passes = true;
	assert_true(loom_controls_filters_pass(&c, LOOM_INVOCATION_START, 0, 0));
	assert_false(loom_controls_filters_pass(&c, LOOM_DEVICE_ERROR, 0, 0));
	loom_controls_free(&c);
}

static void sampling_counts_each_node_and_kind(void **state)
{
	struct loom_controls c = {0};
	unsigned kept[256] = {0};

	(void)state;
	assert_null(loom_controls_sample(&c, "2/5"));
	for (uint32_t i = 0; i < 1000; i++) {
		for (uint32_t node = 0; node < 200; node++) {
			struct loom_record e = {.hw_node_id = node,
						.core_id = (uint16_t)(node % 3),
						.event_kind = LOOM_NODE_FIRE};
			int decision = loom_controls_decide(&c, &e);

			assert_int_equal(decision, i % 5 < 2 ? LOOM_PASSES : LOOM_SAMPLED_OUT);
			kept[node] += decision == LOOM_PASSES;
			/* records of invocations always pass */
			e.event_kind = LOOM_INVOCATION_START + node % 3;
			assert_int_equal(loom_controls_decide(&c, &e), LOOM_PASSES);
		}
	}
	for (uint32_t node = 0; node < 200; node++)
		assert_int_equal(kept[node], 400);
	loom_controls_free(&c);
}

/* ---- order: many scopes ---- */

static bool lacks_nothing(void *arg, uint8_t kind, uint16_t core)
{
	(void)arg;
	(void)kind;
	(void)core;
	return false;
}

static void scopes_are_kept_apart(void **state)
{
	enum { CORES = 50, INVOCATIONS = 40 };
	struct loom_violations findings = {.report = loom_violation_ignore};
	struct record_order *order = record_order_new(&findings);
	struct loom_record e = {.epoch_id = 3};
	struct loom_place place = {"run", 0, 0};

	(void)state;
	assert_non_null(order);
	for (int step = 0; step < 3; step++) {
		static const uint8_t kinds[] = {LOOM_INVOCATION_START, LOOM_NODE_FIRE,
						LOOM_INVOCATION_DONE};

		for (unsigned i = 0; i < CORES * INVOCATIONS; i++) {
			e.core_id = (uint16_t)(i % CORES);
			e.invocation_id = (uint64_t)(i / CORES) << 40;
			e.event_kind = kinds[step];
			/* one scope has no end of its own, but others of its invocation have */
			if (step == 2 && i == 123)
				continue;
			assert_int_equal(record_order_add(order, &place, &e, false), 0);
			place.record++;
		}
	}
	assert_int_equal(record_order_scopes(order), CORES * INVOCATIONS);
	record_order_finish(order, lacks_nothing, NULL);
	assert_string_equal(loom_verdict(&findings), "valid");
	assert_int_equal(findings.counts[LOOM_NOTICE], 0);
	record_order_free(order);
}

/* ---- metrics ---- */

static void metrics_follow_the_seed(void **state)
{
	uint64_t counters[STATS_NCOUNTERS] = {0};
	double m[STATS_NMETRICS];

	(void)state;
	counters[STATS_ACTIVE_CYCLES] = 4;
	counters[STATS_STALL_CYCLES_IN] = 7;
	counters[STATS_STALL_CYCLES_OUT] = 3;
	counters[STATS_TOKENS_OUT] = 6;
	counters[STATS_CONFIG_WRITES] = 2;
	stats_derive(counters, 16, m);
	assert_true(m[STATS_M_UTILIZATION] == 0.25);
	assert_true(m[STATS_M_INPUT_STALL] == 7.0 / 16);
	assert_true(m[STATS_M_OUTPUT_STALL] == 3.0 / 16);
	assert_true(m[STATS_M_THROUGHPUT] == 1.5);
	assert_true(m[STATS_M_CONFIG_OVERHEAD] == 0.125);
	stats_derive(counters, 0, m);
	assert_true(m[STATS_M_UTILIZATION] == 0 && m[STATS_M_CONFIG_OVERHEAD] == 0);
	counters[STATS_ACTIVE_CYCLES] = 0;
	stats_derive(counters, 16, m);
	assert_true(isnan(m[STATS_M_THROUGHPUT]));
}

static void tolerances_are_those_of_the_specification(void **state)
{
	const struct run_stats upstream = {.form = STATS_LEGACY}, ours = {.form = STATS_LOOM};

	(void)state;
	assert_true(stats_agrees(&upstream, 0.285714, 4.0 / 14));
	assert_true(stats_agrees(&upstream, 285714, 2e6 / 7));
	assert_false(stats_agrees(&upstream, 0.28572, 4.0 / 14));
	assert_false(stats_agrees(&upstream, 6e-7, 0));
	assert_true(stats_agrees(&upstream, 4e-7, 0));
	assert_true(stats_agrees(&ours, 0.285714286, 4.0 / 14));
	assert_false(stats_agrees(&ours, 0.285715, 4.0 / 14));
	assert_false(stats_agrees(&ours, 1e-9, 0));
	assert_true(stats_agrees(&ours, NAN, NAN));
	assert_false(stats_agrees(&ours, NAN, 0));
}

/* ---- names ---- */

static void names_come_from_tables_reports_and_lines(void **state)
{
	static const struct {
		const char *text;
		uint16_t core;
		uint32_t node;
		const char *name;
	} files[] = {
		{"# core node name\n\n0 3 a b\r\n 7 3 c\n", 7, 3, "c"},
		{"0 3 a b\n7 3 c", 0, 3, "a b"},
		{"{\"x\": [{\"hwNode\": 4, \"hwNodeName\": \"pe\"}]}", 5, 4, "pe"},
		{"{\"modules\": [{\"hw_node_id\": 1, \"name\": \"m\"}], \"events\": [1]}", 0, 1,
		 "m"},
		{"{\"modules\": [{\"hw_node_id\": 1, \"name\": \"m\"}, {\"hw_node_id\": 1, "
		 "\"core_id\": 2, "
		 "\"name\": \"n\"}]}",
		 2, 1, "n"},
	};
	static const char *const bad[] = {
		"0 3\n", "0 x name\n", "65536 1 a\n", "0 4294967296 a\n", "{\"modules\": [{}]}",
		"{",	 "[1 2]",      "-1 2 a\n",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(files); i++) {
		struct loom_modules names = {0};
		const struct loom_module *m;

		kit_file("names", files[i].text, strlen(files[i].text));
		assert_int_equal(loom_modules_load(&names, kit_dir, "names"), 0);
		m = loom_modules_find(&names, files[i].core, files[i].node);
		assert_non_null(m);
		assert_string_equal(m->name, files[i].name);
		assert_null(loom_modules_find(&names, files[i].core, 99));
		loom_modules_free(&names);
	}
	for (size_t i = 0; i < COUNT(bad); i++) {
		struct loom_modules names = {0};

		kit_file("names", bad[i], strlen(bad[i]));
		kit_listen();
		if (loom_modules_load(&names, kit_dir, "names") == 0)
			fail_msg("%s: taken", bad[i]);
		assert_non_null(strstr(kit_heard(), "names: "));
		loom_modules_free(&names);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_are_those_of_the_specification),
		cmocka_unit_test(kinds_have_names),
		cmocka_unit_test(documents_are_held_to_the_grammar),
		cmocka_unit_test(depth_is_bounded),
		cmocka_unit_test(nothing_is_special_at_the_edge_of_the_buffer),
		cmocka_unit_test(integers_keep_their_bits),
		cmocka_unit_test(a_file_that_shrinks_ends_earlier),
		cmocka_unit_test(paths_that_are_no_files_are_refused),
		cmocka_unit_test(layouts_are_distinguished_or_required),
		cmocka_unit_test(parts_follow_each_other),
		cmocka_unit_test(lists_are_read_or_refused),
		cmocka_unit_test(sampling_counts_each_node_and_kind),
		cmocka_unit_test(scopes_are_kept_apart),
		cmocka_unit_test(metrics_follow_the_seed),
		cmocka_unit_test(tolerances_are_those_of_the_specification),
		cmocka_unit_test(names_come_from_tables_reports_and_lines),
	};
	return cmocka_run_group_tests(tests, kit_open, kit_close);
}
