/* SPDX-License-Identifier: MIT */
/*
 * Fuzzer of the whole emulator: any bytes as the metadata and events of up to four streams and
 * as the table of clock offsets, with any options.
 *
 * The input is a byte of options and then parts: a byte that says of which file, a length
 * of two bytes, and that many bytes. An emulation ends with status 0, 1 or 3; without output
 * its verdict is the same; 0 is only for traces of which nothing was left out.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emu/emulation.h"
#include "emu/system/system.h"
#include "trace/ovni/event.h"
#include "trace/base/log.h"
#include "fuzz.h"

#define STREAMS 4
#define FILES	(2 * STREAMS + 1) /* two of each stream, and the offsets */

static char names[FILES][64];

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	MUST(mkdir("trace", 0755) == 0 && mkdir("out", 0755) == 0);
	for (int i = 0; i < STREAMS; i++) {
		char dir[32];

		snprintf(dir, sizeof(dir), "trace/%d", i);
		MUST(mkdir(dir, 0755) == 0);
		snprintf(names[2 * i], sizeof(names[0]), "%s/stream.json", dir);
		snprintf(names[2 * i + 1], sizeof(names[0]), "%s/" STREAM_DATA, dir);
	}
	snprintf(names[2 * STREAMS], sizeof(names[0]), "trace/" CLOCK_OFFSETS_FILE);
	return 0;
}

static void write_file(const char *name, const uint8_t *data, size_t size)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	MUST(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct emu_options opt = {.trace = "trace", .out = "out", .quiet = true, .jobs = 1};
	int status, silent;

	log_setup("fuzz", (enum log_level)(-1));
	if (size == 0)
		return 0;
	opt.lint = *data & 1;
	opt.breakdown = *data & 2;
	opt.all_models = *data & 4;
	opt.tolerant = *data & 8;
	opt.compat = *data & 16;
	opt.arrows = *data & 32;
	for (int i = 0; i < FILES; i++)
		unlink(names[i]);
	data++, size--;
	while (size > 3) {
		size_t length = get_u16(data + 1);
		const char *name = names[*data % FILES];

		data += 3, size -= 3;
		if (length > size)
			length = size;
		write_file(name, data, length);
		data += length, size -= length;
	}
	status = emulator_run(&opt);
	MUST(status == 0 || status == 1 || status == 3);
	opt.no_output = true; /* without a verdict on what is missing */
	silent = emulator_run(&opt);
	MUST(silent == status || (silent == 0 && status == 3));
	MUST(silent != 3 || opt.tolerant);
	if (opt.tolerant) {
		opt.tolerant = false;
		MUST((emulator_run(&opt) == 0) == (silent == 0));
	}
	return 0;
}
