/* SPDX-License-Identifier: MIT */
/*
 * explain: an event and the English of its entry in, a sentence out.
 *
 * A dump explains millions of events: the English was cut into pieces once, and numbers
 * are written by hand.
 */
#include <string.h>

#include "trace/catalog/index.h"
#include "trace/base/digits.h"
#include "trace/base/off_cpu.h"
#include "trace/base/text.h"

/* Values of arguments that stand for something else than a number. */
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

bool explain_parse(struct entry *entry)
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
			entry->npieces--; /* it is no piece */
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

struct out {
	char *text;
	size_t size, used; /* used: as if there were room */
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
	const struct entry *entry = index_find(event_mcv(ev));
	/* the last byte is for the NUL */
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
