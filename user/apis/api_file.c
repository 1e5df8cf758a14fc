/* SPDX-License-Identifier: MIT */
/* api_file: see api_file.h. */
#include "user/apis/api_file.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/probes/site_value.h"
#include "trace/catalog/catalog.h"
#include "trace/base/build_info.h"
#include "trace/base/json.h"
#include "trace/base/log.h"
#include "trace/base/text.h"

/* ---- errors with their line ---- */

#define WRONG(api, node, ...) wrong(api, json_line(node), __VA_ARGS__)

__attribute__((format(printf, 3, 4))) static int wrong(const struct api *api, unsigned line,
						       const char *fmt, ...)
{
	char text[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	log_error("%s: line %u: %s", api->path, line, text);
	return -EINVAL;
}

static int no_memory(const struct api *api)
{
	return log_no_memory("while reading %s", api->path);
}

/* ---- keys and kinds ---- */

enum kind { KIND_ANY, KIND_NUMBER, KIND_STRING, KIND_BOOL, KIND_OBJECT, KIND_ARRAY };

static const struct {
	bool (*is)(const struct json *node);
	const char *name;
} kinds[] = {
	[KIND_NUMBER] = {json_is_number, "a number"},
	[KIND_STRING] = {json_is_string, "a string"},
	[KIND_BOOL] = {json_is_bool, "true or false"},
	[KIND_OBJECT] = {json_is_object, "an object"},
	[KIND_ARRAY] = {json_is_array, "an array"},
};

struct key {
	const char *name;
	enum kind kind;
	bool required;
};

/* `node` must be an object with these keys (ended by a NULL name) and no others. */
static int check_keys(const struct api *api, const struct json *node, const char *noun,
		      const struct key *keys)
{
	char names[256] = "";
	size_t used = 0;

	if (!json_is_object(node))
		return WRONG(api, node, "%s must be an object: {...}", noun);
	for (const struct json *child = json_first(node); child; child = json_next(child)) {
		const struct key *key = keys;

		while (key->name && strcmp(key->name, json_name(child)))
			key++;
		if (key->name && (!key->kind || kinds[key->kind].is(child)))
			continue;
		if (key->name)
			return WRONG(api, child, "\"%s\" must be %s", key->name,
				     kinds[key->kind].name);
		for (key = keys; key->name && used < sizeof(names); key++)
			used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
						 key == keys ? "" : ", ", key->name);
		return WRONG(api, child, "%s has no key \"%s\", only: %s", noun, json_name(child),
			     names);
	}
	for (const struct key *key = keys; key->name; key++)
		if (key->required && !json_key(node, key->name))
			return WRONG(api, node, "%s needs the key \"%s\"", noun, key->name);
	return 0;
}

/* The strings of an array, or a string alone, none of them empty. The caller frees *list. */
static int read_strings(const struct api *api, const struct json *node, const char ***list,
			size_t *count)
{
	const struct json *child = json_is_array(node) ? json_first(node) : node;
	const char **out = calloc(json_is_array(node) ? json_count(node) + 1 : 2, sizeof(*out));
	size_t n = 0;

	if (!out)
		return no_memory(api);
	for (; child; child = json_is_array(node) ? json_next(child) : NULL) {
		const char *text = json_string(child);

		if (!text || !*text) {
			free(out);
			return WRONG(api, child,
				     "\"%s\" is a string, or an array of strings, none "
				     "of them empty",
				     json_name(node));
		}
		out[n++] = text;
	}
	*list = out;
	*count = n;
	return 0;
}

/* ---- states and steps ---- */

/* A model's event that enters a state: the three characters of it. */
static int read_event(const struct api *api, const struct json *node, struct effect *effect)
{
	const char *text = json_string(node);
	const struct catalog_event *event;
	const struct signature *sig;
	char name[64];

	text_escape(name, sizeof(name), text, strlen(text));
	if (strlen(text) != 3 || !(event = catalog_find(MCV(text[0], text[1], text[2]), &sig)))
		return WRONG(api, node, "there is no event \"%s\" (ovni-events lists all)", name);
	if (text[0] == 'O' || text[0] == 'K')
		return WRONG(api, node,
			     "%s is the state of a thread, which only the recorder writes", name);
	if (event->action == ACTION_POP)
		return WRONG(api, node, "%s leaves a state: name the event that enters it", name);
	if (event->action != ACTION_PUSH || !event->leaves[0])
		return WRONG(api, node, "%s does not enter a state", name);
	if (sig->required)
		return WRONG(api, node, "%s has arguments, which an API file cannot give", name);
	*effect = (struct effect){
		.enter = sig->mcv,
		.leave = MCV(event->leaves[0], event->leaves[1], event->leaves[2]),
		.repeats = catalog_model(text[0])->repeats,
	};
	return 0;
}

static int read_mark(const struct api *api, const struct json *node, bool set,
		     struct effect *effect)
{
	static const struct key state_keys[] = {
		{"mark", KIND_NUMBER, true}, {"label", KIND_STRING, false}, {NULL, 0, false}};
	static const struct key set_keys[] = {{"mark", KIND_NUMBER, true},
					      {"label", KIND_STRING, false},
					      {"value", KIND_STRING, false},
					      {NULL, 0, false}};
	const struct key *keys = set ? set_keys : state_keys;
	int err = check_keys(api, node, "a mark", keys);
	double number = json_number(json_key(node, "mark"));
	int type = number >= 1 && number <= API_MARK_MAX ? (int)number : 0;
	const struct api_mark *mark = &api->marks[type];

	if (err)
		return err;
	if (!mark->title || number != type)
		return WRONG(api, node, "the mark %g is not declared in \"marks\"", number);
	if (mark->single && !set)
		return WRONG(api, node, "the mark %d is single: it can only be \"set\"", type);
	if (!mark->single && set)
		return WRONG(api, node, "the mark %d is a stack: it cannot be \"set\"", type);
	*effect = (struct effect){
		.enter = set ? MARK_SET : MARK_PUSH,
		.leave = set ? 0 : MARK_POP,
		.type = type,
		.label = json_string(json_key(node, "label")),
		.repeats = true,
	};
	if (effect->label && (!*effect->label || strlen(effect->label) > API_LABEL_MAX))
		return WRONG(api, json_key(node, "label"), "a label has 1 to %d bytes",
			     API_LABEL_MAX);
	return 0;
}

static int read_state(const struct api *api, const struct json *node, struct effect *effect)
{
	if (json_is_object(node))
		return read_mark(api, node, false, effect);
	if (json_is_string(node))
		return read_event(api, node, effect);
	return WRONG(api, node,
		     "expected an event (\"MS[\") or a mark ({\"mark\": 7, \"label\": \"...\"})");
}

static int read_when(const struct api *api, const struct json *node, bool at_return,
		     enum step_when *when)
{
	static const struct {
		const char *name;
		enum step_when when;
	} words[] = {{"zero", WHEN_ZERO},
		     {"nonzero", WHEN_NONZERO},
		     {"false", WHEN_FALSE},
		     {"true", WHEN_TRUE}};

	*when = WHEN_ALWAYS;
	if (!node)
		return 0;
	if (!at_return)
		return WRONG(api, node, "\"if\" tests the returned value: only in \"return\"");
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(json_string(node), words[i].name))
			*when = words[i].when;
	if (*when == WHEN_ALWAYS)
		return WRONG(api, node, "\"if\" is \"zero\", \"nonzero\", \"true\" or \"false\"");
	return 0;
}

/* The value that a "set" writes, if it names one. */
static int read_value(const struct api *api, const struct json *node, bool at_return,
		      struct step *step)
{
	const char *text = json_string(node), *error;
	size_t at;

	if (!node)
		return 0;
	error = site_value_read(text, strlen(text), &step->value, &at);
	if (error)
		return WRONG(api, node, "%s", error);
	if (step->effect.label)
		return WRONG(api, node, "a mark is set to a label or to a value, not to both");
	if (site_value_returns(&step->value) != at_return)
		return WRONG(api, node, "%s",
			     at_return ? "in \"return\" a value is ret or *argN+OFFSET@ret"
				       : "in \"entry\" a value is argN or *argN+OFFSET");
	step->kind = STEP_VALUE;
	return 0;
}

static int read_step(const struct api *api, const struct json *node, bool at_return,
		     struct step *step)
{
	static const struct key keys[] = {{"begin", KIND_ANY, false},
					  {"end", KIND_ANY, false},
					  {"set", KIND_ANY, false},
					  {"if", KIND_STRING, false},
					  {NULL, 0, false}};
	int err = check_keys(api, node, "a step", keys);
	const struct json *begin, *end, *set;

	if (err)
		return err;
	begin = json_key(node, "begin");
	end = json_key(node, "end");
	set = json_key(node, "set");
	if (!!begin + !!end + !!set != 1)
		return WRONG(api, node, "a step has one of begin, end and set");
	if (set) {
		step->kind = STEP_SET;
		err = read_mark(api, set, true, &step->effect);
		if (!err)
			err = read_value(api, json_key(set, "value"), at_return, step);
	} else {
		step->kind = begin ? STEP_BEGIN : STEP_END;
		err = read_state(api, begin ? begin : end, &step->effect);
	}
	if (!err)
		err = read_when(api, json_key(node, "if"), at_return, &step->when);
	if (!err && step->when != WHEN_ALWAYS && step->value.source)
		return WRONG(api, node, "a step with a value has no \"if\"");
	if (step->when != WHEN_ALWAYS)
		step->value.source = SITE_RETURN;
	return err;
}

static int read_steps(const struct api *api, const struct json *node, bool at_return,
		      struct step *steps, unsigned *count)
{
	int err;

	for (const struct json *child = json_first(node); child; child = json_next(child)) {
		if (*count == ACTION_STEPS_MAX)
			return WRONG(api, child, "\"%s\" has more than %d steps", json_name(node),
				     ACTION_STEPS_MAX);
		err = read_step(api, child, at_return, &steps[(*count)++]);
		if (err)
			return err;
	}
	return 0;
}

/* ---- symbols ---- */

/* `name` in the form of a spelling, for the caller to free; NULL: out of memory. */
static char *spell(const char *spelling, const char *name)
{
	const char *sign = strchr(spelling, '{');
	char *out = xasprintf("%.*s%s%s", (int)(sign - spelling), spelling, name,
			      strchr(sign, '}') + 1);
	char *at = out ? out + (sign - spelling) : NULL;

	for (size_t i = 0; out && name[i]; i++) {
		if (!strncmp(sign, "{lower}", 7))
			at[i] = (char)tolower((unsigned char)name[i]);
		else if (!strncmp(sign, "{upper}", 7))
			at[i] = (char)toupper((unsigned char)name[i]);
	}
	return out;
}

/* Adds the spelling of a name, unless it equals another one of the function. */
static int add_symbol(struct api *api, struct api_function *function, unsigned name, char *text)
{
	if (!text)
		return -ENOMEM;
	for (size_t i = 0; i < function->nsymbols; i++) {
		if (!strcmp(text, function->symbols[i].text)) {
			free(text);
			return 0;
		}
	}
	function->nsymbols++;
	api->symbols[api->nsymbols++] = (struct api_symbol){text, name, function};
	return 0;
}

static int read_symbols(struct api *api, const struct json *node, const struct api_part *part,
			struct api_function *function)
{
	const char **names;
	size_t nnames, n;
	int err = read_strings(api, node, &names, &nnames);

	if (err)
		return err;
	n = nnames * part->nspellings;
	if (!nnames) {
		err = WRONG(api, node, "\"symbols\" has none");
		goto out;
	}
	if (n + api->nsymbols > API_SYMBOLS_MAX) {
		err = WRONG(api, node, "more than %d symbols in all spellings", API_SYMBOLS_MAX);
		goto out;
	}
	function->symbols = api->symbols + api->nsymbols;
	for (size_t i = 0; i < n; i++) {
		unsigned name = (unsigned)(i / part->nspellings);

		err = add_symbol(api, function, name,
				 spell(part->spellings[i % part->nspellings], names[name]));
		if (err)
			goto out;
	}
out:
	free(names);
	return err == -ENOMEM ? no_memory(api) : err;
}

static int by_text(const void *a, const void *b)
{
	const struct api_symbol *x = *(const struct api_symbol *const *)a;
	const struct api_symbol *y = *(const struct api_symbol *const *)b;
	int order = strcmp(x->text, y->text);

	return order ? order : (x > y) - (x < y);
}

/* In one part a symbol has one meaning. */
static int check_symbols(const struct api *api, const struct api_part *part)
{
	const struct api_symbol **sorted = calloc(part->nsymbols + 1, sizeof(*sorted));
	int err = 0;

	if (!sorted)
		return no_memory(api);
	for (size_t i = 0; i < part->nsymbols; i++)
		sorted[i] = &part->symbols[i];
	qsort(sorted, part->nsymbols, sizeof(*sorted), by_text);
	for (size_t i = 1; i < part->nsymbols; i++) {
		if (strcmp(sorted[i - 1]->text, sorted[i]->text))
			continue;
		err = wrong(api, sorted[i]->function->line, "%s has a meaning already, in line %u",
			    sorted[i]->text, sorted[i - 1]->function->line);
		break;
	}
	free(sorted);
	return err;
}

/* ---- functions, parts, the whole ---- */

static int read_function(struct api *api, const struct json *node, const struct api_part *part,
			 struct api_function *function)
{
	static const struct key keys[] = {{"symbols", KIND_ANY, true},
					  {"first", KIND_BOOL, false},
					  {"entry", KIND_ARRAY, false},
					  {"during", KIND_ANY, false},
					  {"return", KIND_ARRAY, false},
					  {"note", KIND_STRING, false},
					  {NULL, 0, false}};
	struct action *action = &function->action;
	struct site site = {0};
	const struct json *during;
	int err = check_keys(api, node, "a function", keys);

	if (err)
		return err;
	during = json_key(node, "during");
	function->line = json_line(node);
	function->first = json_bool(json_key(node, "first"));
	action->has_during = during;
	err = read_symbols(api, json_key(node, "symbols"), part, function);
	if (err)
		return err;
	err = during ? read_state(api, during, &action->during) : 0;
	if (err)
		return err;
	err = read_steps(api, json_key(node, "entry"), false, action->entry, &action->nentry);
	if (err)
		return err;
	err = read_steps(api, json_key(node, "return"), true, action->at_return, &action->nreturn);
	if (err)
		return err;
	if (!during && !action->nentry && !action->nreturn)
		return WRONG(api, node, "a function needs a meaning: during, entry or return");
	if (!action_bind(action, &site))
		return WRONG(api, node,
			     "a function has at most %d values, and at the return "
			     "follows one argument only",
			     SITE_VALUES_MAX);
	memcpy(function->values, site.values, sizeof(function->values));
	return 0;
}

/* How names are spelt: {name} as it is, {lower}, {upper}; without the key as they are. */
static int read_spellings(const struct api *api, const struct json *node, struct api_part *part)
{
	int err;

	if (!node) {
		part->spellings = calloc(1, sizeof(*part->spellings));
		if (!part->spellings)
			return no_memory(api);
		part->spellings[part->nspellings++] = "{name}";
		return 0;
	}
	err = read_strings(api, node, &part->spellings, &part->nspellings);
	if (err)
		return err;
	if (!part->nspellings)
		return WRONG(api, node, "\"spellings\" has none");
	for (size_t i = 0; i < part->nspellings; i++) {
		const char *spelling = part->spellings[i];

		if (!strstr(spelling, "{name}") && !strstr(spelling, "{lower}") &&
		    !strstr(spelling, "{upper}"))
			return WRONG(api, node,
				     "the spelling \"%s\" has none of {name}, {lower} and {upper}",
				     spelling);
		if (strchr(spelling, '{') != strrchr(spelling, '{'))
			return WRONG(api, node, "the spelling \"%s\" has more than one name",
				     spelling);
	}
	return 0;
}

static int read_functions(struct api *api, const struct json *list, struct api_part *part)
{
	int err;

	if (!json_first(list))
		return WRONG(api, list, "\"functions\" has none");
	part->functions = calloc(json_count(list), sizeof(*part->functions));
	if (!part->functions)
		return no_memory(api);
	part->symbols = api->symbols + api->nsymbols;
	for (const struct json *child = json_first(list); child; child = json_next(child)) {
		err = read_function(api, child, part, &part->functions[part->nfunctions++]);
		if (err)
			return err;
	}
	part->nsymbols = (size_t)(api->symbols + api->nsymbols - part->symbols);
	return check_symbols(api, part);
}

static int read_libraries(const struct api *api, const struct json *node, struct api_part *part)
{
	int err = node ? read_strings(api, node, &part->libraries, &part->nlibraries) : 0;

	for (size_t i = 0; i < part->nlibraries; i++) {
		const char *library = part->libraries[i];

		if (strchr(library, '/') && (*library != '/' || strpbrk(library, "*?[")))
			return WRONG(api, node,
				     "\"%s\": name a library by its file name, which may be a "
				     "pattern, or by its full path",
				     library);
	}
	return err;
}

static int read_part(struct api *api, const struct json *node, struct api_part *part)
{
	static const struct key keys[] = {{"libraries", KIND_ANY, false},
					  {"program", KIND_BOOL, false},
					  {"spellings", KIND_ANY, false},
					  {"functions", KIND_ARRAY, true},
					  {NULL, 0, false}};
	int err = check_keys(api, node, "a part", keys);

	if (err)
		return err;
	part->program = json_bool(json_key(node, "program"));
	err = read_libraries(api, json_key(node, "libraries"), part);
	if (err)
		return err;
	if (!part->nlibraries && !part->program)
		return WRONG(api, node, "a part needs \"libraries\", or \"program\": true");
	err = read_spellings(api, json_key(node, "spellings"), part);
	if (err)
		return err;
	return read_functions(api, json_key(node, "functions"), part);
}

static int read_mark_type(struct api *api, const struct json *node)
{
	static const struct key keys[] = {
		{"title", KIND_STRING, true}, {"chan_type", KIND_STRING, true}, {NULL, 0, false}};
	const char *name = json_name(node), *title, *kind;
	int err = check_keys(api, node, "a mark", keys);
	long type;
	char *end;

	if (err)
		return err;
	type = strtol(name, &end, 10);
	title = json_string(json_key(node, "title"));
	kind = json_string(json_key(node, "chan_type"));
	if (*end || !isdigit((unsigned char)*name) || *name == '0' || type > API_MARK_MAX)
		return WRONG(api, node, "the type of a mark is a number from 1 to %d",
			     API_MARK_MAX);
	if (!*title || strlen(title) > API_LABEL_MAX)
		return WRONG(api, node, "a title has 1 to %d bytes", API_LABEL_MAX);
	if (strcmp(kind, "single") && strcmp(kind, "stack"))
		return WRONG(api, node, "\"chan_type\" is \"stack\" or \"single\"");
	api->marks[type] = (struct api_mark){
		.title = title, .single = !strcmp(kind, "single"), .line = json_line(node)};
	return 0;
}

static int read_api(struct api *api)
{
	struct key keys[] = {{"api", KIND_NUMBER, true},
			     {"title", KIND_STRING, true},
			     {"marks", KIND_OBJECT, false},
			     {"parts", KIND_ARRAY, true},
			     {NULL, 0, false}};
	const struct json *parts, *version;
	int err;

	if (json_is_object(api->text) && json_key(api->text, "map"))
		keys[0].name = "map"; /* the key of older files */
	err = check_keys(api, api->text, "an API file", keys);
	if (err)
		return err;
	version = json_key(api->text, keys[0].name);
	if (json_number(version) != API_VERSION)
		return WRONG(api, version, "version %g of the form is not supported, only %d",
			     json_number(version), API_VERSION);
	for (const struct json *mark = json_first(json_key(api->text, "marks")); mark;
	     mark = json_next(mark)) {
		err = read_mark_type(api, mark);
		if (err)
			return err;
	}
	parts = json_key(api->text, "parts");
	if (!json_first(parts))
		return WRONG(api, parts, "\"parts\" has none");
	api->parts = calloc(json_count(parts), sizeof(*api->parts));
	api->symbols = calloc(API_SYMBOLS_MAX, sizeof(*api->symbols));
	if (!api->parts || !api->symbols)
		return no_memory(api);
	for (const struct json *part = json_first(parts); part; part = json_next(part)) {
		err = read_part(api, part, &api->parts[api->nparts++]);
		if (err)
			return err;
	}
	return 0;
}

/* Reads api->text, which may be NULL after a message. */
static int read_text(struct api *api, const char *path)
{
	int err = -EINVAL;

	if (!api->text)
		goto fail;
	api->path = strdup(path);
	if (!api->path) {
		err = log_no_memory("while reading %s", path);
		goto fail;
	}
	err = read_api(api);
	if (err)
		goto fail;
	return 0;
fail:
	api_file_free(api);
	return err;
}

int api_file_parse(struct api *api, const char *text, size_t size, const char *path)
{
	*api = (struct api){.text = json_parse(text, size, path)};
	return read_text(api, path);
}

/* ---- finding the file ---- */

#define FOLDER "apis"
#define SUFFIX ".json"

static bool is_shipped(const char *name)
{
	size_t len = strlen(name), end = strlen(SUFFIX);

	return *name && *name != '.' && !strchr(name, '/') &&
	       (len < end || strcmp(name + len - end, SUFFIX) != 0);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int unknown(const char *name, int dir, const char *folder)
{
	struct dirent **list = NULL;
	char names[512] = "";
	size_t used = 0;
	int n = scandirat(dir, ".", &list, NULL, by_name);

	for (int i = 0; i < n; i++) {
		size_t len = strlen(list[i]->d_name), end = strlen(SUFFIX);

		if (len > end && !strcmp(list[i]->d_name + len - end, SUFFIX) &&
		    used + len + 2 < sizeof(names))
			used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%.*s",
						 used ? ", " : "", (int)(len - end),
						 list[i]->d_name);
		free(list[i]);
	}
	free(list);
	log_error("--api %s: no such API in %s, only: %s (name a file of your own by its path: "
		  "./%s.json)",
		  name, folder, names, name);
	return -ENOENT;
}

int api_file_find(const char *name, char *path, size_t size)
{
	char folder[PATH_MAX];
	int dir, err = 0;

	if (!is_shipped(name)) {
		if (snprintf(path, size, "%s", name) < (int)size)
			return 0;
		log_error("--api %s: the path is too long", name);
		return -ENAMETOOLONG;
	}
	dir = shipped_open(FOLDER, "user/apis", folder, sizeof(folder));
	if (dir < 0) {
		log_error("--api %s: the API files are not installed: %s: %s", name, folder,
			  strerror(-dir));
		return dir;
	}
	if (snprintf(path, size, "%s/%s%s", folder, name, SUFFIX) >= (int)size ||
	    access(path, F_OK))
		err = unknown(name, dir, folder);
	close(dir);
	return err;
}

/* ---- the interface ---- */

int api_file_load(struct api *api, const char *name)
{
	char path[PATH_MAX];
	int err = api_file_find(name, path, sizeof(path));

	*api = (struct api){0};
	if (err)
		return err;
	api->text = json_load(AT_FDCWD, path);
	return read_text(api, path);
}

void api_file_free(struct api *api)
{
	for (size_t i = 0; i < api->nparts; i++) {
		free(api->parts[i].functions);
		free(api->parts[i].spellings);
		free(api->parts[i].libraries);
	}
	free(api->parts);
	for (size_t i = 0; i < api->nsymbols; i++)
		free(api->symbols[i].text);
	free(api->symbols);
	json_free(api->text);
	free(api->path);
	*api = (struct api){0};
}
