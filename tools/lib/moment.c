/* SPDX-License-Identifier: MIT */
#include "tools/lib/moment.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ns of a unit; 0: there is no such unit. */
static int64_t unit_ns(const char *name)
{
	static const struct {
		const char *name;
		int64_t ns;
	} units[] = {{"", 1}, {"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};

	for (unsigned i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(units[i].name, name))
			return units[i].ns;
	return 0;
}

int moment_option(const struct cli_option *option, const char *text, void *to)
{
	static const long double two_to_63 = 9223372036854775808.0L;
	struct moment *moment = to;
	const char *number = text + (*text == '+');
	long double value;
	char *end;

	errno = 0;
	value = strtold(number, &end); /* 64 bits of mantissa: any clock is exact */
	if (end == number || errno || !isfinite(value) || !unit_ns(end))
		goto wrong;
	value *= unit_ns(end);
	if (value < -two_to_63 || value >= two_to_63)
		goto wrong;
	*moment = (struct moment){
		.given = true, .relative = *text == '+', .ns = (int64_t)llroundl(value)};
	return 0;
wrong:
	return cli_refuse(option, text,
			  "not a clock in ns, or the time since the first event, as in +1.5s");
}

int64_t moment_clock(const struct moment *moment, int64_t start)
{
	int64_t clock;

	if (!moment->relative)
		return moment->ns;
	if (__builtin_add_overflow(start, moment->ns, &clock))
		return moment->ns < 0 ? INT64_MIN : INT64_MAX;
	return clock;
}
