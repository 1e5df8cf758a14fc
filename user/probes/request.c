/* SPDX-License-Identifier: MIT */
/* request: see request.h. */
#include <ctype.h>
#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "trace/base/array.h"
#include "trace/base/text.h"
#include "user/probes/request.h"
#include "user/probes/site_value.h"

#define PID_MAX (1u << 22) /* of the kernel */
#define NO_END	SIZE_MAX

static const char no_memory[] = REQUEST_NO_MEMORY;

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

/* Takes the ownership of the strings of `request`, even on failure. */
static int add_request(struct requests *requests, struct request *request)
{
	struct request *added = ARRAY_ADD(requests->list, requests->count);

	if (!added) {
		request_free(request);
		return -ENOMEM;
	}
	*added = *request;
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
	return add_request(requests, &r);
}

/* ---- the ends of parts ---- */

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$';
}

/* The position after the signs of a C++ operator's name, which are no brackets and no separators;
 * `at` itself if the word there is not 'operator'. */
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

/* A copy of a part without its backslashes, which protect a sign in the name of a file. */
static char *copy_file(const char *from, size_t length)
{
	char *copied = strndup(from, length), *to = copied;

	for (const char *at = copied; at && *at; at++) {
		if (*at == '\\' && at[1])
			at++;
		*to++ = *at;
	}
	if (copied)
		*to = '\0';
	return copied;
}

/* ---- numbers and values ---- */

/* The number between `text` and `end`: decimal, or hexadecimal after 0x. */
static bool read_number(const char *text, const char *end, uint64_t *value)
{
	bool hexadecimal = !strncasecmp(text, "0x", 2);
	char *stop;

	if (!isxdigit((unsigned char)text[hexadecimal ? 2 : 0]))
		return false;
	errno = 0;
	*value = strtoull(text, &stop, hexadecimal ? 16 : 10);
	return !errno && stop == end;
}

/*
 * Reads the values "(arg2,ret)" at the end of a function, and cuts them off; other brackets there
 * are parameters of a C++ function. NULL or the error, with its position.
 */
static const char *read_values(char *function, struct site_value values[SITE_VALUES_MAX],
			       size_t *at)
{
	enum { LIST = 1, GROUPS };
	static regex_t form;
	static bool compiled;
	regmatch_t g[GROUPS];
	const char *wrong;

	if (!compiled &&
	    regcomp(&form, "\\((\\*?(arg([0-9:][^()]*)?|ret([:,][^()]*)?))\\)$", REG_EXTENDED))
		return no_memory;
	compiled = true;
	if (regexec(&form, function, GROUPS, g, 0))
		return NULL;
	wrong = site_values_read(function + g[LIST].rm_so, (size_t)(g[LIST].rm_eo - g[LIST].rm_so),
				 values, at);
	*at += (size_t)g[LIST].rm_so;
	function[g[0].rm_so] = '\0';
	return wrong;
}

/* Cuts "+0x10" off the end of a function. */
static const char *read_offset(char *function, struct request *r, size_t *at)
{
	char *plus = strrchr(function, '+');

	if (!plus || plus == function || !isdigit((unsigned char)plus[1]))
		return NULL;
	*at = (size_t)(plus + 1 - function);
	if (!read_number(plus + 1, plus + strlen(plus), &r->offset))
		return "an offset is a number of bytes, as in FUNC+16 or FUNC+0x10";
	r->has_offset = true;
	*plus = '\0';
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
	if (!read_number(text, text + digits, &number) || !number || number > PID_MAX)
		return "no such number of a process is possible (a file with such a name: ./NAME)";
	*pid = (uint32_t)number;
	*from = digits + 1;
	return NULL;
}

/* Reads one function of a list into a request; r->name is its text, which becomes its name. */
static const char *read_function(struct request *r, size_t *at)
{
	static const char missing[] = "the name of a function is missing";
	const char *wrong;

	*at = 0;
	if (!r->name[0])
		return missing;
	wrong = read_values(r->name, r->values, at);
	if (wrong)
		return wrong;
	*at = 0;
	if (isdigit((unsigned char)r->name[0])) {
		r->kind = REQUEST_ADDRESS;
		if (!read_number(r->name, r->name + strlen(r->name), &r->offset))
			return "an address is a number, as in 0x1234; names have no digit in front";
		free(r->name);
		r->name = NULL;
		return NULL;
	}
	wrong = read_offset(r->name, r, at);
	if (wrong)
		return wrong;
	if (r->has_offset && r->value.source)
		return "an argument or a return value is known at the beginning only: leave the "
		       "offset out";
	*at = 0;
	return r->name[0] ? NULL : missing;
}

/* One function of a list, `length` bytes from `from` on; the first `head` bytes of the text precede
 * the list. */
static const char *add_function(struct requests *requests, const char *text, struct request *common,
				size_t head, size_t from, size_t length, size_t *at)
{
	/* of the outermost scope: no symbol has it in front */
	size_t skip = length >= 2 && !strncmp(text + from, "::", 2) ? 2 : 0;
	struct request r = {
		.kind = REQUEST_FUNCTION,
		.pid = common->pid,
		.text = xasprintf("%.*s%.*s", (int)head, text, (int)length, text + from),
		.name = strndup(text + from + skip, length - skip),
	};
	const char *wrong = no_memory;

	if (r.text && r.name && !copy(&r.binary, common->binary)) {
		wrong = read_function(&r, at);
		*at += from + (r.name && r.name[0] ? skip : 0);
	}
	if (wrong) {
		request_free(&r);
		return wrong;
	}
	return add_request(requests, &r) ? no_memory : NULL;
}

const char *requests_add_functions(struct requests *requests, const char *text, size_t *at)
{
	struct request common = {0};
	size_t from = 0, colon, comma, count = requests->count;
	const char *wrong = read_pid(text, &from, &common.pid, at);
	size_t head;

	if (wrong)
		return wrong;
	colon = find_end(text, from, ':', common.pid != 0);
	*at = from;
	if (colon == NO_END && !common.pid)
		return "expected BIN:FUNC, as in ./app:compute or libm.so.6:sin";
	if (colon != NO_END) {
		if (colon == from)
			return "the name of the program or library before ':' is missing";
		common.binary = copy_file(text + from, colon - from);
		if (!common.binary)
			return no_memory;
		from = colon + 1;
	}
	head = from;
	do {
		comma = find_end(text, from, ',', true);
		wrong = add_function(requests, text, &common, head, from,
				     (comma == NO_END ? strlen(text) : comma) - from, at);
		from = comma + 1;
	} while (!wrong && comma != NO_END);
	if (wrong)
		shrink(requests, count);
	free(common.binary);
	return wrong;
}

static const char *read_usdt_value(const char *text, struct site_value *value)
{
	uint64_t n;

	if (!strncmp(text, "arg", 3))
		text += 3;
	if (!read_number(text, text + strlen(text), &n) || !n || n > REQUEST_USDT_ARGUMENTS_MAX)
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
		r.binary = copy_file(text + from, first - from);
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
		wrong = read_usdt_value(text + end + 1, &r.value);
		if (wrong)
			goto out;
	}
	r.provider = strndup(text + from, first - from);
	r.name = strndup(text + first + 1, end - first - 1);
	r.text = strdup(text);
	if (!r.provider || !r.name || !r.text) {
		wrong = no_memory;
		goto out;
	}
	return add_request(requests, &r) ? no_memory : NULL;
out:
	request_free(&r);
	return wrong;
}

const char *request_of_list(struct request *request, const char *text, size_t *at)
{
	struct request r = {.kind = REQUEST_FUNCTION};
	size_t from = 0, colon, digits = strspn(text, "0123456789");
	/* a number alone is a process, as with a ':' after it */
	char *whole = xasprintf("%s%s", text, digits && !text[digits] ? ":" : "");
	const char *wrong = whole ? read_pid(whole, &from, &r.pid, at) : no_memory;

	free(whole);
	if (wrong)
		return wrong;
	if (from > strlen(text))
		from = digits;
	*at = from;
	colon = find_end(text, from, ':', false);
	if (colon == NO_END)
		colon = strlen(text);
	if (colon == from && !(r.pid && !text[from]))
		return "expected the name of a program or library";
	if (colon > from)
		r.binary = copy_file(text + from, colon - from);
	r.name = strdup(text[colon] && text[colon + 1] ? text + colon + 1 : "*");
	r.text = strdup(text);
	if (!r.name || !r.text || (colon > from && !r.binary)) {
		request_free(&r);
		return no_memory;
	}
	*request = r;
	return NULL;
}
