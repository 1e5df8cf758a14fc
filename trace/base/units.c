/* SPDX-License-Identifier: MIT */
/* units: see units.h. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "trace/base/units.h"

#define RATIO_MAX (1u << 20) /* units_parse_ratio() names it */

/* Reads a number without sign, exponent or blanks; a fraction is allowed. Returns the text behind
 * it, or NULL if there is no number. */
static const char *parse_number(const char *text, double *value)
{
	size_t digits = strspn(text, "0123456789"), more = 0;
	char number[64];

	if (text[digits] == '.')
		more = 1 + strspn(text + digits + 1, "0123456789");
	if (!digits || digits + more >= sizeof(number))
		return NULL;
	memcpy(number, text, digits + more);
	number[digits + more] = '\0';
	*value = strtod(number, NULL);
	return text + digits + more;
}

const char *units_parse_size(const char *text, uint64_t *bytes)
{
	static const char units[] = "KMGT";
	const char *end, *unit;
	double value;

	end = parse_number(text, &value);
	if (!end)
		return "a size is a number and a unit, K, M, G or T, as in 64M";
	if (*end) {
		unit = strchr(units, toupper((unsigned char)*end));
		if (unit) {
			value = ldexp(value, 10 * (int)(unit - units + 1));
			end++;
			if (*end == 'i' && end[1] == 'B')
				end++;
		}
		if (*end == 'B')
			end++;
	}
	if (*end)
		return "a size is a number and a unit, K, M, G or T, as in 64M";
	if (value < 1)
		return "the smallest size is 1 byte";
	if (value >= ldexp(1, 62))
		return "the size is too large";
	*bytes = (uint64_t)value;
	return NULL;
}

const char *units_parse_time(const char *text, uint64_t *ns)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {{"", 1e9},	  {"s", 1e9},	 {"ms", 1e6},	{"us", 1e3},   {"ns", 1},
		     {"m", 60e9}, {"min", 60e9}, {"h", 3600e9}, {"d", 86400e9}};
	const char *end;
	double value;

	end = parse_number(text, &value);
	for (size_t i = 0; end && i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(end, units[i].name))
			continue;
		value *= units[i].ns;
		if (value < 1)
			return "the time must be above 0";
		if (value >= ldexp(1, 62))
			return "the time is too long";
		*ns = (uint64_t)value;
		return NULL;
	}
	return "a time is a number and a unit, as in 10s, 250ms or 2m";
}

const char *units_parse_bound(const char *text, uint64_t *ns, uint64_t *bytes)
{
	const char *wrong = "not a time or a size with its unit, as in 10s, 10min or 64M";
	size_t number = strspn(text, "0123456789.");

	*ns = *bytes = 0;
	if (!number || !text[number])
		return wrong;
	if (!units_parse_time(text, ns) || !units_parse_size(text, bytes))
		return NULL;
	return wrong;
}

/* Reads digits that end at the character `stop`. Returns -1 after any other character, or if the
 * number does not fit. */
static int read_whole(const char *text, char stop, uint64_t *value, const char **end)
{
	char *after;

	if (!isdigit((unsigned char)*text))
		return -1;
	errno = 0;
	*value = strtoull(text, &after, 10);
	*end = after;
	return errno || *after != stop ? -1 : 0;
}

const char *units_parse_ratio(const char *text, uint32_t *keep, uint32_t *of)
{
	uint64_t k, n;

	if (read_whole(text, '/', &k, &text) || read_whole(text + 1, '\0', &n, &text))
		return "not a ratio, as in 1/8";
	if (n > RATIO_MAX)
		return "the largest second number is 1048576";
	if (!k || k > n)
		return "the first number must be from 1 to the second number";
	*keep = (uint32_t)k;
	*of = (uint32_t)n;
	return NULL;
}

const char *units_parse_number(const char *text, uint64_t *value)
{
	if (read_whole(text, '\0', value, &text))
		return "not a whole number";
	return NULL;
}
