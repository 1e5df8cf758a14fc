/* SPDX-License-Identifier: MIT */
#include "tools/lib/wall_clock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define SECOND 1000000000ll
#define DAY    (86400 * SECOND)
#define LIMIT                                                                                      \
	(1ll << 60) /* ns: 36 years of uptime; times of day up to four of it, the year 2116        \
		     */

static bool take_pair(const struct json *pair, int64_t *clock, int64_t *ns)
{
	return json_i64(json_key(pair, "clock"), clock) && json_i64(json_key(pair, "ns"), ns) &&
	       *clock >= 0 && *clock < LIMIT && *ns >= 0 && *ns < 4 * LIMIT;
}

static int64_t small(const struct json *node)
{
	int64_t value = 0;

	return json_i64(node, &value) && value > -LIMIT && value < LIMIT ? value : 0;
}

void wall_clock_add(struct wall_clock *wall, const struct json *meta)
{
	const struct json *realtime = json_get(meta, "bpf.session.realtime");
	int64_t offset = json_int(json_key(realtime, "utc_offset"));

	*wall = (struct wall_clock){0};
	if (!take_pair(json_key(realtime, "begin"), &wall->clock, &wall->ns))
		return;
	wall->known = true;
	wall->utc_offset = offset > -86400 && offset < 86400 ? (int32_t)offset : 0;
	wall->error_ns = small(json_key(realtime, "error_ns"));
	wall->step_ns = small(json_key(realtime, "step_ns"));
	if (take_pair(json_key(realtime, "end"), &wall->end_clock, &wall->end_ns) &&
	    wall->end_clock >= wall->clock)
		return;
	wall->end_clock = wall->clock;
	wall->end_ns = wall->ns;
}

int wall_clock_read(struct wall_clock *wall, const struct trace *trace, const struct owner *owners)
{
	*wall = (struct wall_clock){0};
	for (size_t i = 0; i < trace->nstreams && !wall->known; i++) {
		struct json *meta;

		if (owners && !owners[i].has_host)
			continue;
		meta = trace_metadata(trace, i);
		if (!meta)
			return -EINVAL;
		wall_clock_add(wall, meta);
		json_free(meta);
		if (!wall->known)
			continue;
		wall->clock = trace_clock(trace, i, wall->clock);
		wall->end_clock = trace_clock(trace, i, wall->end_clock);
	}
	return 0;
}

/* Local time of a clock: ns since the epoch, as if it were UTC. */
static int64_t local_of(const struct wall_clock *wall, int64_t clock)
{
	int64_t since;

	if (__builtin_sub_overflow(clock, wall->clock, &since) || since > LIMIT || since < -LIMIT)
		since = 0;
	return wall->ns + since + wall->utc_offset * SECOND;
}

static int64_t floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

void wall_clock_text(const struct wall_clock *wall, int64_t clock, char *text)
{
	int64_t ns = local_of(wall, clock);
	time_t s = (time_t)floor_div(ns, SECOND);
	int32_t offset = wall->utc_offset < 0 ? -wall->utc_offset : wall->utc_offset;
	struct tm local = {0};
	char day[32];

	gmtime_r(&s, &local);
	strftime(day, sizeof(day), "%Y-%m-%d %H:%M:%S", &local);
	snprintf(text, WALL_CLOCK_TEXT, "%s.%06lld %c%02d%02d", day,
		 (long long)(ns - s * SECOND) / 1000, wall->utc_offset < 0 ? '-' : '+',
		 (int)(offset / 3600), (int)(offset / 60 % 60));
}

int wall_clock_find(const struct wall_clock *wall, int64_t day_ns, int64_t *clock)
{
	int64_t first = local_of(wall, wall->clock), last = local_of(wall, wall->end_clock);
	int64_t found = floor_div(first, DAY) * DAY + day_ns;

	if (found < first) /* it was before the recording, on that day */
		found += DAY;
	if (found <= last && found + DAY <= last)
		return -ERANGE;
	if (found > last && found - last > first - (found - DAY))
		found -= DAY;
	*clock = wall->clock + (found - first);
	return 0;
}
