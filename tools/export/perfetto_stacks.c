/* SPDX-License-Identifier: MIT */
#include "tools/export/perfetto_stacks.h"

#include <stdlib.h>
#include <string.h>

#include "tools/export/perfetto_file.h"

#define KERNEL "[kernel]"

/* Fields of interned data. */
enum interned {
	INTERNED_FUNCTION = 5,
	INTERNED_FRAME = 6,
	INTERNED_STACK = 7,
	INTERNED_PATH = 17,
	INTERNED_FILE = 19,
};

/* The packet under construction. */
struct interning {
	struct perfetto_stacks *stacks;
	struct bytes *packet;
	uint32_t sequence;
	bool lack; /* of memory */
};

/* The number of a text; *fresh: the sequence does not have it yet. */
static uint32_t number_of(struct interning *in, enum interned kind, const char *text, size_t len,
			  bool *fresh)
{
	struct hash_key key = hash_key_of(text, len);
	uint32_t *at;

	key.a ^= in->sequence;
	key.c ^= kind;
	at = hash_at(&in->stacks->numbers, key);
	*fresh = at && *at == HASH_NONE;
	if (*fresh)
		*at = ++in->stacks->last;
	in->lack |= !at;
	return at ? *at : 0;
}

static uint32_t put_text(struct interning *in, enum interned kind, const char *text, size_t len)
{
	bool fresh;
	uint32_t number = number_of(in, kind, text, len, &fresh);
	size_t part;

	if (!fresh)
		return number;
	part = pb_begin(in->packet, kind);
	pb_uint(in->packet, 1, number);
	pb_bytes(in->packet, 2, text, len);
	pb_end(in->packet, part);
	return number;
}

static uint32_t put_file(struct interning *in, const char *path, size_t len)
{
	bool fresh;
	uint32_t number = number_of(in, INTERNED_FILE, path, len, &fresh), text;
	size_t part;

	if (!fresh)
		return number;
	text = put_text(in, INTERNED_PATH, path, len);
	part = pb_begin(in->packet, INTERNED_FILE);
	pb_uint(in->packet, 1, number);
	pb_uint(in->packet, 7, text);
	pb_end(in->packet, part);
	return number;
}

/* The file of a frame, and the place of its address: behind the last plus sign of name@FILE+0x1a,
 * [FILE+0x1a] or name+0x1a, without what follows a second @. */
static const char *file_of(const char *frame, size_t len, size_t *file_len, const char **address)
{
	const char *at = memchr(frame, STACK_FRAME_FILE, len), *end = frame + len, *file = KERNEL;
	const char *plus;

	if (at && *frame == '[') {
		end = at;
		file = frame + 1;
	} else if (at) {
		const char *source = memchr(at + 1, STACK_FRAME_FILE, (size_t)(end - (at + 1)));

		end = source ? source : end;
		file = at + 1;
	}
	plus = memrchr(at ? file : frame, '+', (size_t)(end - (at ? file : frame)));
	*address = plus ? plus + 1 : end;
	*file_len = !at ? strlen(KERNEL) : (size_t)((plus ? plus : end) - file);
	return file;
}

static uint32_t put_frame(struct interning *in, const char *frame, size_t len)
{
	bool fresh;
	uint32_t number = number_of(in, INTERNED_FRAME, frame, len, &fresh), function, file;
	const char *path, *address;
	size_t path_len, part;

	if (!fresh)
		return number;
	path = file_of(frame, len, &path_len, &address);
	function = put_text(in, INTERNED_FUNCTION, frame, stack_frame_name(frame, len));
	file = put_file(in, path, path_len);
	part = pb_begin(in->packet, INTERNED_FRAME);
	pb_uint(in->packet, 1, number);
	pb_uint(in->packet, 2, function);
	pb_uint(in->packet, 3, file);
	pb_uint(in->packet, 4, address < frame + len ? strtoull(address, NULL, 16) : 0);
	pb_end(in->packet, part);
	return number;
}

static void put_frames(struct interning *in, const struct stack_line *line, uint32_t number)
{
	uint32_t *frames = NULL, *added;
	const char *frame;
	size_t n = 0, at = 0, len, part;

	while ((len = stack_line_frame(line, &at, &frame))) {
		if (len == strlen(STACK_FRAME_NONE) && !memcmp(frame, STACK_FRAME_NONE, len))
			continue;
		added = ARRAY_ADD(frames, n);
		if (!added) {
			in->lack = true;
			break;
		}
		*added = put_frame(in, frame, len);
	}
	part = pb_begin(in->packet, INTERNED_STACK);
	pb_uint(in->packet, 1, number);
	while (n-- > 0) /* the outermost one first */
		pb_uint(in->packet, 2, frames[n]);
	pb_end(in->packet, part);
	free(frames);
}

uint32_t perfetto_stacks_put(struct perfetto_stacks *stacks, struct bytes *packet,
			     uint32_t sequence, const struct stack_line *line)
{
	struct interning in = {stacks, packet, sequence, false};
	uint32_t *at =
		hash_at(&stacks->numbers, (struct hash_key){.a = sequence, .b = line->number});
	uint32_t number;
	size_t data;

	if (!at || *at != HASH_NONE)
		return at ? *at : 0;
	number = *at = ++stacks->last;
	data = pb_begin(packet, PACKET_INTERNED);
	put_frames(&in, line, number);
	pb_end(packet, data);
	return in.lack ? 0 : number;
}

void perfetto_stacks_clear(struct perfetto_stacks *stacks)
{
	hash_free(&stacks->numbers);
	*stacks = (struct perfetto_stacks){0};
}
