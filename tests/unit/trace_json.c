/* SPDX-License-Identifier: MIT */
/* json: as strict as the specification (emulator.md 3.2), with the places of mistakes. */
#include <math.h>

#include "trace/base/json.h"
#include "trace_kit.h"

static const struct {
	const char *name, *text;
	const char *wrong; /* a part of the message; NULL if it is accepted */
} documents[] = {
	{"an_object", "{\"a\": 1}", NULL},
	{"an_array", "[1, 2]", NULL},
	{"a_number", " 3", NULL},
	{"an_empty_object", "{}", NULL},
	{"block_comment", "{/* one */\"a\":/**/1}", NULL},
	{"line_comment", "{\"a\": 1 // one\n}", NULL},
	{"line_comment_without_newline_after_the_end", "{} // end", NULL},
	{"open_comment_after_the_end", "{} /* end", NULL},
	{"comment_first", "// x\n/* y */{}", NULL},
	{"comment_like_text_in_a_string", "{\"a\": \"/* no */ // no\"}", NULL},
	{"quote_in_a_comment", "{/* \" */\"a\": 1}", NULL},
	{"escaped_quote_before_a_comment_like_text", "{\"a\": \"\\\"/*\"}", NULL},
	{"text_after_the_end", "{\"a\": 1} nonsense \x01 \"", NULL},
	{"second_document_after_the_end", "{\"a\": 1}{\"a\"", NULL},
	{"the_same_key_in_different_objects", "{\"a\": {\"b\": 1}, \"b\": {\"a\": 1}}", NULL},
	{"keys_that_differ_in_case", "{\"a\": 1, \"A\": 2}", NULL},
	{"largest_number", "[1.7976931348623157e308]", NULL},
	{"number_that_is_almost_nothing", "[1e-999]", NULL},
	{"numbers_of_all_forms", "[0, -0, 1.5, 2e3, 2E-3, -0.25, 0.5, 0e1]", NULL},
	{"not_utf8", "{\"a\": \"\xff\"}", NULL},
	{"escapes", "[\"\\u00e9\\n\\ud83d\\ude42\\/\"]", NULL},

	{"nothing", "", "line 1, column 1: this is not JSON"},
	{"blanks", " \n ", "this is not JSON"},
	{"a_repeated_key", "{\"a\": 1,\n\"a\": 2}", "line 2: the key \"a\" is repeated"},
	{"a_repeated_key_inside", "{\"o\": {\"p\": {\"x\": 1, \"y\": 2, \"x\": 3}}}",
	 "the key \"x\" is repeated inside \"p\""},
	{"a_repeated_key_in_an_array", "[{\"x\": 1, \"x\": 1}]", "the key \"x\" is repeated"},
	{"a_key_repeated_by_an_escape", "{\"a\": 1, \"\\u0061\": 2}", "the key \"a\" is repeated"},
	{"byte_order_mark", "\xef\xbb\xbf{}", "line 1, column 1: a byte order mark"},
	{"trailing_comma_in_an_object", "{\"a\": 1,\n }", "line 2, column 2: a comma before"},
	{"trailing_comma_in_an_array", "[1, 2, ]", "line 1, column 8: a comma before"},
	{"trailing_comma_before_a_comment", "[1, /* 2 */ ]", "line 1, column 13: a comma before"},
	{"comment_without_an_end", "{\n  /* x }", "line 2, column 3: this comment has no end"},
	{"half_a_comment", "{ / }", "this is not JSON"},
	{"comment_inside_a_number", "[1/**/2]", "this is not JSON"},
	{"comment_inside_a_word", "[tr/**/ue]", "this is not JSON"},
	{"blank_inside_a_number", "[1 2]", "this is not JSON"},
	{"number_out_of_range", "{\"a\": 1e999}", "line 1, column 7: this number is out of range"},
	{"negative_number_out_of_range", "[-1e400]", "out of range"},
	{"number_with_a_leading_zero", "[012]", "must not start with a zero"},
	{"negative_number_with_a_leading_zero", "[-00]", "must not start with a zero"},
	{"hexadecimal_number", "[0x10]", "this is not JSON"},
	{"number_with_a_plus", "[+1]", "this is not JSON"},
	{"only_a_minus", "[-]", "this is not JSON"},
	{"not_a_number", "[NaN]", "this is not JSON"},
	{"infinity", "[Infinity]", "this is not JSON"},
	{"newline_in_a_string", "{\"a\": \"x\ny\"}", "line 1, column 9: a control character"},
	{"string_without_an_end", "{\"a\": \"x}", "line 1, column 7: this string has no end"},
	{"string_that_ends_in_an_escape", "[\"\\", "this string has no end"},
	{"character_zero", "[\"a\\u0000b\"]", "line 1, column 4: the character \\u0000"},
	{"unknown_escape", "[\"\\x\"]", "this is not JSON"},
	{"half_a_surrogate", "[\"\\ud83d\"]", "this is not JSON"},
	{"control_character_between", "{\x01}", "line 1, column 2: a control character"},
	{"object_without_an_end", "{\"a\": 1", "this is not JSON"},
	{"wrong_bracket", "{\"a\": [1}", "this is not JSON"},
	{"stray_bracket", "}", "this is not JSON"},
	{"key_without_quotes", "{a: 1}", "this is not JSON"},
	{"single_quotes", "{'a': 1}", "this is not JSON"},
	{"missing_colon", "{\"a\" 1}", "this is not JSON"},
	{"missing_comma", "[1 \"a\"]", "this is not JSON"},
	{"only_a_comma", "[,]", "a comma before"},
	{"two_commas", "[1,,2]", "this is not JSON"},
};

static void documents_are_accepted_or_refused_with_their_place(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(documents); i++) {
		size_t size = strlen(documents[i].text);
		char *text = malloc(size ? size : 1); /* without NUL, so that reading on is seen */
		struct json *doc;
		const char *heard;

		print_message("  %s\n", documents[i].name);
		assert_non_null(text);
		memcpy(text, documents[i].text, size);
		kit_listen();
		doc = json_parse(text, size, "some/stream.json");
		heard = kit_heard();
		free(text);
		if (!documents[i].wrong) {
			assert_string_equal(heard, "");
			assert_non_null(doc);
		} else {
			assert_null(doc);
			kit_one_line_with(heard, documents[i].wrong);
			assert_non_null(strstr(heard, "some/stream.json: "));
		}
		json_free(doc);
	}
}

static void a_nul_byte_is_refused(void **state)
{
	static const char between[] = "{\"a\":\0 1}", inside[] = "{\"a\": \"x\0y\"}";

	(void)state;
	kit_listen();
	assert_null(json_parse(between, sizeof(between) - 1, "x"));
	assert_null(json_parse(inside, sizeof(inside) - 1, "x"));
	kit_heard();
}

static void a_thousand_levels_are_the_limit(void **state)
{
	(void)state;
	for (unsigned depth = 999; depth <= 1001; depth++) {
		char *text = malloc(2 * depth);
		struct json *doc;

		assert_non_null(text);
		memset(text, '[', depth);
		memset(text + depth, ']', depth);
		kit_listen();
		doc = json_parse(text, 2 * depth, "x");
		if (depth <= 1000) {
			assert_string_equal(kit_heard(), "");
			assert_non_null(doc);
		} else {
			kit_one_line_with(kit_heard(), "column 1001: nested too deep");
			assert_null(doc);
		}
		json_free(doc);
		free(text);
	}
}

static struct json *parse(const char *text)
{
	struct json *doc = json_parse(text, strlen(text), "x");

	assert_non_null(doc);
	return doc;
}

static void values_are_found_and_converted(void **state)
{
	struct json *doc =
		parse("{\"ovni\": {\"tid\": 7.9, \"neg\": -7.9, \"loom\": \"n1\", \"ok\": true,"
		      "\"off\": false, \"list\": [1, \"two\", null], \"a.b\": 5, \"big\": 1e300,"
		      "\"small\": -1e300, \"empty\": {}}}");
	const struct json *list = json_get(doc, "ovni.list"), *item;

	(void)state;
	assert_int_equal(json_int(json_get(doc, "ovni.tid")), 7);
	assert_int_equal(json_int(json_get(doc, "ovni.neg")), -7);
	assert_true(json_int(json_get(doc, "ovni.big")) == INT64_MAX);
	assert_true(json_int(json_get(doc, "ovni.small")) == INT64_MIN);
	assert_string_equal(json_string(json_get(doc, "ovni.loom")), "n1");
	assert_true(json_bool(json_get(doc, "ovni.ok")));
	assert_false(json_bool(json_get(doc, "ovni.off")));
	assert_true(json_is_bool(json_get(doc, "ovni.off")));
	/* a dotted path never means a key with a dot, json_key() always does */
	assert_null(json_get(doc, "ovni.a.b"));
	assert_int_equal(json_int(json_key(json_get(doc, "ovni"), "a.b")), 5);
	/* other types read as nothing */
	assert_int_equal(json_int(json_get(doc, "ovni.loom")), 0);
	assert_null(json_string(json_get(doc, "ovni.tid")));
	assert_false(json_bool(json_get(doc, "ovni.tid")));
	assert_null(json_get(doc, "ovni.tid.more"));
	assert_null(json_get(doc, "ovni.nothing"));
	assert_null(json_get(doc, "Ovni"));
	assert_null(json_get(doc, ""));
	assert_null(json_get(doc, "ovni."));
	assert_null(json_key(list, "a"));
	/* lists */
	assert_true(json_is_array(list));
	assert_int_equal(json_count(list), 3);
	item = json_first(list);
	assert_true(json_is_number(item) && json_name(item) == NULL);
	item = json_next(item);
	assert_string_equal(json_string(item), "two");
	item = json_next(item);
	assert_false(json_is_number(item) || json_is_string(item) || json_is_object(item));
	assert_null(json_next(item));
	assert_string_equal(json_name(json_first(json_get(doc, "ovni"))), "tid");
	assert_int_equal(json_count(json_get(doc, "ovni.empty")), 0);
	assert_null(json_first(json_get(doc, "ovni.loom")));
	json_free(doc);
}

static void every_value_knows_its_line(void **state)
{
	struct json *doc =
		parse("/* one\n two */ {\"a\": 1, \"b\": [\n\"x\\\"\\\\\", true,\n"
		      "{}, // four\n {\"c\":\n-2.5e3}\n], \"}\\n\": [[]],\n\n\"d\"\n: null}");
	const struct json *item = json_first(json_get(doc, "b"));
	char *text;

	(void)state;
	assert_int_equal(json_line(NULL), 0);
	assert_int_equal(json_line(doc), 2);
	assert_int_equal(json_line(json_get(doc, "a")), 2);
	assert_int_equal(json_line(json_get(doc, "b")), 2);
	assert_int_equal(json_line(item), 3);
	assert_int_equal(json_line(item = json_next(item)), 3);
	assert_int_equal(json_line(item = json_next(item)), 4);
	assert_int_equal(json_line(item = json_next(item)), 5);
	assert_int_equal(json_line(json_get(item, "c")), 6);
	assert_int_equal(json_line(json_first(json_key(doc, "}\n"))), 7);
	assert_int_equal(json_line(json_get(doc, "d")), 10);
	/* and reading and writing change nothing */
	assert_int_equal(json_int(json_get(item, "c")), -2500);
	text = json_text(item);
	assert_non_null(strstr(text, "-2500"));
	free(text);
	json_free(doc);
}

static void nothing_has_no_type_and_no_value(void **state)
{
	uint64_t u = 3;
	int64_t i = 4;

	(void)state;
	assert_false(json_is_object(NULL) || json_is_array(NULL) || json_is_number(NULL) ||
		     json_is_string(NULL) || json_is_bool(NULL) || json_bool(NULL));
	assert_null(json_string(NULL));
	assert_null(json_get(NULL, "a.b"));
	assert_null(json_key(NULL, "a"));
	assert_null(json_first(NULL));
	assert_null(json_next(NULL));
	assert_null(json_name(NULL));
	assert_int_equal(json_count(NULL), 0);
	assert_int_equal(json_int(NULL), 0);
	assert_true(json_number(NULL) == 0);
	assert_false(json_u64(NULL, &u) || json_i64(NULL, &i));
	assert_true(u == 3 && i == 4);
	assert_null(json_put_int(NULL, "a", 1));
	json_free(NULL);
}

static const struct {
	const char *text;
	bool is_u64, is_i64;
	uint64_t u;
	int64_t i;
} numbers[] = {
	{"\"18446744073709551615\"", true, false, UINT64_MAX, 0},
	{"\"9223372036854775807\"", true, true, INT64_MAX, INT64_MAX},
	{"\"-9223372036854775808\"", false, true, 0, INT64_MIN},
	{"\"9007199254740993\"", true, true, 9007199254740993, 9007199254740993},
	{"\"0\"", true, true, 0, 0},
	{"9007199254740992", true, true, 9007199254740992, 9007199254740992},
	{"-3", false, true, 0, -3},
	{"5", true, true, 5, 5},
	/* a double cannot distinguish the two numbers */
	{"9007199254740994", false, false, 0, 0},
	{"1.5", false, false, 0, 0},
	{"\"18446744073709551616\"", false, false, 0, 0},
	{"\"-9223372036854775809\"", false, false, 0, 0},
	{"\"-1\"", false, true, 0, -1},
	{"\"\"", false, false, 0, 0},
	{"\" 1\"", false, false, 0, 0},
	{"\"+1\"", false, false, 0, 0},
	{"\"1 \"", false, false, 0, 0},
	{"\"0x10\"", false, false, 0, 0},
	{"true", false, false, 0, 0},
	{"null", false, false, 0, 0},
};

static void numbers_of_64_bits_are_read_exactly_or_not_at_all(void **state)
{
	(void)state;
	for (size_t k = 0; k < COUNT(numbers); k++) {
		struct json *doc = parse(numbers[k].text);
		uint64_t u = 77;
		int64_t i = 77;

		print_message("  %s\n", numbers[k].text);
		assert_int_equal(json_u64(doc, &u), numbers[k].is_u64);
		assert_true(u == (numbers[k].is_u64 ? numbers[k].u : 77));
		assert_int_equal(json_i64(doc, &i), numbers[k].is_i64);
		assert_true(i == (numbers[k].is_i64 ? numbers[k].i : 77));
		json_free(doc);
	}
}

static char *document(const int *packed)
{
	struct json *doc = json_new_object(), *list = json_put_array(doc, "a.list");
	char *text;

	for (int i = 0; i < 9; i++) {
		struct json *node = json_put_object(list, NULL);

		json_put_int(node, "i", i);
		json_put_string(json_put_array(node, "words"), NULL, "\n x");
		if (i == *packed) {
			json_pack(list, 2);
			packed++;
		}
	}
	json_put_int(doc, "last", 1);
	text = json_text(doc);
	json_free(doc);
	assert_non_null(text);
	return text;
}

static void a_list_has_the_same_text_when_it_is_packed(void **state)
{
	static const int never[] = {-1}, once[] = {8, -1}, often[] = {0, 1, 4, -1};
	char *want = document(never), *one = document(once), *many = document(often);
	struct json *doc = json_new_object(), *list = json_put_array(doc, "empty");

	(void)state;
	assert_string_equal(one, want);
	assert_string_equal(many, want);
	json_pack(NULL, 0);
	json_pack(list, 1);
	assert_int_equal(json_count(list), 0);
	json_free(doc);
	free(want);
	free(one);
	free(many);
}

static void documents_are_indented_by_four_blanks(void **state)
{
	static const char want[] =
		"{\n"
		"    \"version\": 3,\n"
		"    \"ovni\": {\n"
		"        \"tid\": 12,\n"
		"        \"loom\": \"a \\\"b\\\" \\\\ \\n \\t \\u0001 \xc3\xb1 \\\\xff\",\n"
		"        \"none\": {},\n"
		"        \"cpus\": [\n"
		"            {\n"
		"                \"index\": 0\n"
		"            },\n"
		"            []\n"
		"        ],\n"
		"        \"t0\": \"18446744073709551615\",\n"
		"        \"off\": \"-9223372036854775808\",\n"
		"        \"mean\": 0.1,\n"
		"        \"third\": 0.33333333333333331,\n"
		"        \"nan\": null,\n"
		"        \"on\": true\n"
		"    }\n"
		"}\n";
	struct json *doc = json_new_object(), *cpus, *again;
	char *text;

	(void)state;
	assert_non_null(json_put_int(doc, "version", 2));
	assert_non_null(json_put_int(doc, "version", 3)); /* replaced */
	assert_non_null(json_put_int(doc, "ovni.tid", 12));
	assert_non_null(json_put_string(doc, "ovni.loom", "a \"b\" \\ \n \t \x01 \xc3\xb1 \xff"));
	assert_non_null(json_put_object(doc, "ovni.none"));
	cpus = json_put_array(doc, "ovni.cpus");
	assert_non_null(json_put_int(json_put_object(cpus, NULL), "index", 0));
	assert_non_null(json_put_array(cpus, NULL));
	assert_non_null(json_put_u64(doc, "ovni.t0", UINT64_MAX));
	assert_non_null(json_put_i64(doc, "ovni.off", INT64_MIN));
	assert_non_null(json_put_real(doc, "ovni.mean", 0.1));
	assert_non_null(json_put_real(doc, "ovni.third", 1.0 / 3));
	assert_non_null(json_put_real(doc, "ovni.nan", NAN));
	assert_non_null(json_put_bool(doc, "ovni.on", true));
	/* paths that lead nowhere */
	assert_null(json_put_int(doc, NULL, 1));
	assert_null(json_put_int(cpus, "index", 1));
	text = json_text(doc);
	assert_string_equal(text, want);
	again = parse(text);
	free(text);
	text = json_text(again);
	assert_string_equal(text, want);
	free(text);
	json_free(again);
	/* of damaged metadata: a text in the place of an object makes room for it */
	assert_non_null(json_put_string(doc, "version.bpf.incomplete", "losses"));
	assert_string_equal(json_string(json_get(doc, "version.bpf.incomplete")), "losses");
	json_free(doc);
}

static void only_regular_files_are_read_and_whole(void **state)
{
	struct json *doc;
	int fd;

	(void)state;
	kit_file("good.json", "{\"a\": 1}", 8);
	doc = json_load(kit_dir, "good.json");
	assert_int_equal(json_int(json_get(doc, "a")), 1);
	json_free(doc);

	kit_listen();
	assert_null(json_load(kit_dir, "missing.json"));
	kit_one_line_with(kit_heard(), "cannot open 'missing.json': No such file");
	kit_mkdir("folder.json");
	kit_listen();
	assert_null(json_load(kit_dir, "folder.json"));
	kit_one_line_with(kit_heard(), "cannot open 'folder.json': not a regular file");
	assert_int_equal(mkfifoat(kit_dir, "pipe.json", 0644), 0);
	kit_listen();
	assert_null(json_load(kit_dir, "pipe.json")); /* and does not wait for a writer */
	kit_one_line_with(kit_heard(), "cannot open 'pipe.json': not a regular file");
	fd = openat(kit_dir, "large.json", O_WRONLY | O_CREAT, 0644);
	assert_int_equal(ftruncate(fd, (64 << 20) + 1), 0);
	close(fd);
	kit_listen();
	assert_null(json_load(kit_dir, "large.json"));
	kit_one_line_with(kit_heard(), "cannot open 'large.json': larger than 64 MiB");
}

static void many_keys_cost_no_square_of_their_number(void **state)
{
	size_t n = 200000, size = 1, room = n * 16 + 2;
	char *text = malloc(room);
	struct json *doc;

	(void)state;
	assert_non_null(text);
	text[0] = '{';
	for (size_t i = 0; i < n; i++)
		size += (size_t)snprintf(text + size, room - size, "\"%zu\":1,", i);
	text[size - 1] = '}';
	doc = json_parse(text, size, "x");
	assert_int_equal(json_count(doc), n);
	json_free(doc);
	free(text);
}

static void many_strings_are_added_without_a_search(void **state)
{
	struct json *root = json_new_object();
	char key[16];

	(void)state;
	for (unsigned i = 0; i < 100000; i++) {
		snprintf(key, sizeof(key), "%u.x", i);
		assert_non_null(json_add_string(root, key, "name"));
	}
	assert_int_equal(json_count(root), 100000);
	assert_string_equal(json_string(json_key(root, "99999.x")), "name");
	assert_null(json_add_string(NULL, "a", "b"));
	assert_null(json_add_string(json_put_array(root, "list"), "a", "b"));
	json_free(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(documents_are_accepted_or_refused_with_their_place),
		cmocka_unit_test(a_nul_byte_is_refused),
		cmocka_unit_test(a_thousand_levels_are_the_limit),
		cmocka_unit_test(values_are_found_and_converted),
		cmocka_unit_test(every_value_knows_its_line),
		cmocka_unit_test(nothing_has_no_type_and_no_value),
		cmocka_unit_test(numbers_of_64_bits_are_read_exactly_or_not_at_all),
		cmocka_unit_test(a_list_has_the_same_text_when_it_is_packed),
		cmocka_unit_test(documents_are_indented_by_four_blanks),
		cmocka_unit_test(only_regular_files_are_read_and_whole),
		cmocka_unit_test(many_keys_cost_no_square_of_their_number),
		cmocka_unit_test(many_strings_are_added_without_a_search),
	};
	return cmocka_run_group_tests(tests, kit_open, kit_close);
}
