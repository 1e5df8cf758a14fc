/* SPDX-License-Identifier: MIT */
/*
 * catalog: finds the entry of an event, and explains events (see catalog.h).
 *
 * A dump explains millions of events: the sentences are cut into pieces once, and numbers are
 * written without printf().
 */
#include "trace/catalog/catalog.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/log.h"
#include "trace/base/digits.h"
#include "trace/base/off_cpu.h"
#include "trace/base/text.h"

#define ENTRIES_MAX 640

#define PIECES_MAX 12

/* A text, an argument, or the start of an optional part of a sentence. */
struct piece {
	enum { PIECE_TEXT, PIECE_ARG, PIECE_PART } kind;
	const char *text; /* of PIECE_TEXT */
	unsigned len;
	unsigned arg;  /* index; of PIECE_PART: number of the arguments it needs */
	unsigned skip; /* of PIECE_PART: its pieces */
};

struct entry {
	const struct catalog_event *event;
	struct signature sig;
	struct piece pieces[PIECES_MAX];
	unsigned npieces;
};

static struct entry entries[ENTRIES_MAX];
static size_t nentries;
static uint16_t entry_of[128][128][128]; /* by MCV: index in entries + 1; 0: none */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static struct entry *find(uint32_t mcv)
{
	uint16_t i;

	if (mcv & 0x808080)
		return NULL; /* not ASCII */
	i = entry_of[mcv >> 16 & 0x7f][mcv >> 8 & 0x7f][mcv & 0x7f];
	return i ? &entries[i - 1] : NULL;
}

/* Values of arguments with a name. */
static const struct {
	const char *arg;
	int64_t value;
	const char *name;
} meanings[] = {
	{"cpu", -1, "virtual"},
	{"next", 0, "idle"},
	{"next", -1, "not known"},
	{"waker", 0, "not known"},
	{"waker", -1, "none: it stayed runnable"},
	{"waker", -2, "an interrupt"},
	{"creator", -1, "not seen"},
};

/*
 * Cuts the sentence of an entry with a parsed signature into pieces. Returns false for an unknown
 * argument or an open bracket.
 */
static bool parse_sentence(struct entry *entry)
{
	const char *at = entry->event->english;
	struct piece *part = NULL, *piece;
	char name[sizeof(entry->sig.args[0].name)];
	size_t len;
	unsigned i;

	for (entry->npieces = 0; *at; entry->npieces++) {
		if (*at == ']') {
			if (!part)
				return false;
			part->skip = (unsigned)(&entry->pieces[entry->npieces] - part) - 1;
			part = NULL;
			at++;
			entry->npieces--; /* not a piece */
			continue;
		}
		if (entry->npieces == PIECES_MAX)
			return false;
		piece = &entry->pieces[entry->npieces];
		if (*at == '[') {
			if (part)
				return false;
			part = piece;
			piece->kind = PIECE_PART;
			at++;
		} else if (!strncmp(at, "%{", 2)) {
			len = strcspn(at + 2, "}");
			if (at[2 + len] != '}' || len >= sizeof(name))
				return false;
			memcpy(name, at + 2, len);
			name[len] = '\0';
			for (i = 0; i < entry->sig.nargs; i++)
				if (!strcmp(entry->sig.args[i].name, name))
					break;
			if (i == entry->sig.nargs)
				return false;
			piece->kind = PIECE_ARG;
			piece->arg = i;
			if (part && part->arg < i + 1)
				part->arg = i + 1;
			at += len + 3;
		} else {
			piece->kind = PIECE_TEXT;
			piece->text = at;
			piece->len = (unsigned)strcspn(at + 1, "%[]") + 1;
			at += piece->len;
		}
	}
	return !part;
}

/* Adds an entry. A mistake in the tables, which are part of the program, aborts the first test. */
static void add(const struct catalog_model *model, const struct catalog_event *event)
{
	struct entry *entry = &entries[nentries];
	const char *mcv = event->signature;

	if (nentries == ENTRIES_MAX || signature_parse(&entry->sig, event->signature) < 0 ||
	    (entry->event = event, !parse_sentence(entry)) ||
	    (char)(entry->sig.mcv >> 16) != model->character || find(entry->sig.mcv)) {
		log_error("catalogue: bad entry '%s' in model %s", event->signature, model->name);
		abort();
	}
	entry_of[mcv[0] & 0x7f][mcv[1] & 0x7f][mcv[2] & 0x7f] = (uint16_t)++nentries;
}

static void build(void)
{
	for (const struct catalog_model *m = catalog_models; m->name; m++)
		for (size_t i = 0; i < m->nevents; i++)
			add(m, &m->events[i]);
}

/* The entry of an MCV, its own or the wildcard of its category, or NULL. */
static const struct entry *find_entry(uint32_t mcv)
{
	const struct entry *entry;

	pthread_once(&once, build);
	entry = find(mcv);
	return entry ? entry : find((mcv & ~0xffu) | '.');
}

const struct catalog_event *catalog_find(uint32_t mcv, const struct signature **sig)
{
	const struct entry *entry = find_entry(mcv);

	if (!entry)
		return NULL;
	if (sig)
		*sig = &entry->sig;
	return entry->event;
}

const struct catalog_model *catalog_model(char character)
{
	for (const struct catalog_model *m = catalog_models; m->name; m++)
		if (m->character == character)
			return m;
	return NULL;
}

const struct catalog_model *catalog_model_by_name(const char *name)
{
	for (const struct catalog_model *m = catalog_models; m->name; m++)
		if (!strcmp(m->name, name))
			return m;
	return NULL;
}

void catalog_require(struct json *meta, const uint64_t models[4])
{
	const struct json *require = json_get(meta, "ovni.require");

	for (const struct catalog_model *m = catalog_models; m->name; m++) {
		uint8_t c = (uint8_t)m->character;
		char key[64];

		if (!(models[c >> 6] >> (c & 63) & 1) || json_key(require, m->name))
			continue;
		snprintf(key, sizeof(key), "ovni.require.%s", m->name);
		json_put_string(meta, key, m->version);
	}
}

/* ---- sentences ---- */

struct out {
	char *text;
	size_t size, used; /* used: also beyond size */
};

static void put(struct out *out, const char *text, size_t len)
{
	if (out->used < out->size) {
		size_t room = out->size - out->used;

		memcpy(out->text + out->used, text, len < room ? len : room);
	}
	out->used += len;
}

static void put_number(struct out *out, int64_t value, bool is_signed)
{
	char digits[DIGITS_SIZE], *end = is_signed ? digits_put(digits, value)
						   : digits_put_u64(digits, (uint64_t)value);

	put(out, digits, (size_t)(end - digits));
}

static const char *meaning(const struct arg *arg, int64_t value)
{
	if (value > 0) {
		if (strcmp(arg->name, "why"))
			return NULL;
		return value < OFF_CPU_COUNT ? off_cpu_label((unsigned)value) : NULL;
	}
	if (!strcmp(arg->name, "why"))
		return off_cpu_label(OFF_CPU_UNKNOWN);
	for (size_t i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++)
		if (meanings[i].value == value && !strcmp(meanings[i].arg, arg->name))
			return meanings[i].name;
	return NULL;
}

static void put_arg(struct out *out, const struct signature *sig, const struct event *ev,
		    unsigned i)
{
	const struct arg *arg = &sig->args[i];
	size_t n = signature_count(sig, ev, i), len;
	int64_t value;

	if (arg->type == ARG_STR) {
		const char *text = signature_str(sig, ev, i, &len);
		size_t room;

		if (!text) {
			put(out, "?", 1);
			return;
		}
		put(out, "\"", 1);
		room = out->used < out->size ? out->size - out->used : 0;
		out->used += text_escape(out->text + (room ? out->used : 0), room, text, len);
		put(out, "\"", 1);
		return;
	}
	if (n == 0 && !arg->many)
		put(out, "?", 1);
	for (size_t k = 0; k < n && signature_nth(sig, ev, i, k, &value); k++) {
		const char *name = meaning(arg, value);

		if (k)
			put(out, " ", 1);
		put_number(out, value, arg->type != ARG_U64);
		if (name) {
			put(out, " (", 2);
			put(out, name, strlen(name));
			put(out, ")", 1);
		}
	}
}

size_t catalog_explain(const struct event *ev, char *text, size_t size)
{
	const struct entry *entry = find_entry(event_mcv(ev));
	/* leaves the last byte for the NUL */
	struct out out = {text, size ? size - 1 : 0, 0};

	if (!entry) {
		put(&out, "UNKNOWN", strlen("UNKNOWN"));
	} else {
		const struct signature *sig = &entry->sig;

		for (unsigned i = 0; i < entry->npieces; i++) {
			const struct piece *piece = &entry->pieces[i];

			if (piece->kind == PIECE_TEXT)
				put(&out, piece->text, piece->len);
			else if (piece->kind == PIECE_ARG)
				put_arg(&out, sig, ev, piece->arg);
			else if (piece->arg && !signature_count(sig, ev, piece->arg - 1))
				i += piece->skip;
		}
	}
	if (size)
		text[out.used < out.size ? out.used : out.size] = '\0';
	return out.used;
}

/* Values of the channel of the mpi model. */
enum {
	MPI_INIT = 1,
	MPI_INIT_THREAD,
	MPI_ALLGATHER = 26,
	MPI_ALLREDUCE,
	MPI_ALLTOALL,
	MPI_BARRIER,
	MPI_REDUCE_SCATTER = 33,
	MPI_REDUCE_SCATTER_BLOCK
};

bool catalog_synchronises(int mpi_function)
{
	return (mpi_function >= MPI_ALLGATHER && mpi_function <= MPI_BARRIER) ||
	       mpi_function == MPI_REDUCE_SCATTER || mpi_function == MPI_REDUCE_SCATTER_BLOCK;
}

bool catalog_is_mpi_init(int mpi_function)
{
	return mpi_function == MPI_INIT || mpi_function == MPI_INIT_THREAD;
}
