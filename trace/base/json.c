/* SPDX-License-Identifier: MIT */
/* json: reading, building and writing trees (see json.h; json_parse.c makes them from text). */
#include "trace/base/json_tree.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/text.h"

#define EXACT 9007199254740992.0 /* 2^53: integers up to it are exact in a double */

/* ---- reading ---- */

const struct json *json_key(const struct json *node, const char *key)
{
	return json_own(cJSON_GetObjectItemCaseSensitive(json_tree(node), key));
}

/* The child at the first key of a dotted path; *dotted moves to what is left, NULL at the end. */
static cJSON *descend(const cJSON *node, const char **dotted)
{
	const char *key = *dotted, *dot = strchrnul(key, '.');
	size_t len = (size_t)(dot - key);
	cJSON *child = cJSON_IsObject(node) ? node->child : NULL;

	*dotted = *dot ? dot + 1 : NULL;
	while (child && (strncmp(child->string, key, len) || child->string[len]))
		child = child->next;
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
	char *end;

	if (text) {
		unsigned long long value;

		if (*text < '0' || *text > '9') /* strtoull() takes blanks and signs */
			return false;
		errno = 0;
		value = strtoull(text, &end, 10);
		if (errno || *end)
			return false;
		*out = value;
		return true;
	}
	if (!json_is_number(node) || number < 0 || number > EXACT || number != floor(number))
		return false;
	*out = (uint64_t)number;
	return true;
}

bool json_i64(const struct json *node, int64_t *out)
{
	const char *text = json_string(node);
	double number = json_number(node);
	char *end;

	if (text) {
		const char *digits = text + (*text == '-');
		long long value;

		if (*digits < '0' || *digits > '9')
			return false;
		errno = 0;
		value = strtoll(text, &end, 10);
		if (errno || *end)
			return false;
		*out = value;
		return true;
	}
	if (!json_is_number(node) || fabs(number) > EXACT || number != floor(number))
		return false;
	*out = (int64_t)number;
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

/* Puts `item`, which it takes over, at `dotted` below `node`. */
static struct json *put(struct json *node, const char *dotted, cJSON *item)
{
	cJSON *at = json_tree(node), *child;
	const char *key;

	if (!item || !at)
		goto fail;
	if (!dotted) {
		if (!cJSON_IsArray(at) || !cJSON_AddItemToArray(at, item))
			goto fail;
		return json_own(item);
	}
	for (;;) {
		if (!cJSON_IsObject(at))
			goto fail;
		key = dotted;
		child = descend(at, &dotted);
		if (!dotted)
			break;
		if (!child) {
			char *name = strndup(key, (size_t)(dotted - key) - 1);

			child = name ? cJSON_AddObjectToObject(at, name) : NULL;
			free(name);
			if (!child)
				goto fail;
		}
		at = child;
	}
	if (child)
		cJSON_Delete(cJSON_DetachItemViaPointer(at, child));
	if (!cJSON_AddItemToObject(at, key, item))
		goto fail;
	return json_own(item);
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
	return put(node, dotted, cJSON_CreateString(value));
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
		} else if (n > 1) {
			fwrite(text, 1, n, out);
		} else if (*text == '"' || *text == '\\') {
			fprintf(out, "\\%c", *text);
		} else if (*text == '\n') {
			fputs("\\n", out);
		} else if (*text == '\t') {
			fputs("\\t", out);
		} else if ((unsigned char)*text < 0x20) {
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
		const cJSON *child;

		fputc(object ? '{' : '[', out);
		for (child = node->child; child; child = child->next) {
			fprintf(out, "\n%*s", 4 * (depth + 1), "");
			if (object) {
				write_string(out, child->string);
				fputs(": ", out);
			}
			write_node(out, child, depth + 1);
			if (child->next)
				fputc(',', out);
		}
		fprintf(out, "\n%*s%c", 4 * depth, "", object ? '}' : ']');
	} else if (object || cJSON_IsArray(node)) {
		fputs(object ? "{}" : "[]", out);
	} else {
		fputs("null", out);
	}
}

char *json_text(const struct json *node)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	bool failed;

	if (!out)
		return NULL;
	write_node(out, json_tree(node), 0);
	fputc('\n', out);
	failed = ferror(out);
	if (fclose(out) != 0 || failed) {
		free(text);
		return NULL;
	}
	return text;
}
