/* SPDX-License-Identifier: MIT */
/* action: see action.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/probes/action.h"
#include "user/probes/site_value.h"
#include "trace/catalog/catalog.h"
#include "trace/base/array.h"
#include "trace/base/log.h"
#include "trace/base/text.h"

#define TYPE_FUNCTION 0

/* Effects of one action. */
#define EFFECTS_MAX (1 + ACTION_ALSO_MAX + 2 * ACTION_STEPS_MAX)

int actions_new(struct actions *actions, size_t count)
{
	*actions = (struct actions){.count = count};
	actions->list = calloc(count ? count : 1, sizeof(*actions->list));
	return actions->list ? 0 : -ENOMEM;
}

void actions_free(struct actions *actions)
{
	for (size_t i = 0; i < actions->ntitles; i++)
		free(actions->titles[i]);
	free(actions->titles);
	free(actions->declarations);
	free(actions->list);
	*actions = (struct actions){0};
}

/* ---- types of marks ---- */

int actions_type(struct actions *actions, int32_t type, const char *title, bool single)
{
	struct mark_type *t = &actions->types[type];

	if (t->title)
		return t->single == single && !strcmp(t->title, title) ? 0 : -EEXIST;
	*t = (struct mark_type){.title = title, .single = single};
	return 0;
}

/* The type of single marks with this title, declared if it is new. -E2BIG: no type is left. */
static int32_t type_titled(struct actions *actions, const char *title)
{
	const struct mark_type *types = actions->types;
	int32_t type;

	for (type = 0; type < ACTION_TYPES; type++)
		if (types[type].title && types[type].single && !strcmp(types[type].title, title))
			return type;
	for (type = 1; type < ACTION_TYPES && types[type].title; type++)
		;
	if (type == ACTION_TYPES)
		return -E2BIG;
	actions->types[type] = (struct mark_type){.title = title, .single = true};
	return type;
}

/* ---- -u and --usdt ---- */

/* The type of marks for a value of a site. -E2BIG or -ENOMEM. */
static int32_t type_of_value(struct actions *actions, const struct site *site,
			     const struct site_value *value)
{
	char *title, **kept, name[64];

	site_value_name(value, name, sizeof(name));
	if (site->kind == SITE_POINT && !value->number)
		title = strdup(site->label);
	else if (value->source == SITE_RETURN)
		title = xasprintf("%s (returned)", site->label);
	else if (value->follow)
		title = xasprintf("%s (%s)", site->label, name);
	else
		title = xasprintf("%s (argument %u)", site->label, value->number);
	kept = title ? ARRAY_ADD(actions->titles, actions->ntitles) : NULL;
	if (!kept) {
		free(title);
		return -ENOMEM;
	}
	*kept = title;
	return type_titled(actions, title);
}

/* Writes the value `index` of the site; -1: a point without one. */
static int add_value(struct actions *actions, struct action *action, const struct site *site,
		     int index)
{
	const struct site_value *value = index < 0 ? NULL : &site->values[index];
	int32_t type = value ? type_of_value(actions, site, value) : type_titled(actions, "Point");
	struct step *step;

	if (type == -ENOMEM)
		return log_no_memory("for the probe of %s", site->label);
	if (type < 0) {
		log_error("%s: no more values can be shown: there are types of marks for %d",
			  site->label, ACTION_TYPES - 1);
		return type;
	}
	if (value && site_value_returns(value))
		step = &action->at_return[action->nreturn++];
	else
		step = &action->entry[action->nentry++];
	*step = (struct step){
		.kind = value ? STEP_VALUE : STEP_SET,
		.effect = {.enter = MARK_SET, .type = type, .label = value ? NULL : site->label},
	};
	if (value) {
		step->value = *value;
		step->index = (uint8_t)index;
	}
	return 0;
}

int actions_of_site(struct actions *actions, size_t index, const struct site *site)
{
	struct action *action = &actions->list[index];
	unsigned count = site_values_count(site->values);
	int err = 0;

	*action = (struct action){0};
	if (site->kind == SITE_FUNCTION) {
		/* type 0 is only declared here */
		actions->types[TYPE_FUNCTION] = (struct mark_type){.title = "Function"};
		action->has_during = true;
		action->during = (struct effect){.enter = MARK_PUSH,
						 .leave = MARK_POP,
						 .type = TYPE_FUNCTION,
						 .label = site->label,
						 .repeats = true};
	} else if (!count) {
		return add_value(actions, action, site, -1);
	}
	for (unsigned i = 0; i < count && !err; i++)
		err = add_value(actions, action, site, (int)i);
	return err;
}

static bool bind_steps(struct step *steps, unsigned count, struct site *site)
{
	for (unsigned i = 0; i < count; i++) {
		int index;

		if (!steps[i].value.source)
			continue;
		index = site_values_add(site->values, &steps[i].value);
		if (index < 0)
			return false;
		steps[i].index = (uint8_t)index;
	}
	return true;
}

bool action_bind(struct action *action, struct site *site)
{
	return bind_steps(action->entry, action->nentry, site) &&
	       bind_steps(action->at_return, action->nreturn, site);
}

/* ---- more than one meaning ---- */

/* All effects of an action. Returns their number. */
static unsigned effects_of(struct action *action, struct effect *list[EFFECTS_MAX])
{
	unsigned n = 0;

	if (action->has_during)
		list[n++] = &action->during;
	for (unsigned i = 0; i < action->nalso; i++)
		list[n++] = &action->also[i];
	for (unsigned i = 0; i < action->nentry; i++)
		list[n++] = &action->entry[i].effect;
	for (unsigned i = 0; i < action->nreturn; i++)
		list[n++] = &action->at_return[i].effect;
	return n;
}

static bool is_mark(const struct effect *effect)
{
	return effect->enter == MARK_PUSH || effect->enter == MARK_SET;
}

static bool same_stack(const struct effect *a, const struct effect *b)
{
	const struct catalog_event *x, *y;

	if (is_mark(a) || is_mark(b))
		return is_mark(a) && is_mark(b) && a->type == b->type;
	if (a->enter >> 16 != b->enter >> 16) /* of another model */
		return false;
	x = catalog_find(a->enter, NULL);
	y = catalog_find(b->enter, NULL);
	return x && y && x->channel && y->channel && !strcmp(x->channel, y->channel);
}

static bool can_join(struct action *into, struct action *more)
{
	unsigned states = into->nalso + into->has_during + more->nalso + more->has_during;
	struct effect *theirs[EFFECTS_MAX], *ours[EFFECTS_MAX];
	unsigned ntheirs = effects_of(into, theirs), nours = effects_of(more, ours);

	if (states > ACTION_ALSO_MAX + 1 || into->nentry + more->nentry > ACTION_STEPS_MAX ||
	    into->nreturn + more->nreturn > ACTION_STEPS_MAX)
		return false;
	for (unsigned i = 0; i < ntheirs; i++)
		for (unsigned k = 0; k < nours; k++)
			if (same_stack(theirs[i], ours[k]))
				return false;
	return true;
}

static void add_state(struct action *into, const struct effect *effect)
{
	if (into->has_during)
		into->also[into->nalso++] = *effect;
	else
		into->during = *effect;
	into->has_during = true;
}

/* Removes the values that the other action writes, too, as the communicator of a collective. */
static void drop_equal(const struct step *theirs, unsigned ntheirs, struct step *steps, unsigned *n)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < *n; i++) {
		bool equal = false;

		for (unsigned k = 0; k < ntheirs; k++)
			equal |= steps[i].kind == STEP_VALUE && theirs[k].kind == STEP_VALUE &&
				 steps[i].when == theirs[k].when &&
				 steps[i].effect.type == theirs[k].effect.type &&
				 steps[i].index == theirs[k].index;
		if (!equal)
			steps[kept++] = steps[i];
	}
	*n = kept;
}

bool action_join(struct action *into, struct action *more)
{
	drop_equal(into->entry, into->nentry, more->entry, &more->nentry);
	drop_equal(into->at_return, into->nreturn, more->at_return, &more->nreturn);
	if (!can_join(into, more))
		return false;
	for (unsigned i = 0; i < more->nentry; i++)
		into->entry[into->nentry++] = more->entry[i];
	for (unsigned i = 0; i < more->nreturn; i++)
		into->at_return[into->nreturn++] = more->at_return[i];
	if (more->has_during)
		add_state(into, &more->during);
	for (unsigned i = 0; i < more->nalso; i++)
		add_state(into, &more->also[i]);
	return true;
}

/* ---- numbers and declarations ---- */

/* All effects of all actions. */
struct effects {
	struct effect **list;
	size_t count;
	struct effect **stacks; /* the first effect of each stack */
	size_t nstacks;
};

static int number_stack(struct effects *effects, struct effect *effect)
{
	struct effect **added;
	size_t stack = 0;

	while (stack < effects->nstacks && !same_stack(effects->stacks[stack], effect))
		stack++;
	effect->stack = (uint16_t)stack;
	if (stack < effects->nstacks)
		return 0;
	added = ARRAY_ADD(effects->stacks, effects->nstacks);
	if (!added)
		return -ENOMEM;
	*added = effect;
	return 0;
}

static int collect(struct effects *effects, struct action *action)
{
	struct effect *list[EFFECTS_MAX], **added;
	unsigned n = effects_of(action, list);
	int err;

	for (unsigned i = 0; i < n; i++) {
		added = ARRAY_ADD(effects->list, effects->count);
		if (!added)
			return -ENOMEM;
		*added = list[i];
		err = number_stack(effects, list[i]);
		if (err)
			return err;
	}
	return 0;
}

/* Marks by type and label: first without a label (for values); of equal labels, the one that has a
 * value comes first; then events of models. */
static int compare_effects(const void *x, const void *y)
{
	const struct effect *a = *(struct effect *const *)x, *b = *(struct effect *const *)y;
	int order = is_mark(b) - is_mark(a);

	if (!order)
		order = (a->enter >> 16 > b->enter >> 16) - (a->enter >> 16 < b->enter >> 16);
	if (!order)
		order = (a->type > b->type) - (a->type < b->type);
	if (!order)
		order = (a->label != NULL) - (b->label != NULL);
	if (!order && a->label)
		order = strcmp(a->label, b->label);
	return order ? order : !a->value - !b->value;
}

static int add_declaration(struct actions *actions, struct declaration declaration)
{
	struct declaration *added = ARRAY_ADD(actions->declarations, actions->ndeclarations);

	if (!added)
		return -ENOMEM;
	*added = declaration;
	return 0;
}

static int declare_models(struct actions *actions, struct effect **events, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct declaration model = {.model = (char)(events[i]->enter >> 16)};

		if ((!i || model.model != (char)(events[i - 1]->enter >> 16)) &&
		    add_declaration(actions, model))
			return -ENOMEM;
		events[i]->declared = (uint32_t)actions->ndeclarations - 1;
	}
	return 0;
}

/* A type, its value 0, and the values of its labels, which get their numbers here. */
static int declare_type(struct actions *actions, int32_t type, struct effect **marks, size_t count)
{
	const struct mark_type *t = &actions->types[type];
	struct declaration title = {.type = type, .title = t->title, .single = t->single};
	struct declaration zero = {.type = type, .value = ACTION_ZERO, .label = "0"};
	uint32_t first = (uint32_t)actions->ndeclarations;
	const struct effect *before = NULL;
	int64_t next = 0;

	if (add_declaration(actions, title) || add_declaration(actions, zero))
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (marks[i]->value > next)
			next = marks[i]->value;
	for (size_t i = 0; i < count; i++) {
		struct effect *mark = marks[i];
		struct declaration value = {.type = type, .label = mark->label};

		mark->declared = first;
		if (!mark->label)
			continue;
		if (!mark->value)
			mark->value = before && !strcmp(before->label, mark->label) ? before->value
										    : ++next;
		value.value = mark->value;
		if ((!before || before->value != mark->value) && add_declaration(actions, value))
			return -ENOMEM;
		mark->declared = (uint32_t)actions->ndeclarations - 1;
		before = mark;
	}
	return 0;
}

static int declare_all(struct actions *actions, const struct effects *effects)
{
	struct effect **list = effects->list;
	size_t from = 0, to;

	for (int32_t type = 0; type < ACTION_TYPES; type++, from = to) {
		for (to = from; to < effects->count; to++)
			if (!is_mark(list[to]) || list[to]->type != type)
				break;
		if (actions->types[type].title &&
		    declare_type(actions, type, list + from, to - from))
			return -ENOMEM;
	}
	return declare_models(actions, list + from, effects->count - from);
}

int actions_finish(struct actions *actions)
{
	struct effects effects = {0};
	int err = 0;

	for (size_t i = 0; i < actions->count; i++) {
		err = collect(&effects, &actions->list[i]);
		if (err)
			goto out;
	}
	if (!effects.count)
		goto out;
	qsort(effects.list, effects.count, sizeof(*effects.list), compare_effects);
	err = declare_all(actions, &effects);
out:
	free(effects.list);
	free(effects.stacks);
	return err;
}
