/* SPDX-License-Identifier: MIT */
/*
 * Fuzzer of what can be probed: any bytes as a program.
 *
 * What is accepted is read whole: functions by all their names, USDT probes with all their
 * arguments, what the dynamic linker is told; what is found lies inside of the file. Then all of it
 * is resolved and labelled as the recorder does.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "trace/base/log.h"
#include "trace/base/text.h"
#include "user/elf/dynamic.h"
#include "user/elf/frames.h"
#include "user/elf/elf_file.h"
#include "user/probes/resolve.h"
#include "user/elf/symbols.h"
#include "user/elf/usdt.h"
#include "user/probes/usdt_argument.h"
#include "fuzz.h"

/* A file of these bytes; the same one is used again and again. */
static int file_of(const uint8_t *data, size_t size)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);

	MUST(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	return fd;
}

static void read_functions(const struct image *image)
{
	static const char *const names[] = {"main", "*", "f@V", "ns::f", "a*[", "\\", ""};
	struct functions functions;

	MUST(!functions_read(&functions, image, "/proc/self/fdinfo", "none"));
	for (size_t i = 0; i < functions.count; i++) {
		const struct function *f = &functions.list[i];

		MUST(f->offset < image->size && f->size <= image->size - f->offset);
		MUST(*f->name && functions_at(&functions, f->offset));
		MUST(!i || f[-1].offset <= f->offset);
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		uint32_t *found;
		size_t count;
		bool glob;

		MUST(!functions_find(&functions, names[i], &found, &count, &glob));
		for (size_t k = 0; k < count; k++)
			MUST(found[k] < functions.count && (!k || found[k] > found[k - 1]));
		free(found);
	}
	functions_nearest(&functions, "mian");
	for (size_t i = 0; i < image->nsegments; i++) {
		uint64_t begin, bytes, offset, left;

		for (uint64_t at = 0; at < 64; at += 7)
			if (frame_at(image, image->segments[i].p_vaddr + at, &begin, &bytes))
				MUST(image_offset(image, begin, PF_X, &offset, &left) &&
				     bytes <= left);
	}
	functions_free(&functions);
}

static void read_probes(const struct image *image)
{
	struct usdt_probes probes;

	MUST(!usdt_read(&probes, image));
	for (size_t i = 0; i < probes.count; i++) {
		const struct usdt_probe *p = &probes.list[i];
		unsigned count = usdt_arguments(p->arguments);

		MUST(p->offset < image->size && p->semaphore < image->size);
		for (unsigned n = 1; n <= count + 1 && n < 20; n++) {
			static const unsigned machines[] = {EM_X86_64, EM_AARCH64};

			for (size_t m = 0; m < 2; m++) {
				struct site_value value;
				struct usdt_symbol symbol;

				if (usdt_argument(p->arguments, n, machines[m], &value, &symbol))
					continue;
				MUST(n <= count && value.bytes && value.bytes <= 8);
				MUST(strlen(symbol.name) < USDT_SYMBOL_MAX);
			}
		}
	}
	usdt_free(&probes);
}

static void resolve_all(int fd)
{
	static const struct resolve_scope scope = {.proc = "/proc", .root = ""};
	struct requests requests = {0};
	struct sites sites;
	char text[64];
	size_t at;

	snprintf(text, sizeof(text), "/proc/self/fd/%d:*", fd);
	MUST(!requests_add_functions(&requests, text, &at));
	snprintf(text, sizeof(text), "/proc/self/fd/%d:0x1040,f+1", fd);
	MUST(!requests_add_functions(&requests, text, &at));
	snprintf(text, sizeof(text), "/proc/self/fd/%d:*:*,arg1", fd);
	MUST(!requests_add_usdt(&requests, text, &at));
	for (size_t i = 0; i < requests.count; i++)
		requests.list[i].optional = true;
	MUST(!sites_resolve(&sites, &requests, &scope));
	for (size_t i = 0; i < sites.count; i++) {
		const struct site *s = &sites.list[i];
		const char *end = s->label + strlen(s->label);
		size_t n;

		MUST(end - s->label <= RESOLVE_LABEL_MAX && end > s->label);
		for (const char *c = s->label; c < end; c += n) {
			n = text_char(c, end);
			MUST(n && text_printable(c, n));
		}
		MUST(s->code_bytes <= SITE_CODE_BYTES);
		MUST(!i || s[-1].offset < s->offset ||
		     (s[-1].offset == s->offset && s[-1].kind != s->kind));
	}
	sites_free(&sites);
	requests_free(&requests);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dynamic dynamic;
	struct image image;
	int fd, again, err;

	log_setup("fuzz", (enum log_level) - 1);
	fd = file_of(data, size);
	again = dup(fd);
	if (!image_take(&image, fd, &err)) {
		read_functions(&image);
		read_probes(&image);
		if (dynamic_read(&dynamic, &image))
			MUST(!dynamic.soname || strlen(dynamic.soname) < size);
		dynamic_free(&dynamic);
		image_close(&image);
		resolve_all(again);
	}
	close(again);
	return 0;
}
