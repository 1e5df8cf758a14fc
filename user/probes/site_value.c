/* SPDX-License-Identifier: MIT */
/* site_value: see site_value.h. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "user/probes/site_value.h"

static bool read_type(const char *text, size_t length, struct site_value *value)
{
	static const struct {
		const char *name;
		unsigned bytes;
		bool is_signed;
	} types[] = {{"i8", 1, true},  {"i16", 2, true},  {"i32", 4, true},  {"i64", 8, true},
		     {"u8", 1, false}, {"u16", 2, false}, {"u32", 4, false}, {"u64", 8, false}};

	value->is_address = length == 3 && !strncmp(text, "ptr", length);
	if (value->is_address)
		value->bytes = 8;
	for (size_t i = 0; !value->is_address && i < sizeof(types) / sizeof(types[0]); i++) {
		if (strlen(types[i].name) != length || strncmp(types[i].name, text, length))
			continue;
		value->bytes = types[i].bytes;
		value->is_signed = types[i].is_signed;
		return true;
	}
	return value->is_address;
}

/* A decimal number of at most 4 digits at text[*at], which moves behind it. */
static bool read_number(const char *text, size_t length, size_t *at, unsigned *number)
{
	size_t from = *at;

	*number = 0;
	while (*at < length && isdigit((unsigned char)text[*at]) && *at - from < 4)
		*number = *number * 10 + (unsigned)(text[(*at)++] - '0');
	return *at > from;
}

static bool skip(const char *text, size_t length, size_t *at, const char *word)
{
	size_t n = strlen(word);

	if (length - *at < n || strncmp(text + *at, word, n))
		return false;
	*at += n;
	return true;
}

const char *site_value_read(const char *text, size_t length, struct site_value *value, size_t *at)
{
	unsigned offset;

	*value = (struct site_value){.source = SITE_ARGUMENT};
	*at = 0;
	value->follow = skip(text, length, at, "*");
	if (!value->follow && skip(text, length, at, "ret")) {
		value->source = SITE_RETURN;
	} else if (!skip(text, length, at, "arg") ||
		   !read_number(text, length, at, &value->number) || !value->number ||
		   value->number > SITE_ARGUMENTS_MAX) {
		*at = 0;
		return "a value is an integer argument, arg1 to arg12, or ret";
	}
	if (value->follow && skip(text, length, at, "+")) {
		if (!read_number(text, length, at, &offset) || offset > SITE_FOLLOW_MAX)
			return "behind a pointer are 0 to 4095 bytes, as in *arg7+8";
		value->constant = offset;
	}
	value->at_return = value->follow && skip(text, length, at, "@ret");
	if (skip(text, length, at, ":")) {
		if (!read_type(text + *at, length - *at, value))
			return "a type of a value is one of i8, i16, i32, i64, u8, u16, u32, u64, ptr";
		*at = length;
	}
	return *at == length ? NULL : "a value is argN, ret, *argN+OFFSET or *argN+OFFSET@ret";
}

const char *site_values_read(const char *text, size_t length,
			     struct site_value values[SITE_VALUES_MAX], size_t *at)
{
	size_t from = 0, end;

	do {
		const char *comma = memchr(text + from, ',', length - from);
		struct site_value value;
		const char *wrong;

		end = comma ? (size_t)(comma - text) : length;
		wrong = site_value_read(text + from, end - from, &value, at);
		*at += from;
		if (wrong)
			return wrong;
		*at = from;
		if (site_values_find(values, &value) >= 0)
			return "this value is in the list twice";
		if (site_values_count(values) == SITE_VALUES_MAX)
			return "a probe reads 8 values at most";
		if (site_values_add(values, &value) < 0)
			return "at the return, a probe can follow one argument only";
		from = end + 1;
	} while (end < length);
	return NULL;
}

unsigned site_values_count(const struct site_value values[SITE_VALUES_MAX])
{
	unsigned n = 0;

	while (n < SITE_VALUES_MAX && values[n].source != SITE_NOTHING)
		n++;
	return n;
}

static bool same_value(const struct site_value *a, const struct site_value *b)
{
	return a->source == b->source && a->number == b->number && a->follow == b->follow &&
	       a->at_return == b->at_return && (!a->follow || a->constant == b->constant) &&
	       (!a->bytes || !b->bytes || (a->bytes == b->bytes && a->is_signed == b->is_signed));
}

int site_values_find(const struct site_value values[SITE_VALUES_MAX],
		     const struct site_value *value)
{
	for (unsigned i = 0; i < site_values_count(values); i++)
		if (same_value(&values[i], value))
			return (int)i;
	return -1;
}

int site_values_add(struct site_value values[SITE_VALUES_MAX], const struct site_value *value)
{
	unsigned n = site_values_count(values);
	int found = site_values_find(values, value);

	if (found >= 0)
		return found;
	if (n == SITE_VALUES_MAX)
		return -1;
	for (unsigned i = 0; value->at_return && i < n; i++)
		if (values[i].at_return && values[i].number != value->number)
			return -1;
	values[n] = *value;
	return (int)n;
}

bool site_value_returns(const struct site_value *value)
{
	return value->source == SITE_RETURN || value->at_return;
}

void site_value_name(const struct site_value *value, char *out, size_t size)
{
	char offset[16] = "";

	if (value->follow && value->constant)
		snprintf(offset, sizeof(offset), "+%u", (unsigned)value->constant);
	if (value->source == SITE_RETURN)
		snprintf(out, size, "ret");
	else
		snprintf(out, size, "%sarg%u%s%s", value->follow ? "*" : "", value->number, offset,
			 value->at_return ? "@ret" : "");
}
