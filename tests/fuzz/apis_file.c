/* SPDX-License-Identifier: MIT */
/*
 * Fuzzer of API files: any text as one.
 *
 * Accepted files keep the invariants of api_file.h and action.h, down to the last step.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/catalog/catalog.h"
#include "trace/base/log.h"
#include "user/apis/api_file.h"
#include "fuzz.h"

static void check_effect(const struct api *api, const struct effect *effect, bool set)
{
	const struct catalog_event *event;
	const struct api_mark *mark;

	if (effect->enter != MARK_PUSH && effect->enter != MARK_SET) {
		MUST(!set);
		event = catalog_find(effect->enter, NULL);
		MUST(event && event->action == ACTION_PUSH);
		MUST(effect->leave == MCV(event->leaves[0], event->leaves[1], event->leaves[2]));
		return;
	}
	MUST(effect->type > 0 && effect->type <= API_MARK_MAX);
	mark = &api->marks[effect->type];
	MUST(mark->title && *mark->title);
	MUST(mark->single == set && (effect->enter == MARK_SET) == set);
	MUST(effect->leave == (set ? 0 : MARK_POP));
	MUST(!effect->label || (*effect->label && strlen(effect->label) <= API_LABEL_MAX));
}

static void check_steps(const struct api *api, const struct step *steps, size_t count, bool entry)
{
	MUST(count <= ACTION_STEPS_MAX);
	for (size_t i = 0; i < count; i++) {
		MUST(steps[i].kind <= STEP_SET && (!entry || steps[i].when == WHEN_ALWAYS));
		check_effect(api, &steps[i].effect, steps[i].kind == STEP_SET);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct api api;

	log_setup("fuzz", (enum log_level) - 1);
	if (api_file_parse(&api, (const char *)data, size, "fuzz"))
		return 0;
	MUST(api.nparts && api.nsymbols <= API_SYMBOLS_MAX);
	for (size_t i = 0; i < api.nparts; i++) {
		const struct api_part *part = &api.parts[i];

		MUST(part->nfunctions && (part->nlibraries || part->program));
		for (size_t j = 0; j < part->nfunctions; j++) {
			const struct api_function *f = &part->functions[j];

			MUST(f->nsymbols && f->line);
			for (size_t k = 0; k < f->nsymbols; k++)
				MUST(*f->symbols[k].text);
			MUST(f->action.has_during || f->action.nentry || f->action.nreturn);
			if (f->action.has_during)
				check_effect(&api, &f->action.during, false);
			check_steps(&api, f->action.entry, f->action.nentry, true);
			check_steps(&api, f->action.at_return, f->action.nreturn, false);
		}
	}
	api_file_free(&api);
	return 0;
}
