/* SPDX-License-Identifier: MIT */
/*
 * Fuzzer of the readers of programs: any bytes as a program.
 *
 * An accepted file is read whole: functions by all their names, USDT probes with all their
 * arguments, unwind tables, libraries; all results lie inside of the file. Then all of it is
 * resolved and labelled as the recorder does. The functions that the recorder runs in a child
 * process (elf_child.h) run in this one, on top of libelf.
 * In a second turn the bytes are the answer of such a child: the parent must not trust it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "trace/base/log.h"
#include "trace/base/text.h"
#include "user/elf/elf_child.h"
#include "user/elf/elf_file.h"
#include "user/elf/libraries.h"
#include "user/probes/resolve.h"
#include "user/elf/functions.h"
#include "user/elf/unwind.h"
#include "user/elf/usdt.h"
#include "user/probes/usdt_argument.h"
#include "fuzz.h"

/* The answer of all children, if not NULL. */
static const uint8_t *forged;
static size_t forged_size;

int elf_child_run(int fd, elf_child_work work, void *arg, struct elf_answer *answer)
{
	Elf *elf;

	*answer = (struct elf_answer){0};
	if (forged) {
		if (forged_size)
			bytes_put(&answer->bytes, forged, forged_size);
		return 0;
	}
	elf = elf_section_begin(fd);
	work(&answer->bytes, elf, arg);
	elf_end(elf);
	return 0;
}

const char *elf_child_error(int err)
{
	return err == -ENOMEM ? NULL : "is damaged";
}

/* A file of these bytes; the same one is used again and again. */
static int file_of(const uint8_t *data, size_t size)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);

	MUST(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	return fd;
}

static void read_functions(const struct elf_file *file)
{
	static const char *const names[] = {"main", "*", "f@V", "ns::f", "a*[", "\\", ""};
	struct functions functions;

	if (functions_read(&functions, file, "/proc/self/fdinfo", "none"))
		return;
	for (size_t i = 0; i < functions.count; i++) {
		const struct function *f = &functions.list[i];

		MUST(f->offset < file->size && f->size <= file->size - f->offset);
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
	functions_free(&functions);
}

static void read_probes(const struct elf_file *file)
{
	struct usdt_probes probes;

	if (usdt_read(&probes, file))
		return;
	for (size_t i = 0; i < probes.count; i++) {
		const struct usdt_probe *p = &probes.list[i];
		unsigned count = usdt_arguments(p->arguments);

		MUST(p->offset < file->size && p->semaphore < file->size);
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

static void read_frames(const struct elf_file *file)
{
	struct unwind_frame frame;
	bool throws;

	if (unwind_throws(file, &throws))
		return;
	for (uint64_t address = 0; address < 0x3000; address += 0x35)
		if (unwind_frame_at(file, address, &frame))
			MUST(address - frame.begin < frame.size);
}

static int see_library(const char *name, const char *path, void *arg)
{
	(void)arg;
	MUST(name && path);
	return 0;
}

static void read_libraries(int fd)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	MUST(!libraries_needed("", path, see_library, NULL));
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
	if (resolve_sites(&sites, &requests, &scope)) {
		requests_free(&requests);
		return;
	}
	for (size_t i = 0; i < sites.count; i++) {
		const struct site *s = &sites.list[i];
		const char *end = s->label + strlen(s->label);
		size_t n;

		MUST(end - s->label <= RESOLVE_LABEL_MAX && end > s->label);
		for (const char *c = s->label; c < end; c += n) {
			n = text_char(c, end);
			MUST(n && text_printable(c, n));
		}
		MUST(!i || s[-1].offset < s->offset ||
		     (s[-1].offset == s->offset && s[-1].kind != s->kind));
	}
	resolve_free(&sites);
	requests_free(&requests);
}

static void read_all(int fd)
{
	struct elf_file file;
	int again = dup(fd), err;

	if (elf_file_attach(&file, again, &err))
		return;
	read_functions(&file);
	read_probes(&file);
	read_frames(&file);
	elf_file_close(&file);
	if (!forged || forged_size < 256) /* each name costs a search */
		read_libraries(fd);
	resolve_all(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int program = -1;
	int fd = file_of(data, size);

	log_setup("fuzz", (enum log_level) - 1);
	if (program < 0)
		program = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	MUST(program >= 0);
	forged = NULL;
	read_all(fd);
	forged = data;
	forged_size = size;
	read_all(program);
	close(fd);
	return 0;
}
