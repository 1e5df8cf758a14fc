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

enum loom_rule {
	LOOM_S1,
	LOOM_S2,
	LOOM_S3,
	LOOM_S4,
	LOOM_S5,
	LOOM_O1,
	LOOM_O2,
	LOOM_O3,
	LOOM_O4,
	LOOM_O5,
	LOOM_O6,
	LOOM_O7,
	LOOM_O8,
	LOOM_O9,
	LOOM_O10,
	LOOM_K1,
	LOOM_K2,
	LOOM_P1,
	LOOM_P2,
	LOOM_P3,
	LOOM_P4,
	LOOM_P5,
	LOOM_P6,
	LOOM_P7,
	LOOM_P8,
	LOOM_P9,
	LOOM_P10,
	LOOM_P11,
	LOOM_P12,
	LOOM_RULES
};

struct loom_rule_text {
	const char *id;
	enum loom_severity severity;
	const char *text; /* the rule in words */
};
extern const struct loom_rule_text loom_rules[LOOM_RULES];

#define LOOM_NOWHERE UINT64_MAX

struct loom_violation {
	enum loom_rule rule;
	enum loom_severity severity; /* at most that of the rule */
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

/* Reports a violation with the severity of its rule. `place` may be NULL. */
void loom_violation_add(struct loom_violations *f, enum loom_rule rule,
			const struct loom_place *place, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* The same with another severity. */
void loom_violation_add_as(struct loom_violations *f, enum loom_severity severity,
			   enum loom_rule rule, const struct loom_place *place, const char *fmt,
			   ...) __attribute__((format(printf, 5, 6)));

/* A collector that writes to the log. */
void loom_violation_log(void *arg, const struct loom_violation *finding);
/* A collector without any effect. */
void loom_violation_ignore(void *arg, const struct loom_violation *finding);

const char *loom_severity_name(enum loom_severity severity); /* "error", "warning", "notice" */
/* "invalid", "valid with warnings" or "valid". */
const char *loom_verdict(const struct loom_violations *f);

#endif
