/* SPDX-License-Identifier: MIT */
/*
 * json: see json.h. A tree is one of cJSON under another name: only this file knows that. The
 * parser first checks the characters, then builds the tree, then checks keys and notes lines.
 */
#include "trace/base/json.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/base/files/input.h"
#include "trace/base/log.h"
#include "trace/base/text.h"

#define EXACT 9007199254740992.0 /* 2^53: integers up to it are exact in a double */

static inline cJSON *json_tree(const struct json *node)
{
	return (cJSON *)node;
}

static inline struct json *json_own(const cJSON *node)
{
	return (struct json *)node;
}

/* ---- reading ---- */

const struct json *json_key(const struct json *node, const char *key)
{
	return json_own(cJSON_GetObjectItemCaseSensitive(json_tree(node), key));
}

/* The child at the first key of a dotted path; *dotted moves to the rest, NULL at the end. */
static cJSON *descend(const cJSON *node, const char **dotted)
{
	const char *key = *dotted, *dot = strchrnul(key, '.');
	size_t len = (size_t)(dot - key);
	cJSON *child = cJSON_IsObject(node) ? node->child : NULL;

	*dotted = *dot ? dot + 1 : NULL;
	for (; child; child = child->next) {
		if (len && *child->string != *key) /* most of them */
			continue;
		if (!strncmp(child->string, key, len) && !child->string[len])
			break;
	}
	return child;
}

const struct json *json_get(const struct json *node, const char *dotted)
{
	const cJSON *at = json_tree(node);

	while (at && dotted)
		at = descend(at, &dotted);
	return json_own(at);
}

unsigned json_line(const struct json *node)
{
	return node ? (unsigned)json_tree(node)->valueint : 0;
}

bool json_is_object(const struct json *node)
{
	return cJSON_IsObject(json_tree(node));
}

bool json_is_array(const struct json *node)
{
	return cJSON_IsArray(json_tree(node));
}

bool json_is_number(const struct json *node)
{
	return cJSON_IsNumber(json_tree(node));
}

bool json_is_string(const struct json *node)
{
	return cJSON_IsString(json_tree(node));
}

bool json_is_bool(const struct json *node)
{
	return cJSON_IsBool(json_tree(node));
}

const char *json_string(const struct json *node)
{
	return json_is_string(node) ? json_tree(node)->valuestring : NULL;
}

double json_number(const struct json *node)
{
	return json_is_number(node) ? json_tree(node)->valuedouble : 0;
}

int64_t json_int(const struct json *node)
{
	double number = json_number(node);

	if (number >= 9223372036854775808.0)
		return INT64_MAX;
	if (number < -9223372036854775808.0)
		return INT64_MIN;
	return (int64_t)number;
}

bool json_bool(const struct json *node)
{
	return cJSON_IsTrue(json_tree(node));
}

bool json_u64(const struct json *node, uint64_t *out)
{
	const char *text = json_string(node);
	double number = json_number(node);
	unsigned long long value;
	char *end;

	if (!text) {
		if (!json_is_number(node) || number < 0 || number > EXACT ||
		    number != floor(number))
			return false;
		*out = (uint64_t)number;
		return true;
	}
	if (*text < '0' || *text > '9') /* strtoull() takes blanks and signs */
		return false;
	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || *end)
		return false;
	*out = value;
	return true;
}

bool json_i64(const struct json *node, int64_t *out)
{
	const char *text = json_string(node);
	double number = json_number(node);
	long long value;
	char *end;

	if (!text) {
		if (!json_is_number(node) || fabs(number) > EXACT || number != floor(number))
			return false;
		*out = (int64_t)number;
		return true;
	}
	if (text[*text == '-'] < '0' || text[*text == '-'] > '9')
		return false;
	errno = 0;
	value = strtoll(text, &end, 10);
	if (errno || *end)
		return false;
	*out = value;
	return true;
}

const struct json *json_first(const struct json *node)
{
	return json_is_object(node) || json_is_array(node) ? json_own(json_tree(node)->child)
							   : NULL;
}

const struct json *json_next(const struct json *node)
{
	return node ? json_own(json_tree(node)->next) : NULL;
}

const char *json_name(const struct json *node)
{
	return node ? json_tree(node)->string : NULL;
}

size_t json_count(const struct json *node)
{
	size_t n = 0;

	for (node = json_first(node); node; node = json_next(node))
		n++;
	return n;
}

/* ---- building ---- */

struct json *json_new_object(void)
{
	return json_own(cJSON_CreateObject());
}

#define INCOMPLETE                                                                                 \
	(1 << 16) /* bit of cJSON.type: memory was missing when something was put here             \
		   */

/* Puts `item`, which it takes over, at `dotted` below `node`. */
static struct json *put(struct json *node, const char *dotted, cJSON *item)
{
	cJSON *at = json_tree(node), *child;
	const char *key;

	if (!item || !at)
		goto no_memory;
	if (!dotted) {
		if (!cJSON_IsArray(at))
			goto fail;
		if (!cJSON_AddItemToArray(at, item))
			goto no_memory;
		return json_own(item);
	}
	for (;;) {
		if (!cJSON_IsObject(at))
			goto fail;
		key = dotted;
		child = descend(at, &dotted);
		if (!dotted)
			break;
		if (child && !cJSON_IsObject(child)) { /* damaged, or of another program */
			cJSON_Delete(cJSON_DetachItemViaPointer(at, child));
			child = NULL;
		}
		if (!child) {
			char *name = strndup(key, (size_t)(dotted - key) - 1);

			child = name ? cJSON_AddObjectToObject(at, name) : NULL;
			free(name);
			if (!child)
				goto no_memory;
		}
		at = child;
	}
	if (child)
		cJSON_Delete(cJSON_DetachItemViaPointer(at, child));
	if (!cJSON_AddItemToObject(at, key, item))
		goto no_memory;
	return json_own(item);
no_memory:
	if (node)
		json_tree(node)->type |= INCOMPLETE;
fail:
	cJSON_Delete(item);
	return NULL;
}

struct json *json_put_object(struct json *node, const char *dotted)
{
	return put(node, dotted, cJSON_CreateObject());
}

struct json *json_put_array(struct json *node, const char *dotted)
{
	return put(node, dotted, cJSON_CreateArray());
}

struct json *json_put_string(struct json *node, const char *dotted, const char *value)
{
	return value ? put(node, dotted, cJSON_CreateString(value)) : NULL;
}

struct json *json_put_int(struct json *node, const char *dotted, int64_t value)
{
	return put(node, dotted, cJSON_CreateNumber((double)value));
}

struct json *json_put_u64(struct json *node, const char *dotted, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	return json_put_string(node, dotted, text);
}

struct json *json_put_i64(struct json *node, const char *dotted, int64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%lld", (long long)value);
	return json_put_string(node, dotted, text);
}

struct json *json_put_real(struct json *node, const char *dotted, double value)
{
	return put(node, dotted, cJSON_CreateNumber(value));
}

struct json *json_put_bool(struct json *node, const char *dotted, bool value)
{
	return put(node, dotted, cJSON_CreateBool(value));
}

struct json *json_add_string(struct json *object, const char *key, const char *value)
{
	cJSON *item = cJSON_CreateString(value);

	if (item && json_is_object(object) && cJSON_AddItemToObject(json_tree(object), key, item))
		return json_own(item);
	if (object)
		json_tree(object)->type |= INCOMPLETE;
	cJSON_Delete(item);
	return NULL;
}

/* ---- writing ---- */

static void write_string(FILE *out, const char *text)
{
	const char *end = text + strlen(text);

	fputc('"', out);
	while (text < end) {
		size_t n = text_char(text, end);

		if (n == 0) { /* not UTF-8: a JSON document cannot hold it */
			fprintf(out, "\\\\x%02x", (unsigned char)*text);
			n = 1;
		} else if (n > 1 && !text_printable(text, n)) { /* U+0080, U+202E ... */
			fprintf(out, "\\u%04x", (unsigned)text_code(text, n));
		} else if (n > 1) {
			fwrite(text, 1, n, out);
		} else if (*text == '"' || *text == '\\') {
			fprintf(out, "\\%c", *text);
		} else if (*text == '\n') {
			fputs("\\n", out);
		} else if (*text == '\t') {
			fputs("\\t", out);
		} else if (!text_printable(text, 1)) {
			fprintf(out, "\\u%04x", (unsigned char)*text);
		} else {
			fputc(*text, out);
		}
		text += n;
	}
	fputc('"', out);
}

static void write_number(FILE *out, double number)
{
	char text[32];

	if (!isfinite(number)) {
		fputs("null", out); /* JSON has no other way to say so */
		return;
	}
	if (number == floor(number) && fabs(number) <= EXACT) {
		fprintf(out, "%.0f", number);
		return;
	}
	snprintf(text, sizeof(text), "%.15g", number);
	if (strtod(text, NULL) != number)
		snprintf(text, sizeof(text), "%.17g", number);
	fputs(text, out);
}

static void write_node(FILE *out, const cJSON *node, int depth);

static void write_children(FILE *out, const cJSON *child, bool object, int depth)
{
	for (; child; child = child->next) {
		fprintf(out, "\n%*s", 4 * depth, "");
		if (object) {
			write_string(out, child->string);
			fputs(": ", out);
		}
		write_node(out, child, depth);
		if (child->next)
			fputc(',', out);
	}
}

static void write_node(FILE *out, const cJSON *node, int depth)
{
	bool object = cJSON_IsObject(node);

	if (cJSON_IsString(node)) {
		write_string(out, node->valuestring);
	} else if (cJSON_IsNumber(node)) {
		write_number(out, node->valuedouble);
	} else if (cJSON_IsBool(node)) {
		fputs(cJSON_IsTrue(node) ? "true" : "false", out);
	} else if ((object || cJSON_IsArray(node)) && node->child) {
		fputc(object ? '{' : '[', out);
		write_children(out, node->child, object, depth + 1);
		fprintf(out, "\n%*s%c", 4 * depth, "", object ? '}' : ']');
	} else if (object || cJSON_IsArray(node)) {
		fputs(object ? "{}" : "[]", out);
	} else if (cJSON_IsRaw(node)) { /* json_pack() */
		fputs(node->valuestring, out);
	} else {
		fputs("null", out);
	}
}

static bool is_complete(const cJSON *node)
{
	for (const cJSON *child = node->child; child; child = child->next)
		if (!is_complete(child))
			return false;
	return !(node->type & INCOMPLETE);
}

char *json_text(const struct json *node)
{
	struct text_stream stream;

	if (!node || !is_complete(json_tree(node)) || !text_stream_open(&stream))
		return NULL;
	write_node(stream.out, json_tree(node), 0);
	fputc('\n', stream.out);
	return text_stream_close(&stream);
}

void json_pack(struct json *list, int depth)
{
	cJSON *array = json_tree(list), *first = array ? array->child : NULL, *next, *packed = NULL;
	struct text_stream stream;
	char *text;

	while (cJSON_IsRaw(first))
		first = first->next;
	for (next = first; next && is_complete(next); next = next->next)
		;
	if (!first)
		return;
	if (!next && text_stream_open(&stream)) {
		write_children(stream.out, first, false, depth + 1);
		text = text_stream_close(&stream);
		packed = text ? cJSON_CreateRaw(text + strspn(text, "\n ")) : NULL;
		free(text);
	}
	for (; first; first = next) {
		next = first->next;
		cJSON_Delete(cJSON_DetachItemViaPointer(array, first));
	}
	if (packed)
		cJSON_AddItemToArray(array, packed);
	else
		array->type |= INCOMPLETE;
}

/* ---- parsing: characters ---- */

struct scan {
	const char *path;
	const char *text; /* all of it, */
	size_t size;	  /* `size` bytes */
	char *clean;	  /* the same bytes and lines, with blanks where comments were */
	size_t end;	  /* where the root ends in both */
};

static int refuse(const struct scan *s, size_t at, const char *why)
{
	size_t line = 1, column = 1;

	for (size_t i = 0; i < at && i < s->size; i++) {
		column++;
		if (s->text[i] == '\n') {
			line++;
			column = 1;
		}
	}
	log_error("%s: line %zu, column %zu: %s", s->path, line, column, why);
	return -EINVAL;
}

/* The string that starts at `at`: returns the place after it, or 0 after a message. */
static size_t scan_string(const struct scan *s, size_t at)
{
	for (size_t i = at + 1; i < s->size; i++) {
		const char *c = &s->text[i];

		if (*c == '"')
			return i + 1;
		if ((unsigned char)*c < 0x20) {
			refuse(s, i, "a control character inside a string must be escaped");
			return 0;
		}
		if (*c != '\\')
			continue;
		/* a NUL would end the string early and hide its rest */
		if (s->size - i >= 6 && !memcmp(c, "\\u0000", 6)) {
			refuse(s, i, "the character \\u0000 is not supported");
			return 0;
		}
		i++;
	}
	refuse(s, at, "this string has no end");
	return 0;
}

/* The number that starts at `at`: returns the place after it, or 0 after a message. */
static size_t scan_number(const struct scan *s, size_t at)
{
	size_t end = at + strspn(s->clean + at, "+-.0123456789eE");
	size_t digits = at + (s->clean[at] == '-');
	char *stop;

	if (s->clean[digits] == '0' && s->clean[digits + 1] >= '0' && s->clean[digits + 1] <= '9') {
		refuse(s, at, "a number must not start with a zero");
		return 0;
	}
	if (isinf(strtod(s->clean + at, &stop))) {
		refuse(s, at, "this number is out of range");
		return 0;
	}
	return end;
}

/* The comment at `at`, blanked: returns the place after it, or 0 after a message. */
static size_t scan_comment(struct scan *s, size_t at)
{
	const char *start = s->text + at, *stop, *end = s->text + s->size;

	if (start[1] == '/') {
		stop = memchr(start, '\n', (size_t)(end - start));
		stop = stop ? stop : end;
	} else {
		stop = memmem(start + 2, (size_t)(end - start) - 2, "*/", 2);
		if (!stop) {
			refuse(s, at, "this comment has no end");
			return 0;
		}
		stop += 2;
	}
	for (char *c = s->clean + at; c < s->clean + (stop - s->text); c++)
		*c = *c == '\n' ? '\n' : ' ';
	return (size_t)(stop - s->text);
}

/*
 * Refuses input that cJSON accepts and must not: comments, control characters, trailing commas,
 * wrong forms and ranges of numbers, too much depth; and finds the end of the root. The grammar
 * itself is left to cJSON.
 */
static int scan(struct scan *s)
{
	unsigned depth = 0;
	char before = 0; /* the last character that was neither blank nor comment */
	size_t at = 0;

	if (s->size >= 3 && !memcmp(s->text, "\xef\xbb\xbf", 3))
		return refuse(s, 0, "a byte order mark is not allowed");
	while (at < s->size) {
		char c = s->text[at];
		size_t next = at + 1;

		if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
			at = next;
			continue;
		}
		if (c == '/' && next < s->size && (s->text[next] == '/' || s->text[next] == '*')) {
			at = scan_comment(s, at);
			if (at == 0)
				return -EINVAL;
			continue;
		}
		if ((unsigned char)c < 0x20)
			return refuse(s, at, "a control character is not allowed here");
		if (c == '"')
			next = scan_string(s, at);
		else if (c == '-' || (c >= '0' && c <= '9'))
			next = scan_number(s, at);
		if (next == 0)
			return -EINVAL;
		if (c == '{' || c == '[') {
			if (++depth > CJSON_NESTING_LIMIT)
				return refuse(s, at, "nested too deep");
		} else if (c == '}' || c == ']') {
			if (before == ',')
				return refuse(s, at, "a comma before this bracket is not allowed");
			if (depth <= 1) {
				s->end = next;
				return 0;
			}
			depth--;
		}
		before = c;
		at = next;
	}
	s->end = s->size;
	return 0;
}

static int by_name(const void *a, const void *b)
{
	const cJSON *const *x = a, *const *y = b;

	return strcmp((*x)->string, (*y)->string);
}

/* ---- places: the tree and its text are in the same order ---- */

struct placing {
	const struct scan *scan;
	size_t at;
	unsigned line;
};

static void move_on(struct placing *p, size_t bytes)
{
	for (size_t end = p->at + bytes; p->at < end && p->at < p->scan->end; p->at++)
		p->line += p->scan->clean[p->at] == '\n';
}

/* Bytes of the string at the present place, which scan_string() has accepted. */
static size_t string_bytes(const struct placing *p)
{
	size_t end = p->at + 1;

	while (end < p->scan->end && p->scan->clean[end] != '"')
		end += p->scan->clean[end] == '\\' ? 2 : 1;
	return end + 1 - p->at;
}

/* Notes the line of `node` and of all nodes below it, in the member valueint of cJSON, which only
 * the printing of numbers reads, and only as a hint. */
static void place(struct placing *p, cJSON *node)
{
	const char *text = p->scan->clean;

	move_on(p, strspn(text + p->at, " \t\r\n,]}"));
	if (node->string) {
		move_on(p, string_bytes(p));
		move_on(p, strspn(text + p->at, " \t\r\n:"));
	}
	node->valueint = (int)p->line;
	if (cJSON_IsObject(node) || cJSON_IsArray(node)) {
		move_on(p, 1);
		for (cJSON *child = node->child; child; child = child->next)
			place(p, child);
	} else if (cJSON_IsString(node)) {
		move_on(p, string_bytes(p));
	} else {
		move_on(p, strcspn(text + p->at, " \t\r\n,]}"));
	}
}

/* Refuses a key that is twice in one object, anywhere below `node`. */
static int check_keys(const cJSON *node, const char *path)
{
	size_t n = 0, i = 0;
	const cJSON *child, **sorted;
	int err = 0;

	for (child = node->child; child; child = child->next) {
		err = check_keys(child, path);
		if (err)
			return err;
		n++;
	}
	if (!cJSON_IsObject(node) || n < 2)
		return 0;
	sorted = malloc(n * sizeof(*sorted));
	if (!sorted)
		return log_no_memory("while reading %s", path);
	for (child = node->child; child; child = child->next)
		sorted[i++] = child;
	qsort(sorted, n, sizeof(*sorted), by_name);
	for (i = 1; i < n; i++) {
		if (strcmp(sorted[i - 1]->string, sorted[i]->string))
			continue;
		if (sorted[i]->valueint < sorted[i - 1]->valueint)
			sorted[i] = sorted[i - 1];
		if (node->string)
			log_error("%s: line %d: the key \"%s\" is repeated inside \"%s\"", path,
				  sorted[i]->valueint, sorted[i]->string, node->string);
		else
			log_error("%s: line %d: the key \"%s\" is repeated", path,
				  sorted[i]->valueint, sorted[i]->string);
		err = -EINVAL;
		break;
	}
	free(sorted);
	return err;
}

struct json *json_parse(const char *text, size_t size, const char *path)
{
	struct scan s = {.path = path, .text = text, .size = size};
	const char *stop = NULL;
	cJSON *root = NULL;

	s.clean = calloc(size + 1, 1);
	if (!s.clean) {
		log_no_memory("while reading %s", path);
		return NULL;
	}
	if (size)
		memcpy(s.clean, text, size);
	if (scan(&s) < 0)
		goto out;
	errno = 0;
	root = cJSON_ParseWithLengthOpts(s.clean, s.end, &stop, 0);
	if (!root && errno == ENOMEM) {
		log_no_memory("while reading %s", path);
		goto out;
	}
	if (!root) {
		refuse(&s, stop ? (size_t)(stop - s.clean) : 0, "this is not JSON");
		goto out;
	}
	place(&(struct placing){.scan = &s, .line = 1}, root);
	if (check_keys(root, path) < 0) {
		cJSON_Delete(root);
		root = NULL;
	}
out:
	free(s.clean);
	return json_own(root);
}

char *json_read(int dirfd, const char *path, size_t *size_read)
{
	char *text = NULL;
	uint64_t size;
	size_t got = 0;
	int fd;

	fd = input_open(dirfd, path, INPUT_TEXT_MAX, &size);
	if (fd < 0) {
		log_error("cannot open '%s': %s", path, input_why(fd, INPUT_TEXT_MAX));
		goto out;
	}
	text = malloc((size_t)size + 1);
	if (!text) {
		log_no_memory("while reading %s", path);
		goto out;
	}
	while (got < (size_t)size) {
		ssize_t n = read(fd, text + got, (size_t)size - got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			log_error("cannot read '%s': %s", path, strerror(errno));
			free(text);
			text = NULL;
			goto out;
		}
		if (n == 0)
			break;
		got += (size_t)n;
	}
	*size_read = got;
out:
	if (fd >= 0)
		close(fd);
	return text;
}

struct json *json_load(int dirfd, const char *path)
{
	size_t size;
	char *text = json_read(dirfd, path, &size);
	struct json *root = text ? json_parse(text, size, path) : NULL;

	free(text);
	return root;
}

void json_free(struct json *root)
{
	cJSON_Delete(json_tree(root));
}
