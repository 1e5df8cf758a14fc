/* SPDX-License-Identifier: MIT */
/* action: see action.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/probes/action.h"
#include "trace/catalog/catalog.h"
#include "trace/base/log.h"

#define TYPE_FUNCTION 0
#define TYPE_MAX      89 /* of probes */

int actions_new(struct actions *actions, size_t count)
{
	*actions = (struct actions){.count = count};
	actions->list = calloc(count ? count : 1, sizeof(*actions->list));
	return actions->list ? 0 : -ENOMEM;
}

void actions_free(struct actions *actions)
{
	for (size_t i = 0; i < actions->nstrings; i++)
		free(actions->strings[i]);
	free(actions->strings);
	free(actions->types);
	free(actions->declarations);
	free(actions->list);
	*actions = (struct actions){0};
}

/* ---- types of marks ---- */

static const struct mark_type *find_type(const struct actions *actions, int32_t type)
{
	for (size_t i = 0; i < actions->ntypes; i++)
		if (actions->types[i].type == type)
			return &actions->types[i];
	return NULL;
}

int actions_type(struct actions *actions, int32_t type, const char *title, bool single)
{
	const struct mark_type *there = find_type(actions, type);
	struct mark_type *grown;

	if (there)
		return there->single == single && !strcmp(there->title, title) ? 0 : -EEXIST;
	grown = realloc(actions->types, (actions->ntypes + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	actions->types = grown;
	grown[actions->ntypes++] = (struct mark_type){type, title, single};
	return 0;
}

int32_t actions_free_type(const struct actions *actions, int32_t from)
{
	for (int32_t type = from; type <= TYPE_MAX; type++)
		if (!find_type(actions, type))
			return type;
	return -1;
}

/* The type with this title, declared if need be; -errno without a message. */
static int32_t type_titled(struct actions *actions, const char *title)
{
	int32_t type;
	int err;

	for (size_t i = 0; i < actions->ntypes; i++)
		if (actions->types[i].single && !strcmp(actions->types[i].title, title))
			return actions->types[i].type;
	type = actions_free_type(actions, 1);
	if (type < 0)
		return -E2BIG;
	err = actions_type(actions, type, title, true);
	return err ? err : type;
}

static const char *keep(struct actions *actions, char *string)
{
	char **grown;

	if (!string)
		return NULL;
	grown = realloc(actions->strings, (actions->nstrings + 1) * sizeof(*grown));
	if (!grown) {
		free(string);
		return NULL;
	}
	actions->strings = grown;
	return grown[actions->nstrings++] = string;
}

/* ---- -u and --usdt ---- */

/* The type of marks for the values of a site. */
static int32_t type_of_value(struct actions *actions, const struct site *site)
{
	char *title = NULL;
	const char *kept;
	int n;

	if (site->kind == SITE_POINT && !site->value.number)
		n = asprintf(&title, "%s", site->label);
	else if (site->value.source == SITE_RETURN)
		n = asprintf(&title, "%s (returned)", site->label);
	else
		n = asprintf(&title, "%s (argument %u)", site->label, site->value.number);
	kept = keep(actions, n < 0 ? NULL : title);
	return kept ? type_titled(actions, kept) : -ENOMEM;
}

static int explain(const struct site *site, int32_t err)
{
	if (err == -E2BIG)
		log_error("%s: no more values can be shown: there are types of marks for %d",
			  site->label, TYPE_MAX);
	else
		log_no_memory("for the probe of %s", site->label);
	return err;
}

int actions_of_site(struct actions *actions, size_t index, const struct site *site)
{
	struct action *action = &actions->list[index];
	struct step *step;
	int32_t type;
	int err;

	*action = (struct action){0};
	if (site->kind == SITE_FUNCTION) {
		err = actions_type(actions, TYPE_FUNCTION, "Function", false);
		if (err)
			return explain(site, err);
		action->has_during = true;
		action->during = (struct effect){.enter = MARK_PUSH,
						 .leave = MARK_POP,
						 .type = TYPE_FUNCTION,
						 .label = site->label,
						 .repeats = true};
		if (site->value.source == SITE_NOTHING)
			return 0;
	}
	type = site->value.source == SITE_NOTHING ? type_titled(actions, "Point")
						  : type_of_value(actions, site);
	if (type < 0)
		return explain(site, type);
	if (site->value.source == SITE_RETURN)
		step = &action->at_return[action->nreturn++];
	else
		step = &action->entry[action->nentry++];
	*step = (struct step){
		.kind = site->value.source == SITE_NOTHING ? STEP_SET : STEP_VALUE,
		.effect = {.enter = MARK_SET, .type = type, .label = site->label},
	};
	return 0;
}

/* ---- the end ---- */

static bool is_mark(const struct effect *effect)
{
	return effect->enter == MARK_PUSH || effect->enter == MARK_SET;
}

typedef int (*effect_fn)(void *arg, struct effect *effect, bool value);

/* All effects of all actions; `value`: it is the record that brings its value. */
static int each_effect(struct actions *actions, effect_fn fn, void *arg)
{
	int err = 0;

	for (size_t i = 0; i < actions->count && !err; i++) {
		struct action *a = &actions->list[i];

		if (a->has_during)
			err = fn(arg, &a->during, false);
		for (unsigned s = 0; s < a->nalso && !err; s++)
			err = fn(arg, &a->also[s], false);
		for (unsigned s = 0; s < a->nentry && !err; s++)
			err = fn(arg, &a->entry[s].effect, a->entry[s].kind == STEP_VALUE);
		for (unsigned s = 0; s < a->nreturn && !err; s++)
			err = fn(arg, &a->at_return[s].effect, a->at_return[s].kind == STEP_VALUE);
	}
	return err;
}

/* ---- more than one meaning ---- */

static bool same_stack(const struct effect *a, const struct effect *b)
{
	const struct catalog_event *x, *y;

	if (is_mark(a) || is_mark(b))
		return is_mark(a) && is_mark(b) && a->type == b->type;
	x = catalog_find(a->enter, NULL);
	y = catalog_find(b->enter, NULL);
	return a->enter >> 16 == b->enter >> 16 && x && y && x->channel && y->channel &&
	       !strcmp(x->channel, y->channel);
}

static bool touches_steps(const struct step *steps, unsigned n, const struct effect *effect)
{
	for (unsigned i = 0; i < n; i++)
		if (same_stack(&steps[i].effect, effect))
			return true;
	return false;
}

static bool touches(const struct action *action, const struct effect *effect)
{
	for (unsigned i = 0; i < action->nalso; i++)
		if (same_stack(&action->also[i], effect))
			return true;
	return (action->has_during && same_stack(&action->during, effect)) ||
	       touches_steps(action->entry, action->nentry, effect) ||
	       touches_steps(action->at_return, action->nreturn, effect);
}

static bool can_join(const struct action *into, const struct action *more)
{
	unsigned states = into->nalso + into->has_during + more->nalso + more->has_during;

	if (states > ACTION_ALSO_MAX + 1 || into->nentry + more->nentry > ACTION_STEPS_MAX ||
	    into->nreturn + more->nreturn > ACTION_STEPS_MAX)
		return false;
	for (unsigned i = 0; i < more->nentry; i++)
		if (touches(into, &more->entry[i].effect))
			return false;
	for (unsigned i = 0; i < more->nreturn; i++)
		if (touches(into, &more->at_return[i].effect))
			return false;
	for (unsigned i = 0; i < more->nalso; i++)
		if (touches(into, &more->also[i]))
			return false;
	return !more->has_during || !touches(into, &more->during);
}

static void add_state(struct action *into, const struct effect *effect)
{
	if (into->has_during)
		into->also[into->nalso++] = *effect;
	else
		into->during = *effect;
	into->has_during = true;
}

bool action_join(struct action *into, const struct action *more)
{
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

/* ---- numbers ---- */

struct stack_key {
	char model; /* 'O': marks, by type */
	int32_t type;
	const char *channel;
};

struct finishing {
	struct effect **marks; /* all marks with a label: n of them */
	size_t n, room;
	struct stack_key *keys;
	size_t nkeys;
};

static int number_stack(struct finishing *f, struct effect *effect)
{
	const struct catalog_event *event;
	struct stack_key key = {'O', effect->type, NULL}, *grown;

	if (!is_mark(effect)) {
		event = catalog_find(effect->enter, NULL);
		key = (struct stack_key){(char)(effect->enter >> 16), 0,
					 event && event->channel ? event->channel : ""};
		for (size_t i = 0; i < f->nkeys; i++)
			if (f->keys[i].model == key.model && f->keys[i].channel &&
			    !strcmp(f->keys[i].channel, key.channel)) {
				effect->stack = (uint16_t)i;
				return 0;
			}
	} else {
		for (size_t i = 0; i < f->nkeys; i++)
			if (f->keys[i].model == 'O' && !f->keys[i].channel &&
			    f->keys[i].type == key.type) {
				effect->stack = (uint16_t)i;
				return 0;
			}
	}
	grown = realloc(f->keys, (f->nkeys + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	f->keys = grown;
	grown[f->nkeys] = key;
	effect->stack = (uint16_t)f->nkeys++;
	return 0;
}

static int collect(void *arg, struct effect *effect, bool value)
{
	struct finishing *f = arg;

	if (is_mark(effect) && !value && effect->label) {
		if (f->n == f->room) {
			size_t room = f->room ? 2 * f->room : 64;
			struct effect **grown = realloc(f->marks, room * sizeof(*grown));

			if (!grown)
				return -ENOMEM;
			f->marks = grown;
			f->room = room;
		}
		f->marks[f->n++] = effect;
	}
	return number_stack(f, effect);
}

/* What has a value already comes first. */
static int by_label(const void *x, const void *y)
{
	const struct effect *a = *(struct effect *const *)x, *b = *(struct effect *const *)y;
	int order;

	if (a->type != b->type)
		return a->type < b->type ? -1 : 1;
	order = strcmp(a->label, b->label);
	if (order)
		return order;
	return !a->value - !b->value;
}

static void number_values(struct finishing *f)
{
	for (size_t i = 0, end; i < f->n; i = end) {
		int64_t next = 0;

		for (end = i; end < f->n && f->marks[end]->type == f->marks[i]->type; end++)
			if (f->marks[end]->value > next)
				next = f->marks[end]->value;
		for (size_t k = i; k < end; k++) {
			struct effect *mark = f->marks[k], *before = k > i ? f->marks[k - 1] : NULL;

			if (mark->value)
				continue;
			mark->value = before && !strcmp(before->label, mark->label) ? before->value
										    : ++next;
		}
	}
}

static int by_type(const void *x, const void *y)
{
	const struct mark_type *a = x, *b = y;

	return (a->type > b->type) - (a->type < b->type);
}

struct declaring {
	struct actions *actions;
	struct declaration *list; /* with room for all */
	size_t n;
};

/* The index of a type's declaration. */
static uint32_t of_type(const struct declaring *d, int32_t type)
{
	for (size_t i = 0; i < d->n; i++)
		if (!d->list[i].model && d->list[i].title && d->list[i].type == type)
			return (uint32_t)i;
	return 0;
}

static uint32_t of_model(struct declaring *d, char model)
{
	for (size_t i = 0; i < d->n; i++)
		if (d->list[i].model == model)
			return (uint32_t)i;
	d->list[d->n] = (struct declaration){.model = model};
	return (uint32_t)d->n++;
}

/* All but the labelled marks, which have theirs. */
static int declare(void *arg, struct effect *effect, bool value)
{
	struct declaring *d = arg;

	if (!is_mark(effect))
		effect->declared = of_model(d, (char)(effect->enter >> 16));
	else if (value || !effect->label)
		effect->declared = of_type(d, effect->type);
	return 0;
}

static int declare_all(struct actions *actions, struct finishing *f)
{
	struct declaring d = {.actions = actions};
	size_t m = 0;
	int err;

	/* a type and its 0 each, every label, and as many models as there are letters */
	d.list = calloc(2 * actions->ntypes + f->n + 256, sizeof(*d.list));
	if (!d.list)
		return -ENOMEM;
	if (actions->ntypes)
		qsort(actions->types, actions->ntypes, sizeof(*actions->types), by_type);
	for (size_t t = 0; t < actions->ntypes; t++) {
		const struct mark_type *type = &actions->types[t];

		d.list[d.n++] = (struct declaration){
			.type = type->type, .title = type->title, .single = type->single};
		d.list[d.n++] = (struct declaration){
			.type = type->type, .value = ACTION_ZERO, .label = "0"};
		for (; m < f->n && f->marks[m]->type <= type->type; m++) {
			struct effect *mark = f->marks[m];

			if (mark->value != d.list[d.n - 1].value)
				d.list[d.n++] = (struct declaration){.type = mark->type,
								     .value = mark->value,
								     .label = mark->label};
			mark->declared = (uint32_t)d.n - 1;
		}
	}
	err = each_effect(actions, declare, &d);
	actions->declarations = d.list;
	actions->ndeclarations = d.n;
	return err;
}

int actions_finish(struct actions *actions)
{
	struct finishing f = {0};
	int err = each_effect(actions, collect, &f);

	if (!err) {
		if (f.n)
			qsort(f.marks, f.n, sizeof(*f.marks), by_label);
		number_values(&f);
		err = declare_all(actions, &f);
	}
	free(f.marks);
	free(f.keys);
	return err;
}
