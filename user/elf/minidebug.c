/* SPDX-License-Identifier: MIT */
/* minidebug: see minidebug.h. */
#include <lzma.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "user/elf/minidebug.h"

#define PACKED_MAX   (64u << 20)
#define UNPACKED_MAX (256u << 20)
#define MEMORY_MAX   (128u << 20) /* of the unpacking itself */
#define CHUNK	     (1u << 20)

static bool write_all(int fd, const uint8_t *bytes, size_t size)
{
	while (size) {
		ssize_t n = write(fd, bytes, size);

		if (n <= 0)
			return false;
		bytes += n;
		size -= (size_t)n;
	}
	return true;
}

/* Unpacks into the file, piece by piece. */
static bool unpack(int fd, const uint8_t *packed, size_t size)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	uint8_t *chunk = malloc(CHUNK);
	lzma_ret result = LZMA_OK;
	bool ok = chunk && lzma_stream_decoder(&stream, MEMORY_MAX, 0) == LZMA_OK;

	stream.next_in = packed;
	stream.avail_in = size;
	while (ok && result == LZMA_OK) {
		stream.next_out = chunk;
		stream.avail_out = CHUNK;
		result = lzma_code(&stream, LZMA_FINISH);
		ok = (result == LZMA_OK || result == LZMA_STREAM_END) &&
		     stream.total_out <= UNPACKED_MAX &&
		     write_all(fd, chunk, CHUNK - stream.avail_out);
	}
	lzma_end(&stream);
	free(chunk);
	return ok && result == LZMA_STREAM_END;
}

bool minidebug_open(struct image *debug, const struct image *image)
{
	const Elf64_Shdr *section = image_section(image, ".gnu_debugdata", SHT_PROGBITS);
	uint8_t *packed;
	int fd, err;

	if (!section || section->sh_size > PACKED_MAX)
		return false;
	packed = image_read(image, section->sh_offset, section->sh_size);
	fd = packed ? memfd_create("debugdata", MFD_CLOEXEC) : -1;
	if (fd < 0 || !unpack(fd, packed, section->sh_size)) {
		free(packed);
		if (fd >= 0)
			close(fd);
		return false;
	}
	free(packed);
	return !image_take(debug, fd, &err);
}
