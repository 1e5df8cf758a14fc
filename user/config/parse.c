/* SPDX-License-Identifier: MIT */
/* parse: see parse.h. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "user/config/parse.h"

#define PID_MAX	  (1u << 22) /* of the kernel */
#define RATIO_MAX (1u << 20) /* parse_ratio() names it */

/* A number without sign, exponent or blanks; a fraction is allowed. NULL if there is none. */
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

const char *parse_size(const char *text, uint64_t *bytes)
{
	static const char units[] = "KMGT";
	const char *end, *unit;
	double value;

	end = parse_number(text, &value);
	if (!end)
		return "a size is a number and K, M, G or T, as in 64M";
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
		return "a size is a number and K, M, G or T, as in 64M";
	if (value < 1)
		return "a size must be at least one byte";
	if (value >= ldexp(1, 62))
		return "the size is too large";
	*bytes = (uint64_t)value;
	return NULL;
}

const char *parse_duration(const char *text, uint64_t *ns)
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
			return "a duration must be above 0";
		if (value >= ldexp(1, 62))
			return "the duration is too long";
		*ns = (uint64_t)value;
		return NULL;
	}
	return "a duration is a number and a unit, as in 10s, 250ms or 2m";
}

const char *parse_bound(const char *text, uint64_t *ns, uint64_t *bytes)
{
	const char *wrong = "a time or a size is wanted, with its unit, as in 10s, 10min or 64M";
	size_t number = strspn(text, "0123456789.");

	*ns = *bytes = 0;
	if (!number || !text[number])
		return wrong;
	if (!parse_duration(text, ns) || !parse_size(text, bytes))
		return NULL;
	return wrong;
}

const char *parse_count(const char *text, unsigned *count)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = isdigit((unsigned char)*text) ? strtoul(text, &end, 10) : 0;
	if (!value || *end || errno || value > UINT32_MAX)
		return "a number above 0 is wanted";
	*count = (unsigned)value;
	return NULL;
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

const char *parse_pids(const char *text, uint32_t **list, size_t *count)
{
	const char *wrong = "numbers with commas in between are wanted, as in 12,13";
	uint32_t *pids = NULL, *grown;
	unsigned long pid;
	size_t n = 0;
	char *end;

	do {
		if (!isdigit((unsigned char)*text))
			goto out;
		errno = 0;
		pid = strtoul(text, &end, 10);
		if (*end && *end != ',')
			goto out;
		if (errno || pid < 1 || pid > PID_MAX) {
			wrong = "no such number is possible";
			goto out;
		}
		grown = realloc(pids, (n + 1) * sizeof(*pids));
		if (!grown) {
			wrong = PARSE_NO_MEMORY;
			goto out;
		}
		pids = grown;
		pids[n++] = (uint32_t)pid;
		text = *end ? end + 1 : end;
	} while (*end);
	qsort(pids, n, sizeof(*pids), compare);
	for (size_t i = 1; i < n; i++) {
		if (pids[i] == pids[i - 1]) {
			wrong = "a number is given twice";
			goto out;
		}
	}
	*list = pids;
	*count = n;
	return NULL;
out:
	free(pids);
	return wrong;
}

/* Digits up to `stop`; -1 if there is anything else, or too much. */
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

const char *parse_ratio(const char *text, uint32_t *keep, uint32_t *of)
{
	uint64_t k, n;

	if (read_whole(text, '/', &k, &text) || read_whole(text + 1, '\0', &n, &text))
		return "two numbers are wanted, as in 1/8";
	if (n > RATIO_MAX)
		return "the second number is at most 1048576";
	if (!k || k > n)
		return "at least one, and not more than there are, can be kept";
	*keep = (uint32_t)k;
	*of = (uint32_t)n;
	return NULL;
}

const char *parse_whole(const char *text, uint64_t *value)
{
	if (read_whole(text, '\0', value, &text))
		return "a whole number is wanted";
	return NULL;
}
