/* SPDX-License-Identifier: MIT */
#include "tools/lib/usage.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/log.h"
#include "trace/base/build_info.h"

static const char *program_name;

static void print_version(FILE *stream, struct argp_state *state)
{
	(void)state;
	fprintf(stream, "%s %s (%s)\n", program_name, version_string, version_commit);
}

static error_t parse_help(int key, char *arg, struct argp_state *state)
{
	(void)arg;
	if (key == 'h') {
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

void usage_parse(const struct argp *argp, const char *program, int argc, char **argv, void *input)
{
	static const struct argp_option help_options[] = {{NULL, 'h', NULL, OPTION_HIDDEN, NULL, 0},
							  {0}};
	static const struct argp help = {help_options, parse_help, NULL, NULL, NULL, NULL, NULL};
	const struct argp_child children[] = {{&help, 0, NULL, 0}, {0}};
	struct argp all = *argp;

	program_name = program;
	log_setup(program, LOG_INFO);
	argp_program_version_hook = print_version;
	argp_err_exit_status = STATUS_USAGE;
	signal(SIGXFSZ, SIG_IGN); /* a file that grows too large is an error of write() */
	all.children = children;
	switch (argp_parse(&all, argc, argv, 0, NULL, input)) {
	case 0:
		return;
	case ENOMEM:
		log_error("no memory to begin with");
		exit(STATUS_FAILED);
	default:
		exit(STATUS_USAGE);
	}
}

char *usage_beside(const char *path, const char *suffix)
{
	size_t n = strlen(path);
	char *out;

	while (n > 1 && path[n - 1] == '/')
		n--;
	if (asprintf(&out, "%.*s%s", (int)n, path, suffix) >= 0)
		return out;
	log_error("%s: no memory", path);
	return NULL;
}

error_t usage_trace(int key, char *arg, struct argp_state *state, const char **path)
{
	switch (key) {
	case ARGP_KEY_ARG:
		if (*path)
			argp_error(state, "one trace at a time: '%s' is too much", arg);
		*path = arg;
		return 0;
	case ARGP_KEY_END:
		if (!*path)
			argp_error(state, "which trace? Give its directory");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int64_t usage_int(struct argp_state *state, const char *what, const char *text, int64_t least,
		  int64_t most)
{
	char *end;
	long long v;

	errno = 0;
	v = strtoll(text, &end, 10);
	if (errno || end == text || *end || v < least || v > most)
		argp_error(state, "%s takes an integer from %lld to %lld, not '%s'", what,
			   (long long)least, (long long)most, text);
	return v;
}

uint64_t usage_bytes(struct argp_state *state, const char *what, const char *text)
{
	static const char units[] = "KMG";
	unsigned shift = 0;
	const char *unit;
	char *end;
	unsigned long long v;

	errno = 0;
	v = strtoull(text, &end, 10);
	unit = *end ? strchr(units, *end) : NULL;
	if (unit) {
		shift = 10 * (unsigned)(unit - units + 1);
		end++;
	}
	if (errno || end == text || *text == '-' || *end || v == 0 || v > UINT64_MAX >> shift)
		argp_error(state, "%s takes a size such as 64M, not '%s'", what, text);
	return (uint64_t)v << shift;
}

struct moment usage_moment(struct argp_state *state, const char *what, const char *text)
{
	static const struct {
		const char *name;
		int64_t ns;
	} units[] = {{"", 1}, {"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};
	static const long double two_to_63 = 9223372036854775808.0L;
	struct moment moment = {.given = true, .relative = *text == '+'};
	const char *number = text + moment.relative;
	long double v;
	char *end;

	errno = 0;
	v = strtold(number, &end); /* 64 bits of mantissa: any clock is exact */
	for (unsigned i = 0; end != number && !errno && isfinite(v); i++) {
		if (i == sizeof(units) / sizeof(units[0]))
			break;
		if (strcmp(end, units[i].name))
			continue;
		v *= units[i].ns;
		if (v < -two_to_63 || v >= two_to_63)
			break;
		moment.ns = (int64_t)llroundl(v);
		return moment;
	}
	argp_error(state,
		   "%s takes a clock in ns, or the time since the first event such as +1.5s, "
		   "not '%s'",
		   what, text);
	return moment;
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
