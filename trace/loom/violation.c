/* SPDX-License-Identifier: MIT */
#include "trace/loom/violation.h"

#include <stdarg.h>
#include <stdio.h>

#include "trace/base/log.h"

const struct loom_rule_text loom_rules[LOOM_RULES] = {
	[LOOM_S1] = {"S1", LOOM_ERROR, "the form is recognised"},
	[LOOM_S2] = {"S2", LOOM_ERROR, "the version is 1"},
	[LOOM_S3] = {"S3", LOOM_ERROR, "the header's count equals the records present"},
	[LOOM_S4] = {"S4", LOOM_ERROR, "no partial record at the end, no cut header"},
	[LOOM_S5] = {"S5", LOOM_NOTICE, "the padding of the natural layout is zero"},
	[LOOM_O1] = {"O1", LOOM_ERROR, "the cycle never falls, in file order, across all cores"},
	[LOOM_O2] = {"O2", LOOM_WARNING, "the epoch of a core never falls"},
	[LOOM_O3] = {"O3", LOOM_ERROR, "INVOCATION_START stands before every record of a node"},
	[LOOM_O4] = {"O4", LOOM_ERROR, "no NODE_FIRE or ROUTE_USE after INVOCATION_DONE"},
	[LOOM_O5] = {"O5", LOOM_ERROR, "one INVOCATION_START, one INVOCATION_DONE, in this order"},
	[LOOM_O6] = {"O6", LOOM_WARNING, "no CONFIG_WRITE after INVOCATION_START"},
	[LOOM_O7] = {"O7", LOOM_ERROR, "two runs of a deterministic simulation are equal"},
	[LOOM_O8] = {"O8", LOOM_ERROR, "records of nodes have an INVOCATION_START"},
	[LOOM_O9] = {"O9", LOOM_NOTICE, "every invocation has its INVOCATION_DONE"},
	[LOOM_O10] = {"O10", LOOM_NOTICE, "JSON: ids of the document applied to the records"},
	[LOOM_K1] = {"K1", LOOM_NOTICE, "no kind above 7"},
	[LOOM_K2] = {"K2", LOOM_NOTICE, "no DEVICE_ERROR with code 0 or a reserved one"},
	[LOOM_P1] = {"P1", LOOM_ERROR, "the statistics parse and their form is known"},
	[LOOM_P2] = {"P2", LOOM_ERROR, "counters are present and integers from 0 on"},
	[LOOM_P3] = {"P3", LOOM_ERROR, "every derived metric follows from its counters"},
	[LOOM_P4] = {"P4", LOOM_ERROR, "totals equal the sums over the nodes, counts the lengths"},
	[LOOM_P5] = {"P5", LOOM_ERROR, "active and stall cycles fit into the window"},
	[LOOM_P6] = {"P6", LOOM_WARNING, "cycles with records of a node equal its counters"},
	[LOOM_P7] = {"P7", LOOM_ERROR, "execution = total - configuration"},
	[LOOM_P8] = {"P8", LOOM_ERROR, "the announced number of events is present"},
	[LOOM_P9] = {"P9", LOOM_WARNING, "CONFIG_WRITE records equal the configuration writes"},
	[LOOM_P10] = {"P10", LOOM_ERROR, "seen = written + filtered + sampled out + dropped"},
	[LOOM_P11] = {"P11", LOOM_WARNING, "no node twice without a core"},
	[LOOM_P12] = {"P12", LOOM_NOTICE, "nothing filtered, sampled out or dropped"},
};

const char *loom_severity_name(enum loom_severity severity)
{
	static const char *const names[LOOM_SEVERITIES] = {"notice", "warning", "error"};

	return names[severity];
}

const char *loom_verdict(const struct loom_violations *f)
{
	if (f->counts[LOOM_ERROR])
		return "invalid";
	return f->counts[LOOM_WARNING] ? "valid with warnings" : "valid";
}

void loom_violation_log(void *arg, const struct loom_violation *finding)
{
	static const enum log_level levels[LOOM_SEVERITIES] = {LOG_INFO, LOG_WARN, LOG_ERROR};

	(void)arg;
	log_at(levels[finding->severity], "%s%s%s (rule %s)", finding->file ? finding->file : "",
	       finding->file ? ": " : "", finding->text, loom_rules[finding->rule].id);
}

static void found(struct loom_violations *f, enum loom_severity severity, enum loom_rule rule,
		  const struct loom_place *place, const char *fmt, va_list args)
{
	char text[512];
	struct loom_violation finding = {
		.rule = rule,
		.severity = severity,
		.file = place ? place->file : NULL,
		.record = place ? place->record : LOOM_NOWHERE,
		.offset = place ? place->offset : LOOM_NOWHERE,
		.text = text,
	};

	vsnprintf(text, sizeof(text), fmt, args);
	f->counts[severity]++;
	f->of_rule[rule]++;
	if (f->report)
		f->report(f->arg, &finding);
	else
		loom_violation_log(NULL, &finding);
}

void loom_violation_add(struct loom_violations *f, enum loom_rule rule,
			const struct loom_place *place, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	found(f, loom_rules[rule].severity, rule, place, fmt, args);
	va_end(args);
}

void loom_violation_add_as(struct loom_violations *f, enum loom_severity severity,
			   enum loom_rule rule, const struct loom_place *place, const char *fmt,
			   ...)
{
	va_list args;

	va_start(args, fmt);
	found(f, severity, rule, place, fmt, args);
	va_end(args);
}

void loom_violation_ignore(void *arg, const struct loom_violation *finding)
{
	(void)arg;
	(void)finding;
}
