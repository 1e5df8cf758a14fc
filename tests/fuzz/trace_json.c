/* SPDX-License-Identifier: MIT */
/*
 * Fuzzer of the metadata: any text as a JSON document.
 *
 * Accepted documents are walked by every reader, and written: the text of a document in UTF-8 is
 * accepted again, and written again it has the same bytes.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/json.h"
#include "trace/base/log.h"
#include "trace/base/text.h"
#include "fuzz.h"

/* True if all the strings and keys are UTF-8. */
static bool walk(const struct json *node, unsigned depth)
{
	int types = json_is_object(node) + json_is_array(node) + json_is_number(node) +
		    json_is_string(node) + json_is_bool(node);
	const char *text = json_string(node);
	bool utf8 = true;
	size_t n = 0, len;
	uint64_t u;
	int64_t i;

	MUST(node && types <= 1 && depth <= 1000);
	MUST(isfinite(json_number(node)));
	json_int(node);
	json_u64(node, &u);
	json_i64(node, &i);
	for (const char *at = text; text && *at && utf8; at += len) {
		len = text_char(at, at + strlen(at));
		utf8 = len > 0;
	}
	for (const struct json *c = json_first(node); c; c = json_next(c), n++) {
		const char *name = json_name(c);

		MUST((name != NULL) == json_is_object(node));
		/* no other child has its name */
		if (name)
			MUST(json_key(node, name) == c);
		for (const char *at = name; name && *at && utf8; at += len) {
			len = text_char(at, at + strlen(at));
			utf8 = len > 0;
		}
		utf8 = walk(c, depth + 1) && utf8;
	}
	MUST(n == json_count(node));
	return utf8;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct json *doc, *again;
	char *text, *same;

	log_setup("fuzz", (enum log_level) - 1);
	doc = json_parse((const char *)data, size, "fuzz");
	if (!doc)
		return 0;
	json_get(doc, "ovni.lib.version");
	if (walk(doc, 0)) {
		text = json_text(doc);
		MUST(text);
		again = json_parse(text, strlen(text), "fuzz");
		MUST(again);
		same = json_text(again);
		MUST(same && !strcmp(text, same));
		json_free(again);
		free(same);
		free(text);
	}
	json_put_int(doc, "a.b.c", 1);
	json_put_string(doc, "a.b", "x");
	json_free(doc);
	return 0;
}
