/* SPDX-License-Identifier: MIT */
#include "trace/catalog/signature.h"

#include <ctype.h>

static const struct {
	char name[4];
	enum arg_type type;
	uint32_t size;
} types[] = {
	{"u8", ARG_U8, 1},   {"i8", ARG_I8, 1},	  {"u16", ARG_U16, 2},
	{"i16", ARG_I16, 2}, {"u32", ARG_U32, 4}, {"i32", ARG_I32, 4},
	{"u64", ARG_U64, 8}, {"i64", ARG_I64, 8}, {"str", ARG_STR, 0},
};

static const char *skip_blanks(const char *at)
{
	return at + strspn(at, " ");
}

/*
 * Copies the word of letters, digits and '_' at *at to `out` and advances *at. Returns false if it
 * is empty or too long.
 */
static bool take_word(const char **at, char *out, size_t size)
{
	size_t len = 0;

	while (isalnum((unsigned char)(*at)[len]) || (*at)[len] == '_')
		len++;
	if (len == 0 || len >= size)
		return false;
	memcpy(out, *at, len);
	out[len] = '\0';
	*at = skip_blanks(*at + len);
	return true;
}

/* Appends the argument "TYPE NAME" or "TYPE NAME..." at *at. */
static bool take_arg(struct signature *sig, const char **at, uint32_t *offset)
{
	struct arg *arg = &sig->args[sig->nargs];
	char type[4];

	if (sig->nargs == SIGNATURE_ARGS_MAX || !take_word(at, type, sizeof(type)) ||
	    !take_word(at, arg->name, sizeof(arg->name)))
		return false;
	/* an argument without a fixed size is the last one */
	if (sig->nargs && (arg[-1].type == ARG_STR || arg[-1].many))
		return false;
	for (unsigned i = 0; i < sig->nargs; i++)
		if (!strcmp(sig->args[i].name, arg->name))
			return false;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (strcmp(types[i].name, type))
			continue;
		arg->type = types[i].type;
		arg->size = types[i].size;
		arg->offset = *offset;
		*offset += arg->size;
		sig->nargs++;
		if (strncmp(*at, "...", 3))
			return true;
		arg->many = true;
		*at = skip_blanks(*at + 3);
		return arg->type != ARG_STR;
	}
	return false;
}

/* Parses the text in the parentheses. Brackets open at most once and close at its end. */
static bool take_args(struct signature *sig, const char **at)
{
	bool optional = false;
	uint32_t offset = 0;

	do {
		*at = skip_blanks(*at);
		if (**at == '[' && !optional) {
			optional = true;
			sig->required = sig->nargs;
			*at = skip_blanks(*at + 1);
			/* "a[, b" has the comma inside; a first argument has no comma */
			if (sig->nargs) {
				if (**at != ',')
					return false;
				*at = skip_blanks(*at + 1);
			}
		}
		if (!take_arg(sig, at, &offset))
			return false;
		if (!optional)
			sig->required = sig->nargs;
		if (**at == ',')
			++*at;
		else if (**at != '[')
			break;
	} while (**at);
	if (optional) {
		if (**at != ']')
			return false;
		*at = skip_blanks(*at + 1);
	}
	return true;
}

int signature_parse(struct signature *sig, const char *text)
{
	const char *at = text;

	memset(sig, 0, sizeof(*sig));
	for (int i = 0; i < 3; i++, at++) {
		if (!isgraph((unsigned char)*at))
			return -EINVAL;
		sig->mcv = sig->mcv << 8 | (uint8_t)*at;
	}
	if (*at == '+') {
		sig->jumbo = true;
		at++;
	}
	if (*at == '(') {
		at++;
		if (!take_args(sig, &at) || *at != ')')
			return -EINVAL;
		at++;
	}
	if (*at)
		return -EINVAL;
	for (unsigned i = 0; i < sig->required; i++)
		if (!sig->args[i].many)
			sig->min_size += sig->args[i].size;
	return 0;
}

static int64_t get_value(enum arg_type type, const uint8_t *at)
{
	switch (type) {
	case ARG_U8:
		return *at;
	case ARG_I8:
		return (int8_t)*at;
	case ARG_U16:
		return get_u16(at);
	case ARG_I16:
		return (int16_t)get_u16(at);
	case ARG_U32:
		return get_u32(at);
	case ARG_I32:
		return get_i32(at);
	case ARG_U64:
	case ARG_I64:
		return get_i64(at);
	case ARG_STR:
		break;
	}
	return 0;
}

size_t signature_count(const struct signature *sig, const struct event *ev, unsigned i)
{
	const struct arg *arg;
	size_t left, len;

	if (i >= sig->nargs || sig->jumbo != ev->jumbo)
		return 0;
	arg = &sig->args[i];
	if (ev->payload_size < arg->offset)
		return 0;
	if (arg->type == ARG_STR)
		return signature_str(sig, ev, i, &len) != NULL;
	left = ev->payload_size - arg->offset;
	return arg->many ? left / arg->size : left >= arg->size;
}

bool signature_nth(const struct signature *sig, const struct event *ev, unsigned i, size_t nth,
		   int64_t *out)
{
	const struct arg *arg;

	if (nth >= signature_count(sig, ev, i))
		return false;
	arg = &sig->args[i];
	if (arg->type == ARG_STR)
		return false;
	*out = get_value(arg->type, ev->payload + arg->offset + nth * arg->size);
	return true;
}

const char *signature_str(const struct signature *sig, const struct event *ev, unsigned i,
			  size_t *len)
{
	const struct arg *arg;
	const uint8_t *start, *nul;

	if (i >= sig->nargs || sig->jumbo != ev->jumbo)
		return NULL;
	arg = &sig->args[i];
	if (arg->type != ARG_STR || ev->payload_size <= arg->offset)
		return NULL;
	start = ev->payload + arg->offset;
	nul = memchr(start, '\0', ev->payload_size - arg->offset);
	if (!nul)
		return NULL;
	*len = (size_t)(nul - start);
	return (const char *)start;
}
