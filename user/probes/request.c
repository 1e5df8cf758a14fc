/* SPDX-License-Identifier: MIT */
/* request: see request.h. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/text.h"
#include "user/probes/request.h"

#define PID_MAX (1u << 22) /* of the kernel */
#define NO_END	SIZE_MAX

static const char no_memory[] = REQUEST_NO_MEMORY;

/* A part of the text of an option, from `from` to `to`. */
struct part {
	size_t from, to;
};

void request_free(struct request *r)
{
	free(r->text);
	free(r->binary);
	free(r->provider);
	free(r->name);
}

void requests_free(struct requests *requests)
{
	for (size_t i = 0; i < requests->count; i++)
		request_free(&requests->list[i]);
	free(requests->list);
	*requests = (struct requests){0};
}

static void shrink(struct requests *requests, size_t count)
{
	while (requests->count > count)
		request_free(&requests->list[--requests->count]);
}

/* Takes the strings of `request`, also if there is no memory. */
static int take(struct requests *requests, struct request *request)
{
	size_t n = requests->count;
	struct request *grown = requests->list;

	if (!(n & (n - 1)))
		grown = realloc(requests->list, (n ? 2 * n : 1) * sizeof(*grown));
	if (!grown) {
		request_free(request);
		return -ENOMEM;
	}
	requests->list = grown;
	grown[requests->count++] = *request;
	return 0;
}

static int copy(char **to, const char *from)
{
	*to = from ? strdup(from) : NULL;
	return from && !*to ? -ENOMEM : 0;
}

static int make_text(struct request *r)
{
	char pid[16] = "", offset[32] = "";

	if (r->pid)
		snprintf(pid, sizeof(pid), "%u:", r->pid);
	if (r->kind == REQUEST_ADDRESS || r->has_offset)
		snprintf(offset, sizeof(offset), "%s0x%llx", r->has_offset ? "+" : "",
			 (unsigned long long)r->offset);
	r->text = xasprintf("%s%s%s%s%s%s%s", pid, r->binary ? r->binary : "", r->binary ? ":" : "",
			    r->provider ? r->provider : "", r->provider ? ":" : "",
			    r->name ? r->name : "", offset);
	return r->text ? 0 : -ENOMEM;
}

int requests_add(struct requests *requests, const struct request *request)
{
	struct request r = *request;

	r.text = r.binary = r.provider = r.name = NULL;
	if (copy(&r.binary, request->binary) || copy(&r.provider, request->provider) ||
	    copy(&r.name, request->name) ||
	    (request->text ? copy(&r.text, request->text) : make_text(&r))) {
		request_free(&r);
		return -ENOMEM;
	}
	return take(requests, &r);
}

/* ---- where parts end ---- */

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$';
}

/* The signs of a C++ operator's name are no brackets and no separators: the place after them,
 * or `at` itself if the word there is not 'operator'. */
static size_t skip_operator(const char *text, size_t at)
{
	static const char word[] = "operator";

	if (strncmp(text + at, word, strlen(word)) || (at && is_word(text[at - 1])))
		return at;
	at += strlen(word);
	if ((text[at] == '(' && text[at + 1] == ')') || (text[at] == '[' && text[at + 1] == ']'))
		return at + 2;
	if (text[at] == ',')
		return at + 1;
	return at + strspn(text + at, "+-*/%^&|~!=<>");
}

/*
 * The end of a part that begins at `from`: the next sign of `ends` outside of brackets (if
 * `brackets`), '::' and escapes; NO_END if there is none.
 */
static size_t find_end(const char *text, size_t from, char ends, bool brackets)
{
	size_t at = from, depth = 0, next;

	while (text[at]) {
		next = brackets ? skip_operator(text, at) : at;
		if (next > at) {
			at = next;
		} else if ((text[at] == '\\' && text[at + 1]) ||
			   (text[at] == ':' && text[at + 1] == ':' && text[at + 2] != ':')) {
			at += 2;
		} else if (text[at] == ends && !depth) {
			return at;
		} else {
			if (brackets && strchr("(<[{", text[at]))
				depth++;
			else if (brackets && strchr(")>]}", text[at]) && depth)
				depth--;
			at++;
		}
	}
	return NO_END;
}

/* A copy of a part, without its backslashes if `plain`. */
static char *copy_part(const char *text, struct part part, bool plain)
{
	char *copied = malloc(part.to - part.from + 1);
	size_t n = 0;

	if (!copied)
		return NULL;
	for (size_t at = part.from; at < part.to; at++) {
		if (plain && text[at] == '\\' && at + 1 < part.to)
			at++;
		copied[n++] = text[at];
	}
	copied[n] = '\0';
	return copied;
}

/* ---- numbers and values ---- */

/* A number that is the whole of the part: decimal, or hexadecimal after 0x. */
static bool read_number(const char *text, struct part part, uint64_t *value)
{
	size_t at = part.from;
	unsigned base = 10, digit;
	uint64_t number = 0;

	if (part.to - at > 2 && text[at] == '0' && (text[at + 1] == 'x' || text[at + 1] == 'X')) {
		base = 16;
		at += 2;
	}
	if (at == part.to)
		return false;
	for (; at < part.to; at++) {
		char c = (char)tolower((unsigned char)text[at]);

		if (isdigit((unsigned char)c))
			digit = (unsigned)(c - '0');
		else if (base == 16 && c >= 'a' && c <= 'f')
			digit = (unsigned)(c - 'a') + 10;
		else
			return false;
		if (__builtin_mul_overflow(number, base, &number) ||
		    __builtin_add_overflow(number, digit, &number))
			return false;
	}
	*value = number;
	return true;
}

static bool read_type(const char *text, struct part part, struct site_value *value)
{
	static const struct {
		const char *name;
		unsigned bytes;
		bool is_signed;
	} types[] = {{"i8", 1, true},  {"i16", 2, true},  {"i32", 4, true},  {"i64", 8, true},
		     {"u8", 1, false}, {"u16", 2, false}, {"u32", 4, false}, {"u64", 8, false}};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (strlen(types[i].name) == part.to - part.from &&
		    !strncmp(types[i].name, text + part.from, part.to - part.from)) {
			value->bytes = types[i].bytes;
			value->is_signed = types[i].is_signed;
			return true;
		}
	}
	return false;
}

static bool starts_with(const char *text, struct part part, const char *word)
{
	return part.to - part.from >= strlen(word) &&
	       !strncmp(text + part.from, word, strlen(word));
}

/*
 * Reads "(arg2)", "(ret)", "(arg2:i32)" at the end of a function, and takes it off; other
 * brackets there are parameters of a C++ function. NULL or what is wrong.
 */
static const char *read_value(const char *text, struct part *function, struct site_value *value,
			      size_t *at)
{
	struct part inner, what;
	size_t open = function->to;
	uint64_t number;
	char after;

	*value = (struct site_value){0};
	if (function->to - function->from < 2 || text[function->to - 1] != ')')
		return NULL;
	while (open > function->from && text[open - 1] != '(')
		open--;
	inner = what = (struct part){open, function->to - 1};
	for (size_t i = inner.from; i < inner.to; i++) {
		if (text[i] == ':') {
			what.to = i;
			break;
		}
	}
	*at = what.from;
	after = what.to - what.from > 3 ? text[what.from + 3] : '\0';
	if (starts_with(text, what, "ret") && !after) {
		value->source = SITE_RETURN;
	} else if (starts_with(text, what, "arg") && (!after || isdigit((unsigned char)after))) {
		what.from += 3;
		if (!read_number(text, what, &number) || !number || number > REQUEST_ARGUMENTS_MAX)
			return "arguments are arg1 to arg6, those in integer registers";
		value->source = SITE_ARGUMENT;
		value->number = (unsigned)number;
	} else {
		return NULL;
	}
	if (what.to < inner.to) {
		*at = what.to + 1;
		inner.from = *at;
		if (!read_type(text, inner, value))
			return "a type of a value is one of i8, i16, i32, i64, u8, u16, u32, u64";
	}
	function->to = open - 1;
	return NULL;
}

/* Takes "+0x10" off the end of a function. */
static const char *read_offset(const char *text, struct part *function, struct request *r,
			       size_t *at)
{
	size_t plus = function->to;

	while (plus > function->from && text[plus - 1] != '+')
		plus--;
	if (plus <= function->from + 1 || !isdigit((unsigned char)text[plus]))
		return NULL;
	*at = plus;
	if (!read_number(text, (struct part){plus, function->to}, &r->offset))
		return "an offset is a number of bytes, as in FUNC+16 or FUNC+0x10";
	r->has_offset = true;
	function->to = plus - 1;
	return NULL;
}

/* ---- the parts of an option ---- */

/* Reads "PID:" in front, and leaves *from after it. */
static const char *read_pid(const char *text, size_t *from, uint32_t *pid, size_t *at)
{
	size_t digits = strspn(text, "0123456789");
	uint64_t number;

	*pid = 0;
	*at = 0;
	if (!digits || text[digits] != ':' || text[digits + 1] == ':')
		return NULL;
	if (!read_number(text, (struct part){0, digits}, &number) || !number || number > PID_MAX)
		return "no such number of a process is possible (a file with such a name: ./NAME)";
	*pid = (uint32_t)number;
	*from = digits + 1;
	return NULL;
}

/* `function` without its list. */
static const char *add_function(struct requests *requests, const char *text, struct request *common,
				struct part head, struct part function, size_t *at)
{
	struct request r = {.kind = REQUEST_FUNCTION, .pid = common->pid};
	struct part whole = function;
	const char *wrong;

	*at = function.from;
	/* of the outermost scope: no symbol has it in front */
	if (starts_with(text, function, "::"))
		function.from += 2;
	if (function.from == function.to)
		return "the name of a function is missing";
	wrong = read_value(text, &function, &r.value, at);
	if (wrong)
		return wrong;
	*at = function.from;
	if (isdigit((unsigned char)text[function.from])) {
		r.kind = REQUEST_ADDRESS;
		if (!read_number(text, function, &r.offset))
			return "an address is a number, as in 0x1234; names have no digit in front";
	} else {
		wrong = read_offset(text, &function, &r, at);
		if (wrong)
			return wrong;
		if (r.has_offset && r.value.source)
			return "an argument or a return value is known at the beginning only: "
			       "leave the offset out";
		*at = function.from;
		if (function.from == function.to)
			return "the name of a function is missing";
		r.name = copy_part(text, function, false);
		if (!r.name)
			return no_memory;
	}
	r.text = xasprintf("%.*s%.*s", (int)(head.to - head.from), text + head.from,
			   (int)(whole.to - whole.from), text + whole.from);
	if (!r.text || copy(&r.binary, common->binary)) {
		request_free(&r);
		return no_memory;
	}
	return take(requests, &r) ? no_memory : NULL;
}

const char *requests_add_functions(struct requests *requests, const char *text, size_t *at)
{
	struct request common = {0};
	size_t from = 0, colon, comma, count = requests->count;
	const char *wrong = read_pid(text, &from, &common.pid, at);
	struct part head = {0, 0};

	if (wrong)
		return wrong;
	colon = find_end(text, from, ':', common.pid != 0);
	*at = from;
	if (colon == NO_END && !common.pid)
		return "expected BIN:FUNC, as in ./app:compute or libm.so.6:sin";
	if (colon != NO_END) {
		if (colon == from)
			return "the name of the program or library before ':' is missing";
		common.binary = copy_part(text, (struct part){from, colon}, true);
		if (!common.binary)
			return no_memory;
		from = colon + 1;
	}
	head.to = from;
	do {
		comma = find_end(text, from, ',', true);
		wrong = add_function(requests, text, &common, head,
				     (struct part){from, comma == NO_END ? strlen(text) : comma},
				     at);
		from = comma + 1;
	} while (!wrong && comma != NO_END);
	if (wrong)
		shrink(requests, count);
	free(common.binary);
	return wrong;
}

static const char *read_usdt_value(const char *text, size_t from, struct site_value *value)
{
	struct part number = {from, strlen(text)};
	uint64_t n;

	if (starts_with(text, number, "arg"))
		number.from += 3;
	if (!read_number(text, number, &n) || !n || n > REQUEST_USDT_ARGUMENTS_MAX)
		return "arguments of such a probe are arg1 to arg12";
	value->source = SITE_ARGUMENT;
	value->number = (unsigned)n;
	return NULL;
}

const char *requests_add_usdt(struct requests *requests, const char *text, size_t *at)
{
	static const char wanted[] = "expected BIN:PROVIDER:NAME, as in "
				     "libstdc++.so.6:libstdcxx:throw (see --list BIN)";
	struct request r = {.kind = REQUEST_USDT};
	size_t from = 0, first, second, third, end;
	const char *wrong = read_pid(text, &from, &r.pid, at);

	if (wrong)
		return wrong;
	*at = from;
	first = find_end(text, from, ':', false);
	if (first == NO_END)
		return wanted;
	second = find_end(text, first + 1, ':', false);
	if (second == NO_END && !r.pid)
		return wanted;
	if (second != NO_END) {
		third = find_end(text, second + 1, ':', false);
		*at = third == NO_END ? from : third;
		if (third != NO_END)
			return "a ':' too many (one in the name of a file is written '\\:')";
		if (first == from)
			return "the name of the program or library before ':' is missing";
		r.binary = copy_part(text, (struct part){from, first}, true);
		if (!r.binary)
			return no_memory;
		from = first + 1;
		first = second;
	}
	end = first + 1 + strcspn(text + first + 1, ",");
	*at = from;
	if (first == from || end == first + 1) {
		wrong = "the provider or the name of the probe is missing";
		goto out;
	}
	if (text[end]) {
		*at = end + 1;
		wrong = read_usdt_value(text, end + 1, &r.value);
		if (wrong)
			goto out;
	}
	r.provider = copy_part(text, (struct part){from, first}, false);
	r.name = copy_part(text, (struct part){first + 1, end}, false);
	r.text = strdup(text);
	if (!r.provider || !r.name || !r.text) {
		wrong = no_memory;
		goto out;
	}
	return take(requests, &r) ? no_memory : NULL;
out:
	request_free(&r);
	return wrong;
}

const char *request_of_list(struct request *request, const char *text, size_t *at)
{
	struct request r = {.kind = REQUEST_FUNCTION};
	size_t from = 0, colon, digits = strspn(text, "0123456789");
	const char *wrong;
	char *whole = NULL;

	/* a number alone is a process, as with a ':' after it */
	if (digits && !text[digits]) {
		whole = xasprintf("%s:", text);
		if (!whole)
			return no_memory;
		wrong = read_pid(whole, &from, &r.pid, at);
		free(whole);
		from = digits;
	} else {
		wrong = read_pid(text, &from, &r.pid, at);
	}
	if (wrong)
		return wrong;
	*at = from;
	colon = find_end(text, from, ':', false);
	if (colon == NO_END)
		colon = strlen(text);
	if (colon == from && !(r.pid && !text[from]))
		return "expected the name of a program or library";
	if (colon > from)
		r.binary = copy_part(text, (struct part){from, colon}, true);
	r.name = strdup(text[colon] && text[colon + 1] ? text + colon + 1 : "*");
	r.text = strdup(text);
	if (!r.name || !r.text || (colon > from && !r.binary)) {
		request_free(&r);
		return no_memory;
	}
	*request = r;
	return NULL;
}
