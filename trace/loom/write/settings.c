/* SPDX-License-Identifier: MIT */
/* settings: the choices of a user for a run (see settings.h). */
#include "trace/loom/write/settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *set_mode(struct loom_settings *s, const char *value)
{
	static const char *const modes[] = {
		[LOOM_FULL] = "full", [LOOM_SUMMARY] = "summary", [LOOM_OFF] = "off"};

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (strcmp(value, modes[i]) != 0)
			continue;
		s->mode = (enum loom_mode)i;
		s->has_mode = true;
		return NULL;
	}
	return "a mode is full, summary or off";
}

static const char *set_kinds(struct loom_settings *s, const char *value)
{
	s->has_controls = true;
	return loom_controls_kinds(&s->controls, value);
}

static const char *set_cores(struct loom_settings *s, const char *value)
{
	s->has_controls = true;
	return loom_controls_cores(&s->controls, value);
}

static const char *set_nodes(struct loom_settings *s, const char *value)
{
	s->has_controls = true;
	return loom_controls_nodes(&s->controls, value);
}

static const char *set_sample(struct loom_settings *s, const char *value)
{
	s->has_controls = true;
	return loom_controls_sample(&s->controls, value);
}

static const char *set_channel(struct loom_settings *s, const char *value)
{
	if (!*value)
		return "the path of a socket is missing";
	free(s->channel);
	s->channel = strdup(value);
	return s->channel ? NULL : LOOM_NO_MEMORY;
}

static const struct {
	const char *name;
	const char *(*set)(struct loom_settings *s, const char *value);
} known[] = {
	{"mode", set_mode},   {"kinds", set_kinds},   {"cores", set_cores},
	{"nodes", set_nodes}, {"sample", set_sample}, {"channel", set_channel},
};

/* Returns the reason why "NAME=VALUE" is refused, or NULL. */
static const char *set(struct loom_settings *s, char *setting)
{
	char *value = strchr(setting, '=');
	const char *wrong;

	if (!value)
		return "a setting is NAME=VALUE";
	*value++ = '\0';
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (strcmp(setting, known[i].name) != 0)
			continue;
		wrong = known[i].set(s, value);
		value[-1] = '=';
		return wrong;
	}
	value[-1] = '=';
	return "a setting is mode, kinds, cores, nodes, sample or channel";
}

int loom_settings_parse(struct loom_settings *s, const char *text, char *why, size_t size)
{
	char *copy = strdup(text), *rest = copy, *setting;
	const char *wrong = copy ? NULL : LOOM_NO_MEMORY;

	*why = '\0';
	while (!wrong && (setting = strsep(&rest, ";")) != NULL) {
		wrong = *setting ? set(s, setting) : NULL;
		if (wrong)
			snprintf(why, size, "%.60s: %s", setting, wrong);
	}
	free(copy);
	if (!wrong)
		return 0;
	return strcmp(wrong, LOOM_NO_MEMORY) ? -EINVAL : -ENOMEM;
}

void loom_settings_free(struct loom_settings *s)
{
	loom_controls_free(&s->controls);
	free(s->channel);
	s->channel = NULL;
}
