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

#include "tools/pallas/pallas_command.h"
#include "trace/base/digits.h"
#include "trace/base/log.h"
#include "trace/pallas/read/expand.h"
#include "trace/pallas/pallas_record.h"

#define OUT_BYTES (1u << 18)

/* The text after the time in a line, per event entry of a thread. */
struct tail {
	char *text;
	size_t size;
};

struct printer {
	const struct pallas_options *o;
	struct pallas_trace trace;
	struct tail **tails; /* per thread, then per event entry; made at the first use */
	char out[OUT_BYTES];
	size_t used;
	int err;
};

size_t pallas_put_seconds(char *out, uint64_t ns, size_t width)
{
	char digits[DIGITS_SIZE];
	uint32_t fraction = (uint32_t)(ns % 1000000000);
	size_t n = (size_t)(digits_put_u64(digits, ns / 1000000000) - digits);
	size_t blanks = n + 10 < width ? width - n - 10 : 0;
	char *at = out + blanks;

	memset(out, ' ', blanks);
	memcpy(at, digits, n);
	at += n;
	*at = '.';
	for (int i = 9; i > 0; i--) {
		at[i] = (char)('0' + fraction % 10);
		fraction /= 10;
	}
	return blanks + n + 10;
}

static void flush(struct printer *p)
{
	if (p->used && fwrite(p->out, 1, p->used, stdout) != p->used && !p->err)
		p->err = errno ? -errno : -EIO;
	p->used = 0;
}

static void put(struct printer *p, const char *text, size_t size)
{
	if (size > OUT_BYTES - p->used)
		flush(p);
	if (size > OUT_BYTES) {
		if (fwrite(text, 1, size, stdout) != size && !p->err)
			p->err = errno ? -errno : -EIO;
		return;
	}
	memcpy(p->out + p->used, text, size);
	p->used += size;
}

static void put_text(struct printer *p, const char *text)
{
	put(p, text, strlen(text));
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

static char *tail_text(struct printer *p, const struct pallas_thread *t, uint32_t event)
{
	size_t size = pallas_event_text(&p->trace, t, event, NULL, 0) + 1;
	char *what = malloc(size), *text = NULL;
	int n = -1;

	if (what) {
		pallas_event_text(&p->trace, t, event, what, size);
		if (p->o->threads)
			n = asprintf(&text, "    %s\n", what);
		else
			n = asprintf(&text, "%10s    %s\n", pallas_thread_name(&p->trace, t), what);
	}
	free(what);
	return n < 0 ? NULL : text;
}

/* The tail of an event entry, made at its first use. */
static const struct tail *tail_of(struct printer *p, size_t thread, uint32_t event)
{
	struct pallas_thread *t = &p->trace.threads[thread];
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

static void tails_free(struct printer *p, size_t thread)
{
	const struct pallas_thread *t = &p->trace.threads[thread];

	if (!p->tails[thread])
		return;
	for (size_t i = 0; i < t->grammar.nevents; i++)
		free(p->tails[thread][i].text);
	free(p->tails[thread]);
	p->tails[thread] = NULL;
}

static int no_memory(const struct printer *p)
{
	log_no_memory("while printing %s", p->trace.path);
	return -ENOMEM;
}

static int line(struct printer *p, size_t thread, uint32_t event, uint64_t time)
{
	const struct tail *tail = p->tails[thread] ? &p->tails[thread][event] : NULL;
	char *at;

	if (!tail || !tail->text) {
		tail = tail_of(p, thread, event);
		if (!tail)
			return no_memory(p);
	}
	if (tail->size + 64 > OUT_BYTES - p->used)
		flush(p);
	if (tail->size + 64 > OUT_BYTES) {
		char head[64];

		size_t size = pallas_put_seconds(head, time, 21);

		put(p, head, size); /* cppcheck-suppress uninitvar ; it has just been filled */
		put(p, tail->text, tail->size);
		return p->err;
	}
	at = p->out + p->used;
	if (p->o->tsv) {
		at = digits_put_u64(at, p->trace.threads[thread].archive->id);
		*at++ = '\t';
		at = digits_put_u64(at, p->trace.threads[thread].id);
		*at++ = '\t';
		at = digits_put_u64(at, time);
	} else {
		at += pallas_put_seconds(at, time, 21);
	}
	memcpy(at, tail->text, tail->size);
	p->used = (size_t)(at - p->out) + tail->size;
	return p->err;
}

static int print_merged(struct printer *p)
{
	struct pallas_merge m;
	uint32_t who = 0;
	int err = pallas_merge_open(&m, &p->trace);

	if (err)
		return err;
	put_text(p, "            Timestamp\n");
	while ((err = pallas_merge_next(&m, &who)) == 1) {
		err = line(p, who, m.threads[who].event, m.threads[who].time);
		if (err)
			break;
	}
	for (size_t i = 0; i < p->trace.nthreads; i++)
		tails_free(p, i);
	pallas_merge_close(&m);
	return err;
}

static int print_thread(struct printer *p, struct pallas_loader *loader, size_t i)
{
	struct pallas_thread *t = &p->trace.threads[i];
	struct pallas_expand x = {0};
	int err = pallas_thread_load(&p->trace, t);

	if (err)
		goto out;
	err = pallas_expand_init(&x, loader, t);
	if (err)
		goto out;
	if (!p->o->tsv)
		put_text(p, "            Timestamp\n");
	while ((err = pallas_expand_next(&x)) == 1) {
		err = line(p, i, x.event, x.time);
		if (err)
			goto out;
	}
out:
	if (t->loaded)
		tails_free(p, i);
	pallas_expand_fini(&x);
	pallas_thread_unload(&p->trace, t);
	return err;
}

static int print_threads(struct printer *p)
{
	struct pallas_loader *loader = pallas_loader_new(&p->trace);
	int err = loader ? 0 : -ENOMEM;

	if (p->o->tsv)
		put_text(p, "#archive\tthread\ttimestamp\trecord\trecord_name\tpayload_hex\n");
	if (err)
		goto out;
	for (size_t i = 0; i < p->trace.nthreads; i++) {
		err = print_thread(p, loader, i);
		if (err)
			goto out;
	}
out:
	pallas_loader_free(loader);
	return err;
}

/* Writes a double with the fewest digits that parse as the same number. */
static void put_real(struct printer *p, double v, int most)
{
	char text[40];

	for (int digits = 1; digits <= most; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, v);
		if (strtod(text, NULL) == v)
			break;
	}
	put_text(p, text);
	if (!strpbrk(text, ".einEIN"))
		put_text(p, ".0");
}

static void put_value(struct printer *p, const struct pallas_archive *a,
		      const struct pallas_value *v)
{
	static const uint8_t widths[] = {0, 1, 2, 4, 8, 1, 2, 4, 8, 4, 8, 4, 4};
	const struct pallas_attribute *attr = pallas_attribute(&p->trace, a, v->ref);
	const char *name = NULL, *text;
	uint8_t type;
	uint64_t u = 0;
	int64_t i;
	double d;
	float f;
	char number[32];

	if (attr)
		name = pallas_string(&p->trace, a, attr->name);
	snprintf(number, sizeof(number), "attribute %u", v->ref);
	put_text(p, name ? name : number);
	put_text(p, "=");
	type = attr ? attr->type : PALLAS_TYPE_NONE;
	if (type > PALLAS_TYPE_REFERENCE)
		type = PALLAS_TYPE_REFERENCE;
	if (!attr || v->size != widths[type]) {
		for (unsigned k = 0; k < v->size; k++) {
			snprintf(number, sizeof(number), "%02x", v->bytes[k]);
			put_text(p, number);
		}
		return;
	}
	memcpy(&u, v->bytes, v->size);
	switch (type) {
	case PALLAS_TYPE_I8:
	case PALLAS_TYPE_I16:
	case PALLAS_TYPE_I32:
	case PALLAS_TYPE_I64:
		i = (int64_t)(u << (64 - 8 * v->size)) >> (64 - 8 * v->size);
		snprintf(number, sizeof(number), "%" PRId64, i);
		put_text(p, number);
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
		text = pallas_string(&p->trace, a, (uint32_t)u);
		put_text(p, text ? text : "?");
		break;
	default:
		snprintf(number, sizeof(number), "%" PRIu64, u);
		put_text(p, number);
	}
}

/* Prints the attribute lists of one event entry, one line each. */
static int print_lists(struct printer *p, const struct pallas_thread *t,
		       const struct pallas_event *e)
{
	const uint8_t *at = e->attributes;
	struct pallas_list list;
	struct pallas_value v;
	char head[96];
	int got;

	while ((got = pallas_list_next(e, &at, &list)) == 1) {
		const char *between = "";

		snprintf(head, sizeof(head), "%u\t%u\tE%u\t%d\t", t->archive->id, t->id, e->id,
			 list.occurrence);
		put_text(p, head);
		while ((got = pallas_value_next(&list, &v)) == 1) {
			put_text(p, between);
			put_value(p, t->archive, &v);
			between = "; ";
		}
		put_text(p, "\n");
		if (got < 0)
			break;
	}
	if (got < 0)
		log_error("%s/%s/" PALLAS_THREAD ": event %u: its attribute lists are damaged",
			  p->trace.path, t->path, e->id);
	return got;
}

static int print_attributes(struct printer *p)
{
	put_text(p, "#archive\tthread\tevent\toccurrence\tvalues\n");
	for (size_t i = 0; i < p->trace.nthreads; i++) {
		struct pallas_thread *t = &p->trace.threads[i];
		int err = pallas_thread_load(&p->trace, t);

		if (err)
			return err;
		for (size_t k = 0; k < t->grammar.event_map.n; k++) {
			uint32_t index = t->grammar.event_map.places[k];

			if (index == PALLAS_NONE)
				continue;
			err = print_lists(p, t, &t->grammar.events[index]);
			if (err)
				return err;
		}
		pallas_thread_unload(&p->trace, t);
	}
	return 0;
}

int pallas_print(const struct pallas_options *o)
{
	struct printer *p = calloc(1, sizeof(*p));
	int err;

	if (!p) {
		log_no_memory("while starting");
		return 1;
	}
	p->o = o;
	err = pallas_open(&p->trace, o->from, o->memory);
	if (err)
		goto out;
	p->tails = calloc(p->trace.nthreads + 1, sizeof(*p->tails));
	if (!p->tails)
		err = no_memory(p);
	else if (o->attributes)
		err = print_attributes(p);
	else if (o->tsv || o->threads)
		err = print_threads(p);
	else
		err = print_merged(p);
	flush(p);
	if (p->err) {
		log_error("cannot write the output: %s", strerror(-p->err));
		err = p->err;
	}
	free(p->tails);
	pallas_close(&p->trace);
out:
	free(p);
	return err || flush_stdout() ? 1 : 0;
}
