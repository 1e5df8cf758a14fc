/* SPDX-License-Identifier: MIT */
/*
 * Fuzzer of signatures: a line of text as the declaration of an event, and the rest as its
 * arguments. Nothing outside of the arguments is read.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/catalog/signature.h"
#include "fuzz.h"

static void read_all(const struct signature *sig, const struct event *ev)
{
	for (unsigned i = 0; i < sig->nargs + 2; i++) {
		size_t n = signature_count(sig, ev, i), len;
		int64_t value, first = 0;
		const char *text = signature_str(sig, ev, i, &len);

		if (text) {
			MUST(n == 1 && sig->args[i].type == ARG_STR && strlen(text) == len);
			MUST((const uint8_t *)text >= ev->payload);
			MUST((const uint8_t *)text + len < ev->payload + ev->payload_size);
			continue;
		}
		for (size_t k = 0; k < n; k++)
			MUST(signature_nth(sig, ev, i, k, &value));
		MUST(!signature_nth(sig, ev, i, n, &value));
		MUST(signature_nth(sig, ev, i, 0, &first) == (n > 0));
		MUST(n <= 1 || sig->args[i].many);
		/* a missing argument hides all that follow */
		if (n == 0 && i < sig->nargs && !sig->args[i].many)
			MUST(signature_count(sig, ev, i + 1) == 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *line = memchr(data, '\n', size);
	size_t len = line ? (size_t)(line - data) : size;
	char *text = malloc(len + 1);
	uint8_t *payload = malloc(size - len + 1);
	struct signature sig;
	struct event ev = {0};

	MUST(text && payload);
	memcpy(text, data, len);
	text[len] = '\0';
	if (signature_parse(&sig, text) == 0) {
		MUST(sig.nargs <= SIGNATURE_ARGS_MAX && sig.required <= sig.nargs);
		/* after the newline, every size of the payload, each with nothing behind it */
		for (size_t n = 0; line && n < size - len && n < 64; n++) {
			uint8_t *exact = malloc(n ? n : 1);

			MUST(exact);
			memcpy(exact, line + 1, n);
			ev.payload = exact;
			ev.payload_size = (uint32_t)n;
			ev.jumbo = false;
			read_all(&sig, &ev);
			ev.jumbo = true;
			read_all(&sig, &ev);
			free(exact);
		}
	}
	free(payload);
	free(text);
	return 0;
}
