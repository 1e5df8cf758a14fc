/* SPDX-License-Identifier: MIT */
/* Is a trace whole? Each kind of evidence in the metadata, alone and with others; no files. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "trace/base/json.h"
#include "trace/ovni/whole.h"

static void take(struct whole *w, const char *text)
{
	struct json *meta = json_parse(text, strlen(text), "test");

	assert_non_null(meta);
	whole_take(w, AT_FDCWD, "loom.n/proc.1/thread.1", meta, NULL, false);
	json_free(meta);
}

#define STREAM(bpf)	  "{\"ovni\": {\"finished\": 1}, \"bpf\": {" bpf "}}"
#define CLOSED		  "\"t0\": \"10\", \"t1\": \"20\", \"lost\": \"0\", \"counts\": {\"events\": \"5\"}"
#define RECORDED(session) STREAM("\"events\": \"5\", \"session\": {" session "}")

static void every_reason_is_named(void **state)
{
	static const struct {
		const char *streams[2], *reasons;
	} cases[] = {
		{{0}, "it has no streams"},
		{{"{\"ovni\": {\"finished\": 1}}"}, ""},
		{{"{}"}, "1 stream is not finished"},
		{{"{\"ovni\": {\"part\": \"cpu\"}}"}, ""},
		{{RECORDED(CLOSED)}, ""},
		{{RECORDED(CLOSED ", \"streams\": \"1\"")}, ""},
		{{STREAM("\"events\": \"5\"")},
		 "the stream with the session of the recorder (bpf.session) is missing"},
		{{RECORDED(CLOSED ", \"streams\": \"3\"")}, "2 of 3 streams are missing"},
		{{RECORDED(CLOSED), STREAM("\"events\": \"2\"")},
		 "the streams have 7 events, and the sessions 5"},
		{{STREAM("\"events\": \"1\", \"session\": {" CLOSED "}")},
		 "4 of 5 events are missing with their streams"},
		{{RECORDED("\"t0\": \"1\", \"t1\": \"2\", \"counts\": {\"events\": \"5\"}")},
		 "the recorder could not count the lost events"},
		{{RECORDED("\"t0\": \"1\"")}, ""}, /* killed: its stream is not finished */
		{{RECORDED("\"t0\": \"1\", \"streams\": \"1\", \"counts\": {\"events\": \"5\"}")},
		 "the recorder's numbers at the end are missing or damaged (bpf.session)"},
		{{RECORDED(CLOSED ", \"streams\": -1")},
		 "the recorder's numbers at the end are missing or damaged (bpf.session)"},
		{{RECORDED(CLOSED), STREAM("\"session\": {\"t0\": \"1\"}")},
		 "the recorder's numbers at the end are missing or damaged (bpf.session)"},
		{{RECORDED("\"t0\": \"1\", \"streams\": \"1\""), "{}"}, "1 stream is not finished"},
		{{RECORDED("\"lost\": \"18446744073709551615\""),
		  STREAM("\"session\": {\"lost\": \"2\"}")},
		 "the recorder lost 18446744073709551615 events"},
		{{RECORDED(CLOSED ", \"stats\": true")}, "stats.json is missing"},
		{{RECORDED(CLOSED ", \"stats\": false")}, ""},
		{{RECORDED(CLOSED), STREAM("\"stacks_bytes\": \"5\"")},
		 "the file stacks is missing"},
		{{RECORDED(CLOSED), STREAM("\"stacks_bytes\": \"0\"")}, ""},
		{{RECORDED(CLOSED), STREAM("\"stacks_bytes\": false")}, ""},
		{{RECORDED(CLOSED), STREAM("\"stacks_bytes\": -1")},
		 "the recorder's numbers at the end are missing or damaged (bpf.session)"},
		{{STREAM("\"recovered\": {}")},
		 "a repair closed 1 stream after a crash: later events are missing"},
		{{"{\"ovni\": {\"finished\": 1}, \"accel\": {\"run\": {\"dropped\": \"1\"}}}"},
		 "1 record was dropped by the producers of Loom runs"},
		{{STREAM("\"incomplete\": \"X; Y\"")},
		 "it was made from an incomplete trace: X; Y"},
		/* parts that an older version cut: its session has the numbers of all */
		{{"{\"ovni\": {\"finished\": 1}, \"cut\": {}, \"bpf\": {\"events\": \"1\", "
		  "\"session\": {" CLOSED "}}}"},
		 ""},
		{{RECORDED(CLOSED ", \"stats\": true"), "{}"},
		 "1 stream is not finished; stats.json is missing"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct whole w = {0};
		char text[WHOLE_TEXT];

		for (int k = 0; k < 2 && cases[i].streams[k]; k++)
			take(&w, cases[i].streams[k]);
		assert_string_equal(whole_text(&w, text), cases[i].reasons);
		assert_int_equal(whole_is(&w), !*cases[i].reasons);
	}
}

static void completeness_is_verified_by_counted_losses_alone(void **state)
{
	struct whole counted = {0}, foreign = {0}, one_of_two = {0};

	(void)state;
	take(&counted, RECORDED(CLOSED));
	assert_true(whole_is_verified(&counted));
	take(&foreign, "{\"ovni\": {\"finished\": 1}}");
	assert_false(whole_is_verified(&foreign));
	take(&one_of_two, RECORDED(CLOSED));
	take(&one_of_two, STREAM("\"session\": {}"));
	assert_false(whole_is_verified(&one_of_two));
}

static void a_long_reason_is_cut(void **state)
{
	char reason[2 * WHOLE_TEXT], document[3 * WHOLE_TEXT], text[WHOLE_TEXT];
	struct whole w = {0};

	(void)state;
	memset(reason, 'x', sizeof(reason) - 1);
	reason[sizeof(reason) - 1] = '\0';
	snprintf(document, sizeof(document), STREAM("\"incomplete\": \"%s\""), reason);
	take(&w, document);
	w.no_stats = true;
	snprintf(w.missing.first, sizeof(w.missing.first), "%.100s", reason);
	w.missing.streams = w.changed.streams = w.events_missing = 2;
	whole_text(&w, text);
	assert_true(strlen(text) < WHOLE_TEXT);
	assert_non_null(strstr(text, "2 events are missing (xxx"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_reason_is_named),
		cmocka_unit_test(completeness_is_verified_by_counted_losses_alone),
		cmocka_unit_test(a_long_reason_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
