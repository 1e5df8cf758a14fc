/* SPDX-License-Identifier: MIT */
/* request: the language of -u and --usdt. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "user/probes/request.h"
#include "user/probes/site_value.h"

/* One request as text: "pid|binary|provider|name|offset|value". */
static void show(const struct request *r, char *out, size_t size)
{
	static const char *const kinds[] = {"function", "address", "usdt"};
	static const char *const sources[] = {"", "arg", "ret", "const", "reg", "mem"};
	char offset[32] = "", value[128] = "";

	if (r->has_offset || r->kind == REQUEST_ADDRESS)
		snprintf(offset, sizeof(offset), "%s0x%llx", r->has_offset ? "+" : "",
			 (unsigned long long)r->offset);
	for (unsigned i = 0; i < site_values_count(r->values); i++) {
		const struct site_value *v = &r->values[i];
		size_t used = strlen(value);

		snprintf(value + used, sizeof(value) - used, " %s%s%.0u%s%.0u%s%.0u",
			 v->follow ? "*" : "", sources[v->source], v->number,
			 v->constant ? "+" : "", (unsigned)v->constant,
			 v->at_return	? "@ret:"
			 : !v->bytes	? ""
			 : v->is_signed ? ":i"
					: ":u",
			 8 * v->bytes);
	}
	snprintf(out, size, "%s %.0u[%s]%s%s%s%s%s", kinds[r->kind], r->pid,
		 r->binary ? r->binary : "", r->provider ? r->provider : "", r->provider ? ":" : "",
		 r->name ? r->name : "", offset, value);
}

static const struct {
	const char *text;
	const char *means; /* one a line */
} good[] = {
	{"./app:main", "function [./app]main"},
	{"app:a,b", "function [app]a\nfunction [app]b"},
	{"./app:compute_*", "function [./app]compute_*"},
	{"libm.so.6:sin,cos,tan*", "function [libm.so.6]sin\nfunction [libm.so.6]cos\n"
				   "function [libm.so.6]tan*"},
	{"12:libm.so.6:sin", "function 12[libm.so.6]sin"},
	{"12:main", "function 12[]main"},
	{"12:ns::f", "function 12[]ns::f"},
	{"12:libx.so:ns::f", "function 12[libx.so]ns::f"},
	{"12:f(arg1:i32)", "function 12[]f arg1:i32"},
	{"12:/usr/lib/libx.so:f", "function 12[/usr/lib/libx.so]f"},
	{"./12:main", "function [./12]main"},
	{"app:ns::f", "function [app]ns::f"},
	{"app:::f", "function [app]f"},
	{"app:ns::f(int, char),g", "function [app]ns::f(int, char)\nfunction [app]g"},
	{"app:f<int, char>(int),g", "function [app]f<int, char>(int)\nfunction [app]g"},
	{"app:f(int (&)[3], char),g", "function [app]f(int (&)[3], char)\nfunction [app]g"},
	{"app:operator<,g", "function [app]operator<\nfunction [app]g"},
	{"app:ns::X::operator<<,g", "function [app]ns::X::operator<<\nfunction [app]g"},
	{"app:operator,,g", "function [app]operator,\nfunction [app]g"},
	{"app:operator(),operator[],g",
	 "function [app]operator()\nfunction [app]operator[]\nfunction [app]g"},
	{"app:operator->(int),g", "function [app]operator->(int)\nfunction [app]g"},
	{"app:my_operator<a,b>", "function [app]my_operator<a,b>"},
	{"app:operator+", "function [app]operator+"},
	{"app:X::~X", "function [app]X::~X"},
	{"app:_ZN2ns1fEi", "function [app]_ZN2ns1fEi"},
	{"app:_RNvC6_123foo3bar", "function [app]_RNvC6_123foo3bar"},
	{"app:send(arg2)", "function [app]send arg2"},
	{"app:send(arg1,arg7:i32,ret),g(ret)",
	 "function [app]send arg1 arg7:i32 ret\nfunction [app]g ret"},
	{"app:f(int)(arg1,*arg2+16:u16)", "function [app]f(int) arg1 *arg2+16:u16"},
	{"app:f(*arg7+8@ret:i32,*arg7@ret:u8)", "function [app]f *arg7+8@ret:32 *arg7@ret:8"},
	{"app:recv(ret)", "function [app]recv ret"},
	{"app:send(arg6:u8),recv(ret:i64)",
	 "function [app]send arg6:u8\nfunction [app]recv ret:i64"},
	{"app:f(int)(arg1)", "function [app]f(int) arg1"},
	{"app:f(argument)", "function [app]f(argument)"},
	{"app:f(retval)", "function [app]f(retval)"},
	{"app:f(ret*)", "function [app]f(ret*)"},
	{"app:0x1234", "address [app]0x1234"},
	{"app:4660", "address [app]0x1234"},
	{"app:0X12Ab(ret)", "address [app]0x12ab ret"},
	{"app:f+0x1c", "function [app]f+0x1c"},
	{"app:f+16,g+0", "function [app]f+0x10\nfunction [app]g+0x0"},
	{"app:f(int)+8", "function [app]f(int)+0x8"},
	{"app:f++8", "function [app]f++0x8"},
	{"a\\:b/app:f", "function [a:b/app]f"},
	{"/tmp/a(1)/app:f", "function [/tmp/a(1)/app]f"},
	{"a\\\\b:f", "function [a\\b]f"},
	{"app:f\\*", "function [app]f\\*"},
	{"app:[a-c]*,x", "function [app][a-c]*\nfunction [app]x"},
	{"app:f.part.0,g._omp_fn.1", "function [app]f.part.0\nfunction [app]g._omp_fn.1"},
	{"app:memcpy@@GLIBC_2.14", "function [app]memcpy@@GLIBC_2.14"},
	{"app:{closure#0}<a,b>", "function [app]{closure#0}<a,b>"},
};

static void every_form_is_understood(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct requests requests = {0};
		char text[1024] = "";
		size_t at = 0;
		const char *wrong = requests_add_functions(&requests, good[i].text, &at);

		if (wrong)
			fail_msg("'%s' is refused at %zu: %s", good[i].text, at, wrong);
		for (size_t k = 0; k < requests.count; k++) {
			size_t used = strlen(text);

			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s",
						 k ? "\n" : "");
			show(&requests.list[k], text + used, sizeof(text) - used);
		}
		if (strcmp(text, good[i].means))
			fail_msg("'%s' is taken for '%s'", good[i].text, text);
		requests_free(&requests);
	}
}

static const struct {
	const char *text;
	size_t at;
	const char *says;
} bad[] = {
	{"", 0, "expected BIN:FUNC"},
	{"app", 0, "expected BIN:FUNC"},
	{"app::f", 0, "expected BIN:FUNC"},
	{":f", 0, "before ':' is missing"},
	{"app:", 4, "name of a function is missing"},
	{"app:::", 4, "name of a function is missing"},
	{"app:a,,b", 6, "name of a function is missing"},
	{"app:a,", 6, "name of a function is missing"},
	{"app:(arg1)", 4, "name of a function is missing"},
	{"0:f", 0, "no such number"},
	{"4194305:f", 0, "no such number"},
	{"99999999999999999999:f", 0, "no such number"},
	{"12::f", 0, "expected BIN:FUNC"},
	{"12:", 3, "name of a function is missing"},
	{"app:f(arg0)", 6, "arg1 to arg12"},
	{"app:f(arg)", 6, "arg1 to arg12"},
	{"app:f(arg13)", 6, "arg1 to arg12"},
	{"app:g,f(arg1x)", 12, "a value is argN"},
	{"app:f(arg99999999999999999999)", 6, "arg1 to arg12"},
	{"app:f(arg1,)", 11, "arg1 to arg12"},
	{"app:f(arg1,arg0)", 11, "arg1 to arg12"},
	{"app:f(ret,arg1,arg2x)", 19, "a value is argN"},
	{"app:f(arg1,ret,arg1:i32)", 15, "twice"},
	{"app:f(arg1,arg2,arg3,arg4,arg5,arg6,arg7,arg8,ret)", 46, "8 values"},
	{"app:f(*arg1@ret,*arg2@ret)", 16, "one argument only"},
	{"app:f(*arg1+4096)", 16, "0 to 4095"},
	{"app:f(*arg1+)", 12, "0 to 4095"},
	{"app:f(arg1+8)", 10, "a value is argN"},
	{"app:f(*ret)", 6, "arg1 to arg12"},
	{"app:f(arg1:int)", 11, "one of i8"},
	{"app:f(ret:)", 10, "one of i8"},
	{"app:f+0x", 6, "an offset is"},
	{"app:f+12q", 6, "an offset is"},
	{"app:f+99999999999999999999", 6, "an offset is"},
	{"app:f+4(arg1)", 6, "the beginning only"},
	{"app:0x", 4, "an address is"},
	{"app:0x12345678123456789", 4, "an address is"},
	{"app:12f", 4, "an address is"},
};

static void mistakes_are_reported_with_their_place(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct requests requests = {0};
		size_t at = 9999;
		const char *wrong = requests_add_functions(&requests, bad[i].text, &at);

		if (!wrong)
			fail_msg("'%s' is accepted", bad[i].text);
		else if (!strstr(wrong, bad[i].says) || at != bad[i].at)
			fail_msg("'%s' says at %zu: %s", bad[i].text, at, wrong);
		if (requests.count)
			fail_msg("'%s' leaves requests behind", bad[i].text);
		requests_free(&requests);
	}
}

static void probes_of_programs_have_a_provider(void **state)
{
	static const struct {
		const char *text, *means;
	} cases[] = {
		{"libc.so.6:libc:setjmp", "usdt [libc.so.6]libc:setjmp"},
		{"./app:p:n,arg2", "usdt [./app]p:n arg2"},
		{"./app:p:n,12", "usdt [./app]p:n arg12"},
		{"./app:*:mem*", "usdt [./app]*:mem*"},
		{"7:libc.so.6:libc:setjmp", "usdt 7[libc.so.6]libc:setjmp"},
		{"7:p:n", "usdt 7[]p:n"},
		{"a\\:b:p:n", "usdt [a:b]p:n"},
	};
	static const struct {
		const char *text;
		size_t at;
		const char *says;
	} refused[] = {
		{"", 0, "expected BIN:PROVIDER:NAME"},
		{"app", 0, "expected BIN:PROVIDER:NAME"},
		{"app:n", 0, "expected BIN:PROVIDER:NAME"},
		{"7:n", 2, "expected BIN:PROVIDER:NAME"},
		{"app:p:", 4, "is missing"},
		{"app::n", 0, "expected BIN:PROVIDER:NAME"},
		{":p:n", 0, "before ':' is missing"},
		{"a:b:c:d", 5, "too many"},
		{"app:p:n,", 8, "arg1 to arg12"},
		{"app:p:n,arg0", 8, "arg1 to arg12"},
		{"app:p:n,arg13", 8, "arg1 to arg12"},
		{"app:p:n,x", 8, "arg1 to arg12"},
		{"app:p:n,arg1,arg2", 8, "arg1 to arg12"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct requests requests = {0};
		char text[256];
		size_t at = 0;
		const char *wrong = requests_add_usdt(&requests, cases[i].text, &at);

		if (wrong)
			fail_msg("'%s' is refused at %zu: %s", cases[i].text, at, wrong);
		assert_int_equal(requests.count, 1);
		show(&requests.list[0], text, sizeof(text));
		assert_string_equal(text, cases[i].means);
		requests_free(&requests);
	}
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		struct requests requests = {0};
		size_t at = 9999;
		const char *wrong = requests_add_usdt(&requests, refused[i].text, &at);

		if (!wrong || !strstr(wrong, refused[i].says) || at != refused[i].at)
			fail_msg("'%s' says at %zu: %s", refused[i].text, at, wrong ? wrong : "-");
		assert_int_equal(requests.count, 0);
		requests_free(&requests);
	}
}

static void a_request_says_where_it_comes_from(void **state)
{
	struct requests requests = {0};
	struct request entry = {.kind = REQUEST_FUNCTION,
				.binary = (char *)"libmpi.so.*",
				.name = (char *)"MPI_Send",
				.optional = true};
	size_t at;

	(void)state;
	assert_null(requests_add_functions(&requests, "./a:f,g(arg1)", &at));
	assert_null(requests_add_functions(&requests, "7:libx.so:h,0x10", &at));
	assert_int_equal(requests_add(&requests, &entry), 0);
	assert_int_equal(requests.count, 5);
	assert_string_equal(requests.list[0].text, "./a:f");
	assert_string_equal(requests.list[1].text, "./a:g(arg1)");
	assert_string_equal(requests.list[2].text, "7:libx.so:h");
	assert_string_equal(requests.list[3].text, "7:libx.so:0x10");
	assert_string_equal(requests.list[4].text, "libmpi.so.*:MPI_Send");
	assert_true(requests.list[4].optional);
	assert_true(requests.list[4].binary != entry.binary);
	requests_free(&requests);
}

/* Requests before a mistake in the same text are not kept, earlier ones are. */
static void a_mistake_adds_nothing(void **state)
{
	struct requests requests = {0};
	size_t at;

	(void)state;
	assert_null(requests_add_functions(&requests, "a:f,g", &at));
	assert_non_null(requests_add_functions(&requests, "a:h,i,j(arg13)", &at));
	assert_int_equal(requests.count, 2);
	requests_free(&requests);
}

/* No text of the signs that mean something makes the reader go astray. */
static void any_text_is_read_to_its_end(void **state)
{
	static const char signs[] = "a1:,()<>[]\\+-0x.*operator arg2 ret:i32";
	uint32_t seed = 11;

	(void)state;
	for (int turn = 0; turn < 50000; turn++) {
		struct requests requests = {0};
		char text[24];
		size_t length = (seed = seed * 1103515245 + 12345) >> 16, at = 0;

		length %= sizeof(text);
		for (size_t i = 0; i < length; i++)
			text[i] = signs[((seed = seed * 1103515245 + 12345) >> 16) %
					(sizeof(signs) - 1)];
		text[length] = '\0';
		if (requests_add_functions(&requests, text, &at))
			assert_true(at <= length);
		else
			assert_true(requests.count > 0);
		if (requests_add_usdt(&requests, text, &at))
			assert_true(at <= length);
		for (size_t i = 0; i < requests.count; i++)
			assert_true(requests.list[i].text &&
				    (requests.list[i].binary || requests.list[i].pid));
		requests_free(&requests);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_form_is_understood),
		cmocka_unit_test(mistakes_are_reported_with_their_place),
		cmocka_unit_test(probes_of_programs_have_a_provider),
		cmocka_unit_test(a_request_says_where_it_comes_from),
		cmocka_unit_test(a_mistake_adds_nothing),
		cmocka_unit_test(any_text_is_read_to_its_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
