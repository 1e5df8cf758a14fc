/* SPDX-License-Identifier: MIT */
/*
 * Fuzzer of the reader: any bytes as the stream.obs of up to four streams.
 *
 * Each stream is written to a file and read through stream.c, mapped or, with FUZZ_WINDOWS in the
 * environment, by windows. The events must be the same as in a plain decoding of the bytes, to the
 * last event and the reason of the end. Then the streams are played together, and each event is
 * explained.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/catalog/catalog.h"
#include "trace/ovni/guard.h"
#include "trace/base/log.h"
#include "trace/ovni/player.h"
#include "fuzz.h"

#define STREAMS 4

static int dir = -1;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static const char byte;

	(void)argc;
	(void)argv;
	dir = open(".", O_RDONLY | O_DIRECTORY);
	MUST(dir >= 0);
	for (int i = 0; i < STREAMS; i++) {
		char name[2] = {(char)('0' + i), '\0'};

		mkdirat(dir, name, 0755);
	}
	/* a reader maps so many files and no more */
	for (int i = 0; getenv("FUZZ_WINDOWS") && i < 32000; i++)
		MUST(guard_add(&byte, 0));
	return 0;
}

static void write_file(int i, const uint8_t *data, size_t size)
{
	char name[] = "0/" STREAM_DATA;
	int fd;

	name[0] = (char)('0' + i);
	fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	MUST(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	close(fd);
}

/* Is there a header at all, as the specification has it? */
static bool has_header(const uint8_t *data, size_t size)
{
	return size >= STREAM_HEADER_SIZE && !memcmp(data, STREAM_MAGIC, 4) &&
	       get_u32(data + 4) == STREAM_VERSION;
}

static void explain(const struct event *ev)
{
	char text[64];
	size_t len = catalog_explain(ev, text, sizeof(text)), shown = strlen(text);

	MUST(shown < sizeof(text) && shown <= len);
	for (size_t i = 0; i < shown; i++)
		MUST((uint8_t)text[i] >= 0x20 && (uint8_t)text[i] != 0x7f);
}

/* Reads the stream to its end, and the bytes beside it. */
static void compare(struct stream *stream, const uint8_t *data, size_t size)
{
	const uint8_t *at = data + STREAM_HEADER_SIZE, *end = data + size;
	struct event want = {0};
	ssize_t n;
	int more;

	for (;;) {
		n = event_decode(&want, at, end);
		if (n > 0 && event_is_zeros(at)) /* damage: emulator.md 3.3 */
			n = -EBADMSG;
		more = stream_step(stream);
		MUST(more == (n > 0 ? 1 : (int)n));
		if (more <= 0)
			break;
		MUST(stream_offset(stream) == (uint64_t)(at - data));
		MUST(stream->ev.size == n && stream->ev.clock == want.clock);
		MUST(stream->ev.jumbo == want.jumbo && event_mcv(&stream->ev) == event_mcv(&want));
		MUST(stream->ev.payload_size == want.payload_size);
		MUST(!memcmp(stream->ev.payload, want.payload, want.payload_size));
		explain(&stream->ev);
		at += n;
	}
	MUST(stream_step(stream) == more && stream->error == more);
}

static void play(struct stream *streams, size_t n, bool unordered)
{
	struct player player;
	int64_t before = 0;
	uint64_t steps = 0;

	for (size_t i = 0; i < n; i++)
		stream_rewind(&streams[i]);
	if (player_open(&player, streams, n, NULL, unordered) < 0)
		return;
	if (player_gate(&player) == 0 || unordered) {
		while (player_step(&player) > 0) {
			MUST(player.current < n);
			MUST(player.clock == streams[player.current].ev.clock);
			MUST(unordered || player.clock >= before);
			before = player.clock;
			steps++;
			MUST(steps < 1 << 20);
		}
	}
	player_close(&player);
}

/* The input: for each stream a length of two bytes and its bytes; the last takes the rest. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct stream streams[STREAMS] = {0};
	size_t n = 0;

	log_setup("fuzz", (enum log_level) - 1);
	for (int i = 0; i < STREAMS && size > 2; i++) {
		size_t length = get_u16(data);
		char path[2] = {(char)('0' + i), '\0'};
		uint8_t *copy;

		data += 2;
		size -= 2;
		if (length > size)
			length = size;
		copy = malloc(length ? length : 1); /* exactly, so that a step too far is seen */
		MUST(copy);
		memcpy(copy, data, length);
		write_file(i, copy, length);
		if (stream_open(&streams[n], dir, path) == 0) {
			MUST(has_header(copy, length));
			compare(&streams[n], copy, length);
			n++;
		} else {
			MUST(!has_header(copy, length));
		}
		free(copy);
		data += length;
		size -= length;
	}
	play(streams, n, true);
	play(streams, n, false);
	for (size_t i = 0; i < n; i++)
		stream_close(&streams[i]);
	return 0;
}
