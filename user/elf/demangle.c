/* SPDX-License-Identifier: MIT */
/* demangle: see demangle.h. */
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <string.h>

#include "user/elf/demangle.h"

struct output_dir {
	char *text;
	size_t length;
	jmp_buf full; /* the demangler cannot be told to stop */
};

static void append(const char *text, size_t length, void *opaque)
{
	struct output_dir *out = opaque;

	if (length >= DEMANGLE_MAX - out->length)
		longjmp(out->full, 1);
	memcpy(out->text + out->length, text, length);
	out->length += length;
}

bool demangle_possible(const char *name)
{
	return name[0] == '_' && (name[1] == 'Z' || name[1] == 'R');
}

size_t demangle(char out[DEMANGLE_MAX], const char *name, enum demangle_form form)
{
	static const int options[] = {
		[DEMANGLE_NAME] = DMGL_ANSI,
		[DEMANGLE_PARAMETERS] = DMGL_PARAMS | DMGL_ANSI | DMGL_RET_DROP,
		[DEMANGLE_WHOLE] = DMGL_PARAMS | DMGL_ANSI,
	};
	struct output_dir output = {.text = out};

	if (!demangle_possible(name) || strnlen(name, DEMANGLE_MAX) == DEMANGLE_MAX)
		return 0;
	if (setjmp(output.full))
		return 0;
	/* the older names of Rust look like those of C++ */
	if (!rust_demangle_callback(name, options[form], append, &output)) {
		output.length = 0;
		if (!cplus_demangle_v3_callback(name, options[form], append, &output))
			return 0;
	}
	out[output.length] = '\0';
	/* a NUL inside, or nothing, is no name */
	return strlen(out) == output.length ? output.length : 0;
}
