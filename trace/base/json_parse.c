/* SPDX-License-Identifier: MIT */
/*
 * json, the parser: first the letters, then the tree (cJSON), then its keys and places.
 */
#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/base/json_tree.h"
#include "trace/base/log.h"

#define FILE_MAX (64u << 20)

/* ---- letters ---- */

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
		/* a NUL would end the string early and hide what follows */
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
 * What cJSON accepts and must not, and where the root ends: comments, control
 * characters, trailing commas, the forms and range of numbers, depth. The
 * grammar itself is left to cJSON.
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

/* Notes the line of `node` and all below it. Of a node that is no number nothing, and of a number
 * only its printing, looks at the integer in which it is kept: there it is a hint. */
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

	for (child = node->child; child && !err; child = child->next) {
		err = check_keys(child, path);
		n++;
	}
	if (err || !cJSON_IsObject(node) || n < 2)
		return err;
	sorted = malloc(n * sizeof(*sorted));
	if (!sorted) {
		log_error("%s: no memory to read it", path);
		return -ENOMEM;
	}
	for (child = node->child; child; child = child->next)
		sorted[i++] = child;
	qsort(sorted, n, sizeof(*sorted), by_name);
	for (i = 1; i < n && !err; i++) {
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
		log_error("%s: no memory to read it", path);
		return NULL;
	}
	if (size)
		memcpy(s.clean, text, size);
	if (scan(&s) < 0)
		goto out;
	errno = 0;
	root = cJSON_ParseWithLengthOpts(s.clean, s.end, &stop, 0);
	if (!root && errno == ENOMEM) {
		log_error("%s: no memory to read it", path);
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

struct json *json_load(int dirfd, const char *path)
{
	struct json *root = NULL;
	char *text = NULL;
	struct stat st;
	size_t got = 0;
	int fd;

	/* without blocking, should it be a pipe */
	fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st) < 0) {
		log_error("%s: cannot open: %s", path, strerror(errno));
		goto out;
	}
	if (!S_ISREG(st.st_mode)) {
		log_error("%s: not a regular file", path);
		goto out;
	}
	if (st.st_size > FILE_MAX) {
		log_error("%s: larger than %u MiB", path, FILE_MAX >> 20);
		goto out;
	}
	text = malloc((size_t)st.st_size + 1);
	if (!text) {
		log_error("%s: no memory to read it", path);
		goto out;
	}
	while (got < (size_t)st.st_size) {
		ssize_t n = read(fd, text + got, (size_t)st.st_size - got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			log_error("%s: cannot read: %s", path, strerror(errno));
			goto out;
		}
		if (n == 0)
			break;
		got += (size_t)n;
	}
	root = json_parse(text, got, path);
out:
	free(text);
	if (fd >= 0)
		close(fd);
	return root;
}

void json_free(struct json *root)
{
	cJSON_Delete(json_tree(root));
}
