/* SPDX-License-Identifier: MIT */
/*
 * Fuzzer of runtime maps: any text as a map.
 *
 * What is accepted keeps what api_file.h and action.h promise, down to the last step.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/catalog/catalog.h"
#include "trace/base/log.h"
#include "user/apis/api_file.h"
#include "fuzz.h"

static void check_effect(const struct map *map, const struct effect *effect, bool set)
{
	const struct catalog_event *event;
	const struct map_mark *mark = NULL;

	if (effect->enter != MARK_PUSH && effect->enter != MARK_SET) {
		MUST(!set);
		event = catalog_find(effect->enter, NULL);
		MUST(event && event->action == ACTION_PUSH);
		MUST(effect->leave == MCV(event->leaves[0], event->leaves[1], event->leaves[2]));
		return;
	}
	for (size_t i = 0; i < map->nmarks; i++)
		if (map->marks[i].type == effect->type)
			mark = &map->marks[i];
	MUST(mark && mark->type > 0 && mark->type <= MAP_MARK_MAX && *mark->title);
	MUST(mark->single == set && (effect->enter == MARK_SET) == set);
	MUST(effect->leave == (set ? 0 : MARK_POP));
	MUST(!effect->label || (*effect->label && strlen(effect->label) <= MAP_LABEL_MAX));
}

static void check_steps(const struct map *map, const struct step *steps, size_t count, bool entry)
{
	MUST(count <= ACTION_STEPS_MAX);
	for (size_t i = 0; i < count; i++) {
		MUST(steps[i].kind <= STEP_SET && (!entry || steps[i].when == WHEN_ALWAYS));
		check_effect(map, &steps[i].effect, steps[i].kind == STEP_SET);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct map map;

	log_setup("fuzz", (enum log_level) - 1);
	if (map_parse(&map, (const char *)data, size, "fuzz"))
		return 0;
	MUST(map.nparts && map.nsymbols <= MAP_SYMBOLS_MAX);
	for (size_t i = 0; i < map.nparts; i++) {
		const struct map_part *part = &map.parts[i];

		MUST(part->nfunctions && (part->nlibraries || part->program));
		for (size_t j = 0; j < part->nfunctions; j++) {
			const struct map_function *f = &part->functions[j];

			MUST(f->nsymbols && f->line);
			for (size_t k = 0; k < f->nsymbols; k++)
				MUST(*f->symbols[k].text);
			MUST(f->action.has_during || f->action.nentry || f->action.nreturn);
			if (f->action.has_during)
				check_effect(&map, &f->action.during, false);
			check_steps(&map, f->action.entry, f->action.nentry, true);
			check_steps(&map, f->action.at_return, f->action.nreturn, false);
		}
	}
	map_free(&map);
	return 0;
}
