/* SPDX-License-Identifier: MIT */
/*
 * print: prints the events of an archive as text, in the order of time.
 *
 *             Timestamp
 *           0.000001000      main    THREAD_BEGIN()
 *           0.000001100      main    Enter 0 (work)
 *
 * In: an archive; out: one line per event. A line, except its time, depends on the event entry and
 * the thread alone: that part is formatted once per entry, and an event costs the digits of its
 * time and two copies.
 * Specification: pallas.md 18.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/lib/printer.h"
#include "tools/pallas/pallas_command.h"
#include "trace/base/digits.h"
#include "trace/base/log.h"
#include "trace/base/text.h"
#include "trace/pallas/read/expand.h"

#define TIME_WIDTH 21
#define HEAD_MAX   80 /* bytes of a line before its tail */

/* The text after the time in a line, per event entry of a thread. */
struct tail {
	char *text;
	size_t size;
};

struct print {
	const struct pallas_options *o;
	struct pallas_trace *trace;
	struct tail **tails; /* per thread, then per event entry; made at the first use */
	bool **wanted;	     /* per thread, then per event entry; NULL: all */
	struct printer out;
};

/* Writes ns as seconds with 9 decimals, right-aligned in TIME_WIDTH columns or more; at most 40
 * bytes. Returns the end. */
static char *put_seconds(char *out, uint64_t ns)
{
	char digits[DIGITS_SIZE];
	uint32_t fraction = (uint32_t)(ns % 1000000000);
	size_t n = (size_t)(digits_put_u64(digits, ns / 1000000000) - digits);
	size_t blanks = n + 10 < TIME_WIDTH ? TIME_WIDTH - n - 10 : 0;
	char *at = out + blanks;

	memset(out, ' ', blanks);
	memcpy(at, digits, n);
	at += n;
	*at = '.';
	for (int i = 9; i > 0; i--) {
		at[i] = (char)('0' + fraction % 10);
		fraction /= 10;
	}
	return at + 10;
}

static char *tail_tsv(const struct pallas_event *e)
{
	const struct pallas_record_spec *spec = pallas_record_spec(e->record);
	char hex[2 * PALLAS_PAYLOAD_MAX + 3] = "-", *text;

	for (unsigned i = 0; i < e->payload_size; i++)
		snprintf(hex + 2 * i, 3, "%02x", e->payload[i]);
	if (asprintf(&text, "\t%u\t%s\t%s\n", e->record, spec ? spec->name : "UNKNOWN", hex) < 0)
		return NULL;
	return text;
}

static char *tail_text(struct print *p, const struct pallas_thread *t, uint32_t event)
{
	size_t size = pallas_event_text(p->trace, t, event, NULL, 0) + 1;
	char *what = malloc(size), *text = NULL;
	int n = -1;

	if (what) {
		pallas_event_text(p->trace, t, event, what, size);
		if (p->o->threads)
			n = asprintf(&text, "    %s\n", text_shown(what));
		else
			n = asprintf(&text, "%10s    %s\n",
				     text_shown(pallas_thread_name(p->trace, t)), text_shown(what));
	}
	free(what);
	return n < 0 ? NULL : text;
}

/* The tail of an event entry, made at its first use. */
static const struct tail *tail_of(struct print *p, size_t thread, uint32_t event)
{
	struct pallas_thread *t = &p->trace->threads[thread];
	struct tail *tail;

	if (!p->tails[thread]) {
		p->tails[thread] = calloc(t->grammar.nevents + 1, sizeof(*tail));
		if (!p->tails[thread])
			return NULL;
	}
	tail = &p->tails[thread][event];
	if (!tail->text) {
		tail->text =
			p->o->tsv ? tail_tsv(&t->grammar.events[event]) : tail_text(p, t, event);
		if (!tail->text)
			return NULL;
		tail->size = strlen(tail->text);
	}
	return tail;
}

static void tails_free(struct print *p, size_t thread)
{
	const struct pallas_thread *t = &p->trace->threads[thread];

	if (!p->tails[thread])
		return;
	for (size_t i = 0; i < t->grammar.nevents; i++)
		free(p->tails[thread][i].text);
	free(p->tails[thread]);
	p->tails[thread] = NULL;
}

static int no_memory(const struct print *p)
{
	return log_no_memory("while printing %s", p->trace->path);
}

static int line(struct print *p, size_t thread, uint32_t event, uint64_t time)
{
	const struct tail *tail = p->tails[thread] ? &p->tails[thread][event] : NULL;
	char *at;

	if (!tail || !tail->text) {
		tail = tail_of(p, thread, event);
		if (!tail)
			return no_memory(p);
	}
	at = printer_room(&p->out, tail->size + HEAD_MAX);
	if (!at)
		return no_memory(p);
	if (p->o->tsv) {
		at = digits_put_u64(at, p->trace->threads[thread].archive->id);
		*at++ = '\t';
		at = digits_put_u64(at, p->trace->threads[thread].id);
		*at++ = '\t';
		at = digits_put_u64(at, time);
	} else {
		at = put_seconds(at, time);
	}
	memcpy(at, tail->text, tail->size);
	printer_upto(&p->out, at + tail->size);
	return p->out.error;
}

/* Goes to the first selected event of thread i; ends the walk of a thread outside the window. */
static int select_events(struct print *p, struct pallas_expand *x, size_t i)
{
	const struct selection *s = &p->o->selection;
	const struct pallas_thread *t = &p->trace->threads[i];
	uint64_t before;
	int err = 0;

	if (s->window && !selection_overlaps(s, t)) {
		pallas_expand_fini(x);
		return 0;
	}
	if (s->first)
		err = pallas_expand_seek(x, s->first, &before);
	if (err || !s->region)
		return err;
	p->wanted[i] = selection_calls(s, p->trace, t, true);
	return p->wanted[i] ? pallas_expand_only(x, p->wanted[i]) : -ENOMEM;
}

static int print_merged(struct print *p)
{
	struct pallas_merge m;
	uint32_t who = 0;
	int err = pallas_merge_open(&m, p->trace);

	if (err)
		return err;
	printer_text(&p->out, "            Timestamp\n");
	for (size_t i = 0; !err && i < p->trace->nthreads; i++) {
		if (m.threads[i].g)
			err = select_events(p, &m.threads[i], i);
	}
	while (!err && (err = pallas_merge_next(&m, &who)) == 1) {
		if (m.threads[who].time > p->o->selection.last) {
			err = 0;
			break;
		}
		err = line(p, who, m.threads[who].event, m.threads[who].time);
	}
	for (size_t i = 0; i < p->trace->nthreads; i++)
		tails_free(p, i);
	pallas_merge_close(&m);
	return err;
}

static int print_thread(struct print *p, struct pallas_loader *loader, size_t i)
{
	struct pallas_thread *t = &p->trace->threads[i];
	struct pallas_expand x = {0};
	int err = pallas_thread_take(p->trace, t);

	if (err > 0)
		return 0;
	if (err)
		goto out;
	err = pallas_expand_init(&x, loader, t);
	if (err)
		goto out;
	err = select_events(p, &x, i);
	if (err || !x.g)
		goto out;
	if (!p->o->tsv)
		printer_text(&p->out, "            Timestamp\n");
	while ((err = pallas_expand_next(&x)) == 1) {
		if (x.time > p->o->selection.last) {
			err = 0;
			break;
		}
		err = line(p, i, x.event, x.time);
		if (err)
			goto out;
	}
out:
	if (t->loaded)
		tails_free(p, i);
	pallas_expand_fini(&x);
	pallas_thread_unload(p->trace, t);
	return err;
}

static int print_threads(struct print *p)
{
	struct pallas_loader *loader = pallas_loader_new(p->trace);
	int err = loader ? 0 : -ENOMEM;

	if (p->o->tsv)
		printer_text(&p->out,
			     "#archive\tthread\ttimestamp\trecord\trecord_name\tpayload_hex\n");
	if (err)
		goto out;
	for (size_t i = 0; i < p->trace->nthreads; i++) {
		err = print_thread(p, loader, i);
		if (err)
			goto out;
	}
out:
	pallas_loader_free(loader);
	return err;
}

/* Writes a double with the fewest digits that parse as the same number. */
static void put_real(struct print *p, double v, int most)
{
	char text[40];

	for (int digits = 1; digits <= most; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, v);
		if (strtod(text, NULL) == v)
			break;
	}
	printer_text(&p->out, text);
	if (!strpbrk(text, ".einEIN"))
		printer_text(&p->out, ".0");
}

static void put_value(struct print *p, const struct pallas_archive *a, const struct pallas_value *v)
{
	static const uint8_t widths[] = {0, 1, 2, 4, 8, 1, 2, 4, 8, 4, 8, 4, 4};
	const struct pallas_attribute *attr = pallas_attribute(p->trace, a, v->ref);
	const char *name = NULL, *text;
	uint8_t type;
	uint64_t u = 0;
	int64_t i;
	double d;
	float f;

	if (attr)
		name = pallas_string(p->trace, a, attr->name);
	if (name)
		printer_format(&p->out, "%s=", text_shown(name));
	else
		printer_format(&p->out, "attribute %u=", v->ref);
	type = attr ? attr->type : PALLAS_TYPE_NONE;
	if (type > PALLAS_TYPE_REFERENCE)
		type = PALLAS_TYPE_REFERENCE;
	if (!attr || v->size != widths[type]) {
		for (unsigned k = 0; k < v->size; k++)
			printer_format(&p->out, "%02x", v->bytes[k]);
		return;
	}
	memcpy(&u, v->bytes, v->size);
	switch (type) {
	case PALLAS_TYPE_I8:
	case PALLAS_TYPE_I16:
	case PALLAS_TYPE_I32:
	case PALLAS_TYPE_I64:
		i = (int64_t)(u << (64 - 8 * v->size)) >> (64 - 8 * v->size);
		printer_format(&p->out, "%" PRId64, i);
		break;
	case PALLAS_TYPE_FLOAT:
		memcpy(&f, v->bytes, sizeof(f));
		put_real(p, f, 9);
		break;
	case PALLAS_TYPE_DOUBLE:
		memcpy(&d, v->bytes, sizeof(d));
		put_real(p, d, 17);
		break;
	case PALLAS_TYPE_STRING:
		text = pallas_string(p->trace, a, (uint32_t)u);
		printer_text(&p->out, text ? text_shown(text) : "?");
		break;
	default:
		printer_format(&p->out, "%" PRIu64, u);
	}
}

/* Prints the attribute lists of one event entry, one line each. */
static int print_lists(struct print *p, const struct pallas_thread *t, const struct pallas_event *e)
{
	const uint8_t *at = e->attributes;
	struct pallas_list list;
	struct pallas_value v;
	int got;

	while ((got = pallas_list_next(e, &at, &list)) == 1) {
		const char *between = "";

		printer_format(&p->out, "%u\t%u\tE%u\t%d\t", t->archive->id, t->id, e->id,
			       list.occurrence);
		while ((got = pallas_value_next(&list, &v)) == 1) {
			printer_text(&p->out, between);
			put_value(p, t->archive, &v);
			between = "; ";
		}
		printer_text(&p->out, "\n");
		if (got < 0)
			break;
	}
	if (got < 0)
		log_error("%s/%s/" PALLAS_THREAD ": event %u: its attribute lists are damaged",
			  p->trace->path, t->path, e->id);
	return got;
}

static int print_attributes(struct print *p)
{
	printer_text(&p->out, "#archive\tthread\tevent\toccurrence\tvalues\n");
	for (size_t i = 0; i < p->trace->nthreads; i++) {
		struct pallas_thread *t = &p->trace->threads[i];
		int err = pallas_thread_take(p->trace, t);

		if (err < 0)
			return err;
		if (err)
			continue;
		for (size_t k = 0; k < t->grammar.event_map.n; k++) {
			uint32_t index = t->grammar.event_map.places[k];

			if (index == PALLAS_NONE)
				continue;
			err = print_lists(p, t, &t->grammar.events[index]);
			if (err)
				return err;
		}
		pallas_thread_unload(p->trace, t);
	}
	return 0;
}

int pallas_print(struct pallas_trace *trace, const struct pallas_options *o)
{
	struct print p = {.o = o, .trace = trace};
	int closed, err;

	p.tails = calloc(trace->nthreads + 1, sizeof(*p.tails));
	p.wanted = calloc(trace->nthreads + 1, sizeof(*p.wanted));
	printer_open(&p.out, STDOUT_FILENO);
	if (!p.tails || !p.wanted)
		err = no_memory(&p);
	else if (o->attributes)
		err = print_attributes(&p);
	else if (o->tsv || o->threads)
		err = print_threads(&p);
	else
		err = print_merged(&p);
	closed = printer_close(&p.out);
	for (size_t i = 0; p.wanted && i < trace->nthreads; i++)
		free(p.wanted[i]);
	free(p.wanted);
	free(p.tails);
	return err ? err : closed;
}
