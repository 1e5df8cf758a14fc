/* SPDX-License-Identifier: MIT */
/* import_streams: writes the ovni streams of a Loom run (see import_streams.h). */
#include "tools/loom/import/import_streams.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/base/array.h"
#include "trace/base/hash.h"
#include "trace/base/files/beneath.h"
#include "trace/ovni/event.h"
#include "trace/base/log.h"
#include "trace/base/text.h"
#include "trace/ovni/stream.h"
#include "trace/base/build_info.h"

#define BUFFERS_BYTES (64u << 20)  /* all buffers */
#define BUFFER_MOST   (256u << 10) /* one buffer */
#define BUFFER_LEAST  512u
#define OVNI_MODEL    "1.1.0"
#define MARKS	      (LOOM_MARK_LAST - LOOM_MARK_FIRST + 1)

/* The label of a value of a mark in a row. */
struct label {
	size_t row, number; /* in the order of the labels */
	int mark;	    /* from LOOM_MARK_FIRST on */
	int64_t value;
	char *text;
};

struct row {
	bool made; /* its files exist */
	uint32_t tid;
	uint32_t core; /* index */
	uint32_t used;
	uint8_t marks; /* set of used marks */
};

struct import_streams {
	struct label *labels; /* at the end sorted by row, by mark */
	size_t nlabels, next_label;
	struct hash label_of; /* value, row, mark */
	int error;	      /* the first one */
	int fd;
	const char *dir;
	char *loom;
	const struct run_survey *survey;
	const struct loom_modules *names;
	const struct import_map *map;
	import_streams_fn about_run;
	const void *arg;
	struct row *rows;
	size_t n;
	uint8_t *buffers;
	size_t buffer_bytes;
	uint64_t events;
};

/* ---- numbers ---- */

/* Chooses readable thread ids: core 1, node 3 is 15 if no node is above 7; else dense ones. */
static void number(struct import_streams *w)
{
	const struct run_survey *s = w->survey;
	uint64_t step = 10, most = 0;
	uint32_t tid = 1;

	for (size_t i = 0; i < s->nnodes; i++)
		most = s->nodes[i].node > most ? s->nodes[i].node : most;
	while (step < most + 3)
		step *= 10;
	if ((s->ncores ? s->ncores - 1 : 0) * step + 2 + most + s->nlanes <= INT32_MAX) {
		for (size_t k = 0; k < s->ncores; k++)
			w->rows[k].tid = (uint32_t)(k * step + 1);
		for (size_t i = 0; i < s->nnodes; i++)
			w->rows[s->ncores + i].tid =
				(uint32_t)(s->nodes[i].core * step + 2 + s->nodes[i].node);
		tid = (uint32_t)((s->ncores ? s->ncores - 1 : 0) * step + 3 + most);
	} else {
		for (uint32_t k = 0, i = 0; k < s->ncores; k++) {
			w->rows[k].tid = tid++;
			for (; i < s->nnodes && s->nodes[i].core == k; i++)
				w->rows[s->ncores + i].tid = tid++;
		}
	}
	for (uint32_t i = 0; i < s->nlanes; i++) /* after all others */
		w->rows[loom_row_of_lane(s, i)].tid = tid++;
}

static void path_of(const struct import_streams *w, const struct row *r, char *path, size_t size)
{
	snprintf(path, size, "loom.%s/proc.%d/thread.%" PRIu32, w->loom,
		 w->survey->cores[r->core].id + 1, r->tid);
}

/* ---- errors ---- */

/* Remembers an error, after a message if it is the first one. */
static void note_error(struct import_streams *w, const char *path, int err)
{
	if (!err || w->error)
		return;
	w->error = err;
	if (err == -ENOMEM)
		log_no_memory("while writing %s/%s", w->dir, path);
	else if (err == -EEXIST)
		log_error("%s/%s is there already: choose another directory with -o, or another "
			  "name of the run with --name",
			  w->dir, path);
	else
		log_error("cannot write '%s/%s': %s", w->dir, path, strerror(-err));
}

/* ---- metadata ---- */

/* Sets the name of a row: "core 0 control", "core 0 fifo_3", "core 0 node 7". */
static void put_label(const struct import_streams *w, struct json *meta, size_t row,
		      const struct loom_module *m, const char *more)
{
	unsigned core = w->survey->cores[w->rows[row].core].id;
	char label[600];

	if (row < w->survey->ncores)
		snprintf(label, sizeof(label), "core %u control", core);
	else if (m && m->name)
		snprintf(label, sizeof(label), "core %u %.500s%s", core, m->name, more);
	else
		snprintf(label, sizeof(label), "core %u node %" PRIu32 "%s", core,
			 w->survey->nodes[row - w->survey->ncores].node, more);
	json_put_string(meta, "accel.label", label);
}

/* The place of a node, and the nodes that drive its inputs (loom.md 9.6). */
static void describe_place(const struct import_streams *w, struct json *meta, uint32_t node)
{
	const struct import_place *place = &w->map->places[node];
	struct json *list;

	if (place->given) {
		json_put_int(meta, "accel.x", place->x);
		json_put_int(meta, "accel.y", place->y);
	}
	if (!place->inputs)
		return;
	list = json_put_array(meta, "accel.inputs");
	for (uint32_t input = 0; input < place->inputs; input++) {
		uint32_t driver = import_map_driver(w->map, node, input);
		struct json *entry;

		if (driver == LOOM_NONE)
			continue;
		entry = json_put_object(list, NULL);
		json_put_int(entry, "input", input);
		json_put_int(entry, "from", w->survey->nodes[driver].node);
	}
}

static void describe_node(const struct import_streams *w, struct json *meta, size_t row)
{
	size_t first_lane = loom_row_of_lane(w->survey, 0);
	const struct run_survey_lane *lane =
		row < first_lane ? NULL : &w->survey->lanes[row - first_lane];
	size_t of_node = lane ? loom_row_of_node(w->survey, lane->node) : row;
	const struct run_survey_node *node = &w->survey->nodes[of_node - w->survey->ncores];
	uint16_t core = w->survey->cores[node->core].id;
	const struct loom_module *m =
		w->names ? loom_modules_find(w->names, core, node->node) : NULL;
	char more[16] = "";

	if (lane)
		snprintf(more, sizeof(more), " lane %u", lane->lane);
	put_label(w, meta, of_node, m, more);
	if (lane)
		json_put_int(meta, "accel.lane", lane->lane);
	else if (w->map->places)
		describe_place(w, meta, (uint32_t)(row - w->survey->ncores));
	json_put_int(meta, "accel.hw_node_id", node->node);
	if (!m)
		return;
	json_put_string(meta, "accel.name", m->name);
	json_put_string(meta, "accel.kind", m->kind);
	json_put_string(meta, "accel.component", m->component_name);
	json_put_string(meta, "accel.function_unit", m->function_unit_name);
}

/* Describes the marks of the row, with the next labels. */
static void describe_marks(struct import_streams *w, size_t row, struct json *meta)
{
	char key[24];

	for (int i = 0; i < MARKS; i++) {
		struct json *mark, *list;

		if (!(w->rows[row].marks >> i & 1))
			continue;
		snprintf(key, sizeof(key), "ovni.mark.%d", LOOM_MARK_FIRST + i);
		mark = json_put_object(meta, key);
		json_put_string(mark, "title", loom_mark_titles[i]);
		json_put_string(mark, "chan_type", "single");
		list = json_put_object(mark, "labels");
		for (; w->next_label < w->nlabels; w->next_label++) {
			const struct label *l = &w->labels[w->next_label];

			if (l->row != row || l->mark != i)
				break;
			snprintf(key, sizeof(key), "%" PRId64, l->value);
			json_add_string(list, key, l->text);
		}
	}
}

static void describe_cpus(const struct import_streams *w, struct json *meta)
{
	struct json *cpus = json_put_array(meta, "ovni.loom_cpus");

	for (size_t i = 0; i < w->n; i++) {
		struct json *cpu = json_put_object(cpus, NULL);

		json_put_int(cpu, "index", (int64_t)i);
		json_put_int(cpu, "phyid", w->rows[i].tid);
	}
}

static struct json *describe(struct import_streams *w, size_t row, bool finished)
{
	const struct row *r = &w->rows[row];
	uint16_t core = w->survey->cores[r->core].id;
	struct json *meta = json_new_object();

	json_put_int(meta, "version", 3);
	json_put_string(meta, "ovni.lib.version", version_string);
	json_put_string(meta, "ovni.lib.commit", version_commit);
	json_put_string(meta, "ovni.part", "thread");
	json_put_int(meta, "ovni.tid", r->tid);
	json_put_int(meta, "ovni.pid", core + 1);
	json_put_string(meta, "ovni.loom", w->loom);
	json_put_int(meta, "ovni.app_id", core + 1);
	json_put_string(meta, "ovni.require.ovni", OVNI_MODEL);
	json_put_int(meta, "accel.core_id", core);
	if (row == 0) {
		describe_cpus(w, meta);
		w->about_run(w->arg, meta);
	}
	if (row < w->survey->ncores)
		put_label(w, meta, row, NULL, "");
	else
		describe_node(w, meta, row);
	if (finished) {
		describe_marks(w, row, meta);
		json_put_int(meta, "ovni.finished", 1);
	}
	return meta;
}

/* ---- events ---- */

static void flush(struct import_streams *w, size_t row)
{
	struct row *r = &w->rows[row];
	uint32_t used = r->used;
	struct json *meta = NULL;
	char path[512];

	r->used = 0;
	if (w->error)
		return;
	path_of(w, r, path, sizeof(path));
	if (!r->made) {
		meta = describe(w, row, false);
		note_error(w, path, stream_create(w->fd, path, meta));
		r->made = !w->error;
		json_free(meta);
	}
	if (r->made && used)
		note_error(w, path,
			   stream_append(w->fd, path, w->buffers + row * w->buffer_bytes, used));
}

/* Writes the rest of a row, and its metadata; a row that fits its buffer takes one write. */
static void complete(struct import_streams *w, size_t row)
{
	struct row *r = &w->rows[row];
	struct json *meta;
	char path[512];

	if (r->made)
		flush(w, row);
	if (w->error)
		return;
	meta = describe(w, row, true);
	path_of(w, r, path, sizeof(path));
	note_error(w, path,
		   r->made ? stream_describe(w->fd, path, meta)
			   : stream_store(w->fd, path, meta, w->buffers + row * w->buffer_bytes,
					  r->used));
	json_free(meta);
}

static inline void put(struct import_streams *w, size_t row, uint32_t mcv, int64_t clock,
		       const void *payload, size_t size)
{
	struct row *r = &w->rows[row];

	if (__builtin_expect(r->used + EVENT_SIZE_MAX > w->buffer_bytes, 0))
		flush(w, row);
	r->used += (uint32_t)event_encode(w->buffers + row * w->buffer_bytes + r->used, mcv, clock,
					  payload, size);
	w->events++;
}

void import_streams_mark(struct import_streams *w, size_t row, int64_t clock, enum loom_mark mark,
			 int64_t value)
{
	uint8_t payload[12];
	int32_t type = (int32_t)mark;

	memcpy(payload, &value, 8);
	memcpy(payload + 8, &type, 4);
	w->rows[row].marks |= (uint8_t)(1u << (mark - LOOM_MARK_FIRST));
	put(w, row, MCV('O', 'M', '='), clock, payload, sizeof(payload));
}

void import_streams_label(struct import_streams *w, size_t row, enum loom_mark mark, int64_t value,
			  const char *text)
{
	uint32_t *at = hash_at(&w->label_of, (struct hash_key){(uint64_t)value, row, mark});
	struct label *label;

	if (at && *at != HASH_NONE)
		return;
	label = at ? ARRAY_ADD(w->labels, w->nlabels) : NULL;
	if (!label) {
		note_error(w, w->loom, -ENOMEM);
		return;
	}
	*at = (uint32_t)(w->nlabels - 1);
	*label = (struct label){row, *at, mark - LOOM_MARK_FIRST, value, strdup(text)};
	if (!label->text)
		note_error(w, w->loom, -ENOMEM);
}

int import_streams_error(const struct import_streams *w)
{
	return w->error;
}

/* ---- begin and end ---- */

/* The core (an index) of a row. */
static uint32_t core_of(const struct run_survey *s, size_t row)
{
	if (row < s->ncores)
		return (uint32_t)row;
	if (row < loom_row_of_lane(s, 0))
		return s->nodes[row - s->ncores].core;
	return s->nodes[s->lanes[row - loom_row_of_lane(s, 0)].node].core;
}

/* Checks that the trace has no run of that name, by its control threads. */
static void check_new(struct import_streams *w)
{
	char path[512];
	int dir;

	path_of(w, &w->rows[0], path, sizeof(path));
	dir = beneath_open(w->fd, path, O_PATH | O_DIRECTORY, 0);
	if (dir < 0)
		return;
	close(dir);
	note_error(w, path, -EEXIST);
}

static void begin(struct import_streams *w, size_t row, int64_t clock)
{
	struct {
		int32_t cpu, creator;
		uint64_t tag;
	} execute = {(int32_t)row, -1, 0};

	put(w, row, MCV('O', 'H', 'x'), clock, &execute, sizeof(execute));
}

struct import_streams *import_streams_open(int fd, const char *dir, const char *name,
					   const struct run_survey *survey,
					   const struct loom_modules *names,
					   const struct import_map *map, int64_t clock,
					   import_streams_fn about_run, const void *arg)
{
	struct import_streams *w = calloc(1, sizeof(*w));

	if (!w)
		goto no_memory;
	*w = (struct import_streams){.fd = fd,
				     .dir = dir,
				     .survey = survey,
				     .names = names,
				     .map = map,
				     .about_run = about_run,
				     .arg = arg};
	w->n = survey->ncores + survey->nnodes + survey->nlanes;
	w->buffer_bytes = w->n ? BUFFERS_BYTES / w->n : 0;
	if (w->buffer_bytes > BUFFER_MOST)
		w->buffer_bytes = BUFFER_MOST;
	if (w->buffer_bytes < BUFFER_LEAST)
		w->buffer_bytes = BUFFER_LEAST;
	w->rows = calloc(w->n + 1, sizeof(*w->rows));
	w->buffers = malloc((w->n + 1) * w->buffer_bytes);
	w->loom = xasprintf("loomsim.%s", name);
	if (!w->rows || !w->buffers || !w->loom)
		goto no_memory;
	for (size_t i = 0; i < w->n; i++)
		w->rows[i].core = core_of(survey, i);
	number(w);
	check_new(w);
	for (size_t i = 0; i < w->n; i++)
		begin(w, i, clock);
	if (!w->error)
		return w;
	import_streams_close(w);
	return NULL;
no_memory:
	log_no_memory("while reading %s", dir);
	import_streams_close(w);
	return NULL;
}

static int by_row(const void *a, const void *b)
{
	const struct label *x = a, *y = b;

	if (x->row != y->row)
		return x->row - 1 < y->row - 1 ? -1 : 1; /* row 0 is SIZE_MAX: the last */
	if (x->mark != y->mark)
		return x->mark < y->mark ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

int import_streams_finish(struct import_streams *w, int64_t clock)
{
	if (w->nlabels)
		qsort(w->labels, w->nlabels, sizeof(*w->labels), by_row);
	if (w->n)
		flush(w, 0);
	for (size_t i = 1; i <= w->n; i++) {
		size_t row = i % w->n;

		put(w, row, MCV('O', 'H', 'e'), clock, NULL, 0);
		complete(w, row);
	}
	return w->error;
}

uint64_t import_streams_events(const struct import_streams *w)
{
	return w->events;
}

void import_streams_close(struct import_streams *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->nlabels; i++)
		free(w->labels[i].text);
	free(w->labels);
	free(w->rows);
	free(w->buffers);
	hash_free(&w->label_of);
	free(w->loom);
	free(w);
}
