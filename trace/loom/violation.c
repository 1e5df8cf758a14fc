/* SPDX-License-Identifier: MIT */
#include "trace/loom/violation.h"

#include <stdarg.h>
#include <stdio.h>

#include "trace/base/log.h"

#define RULE_TEXT(id, severity, text) {#id, severity, text},
const struct loom_rule_text loom_rules[LOOM_RULES] = {LOOM_RULE_TABLE(RULE_TEXT)};

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

void loom_violation_add_as(struct loom_violations *f, enum loom_severity severity,
			   enum loom_rule rule, const struct loom_place *place, const char *fmt,
			   ...)
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
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	f->counts[severity]++;
	f->of_rule[rule]++;
	if (f->report)
		f->report(f->arg, &finding);
	else
		loom_violation_log(NULL, &finding);
}

void loom_violation_ignore(void *arg, const struct loom_violation *finding)
{
	(void)arg;
	(void)finding;
}
