/* SPDX-License-Identifier: MIT */
#include "tools/loom/import/import_map.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/array.h"
#include "trace/base/files/input.h"
#include "trace/base/json_tokens.h"
#include "trace/base/log.h"
#include "trace/loom/controls.h"

#define TEXT(number)	TEXT_OF(number)
#define TEXT_OF(number) #number

#define WRONG_LINE  "must be CORE NODE X Y, and INPUT=NODE for each connected input"
#define WRONG_PLACE "a coordinate is at most " TEXT(LOOM_PLACE_MOST) " in either direction"
#define WRONG_INPUT "an input is below " TEXT(LOOM_INPUTS)
#define TWO_PLACES  "this node has a place already"
#define TWO_DRIVERS "this input is connected already"

/* Sets the place of a node. Returns NULL or the mistake. */
static const char *put_place(struct import_map *map, uint32_t node, int64_t x, int64_t y)
{
	struct import_place *place = &map->places[node];

	if (place->given)
		return TWO_PLACES;
	*place = (struct import_place){(int32_t)x, (int32_t)y, true, place->inputs};
	return NULL;
}

/* Connects an input. Returns NULL, the mistake, or LOOM_NO_MEMORY. */
static const char *put_driver(struct import_map *map, uint32_t node, uint32_t input,
			      uint32_t driver)
{
	uint32_t *at = hash_at(&map->driver_of, (struct hash_key){.a = node, .c = input});

	if (!at)
		return LOOM_NO_MEMORY;
	if (*at != HASH_NONE)
		return TWO_DRIVERS;
	*at = driver;
	if (map->places[node].inputs <= input)
		map->places[node].inputs = input + 1;
	return NULL;
}

/* ---- lines ---- */

/* Reads a decimal number of at most `most`, and what follows it: `end`, or a blank or nothing. */
static bool number(const char **at, uint64_t most, char end, uint64_t *value)
{
	const char *c = *at + strspn(*at, " \t");

	if (!isdigit((unsigned char)*c))
		return false;
	for (*value = 0; isdigit((unsigned char)*c) && *value <= most; c++)
		*value = 10 * *value + (uint64_t)(*c - '0');
	if (*value > most || (end ? *c != end : *c && *c != ' ' && *c != '\t'))
		return false;
	*at = c + (end != 0);
	return true;
}

/* A coordinate; *far if it is a number beyond the limit. */
static bool coordinate(const char **at, int64_t *value, bool *far)
{
	const char *c = *at + strspn(*at, " \t"), *digits = c + (*c == '-');
	size_t n = strspn(digits, "0123456789");
	uint64_t magnitude;

	if (!n || (digits[n] && digits[n] != ' ' && digits[n] != '\t'))
		return false;
	*far = !number(&digits, LOOM_PLACE_MOST, 0, &magnitude);
	if (*far)
		return false;
	*value = *c == '-' ? -(int64_t)magnitude : (int64_t)magnitude;
	*at = digits;
	return true;
}

/* Returns NULL, the mistake, or LOOM_NO_MEMORY. */
static const char *read_line(struct import_map *map, const char *line,
			     const struct run_survey *survey)
{
	uint64_t core, id, input, from;
	uint32_t node, driver;
	const char *wrong = NULL;
	int64_t x, y;
	bool far = false;

	line += strspn(line, " \t");
	if (*line == '#' || *line == '\0')
		return NULL;
	if (!number(&line, UINT16_MAX, 0, &core) || !number(&line, UINT32_MAX, 0, &id))
		return WRONG_LINE;
	if (!coordinate(&line, &x, &far) || !coordinate(&line, &y, &far))
		return far ? WRONG_PLACE : WRONG_LINE;
	node = run_survey_node(survey, (uint16_t)core, (uint32_t)id);
	if (node != LOOM_NONE)
		wrong = put_place(map, node, x, y);
	while (!wrong && line[strspn(line, " \t")]) {
		if (!number(&line, UINT32_MAX, '=', &input) || !number(&line, UINT32_MAX, 0, &from))
			return WRONG_LINE;
		if (input >= LOOM_INPUTS)
			return WRONG_INPUT;
		driver = run_survey_node(survey, (uint16_t)core, (uint32_t)from);
		if (node != LOOM_NONE && driver != LOOM_NONE)
			wrong = put_driver(map, node, (uint32_t)input, driver);
	}
	return wrong;
}

static int load_lines(struct import_map *map, struct inflow *in, const struct run_survey *survey)
{
	char line[LOOM_LINE_BYTES];
	const char *wrong = NULL;
	unsigned count = 0;
	int more;

	while (!wrong && (more = loom_line_next(in, line)) > 0) {
		wrong = read_line(map, line, survey);
		count++;
	}
	if (wrong && !strcmp(wrong, LOOM_NO_MEMORY))
		return -ENOMEM;
	if (!wrong && more == 0)
		return in->error;
	log_error("%s: line %u: %s", in->path, wrong ? count : count + 1,
		  wrong		   ? wrong
		  : more == -E2BIG ? "longer than 4095 bytes"
				   : "not text");
	return -EBADMSG;
}

/* ---- the layout of upstream's viewer ---- */

struct component {
	int32_t x, y;
	bool given;
	uint32_t inputs;      /* the highest connected input + 1 */
	uint32_t node, nodes; /* of a core: the first one of that name, and how many there are */
};

struct layout {
	struct component *components;
	size_t n;
	struct hash index_of;  /* names */
	struct hash driver_of; /* component, input -> component */
};

/* The index of a component, which is added; LOOM_NONE without memory. */
static uint32_t component_at(struct layout *l, const char *name)
{
	uint32_t *at = hash_at(&l->index_of, hash_key_of(name, strlen(name)));
	struct component *new;

	if (at && *at == HASH_NONE) {
		new = ARRAY_ADD(l->components, l->n);
		if (!new)
			return LOOM_NONE;
		*new = (struct component){.node = LOOM_NONE};
		*at = (uint32_t)(l->n - 1);
	}
	return at ? *at : LOOM_NONE;
}

static bool read_name(struct tokens *t, struct layout *l, uint32_t *component)
{
	struct token v;

	if (!tokens_value(t, &v))
		return false;
	if (v.type != TOKEN_STRING)
		return tokens_refuse(t, "this must be a name");
	*component = component_at(l, v.text);
	return *component == LOOM_NONE ? tokens_no_memory(t) : true;
}

static bool read_coordinate(struct tokens *t, int32_t *value)
{
	struct token v;
	double real;

	if (!tokens_value(t, &v))
		return false;
	if (v.type != TOKEN_NUMBER)
		return tokens_refuse(t, "this must be a number");
	real = token_real(&v);
	if (!(real >= -LOOM_PLACE_MOST && real <= LOOM_PLACE_MOST))
		return tokens_refuse(t, WRONG_PLACE);
	*value = (int32_t)real;
	return true;
}

static bool read_component(struct tokens *t, struct layout *l)
{
	uint32_t component = LOOM_NONE;
	int32_t x = 0, y = 0;
	const char *key;
	int more, found = 0;

	while ((more = tokens_key(t, &key)) > 0) {
		bool ok;

		if (!strcmp(key, "name")) {
			ok = read_name(t, l, &component);
		} else if (!strcmp(key, "center_x")) {
			ok = read_coordinate(t, &x);
			found |= 1;
		} else if (!strcmp(key, "center_y")) {
			ok = read_coordinate(t, &y);
			found |= 2;
		} else {
			ok = tokens_skip(t);
		}
		if (!ok)
			return false;
	}
	if (more < 0)
		return false;
	if (component == LOOM_NONE || found != 3)
		return tokens_refuse(t, "a component needs name, center_x and center_y");
	if (l->components[component].given)
		return tokens_refuse(t, "this component has a place already");
	l->components[component].given = true;
	l->components[component].x = x;
	l->components[component].y = y;
	return true;
}

static bool read_connection(struct tokens *t, struct layout *l)
{
	uint32_t from = LOOM_NONE, to = LOOM_NONE, input = LOOM_NONE, *at;
	const char *key;
	int more;

	while ((more = tokens_key(t, &key)) > 0) {
		bool ok;

		if (!strcmp(key, "from"))
			ok = read_name(t, l, &from);
		else if (!strcmp(key, "to"))
			ok = read_name(t, l, &to);
		else if (!strcmp(key, "to_port"))
			ok = tokens_unsigned(t, 32, &input);
		else
			ok = tokens_skip(t);
		if (!ok)
			return false;
	}
	if (more < 0)
		return false;
	if (from == LOOM_NONE || to == LOOM_NONE || input >= LOOM_INPUTS)
		return true; /* of the border, or without a port */
	at = hash_at(&l->driver_of, (struct hash_key){.a = to, .c = input});
	if (!at)
		return tokens_no_memory(t);
	if (*at == HASH_NONE)
		*at = from;
	if (l->components[to].inputs <= input)
		l->components[to].inputs = input + 1;
	return true;
}

/* Reads a list of objects. */
static bool read_list(struct tokens *t, struct layout *l,
		      bool (*read)(struct tokens *t, struct layout *l))
{
	struct token v;
	int more;

	if (!tokens_value(t, &v))
		return false;
	if (v.type != TOKEN_ARRAY)
		return tokens_refuse(t, "this must be a list");
	while ((more = tokens_element(t)) > 0) {
		if (!tokens_value(t, &v))
			return false;
		if (v.type != TOKEN_OBJECT)
			return tokens_refuse(t, "this must be an object");
		if (!read(t, l))
			return false;
	}
	return more == 0;
}

static bool read_layout(struct tokens *t, struct layout *l)
{
	bool found = false, ok = true;
	const char *key;
	struct token v;
	int more = 0;

	if (!tokens_value(t, &v))
		return false;
	if (v.type != TOKEN_OBJECT)
		return tokens_refuse(t, "a layout is an object with components");
	while (ok && (more = tokens_key(t, &key)) > 0) {
		if (!strcmp(key, "components")) {
			ok = read_list(t, l, read_component);
			found = true;
		} else if (!strcmp(key, "routes")) {
			ok = read_list(t, l, read_connection);
		} else {
			ok = tokens_skip(t);
		}
	}
	if (!ok || more < 0 || !tokens_end(t))
		return false;
	return found ? true : tokens_refuse(t, "a layout is an object with components");
}

/* The component of a node with a place, by the name of its part or its own; NULL if it has none. */
static struct component *component_of(const struct layout *l, const struct run_survey *survey,
				      const struct loom_modules *names, uint32_t node)
{
	const struct run_survey_node *n = &survey->nodes[node];
	const struct loom_module *m = loom_modules_find(names, survey->cores[n->core].id, n->node);
	const char *of[] = {m ? m->component_name : NULL, m ? m->name : NULL};

	for (int i = 0; i < 2; i++) {
		uint32_t at = of[i] ? hash_get(&l->index_of, hash_key_of(of[i], strlen(of[i])))
				    : HASH_NONE;

		if (at != HASH_NONE && l->components[at].given)
			return &l->components[at];
	}
	return NULL;
}

/* Gives the nodes of one core, [begin, end), the places and drivers of their components. */
static int apply_layout(struct import_map *map, struct layout *l, const struct run_survey *survey,
			const struct loom_modules *names, uint32_t begin, uint32_t end)
{
	const char *wrong = NULL;

	for (uint32_t i = begin; i < end; i++) {
		struct component *c = component_of(l, survey, names, i);

		if (!c)
			continue;
		put_place(map, i, c->x, c->y);
		if (!c->nodes++)
			c->node = i;
	}
	for (uint32_t i = begin; i < end; i++) {
		struct component *c = component_of(l, survey, names, i);

		/* the ports of a component with several nodes belong to none of them */
		for (uint32_t input = 0; c && c->nodes == 1 && input < c->inputs; input++) {
			uint32_t from = hash_get(
				&l->driver_of,
				(struct hash_key){.a = (uint64_t)(c - l->components), .c = input});

			if (from != HASH_NONE && l->components[from].nodes)
				wrong = put_driver(map, i, input, l->components[from].node);
			if (wrong)
				return -ENOMEM;
		}
	}
	for (uint32_t i = begin; i < end; i++) {
		struct component *c = component_of(l, survey, names, i);

		if (c)
			c->nodes = 0;
	}
	return 0;
}

static int load_layout(struct import_map *map, struct inflow *in, const struct run_survey *survey,
		       const struct loom_modules *names)
{
	struct layout l = {0};
	struct tokens t;
	int err = 0;

	tokens_init(&t, in);
	if (!read_layout(&t, &l)) {
		err = in->error ? in->error : t.no_memory ? -ENOMEM : -EBADMSG;
		if (err == -EBADMSG)
			log_error("%s: byte %" PRIu64 ": %s", in->path, t.where, t.why);
	}
	for (uint32_t begin = 0, end; begin < survey->nnodes && !err; begin = end) {
		for (end = begin + 1; end < survey->nnodes; end++)
			if (survey->nodes[end].core != survey->nodes[begin].core)
				break;
		err = apply_layout(map, &l, survey, names, begin, end);
	}
	free(l.components);
	hash_free(&l.index_of);
	hash_free(&l.driver_of);
	return err;
}

/* ---- both ---- */

int import_map_load(struct import_map *map, const char *path, const struct run_survey *survey,
		    const struct loom_modules *names)
{
	struct inflow in;
	size_t given = 0;
	int c, err = inflow_open(&in, AT_FDCWD, path, INPUT_TEXT_MAX);

	*map = (struct import_map){.places = NULL};
	if (err)
		goto out;
	map->places = calloc(survey->nnodes + 1, sizeof(*map->places));
	if (!map->places) {
		err = -ENOMEM;
		goto out;
	}
	while ((c = inflow_peek_byte(&in)) == ' ' || c == '\n' || c == '\r' || c == '\t')
		inflow_skip(&in, 1);
	err = c == '{' ? load_layout(map, &in, survey, names) : load_lines(map, &in, survey);
	for (size_t i = 0; i < survey->nnodes; i++)
		given += map->places[i].given;
	if (!err && given < survey->nnodes)
		log_warn("%s: no place for %zu of %zu nodes", path, survey->nnodes - given,
			 survey->nnodes);
out:
	inflow_close(&in);
	if (err == -ENOMEM)
		log_no_memory("for the places of %s", path);
	return err;
}

void import_map_free(struct import_map *map)
{
	free(map->places);
	hash_free(&map->driver_of);
}
