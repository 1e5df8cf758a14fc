/* SPDX-License-Identifier: MIT */
/* text and log: untrusted text is shown without control characters. */
#include "trace/base/text.h"
#include "trace_kit.h"

static const struct {
	const char *name, *in;
	size_t len;
	const char *want;
} escapes[] = {
	{"plain_ascii", "worker 1", 8, "worker 1"},
	{"nothing", "", 0, ""},
	{"a_backslash_stays", "a\\b", 3, "a\\b"},
	{"newline_and_tab", "a\nb\t", 4, "a\\x0ab\\x09"},
	{"nul_inside", "a\0b", 3, "a\\x00b"},
	{"delete", "\x7f", 1, "\\x7f"},
	{"escape_sequence", "\x1b[2J", 4, "\\x1b[2J"},
	{"two_bytes", "t\xc3\xa0sk \xc3\xb1", 8, "t\xc3\xa0sk \xc3\xb1"},
	{"three_bytes", "\xe2\x82\xac", 3, "\xe2\x82\xac"},
	{"four_bytes", "\xf0\x9f\x99\x82", 4, "\xf0\x9f\x99\x82"},
	{"control_character_of_two_bytes",
	 "\xc2\x9b"
	 "2J",
	 4, "\\xc2\\x9b2J"},
	{"right_to_left_override", "\xe2\x80\xae.", 4, "\\xe2\\x80\\xae."},
	{"line_separator", "\xe2\x80\xa8", 3, "\\xe2\\x80\\xa8"},
	{"beside_the_marks", "\xe2\x80\xaf\xe2\x81\xa5\xe2\x80\x8d", 9,
	 "\xe2\x80\xaf\xe2\x81\xa5\xe2\x80\x8d"},
	{"no_break_space_can_be_shown", "\xc2\xa0", 2, "\xc2\xa0"},
	{"stray_continuation", "\x80z", 2, "\\x80z"},
	{"cut_short", "\xe2\x82", 2, "\\xe2\\x82"},
	{"bad_second_byte_keeps_its_own_meaning", "\xe2(", 2, "\\xe2("},
	{"overlong_of_two", "\xc0\xaf", 2, "\\xc0\\xaf"},
	{"overlong_of_three", "\xe0\x80\xaf", 3, "\\xe0\\x80\\xaf"},
	{"overlong_of_four", "\xf0\x80\x80\xaf", 4, "\\xf0\\x80\\x80\\xaf"},
	{"surrogate", "\xed\xa0\x80", 3, "\\xed\\xa0\\x80"},
	{"beyond_the_last_character", "\xf4\x90\x80\x80", 4, "\\xf4\\x90\\x80\\x80"},
	{"no_such_first_byte", "\xff\xfe", 2, "\\xff\\xfe"},
};

static void bytes_that_cannot_be_shown_are_escaped(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(escapes); i++) {
		char out[64];

		print_message("  %s\n", escapes[i].name);
		assert_int_equal(text_escape(out, sizeof(out), escapes[i].in, escapes[i].len),
				 strlen(escapes[i].want));
		assert_string_equal(out, escapes[i].want);
	}
}

static void a_small_buffer_never_holds_half_a_character(void **state)
{
	static const char in[] = "a\xc3\xa0\n\xe2\x82\xac";

	(void)state;
	for (size_t size = 0; size < 16; size++) {
		char out[20];
		size_t len, at = 0;

		memset(out, '#', sizeof(out));
		assert_int_equal(text_escape(out, size, in, sizeof(in) - 1), 10);
		for (size_t i = size; i < sizeof(out); i++)
			assert_int_equal(out[i], '#');
		if (size == 0)
			continue;
		len = strlen(out);
		assert_true(len < size);
		while (at < len) {
			size_t n = text_char(out + at, out + len);

			assert_true(n > 0);
			at += n;
		}
		/* an escape is whole or not there */
		assert_true(!strchr(out, '\\') || strstr(out, "\\x0a"));
	}
}

static void a_message_is_one_line_with_program_and_level(void **state)
{
	(void)state;
	log_setup("ovni-test", LOG_WARN);
	kit_listen();
	log_error("%s: has %d problems", "stream\n\x1b[1m", 2);
	log_warn("half");
	log_info("not shown");
	log_debug("not shown either");
	assert_string_equal(kit_heard(), "ovni-test: error: stream\\x0a\\x1b[1m: has 2 problems\n"
					 "ovni-test: warning: half\n");
	assert_int_equal(log_level(), LOG_WARN);
	log_setup("test", LOG_DEBUG);
}

struct heard {
	enum log_level level;
	char text[64];
	int messages;
};

static void hear(void *to, enum log_level level, const char *text)
{
	struct heard *heard = to;

	heard->level = level;
	snprintf(heard->text, sizeof(heard->text), "%s", text);
	heard->messages++;
}

static void a_diverted_message_reaches_the_listener_alone(void **state)
{
	struct heard heard = {.messages = 0};

	(void)state;
	log_setup("test", LOG_INFO);
	kit_listen();
	log_divert(hear, &heard);
	log_debug("not shown");
	assert_int_equal(heard.messages, 0);
	log_warn("thread\n%d", 7);
	log_divert(NULL, NULL);
	log_error("after");
	assert_int_equal(heard.messages, 1);
	assert_int_equal(heard.level, LOG_WARN);
	assert_string_equal(heard.text, "thread\\x0a7");
	assert_string_equal(kit_heard(), "test: error: after\n");
	log_setup("test", LOG_DEBUG);
}

static void a_message_takes_the_place_of_the_status(void **state)
{
	(void)state;
	log_setup("test", LOG_INFO);
	kit_listen();
	log_status("10 %");
	log_debug("not shown");
	log_status("20 %");
	log_error("stops");
	log_warn("here");
	log_status(NULL);
	log_status("30 %");
	log_status(NULL);
	assert_string_equal(kit_heard(), "\r\033[Ktest: 10 %\r\033[Ktest: 20 %"
					 "\r\033[Ktest: error: stops\ntest: warning: here\n"
					 "\r\033[Ktest: 30 %\r\033[K");
	log_setup("test", LOG_DEBUG);
}

static void long_messages_are_shown_whole(void **state)
{
	static const size_t lengths[] = {900, 1023, 1024, 1990, 2047, 2048, 3000};

	(void)state;
	for (size_t i = 0; i < COUNT(lengths); i++) {
		char *text = malloc(lengths[i] + 1);
		const char *heard;

		assert_non_null(text);
		memset(text, 'x', lengths[i]);
		text[0] = '\n'; /* takes four bytes */
		text[lengths[i]] = '\0';
		kit_listen();
		log_error("%s", text);
		heard = kit_heard();
		assert_int_equal(strlen(heard), strlen("test: error: ") + lengths[i] + 3 + 1);
		assert_true(heard[strlen(heard) - 1] == '\n');
		free(text);
	}
}

static void logging_leaves_errno_alone(void **state)
{
	(void)state;
	kit_listen();
	errno = ENOTDIR;
	log_error("%m");
	assert_int_equal(errno, ENOTDIR);
	assert_string_equal(kit_heard(), "test: error: Not a directory\n");
	/* even without a reader */
	kit_listen();
	close(STDERR_FILENO);
	log_error("%m");
	assert_int_equal(errno, ENOTDIR);
	kit_heard();
}

static void texts_are_composed_and_nouns_agree(void **state)
{
	char *text = xasprintf("%s/%d", "dir", 7);

	(void)state;
	assert_string_equal(text, "dir/7");
	free(text);
	assert_string_equal(plural(0, "repair", "repairs"), "repairs");
	assert_string_equal(plural(1, "repair", "repairs"), "repair");
	assert_string_equal(plural(UINT64_MAX, "entry", "entries"), "entries");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_that_cannot_be_shown_are_escaped),
		cmocka_unit_test(a_small_buffer_never_holds_half_a_character),
		cmocka_unit_test(a_message_is_one_line_with_program_and_level),
		cmocka_unit_test(a_diverted_message_reaches_the_listener_alone),
		cmocka_unit_test(a_message_takes_the_place_of_the_status),
		cmocka_unit_test(long_messages_are_shown_whole),
		cmocka_unit_test(logging_leaves_errno_alone),
		cmocka_unit_test(texts_are_composed_and_nouns_agree),
	};
	return cmocka_run_group_tests(tests, kit_open, kit_close);
}
