/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/base/files/input.h"
#include "trace/base/log.h"
#include "trace/base/text.h"
#include "trace/pallas/pallas_file.h"

#define OUT_BUFFER (256u << 10)

int pallas_file_at(int fd, void *out, size_t size, uint64_t offset)
{
	char *to = out;

	while (size) {
		ssize_t n = pread(fd, to, size, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return -EIO;
		to += n;
		size -= (size_t)n;
		offset += (uint64_t)n;
	}
	return 0;
}

int pallas_file_read(int dirfd, const char *path, const char *shown, size_t most, uint8_t **bytes,
		     size_t *size)
{
	uint64_t bytes_in_file;
	int err = 0, fd = input_open(dirfd, path, INPUT_EVENTS_MAX, &bytes_in_file);

	*bytes = NULL;
	if (fd < 0) {
		log_error("cannot open '%s': %s", shown, input_why(fd, INPUT_EVENTS_MAX));
		return fd;
	}
	if (bytes_in_file > most) {
		log_error(
			"%s: its %llu bytes do not fit into the %zu that the memory budget leaves; "
			"give more with --memory",
			shown, (unsigned long long)bytes_in_file, most);
		err = -EFBIG;
		goto out;
	}
	*size = (size_t)bytes_in_file;
	*bytes = malloc(*size ? *size : 1);
	err = *bytes ? pallas_file_at(fd, *bytes, *size, 0) : -ENOMEM;
	if (err) {
		log_error("cannot read '%s': %s", shown, strerror(-err));
		free(*bytes);
		*bytes = NULL;
	}
out:
	close(fd);
	return err;
}

int pallas_out_create(struct pallas_out *out, int dirfd, const char *path, const char *shown)
{
	int err, fd;

	*out = (struct pallas_out){.shown = xasprintf("%s/%s", shown, path)};
	if (!out->shown)
		return log_no_memory("while writing %s", shown);
	fd = openat(dirfd, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	out->file = fd < 0 ? NULL : fdopen(fd, "w");
	if (out->file) {
		(void)setvbuf(out->file, NULL, _IOFBF, OUT_BUFFER);
		return 0;
	}
	err = -errno;
	log_error("cannot create '%s': %s", out->shown, strerror(-err));
	if (fd >= 0)
		close(fd);
	return err;
}

void pallas_out_put(struct pallas_out *out, const void *data, size_t size)
{
	out->size += size;
	if (size && fwrite(data, size, 1, out->file) != 1 && !out->err)
		out->err = -errno;
}

void pallas_out_u32(struct pallas_out *out, uint32_t v)
{
	pallas_out_put(out, &v, sizeof(v));
}

void pallas_out_u64(struct pallas_out *out, uint64_t v)
{
	pallas_out_put(out, &v, sizeof(v));
}

int pallas_out_close(struct pallas_out *out)
{
	int err = out->err;

	if (out->file && fclose(out->file) && !err)
		err = -errno;
	if (err)
		log_error("cannot write '%s': %s", out->shown, strerror(-err));
	free(out->shown);
	*out = (struct pallas_out){0};
	return err;
}
