/* SPDX-License-Identifier: MIT */
/*
 * violation: reports violations of the rules of the specification.
 *
 * In: the id of a rule, a position, a sentence; out: a call of the collector, and counts.
 * Invariants: every reported rule is in the table; the verdict depends on the counts alone.
 * Specification: loom.md 8.
 */
#ifndef TRACE_LOOM_VIOLATION_H
#define TRACE_LOOM_VIOLATION_H

#include <stddef.h>
#include <stdint.h>

enum loom_severity { LOOM_NOTICE, LOOM_WARNING, LOOM_ERROR, LOOM_SEVERITIES };

/* Each rule: its id, its severity, and the rule in words. */
#define LOOM_RULE_TABLE(RULE)                                                                      \
	RULE(S1, LOOM_ERROR, "the form is recognised")                                             \
	RULE(S2, LOOM_ERROR, "the version is 1")                                                   \
	RULE(S3, LOOM_ERROR, "the header's count equals the records present")                      \
	RULE(S4, LOOM_ERROR, "no partial record at the end, no cut header")                        \
	RULE(S5, LOOM_NOTICE, "the padding of the natural layout is zero")                         \
	RULE(O1, LOOM_ERROR, "the cycle never falls, in file order, across all cores")             \
	RULE(O2, LOOM_WARNING, "the epoch of a core never falls")                                  \
	RULE(O3, LOOM_ERROR, "INVOCATION_START stands before every record of a node")              \
	RULE(O4, LOOM_ERROR, "no NODE_FIRE or ROUTE_USE after INVOCATION_DONE")                    \
	RULE(O5, LOOM_ERROR, "one INVOCATION_START, one INVOCATION_DONE, in this order")           \
	RULE(O6, LOOM_WARNING, "no CONFIG_WRITE after INVOCATION_START")                           \
	RULE(O7, LOOM_ERROR, "two runs of a deterministic simulation are equal")                   \
	RULE(O8, LOOM_ERROR, "records of nodes have an INVOCATION_START")                          \
	RULE(O9, LOOM_NOTICE, "every invocation has its INVOCATION_DONE")                          \
	RULE(O10, LOOM_NOTICE, "JSON: ids of the document applied to the records")                 \
	RULE(K1, LOOM_NOTICE, "no kind above 7")                                                   \
	RULE(K2, LOOM_NOTICE, "no DEVICE_ERROR with code 0 or a reserved one")                     \
	RULE(P1, LOOM_ERROR, "the statistics parse and their form is known")                       \
	RULE(P2, LOOM_ERROR, "counters are present and integers from 0 on")                        \
	RULE(P3, LOOM_ERROR, "every derived metric follows from its counters")                     \
	RULE(P4, LOOM_ERROR, "totals equal the sums over the nodes, counts the lengths")           \
	RULE(P5, LOOM_ERROR, "active and stall cycles fit into the window")                        \
	RULE(P6, LOOM_WARNING, "cycles with records of a node equal its counters")                 \
	RULE(P7, LOOM_ERROR, "execution = total - configuration")                                  \
	RULE(P8, LOOM_ERROR, "the announced number of events is present")                          \
	RULE(P9, LOOM_WARNING, "CONFIG_WRITE records equal the configuration writes")              \
	RULE(P10, LOOM_ERROR, "seen = written + filtered + sampled out + dropped")                 \
	RULE(P11, LOOM_WARNING, "no node twice without a core")                                    \
	RULE(P12, LOOM_NOTICE, "nothing filtered, sampled out or dropped")

#define LOOM_RULE_ENUM(id, severity, text) LOOM_##id,
enum loom_rule { LOOM_RULE_TABLE(LOOM_RULE_ENUM) LOOM_RULES };

struct loom_rule_text {
	const char *id;
	enum loom_severity severity;
	const char *text; /* the rule in words */
};
extern const struct loom_rule_text loom_rules[LOOM_RULES];

#define LOOM_NOWHERE UINT64_MAX

struct loom_violation {
	enum loom_rule rule;
	enum loom_severity severity; /* at most the severity of the rule */
	const char *file;	     /* its name for the user, or NULL */
	uint64_t record;	     /* number from 0, or LOOM_NOWHERE */
	uint64_t offset;	     /* in the file, or LOOM_NOWHERE */
	const char *text;	     /* one sentence; valid during the call */
};

struct loom_violations {
	void (*report)(void *arg,
		       const struct loom_violation *finding); /* NULL: loom_violation_log() */
	void *arg;
	uint64_t counts[LOOM_SEVERITIES];
	uint64_t of_rule[LOOM_RULES];
};

struct loom_place {
	const char *file;
	uint64_t record, offset;
};

/* Reports a violation. `place` may be NULL. */
void loom_violation_add_as(struct loom_violations *f, enum loom_severity severity,
			   enum loom_rule rule, const struct loom_place *place, const char *fmt,
			   ...) __attribute__((format(printf, 5, 6)));
/* The same with the severity of its rule. */
#define loom_violation_add(f, rule, place, ...)                                                    \
	loom_violation_add_as(f, loom_rules[rule].severity, rule, place, __VA_ARGS__)

/* A collector that writes to the log. */
void loom_violation_log(void *arg, const struct loom_violation *finding);
/* A collector without any effect. */
void loom_violation_ignore(void *arg, const struct loom_violation *finding);

const char *loom_severity_name(enum loom_severity severity); /* "error", "warning", "notice" */
/* "invalid", "valid with warnings" or "valid". */
const char *loom_verdict(const struct loom_violations *f);

#endif
