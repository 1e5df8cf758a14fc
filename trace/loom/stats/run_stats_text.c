/* SPDX-License-Identifier: MIT */
/*
 * run_stats_text: reads statistics of upstream as text. In: lines "key: value", then "[node_perf]"
 * and a line of "key=value" for each node; out: run_stats.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/loom/stats/run_stats_load.h"

#define COUNT(array)   (sizeof(array) / sizeof((array)[0]))
#define AT(member)     offsetof(struct run_stats, member)
#define LINE_MAX_BYTES 4096

/* Parses a decimal number without a suffix. */
static bool parse(const char *text, uint64_t *out)
{
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*out = strtoull(text, &end, 10);
	return errno == 0 && *end == '\0';
}

static void not_a_counter(struct stats_loader *l, const char *key)
{
	struct loom_place place = {l->perf->path, LOOM_NOWHERE, inflow_tell(&l->in)};

	loom_violation_add(l->findings, LOOM_P2, &place, "%s is not an integer from 0 to 2^64 - 1",
			   key);
}

static bool keep(struct stats_loader *l, char **out, const char *text)
{
	free(*out);
	*out = strdup(text);
	return *out ? true : tokens_no_memory(&l->t);
}

static bool run_line(struct stats_loader *l, const char *key, const char *value)
{
	static const struct {
		const char *key;
		size_t offset;
	} numbers[] = {
		{"total_cycles", AT(total_cycles)},
		{"config_cycles", AT(config_cycles)},
		{"total_config_writes",
		 AT(sums) + STATS_CONFIG_WRITES * sizeof(struct stats_number)},
		{"trace_event_count", AT(event_count)},
		{"perf_snapshot_count", AT(snapshot_count)},
	};

	if (!strcmp(key, "success")) {
		l->perf->has_success = true;
		l->perf->success = !strcmp(value, "true");
		return true;
	}
	if (!strcmp(key, "termination"))
		return keep(l, &l->perf->termination, value);
	if (!strcmp(key, "error_message"))
		return !strcmp(value, "<none>") || keep(l, &l->perf->error_message, value);
	for (size_t i = 0; i < COUNT(numbers); i++) {
		struct stats_number *n =
			(struct stats_number *)((char *)l->perf + numbers[i].offset);

		if (strcmp(key, numbers[i].key) != 0)
			continue;
		if (n->given)
			return tokens_refuse(&l->t, "a key twice");
		n->given = parse(value, &n->v);
		if (!n->given)
			not_a_counter(l, key);
		return true;
	}
	return true; /* a key of another version */
}

static bool node_value(struct stats_loader *l, struct stats_snapshot *s, const char *key,
		       const char *value, bool *named)
{
	static const struct {
		const char *key;
		enum stats_counter counter;
	} counters[] = {
		{"active", STATS_ACTIVE_CYCLES},       {"stall_in", STATS_STALL_CYCLES_IN},
		{"stall_out", STATS_STALL_CYCLES_OUT}, {"tokens_in", STATS_TOKENS_IN},
		{"tokens_out", STATS_TOKENS_OUT},      {"config_writes", STATS_CONFIG_WRITES},
	};
	uint64_t v;

	if (!strcmp(key, "node")) {
		if (!parse(value, &v) || v > UINT32_MAX)
			return tokens_refuse(&l->t, "a node is a number of 32 bits");
		s->hw_node_id = (uint32_t)v;
		*named = true;
		return true;
	}
	for (size_t i = 0; i < COUNT(counters); i++) {
		if (strcmp(key, counters[i].key) != 0)
			continue;
		if (parse(value, &s->counters[counters[i].counter])) {
			s->has_counter |= 1u << counters[i].counter;
		} else {
			s->bad_counter |= 1u << counters[i].counter;
			not_a_counter(l, key);
		}
		break;
	}
	return true;
}

/* Parses "node=2 active=4 ..."; a blank may precede a value. */
static bool node_line(struct stats_loader *l, char *line)
{
	struct stats_snapshot *s = stats_new_snapshot(l);
	bool named = false;
	char *at = line;

	if (!s)
		return false;
	while (*at) {
		char *key = at, *value = strchr(at, '='), *end;

		if (!value)
			return tokens_refuse(&l->t, "the line of a node consists of KEY=VALUE");
		*value++ = '\0';
		value += strspn(value, " \t");
		end = value + strcspn(value, " \t");
		at = end + strspn(end, " \t");
		*end = '\0';
		if (!node_value(l, s, key, value, &named))
			return false;
	}
	if (!named)
		return tokens_refuse(&l->t, "the line of a node starts with node=");
	stats_want(l, s,
		   1u << STATS_ACTIVE_CYCLES | 1u << STATS_STALL_CYCLES_IN |
			   1u << STATS_STALL_CYCLES_OUT | 1u << STATS_TOKENS_IN |
			   1u << STATS_TOKENS_OUT | 1u << STATS_CONFIG_WRITES);
	l->snapshot = NULL;
	return true;
}

static bool text_line(struct stats_loader *l, char *line, bool *in_nodes)
{
	char *colon;

	line += strspn(line, " \t");
	if (!*line)
		return true;
	if (!strcmp(line, "[node_perf]")) {
		*in_nodes = true;
		return true;
	}
	if (*in_nodes)
		return node_line(l, line);
	colon = strchr(line, ':');
	if (!colon)
		return tokens_refuse(&l->t,
				     "no form of statistics that is known: neither JSON nor lines "
				     "\"key: value\"");
	*colon++ = '\0';
	return run_line(l, line, colon + strspn(colon, " \t"));
}

/* Reads the next line without its end. Returns 1, 0 at the end of the file, -1 after a mistake. */
static int next_line(struct stats_loader *l, char line[LINE_MAX_BYTES])
{
	size_t len = 0;
	int c = inflow_look(&l->in);

	if (c < 0)
		return 0;
	while (c >= 0 && c != '\n') {
		if (c == 0 || len + 1 >= LINE_MAX_BYTES) {
			tokens_refuse(&l->t,
				      "no form of statistics that is known: neither JSON nor text");
			return -1;
		}
		line[len++] = (char)c;
		inflow_skip(&l->in, 1);
		c = inflow_look(&l->in);
	}
	if (c == '\n')
		inflow_skip(&l->in, 1);
	while (len > 0 && (line[len - 1] == '\r' || line[len - 1] == ' '))
		len--;
	line[len] = '\0';
	return 1;
}

bool stats_load_text(struct stats_loader *l)
{
	struct run_stats *p = l->perf;
	struct loom_place place = stats_place(p, NULL);
	char line[LINE_MAX_BYTES];
	bool in_nodes = false;
	int more;

	while ((more = next_line(l, line)) > 0) {
		if (!text_line(l, line, &in_nodes))
			return false;
	}
	if (more < 0 || l->in.error)
		return false;
	if (!p->total_cycles.given && !p->termination && !p->has_success)
		return tokens_refuse(&l->t, "no form of statistics that is known");
	p->form = STATS_TEXT;
	if (!p->total_cycles.given)
		loom_violation_add(l->findings, LOOM_P2, &place, "no total_cycles");
	if (!p->config_cycles.given)
		loom_violation_add(l->findings, LOOM_P2, &place, "no config_cycles");
	return true;
}
