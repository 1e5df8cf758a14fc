/* SPDX-License-Identifier: MIT */
#include "trace/base/json_tokens.h"

#include <stdlib.h>
#include <string.h>

void tokens_resume(struct tokens *t, struct inflow *in, unsigned depth, bool first)
{
	t->in = in;
	t->why = NULL;
	t->where = 0;
	t->is_cut = false;
	t->no_memory = false;
	t->depth = depth;
	t->first = first;
	t->in_object = 0;
	if (depth > 1)
		t->in_object = (1ull << (depth - 1)) - 1; /* all but the innermost */
}

void tokens_init(struct tokens *t, struct inflow *in)
{
	tokens_resume(t, in, 0, true);
}

bool tokens_refuse(struct tokens *t, const char *why)
{
	if (!t->why) {
		t->why = why;
		t->where = inflow_offset(t->in);
	}
	return false;
}

bool tokens_no_memory(struct tokens *t)
{
	t->no_memory = true;
	return tokens_refuse(t, "out of memory");
}

/* The file ends too early. */
static bool cut(struct tokens *t)
{
	if (!t->why)
		t->is_cut = true;
	return tokens_refuse(t, "the file ends here");
}

/* The next byte that is no blank, which stays next; -1 at the end. */
static int solid(struct tokens *t)
{
	int c = inflow_peek_byte(t->in);

	while (c == ' ' || c == '\n' || c == '\r' || c == '\t') {
		inflow_skip(t->in, 1);
		c = inflow_peek_byte(t->in);
	}
	return c;
}

static bool hex4(struct tokens *t, uint32_t *out)
{
	const uint8_t *at = inflow_peek(t->in, 4);

	if (!at)
		return cut(t);
	*out = 0;
	for (int i = 0; i < 4; i++) {
		uint8_t c = at[i], low = (uint8_t)(c | 0x20);

		if (c >= '0' && c <= '9')
			*out = *out << 4 | (uint32_t)(c - '0');
		else if (low >= 'a' && low <= 'f')
			*out = *out << 4 | (uint32_t)(low - 'a' + 10);
		else
			return tokens_refuse(t, "\\u needs four hexadecimal digits");
	}
	inflow_skip(t->in, 4);
	return true;
}

/* A character as UTF-8: its length. */
static size_t utf8(uint32_t c, char out[4])
{
	static const uint32_t limits[] = {0x80, 0x800, 0x10000};
	static const uint8_t first_bytes[] = {0, 0xc0, 0xe0, 0xf0};
	size_t len = 1;

	while (len < 4 && c >= limits[len - 1])
		len++;
	for (size_t i = len - 1; i > 0; i--, c >>= 6)
		out[i] = (char)(0x80 | (c & 0x3f));
	out[0] = (char)(first_bytes[len - 1] | c);
	return len;
}

/* The character behind "\u", as UTF-8 in `out`: its length, 0 after a mistake. */
static size_t escaped(struct tokens *t, char out[4])
{
	uint32_t c = 0, low = 0;
	const uint8_t *at;

	if (!hex4(t, &c))
		return 0;
	if (c >= 0xd800 && c < 0xdc00) {
		at = inflow_peek(t->in, 2);
		if (!at || at[0] != '\\' || at[1] != 'u') {
			tokens_refuse(t, "half a character (\\ud8xx without \\udcxx)");
			return 0;
		}
		inflow_skip(t->in, 2);
		if (!hex4(t, &low))
			return 0;
		if (low < 0xdc00 || low > 0xdfff) {
			tokens_refuse(t, "half a character (\\ud8xx without \\udcxx)");
			return 0;
		}
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
	} else if (c == 0 || (c >= 0xdc00 && c <= 0xdfff)) {
		tokens_refuse(t, c ? "half a character (\\udcxx alone)"
				   : "the character \\u0000 is not supported");
		return 0;
	}
	return utf8(c, out);
}

/* A string from its quote on; into t->text if `keep`. */
static bool string(struct tokens *t, size_t *len, bool keep)
{
	size_t n = 0;

	inflow_skip(t->in, 1);
	for (;;) {
		int c = inflow_peek_byte(t->in);
		char out[4];
		size_t size = 1;

		if (c < 0)
			return cut(t);
		/* others are not escaped by upstream */
		if (c == 0 || c == '\n' || c == '\r' || c == '\t')
			return tokens_refuse(t, "a control character inside a string");
		inflow_skip(t->in, 1);
		if (c == '"')
			break;
		out[0] = (char)c;
		if (c == '\\') {
			static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
			const char *which;

			c = inflow_peek_byte(t->in);
			if (c < 0)
				return cut(t);
			which = strchr(from, c);
			if (c == 'u') {
				inflow_skip(t->in, 1);
				size = escaped(t, out);
				if (size == 0)
					return false;
			} else if (c != 0 && which) {
				inflow_skip(t->in, 1);
				out[0] = to[which - from];
			} else {
				return tokens_refuse(t, "no such escape in a string");
			}
		}
		if (!keep)
			continue;
		if (n + size >= sizeof(t->text))
			return tokens_refuse(t, "a string longer than 4095 bytes");
		memcpy(t->text + n, out, size);
		n += size;
	}
	t->text[n] = '\0';
	*len = n;
	return true;
}

static bool digits(struct tokens *t, size_t *n, struct token *v)
{
	size_t before = *n;
	int c = inflow_peek_byte(t->in);

	while (c >= '0' && c <= '9') {
		uint64_t digit = (uint64_t)(c - '0');

		if (*n + 1 >= sizeof(t->text))
			return tokens_refuse(t, "a number of more than 4095 digits");
		t->text[(*n)++] = (char)c;
		if (v->is_integer) {
			if (v->integer > (UINT64_MAX - digit) / 10)
				v->is_huge = true;
			v->integer = 10 * v->integer + digit;
		}
		inflow_skip(t->in, 1);
		c = inflow_peek_byte(t->in);
	}
	if (*n == before)
		return c < 0 ? cut(t) : tokens_refuse(t, "a digit is missing here");
	return true;
}

static bool number(struct tokens *t, struct token *v)
{
	size_t n = 0, start;
	int c = inflow_peek_byte(t->in);

	v->type = TOKEN_NUMBER;
	v->is_integer = true;
	v->is_negative = v->is_huge = false;
	v->integer = 0;
	if (c == '-') {
		t->text[n++] = '-';
		v->is_negative = true;
		inflow_skip(t->in, 1);
	}
	start = n;
	if (!digits(t, &n, v))
		return false;
	if (t->text[start] == '0' && n > start + 1)
		return tokens_refuse(t, "a number must not start with a zero");
	if (v->integer == 0 && !v->is_huge)
		v->is_negative = false;
	c = inflow_peek_byte(t->in);
	if (c == '.') {
		v->is_integer = false;
		t->text[n++] = '.';
		inflow_skip(t->in, 1);
		if (!digits(t, &n, v))
			return false;
		c = inflow_peek_byte(t->in);
	}
	if (c == 'e' || c == 'E') {
		v->is_integer = false;
		if (n + 2 >= sizeof(t->text))
			return tokens_refuse(t, "a number of more than 4095 digits");
		t->text[n++] = 'e';
		inflow_skip(t->in, 1);
		c = inflow_peek_byte(t->in);
		if (c == '+' || c == '-') {
			t->text[n++] = (char)c;
			inflow_skip(t->in, 1);
		}
		if (!digits(t, &n, v))
			return false;
	}
	t->text[n] = '\0';
	v->text = t->text;
	v->len = n;
	return true;
}

static bool word(struct tokens *t, const char *letters)
{
	size_t len = strlen(letters), rest = inflow_fill(t->in, len);

	if (memcmp(t->in->buf + t->in->at, letters, rest < len ? rest : len) != 0)
		return tokens_refuse(t, "no value starts like this");
	if (rest < len)
		return cut(t);
	inflow_skip(t->in, len);
	return true;
}

static bool open_bracket(struct tokens *t, bool object)
{
	if (t->depth >= TOKENS_DEPTH)
		return tokens_refuse(t, "nested deeper than 64 levels");
	t->in_object &= ~(1ull << t->depth);
	t->in_object |= (uint64_t)object << t->depth;
	t->depth++;
	t->first = true;
	inflow_skip(t->in, 1);
	return true;
}

static bool value(struct tokens *t, struct token *v, bool keep)
{
	int c;

	if (t->why)
		return false;
	c = solid(t);
	switch (c) {
	case -1:
		return cut(t);
	case '{':
	case '[':
		v->type = c == '{' ? TOKEN_OBJECT : TOKEN_ARRAY;
		return open_bracket(t, c == '{');
	case '"':
		v->type = TOKEN_STRING;
		v->text = t->text;
		return string(t, &v->len, keep);
	case 't':
		v->type = TOKEN_BOOL;
		v->truth = true;
		return word(t, "true");
	case 'f':
		v->type = TOKEN_BOOL;
		v->truth = false;
		return word(t, "false");
	case 'n':
		v->type = TOKEN_NULL;
		return word(t, "null");
	default:
		if (c == '-' || (c >= '0' && c <= '9'))
			return number(t, v);
		return tokens_refuse(t, "no value starts like this");
	}
}

bool tokens_value(struct tokens *t, struct token *v)
{
	return value(t, v, true);
}

/* Reads the text before the next member. Returns 1, or 0 after the closing bracket, or -1 after a
 * mistake. */
static int member(struct tokens *t, int closing)
{
	int c;

	if (t->why)
		return -1;
	c = solid(t);
	if (c < 0) {
		cut(t);
		return -1;
	}
	if (c == closing) {
		inflow_skip(t->in, 1);
		t->depth--;
		t->first = false;
		return 0;
	}
	if (!t->first) {
		if (c != ',') {
			tokens_refuse(t, "a comma or the closing bracket is missing");
			return -1;
		}
		inflow_skip(t->in, 1);
	}
	t->first = false;
	return 1;
}

static int next_key(struct tokens *t, bool keep)
{
	size_t len;
	int c, more = member(t, '}');

	if (more <= 0)
		return more;
	c = solid(t);
	if (c < 0) {
		cut(t);
		return -1;
	}
	if (c != '"') {
		tokens_refuse(t, "a key in quotes is missing");
		return -1;
	}
	if (!string(t, &len, keep))
		return -1;
	c = solid(t);
	if (c != ':') {
		if (c < 0)
			cut(t);
		tokens_refuse(t, "a colon is missing after a key");
		return -1;
	}
	inflow_skip(t->in, 1);
	return 1;
}

int tokens_key(struct tokens *t, const char **key)
{
	*key = t->text;
	return next_key(t, true);
}

int tokens_element(struct tokens *t)
{
	return member(t, ']');
}

bool tokens_leave(struct tokens *t)
{
	unsigned least = t->depth;
	struct token v;

	while (t->depth >= least) {
		bool object = t->in_object >> (t->depth - 1) & 1;
		int more = object ? next_key(t, false) : member(t, ']');

		if (more < 0 || (more > 0 && !value(t, &v, false)))
			return false;
	}
	return true;
}

bool tokens_skip(struct tokens *t)
{
	struct token v;

	if (!value(t, &v, false))
		return false;
	if (v.type != TOKEN_ARRAY && v.type != TOKEN_OBJECT)
		return true;
	return tokens_leave(t);
}

bool tokens_end(struct tokens *t)
{
	if (t->why)
		return false;
	return solid(t) < 0 ? true : tokens_refuse(t, "text behind the end of the document");
}

bool tokens_unsigned(struct tokens *t, unsigned bits, void *to)
{
	static const char *const wrong[] = {
		[8] = "this must be an integer from 0 to 255",
		[16] = "this must be an integer from 0 to 65535",
		[32] = "this must be an integer of 32 bits, from 0 on",
		[64] = "this must be an integer of 64 bits, from 0 on",
	};
	struct token v;

	if (!tokens_value(t, &v))
		return false;
	if (!token_fits(&v, UINT64_MAX >> (64 - bits)))
		return tokens_refuse(t, wrong[bits]);
	switch (bits) {
	case 8:
		*(uint8_t *)to = (uint8_t)v.integer;
		break;
	case 16:
		*(uint16_t *)to = (uint16_t)v.integer;
		break;
	case 32:
		*(uint32_t *)to = (uint32_t)v.integer;
		break;
	default:
		*(uint64_t *)to = v.integer;
		break;
	}
	return true;
}

double token_real(const struct token *v)
{
	return strtod(v->text, NULL);
}
