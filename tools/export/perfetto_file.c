/* SPDX-License-Identifier: MIT */
#include "tools/export/perfetto_file.h"

#include <errno.h>

#include "trace/base/log.h"

#define BUFFER_MOST (1u << 20) /* bytes that wait for a write */

int perfetto_file_open(struct perfetto_file *f, const char *path, const struct new_file *first)
{
	f->size = 0;
	f->error = 0;
	f->packet.size = f->buffer.size = 0;
	return first ? new_file_open_beside(&f->file, first, path) : new_file_open(&f->file, path);
}

static void flush(struct perfetto_file *f)
{
	if (!f->error)
		f->error = new_file_write(&f->file, f->buffer.data, f->buffer.size);
	f->buffer.size = 0;
}

void perfetto_file_put(struct perfetto_file *f, uint32_t sequence, uint32_t machine)
{
	size_t before = f->buffer.size;

	pb_uint(&f->packet, PACKET_SEQUENCE, sequence);
	if (machine)
		pb_uint(&f->packet, PACKET_MACHINE, machine);
	pb_bytes(&f->buffer, 1, f->packet.data, f->packet.size);
	f->packet.size = 0;
	if (!f->error && (f->packet.failed || f->buffer.failed))
		f->error = log_no_memory("for a packet of %s", f->file.path);
	f->size += f->buffer.size - before;
	if (f->buffer.size >= BUFFER_MOST)
		flush(f);
}

int perfetto_file_finish(struct perfetto_file *f)
{
	flush(f);
	return f->error ? f->error : new_file_seal(&f->file);
}

void perfetto_file_abandon(struct perfetto_file *f)
{
	new_file_abandon(&f->file);
	bytes_free(&f->packet);
	bytes_free(&f->buffer);
}
