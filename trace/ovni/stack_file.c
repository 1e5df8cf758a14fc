/* SPDX-License-Identifier: MIT */
#include "trace/ovni/stack_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/base/array.h"
#include "trace/base/files/input.h"
#include "trace/base/log.h"
#include "trace/ovni/stream.h"

#define LINE_MAX_BYTES (64u << 10)

/* The whole file, with a NUL behind it. */
static int read_text(struct stack_table *table, int fd, size_t size)
{
	size_t have = 0;

	table->text = malloc(size + 1);
	if (!table->text)
		return log_no_memory("for the file " STACK_FILE);
	while (have < size) {
		ssize_t n = read(fd, table->text + have, size - have);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break; /* it shrank: the rest is missing */
		have += (size_t)n;
	}
	table->text[have] = '\0';
	return (int)have; /* at most INPUT_TEXT_MAX */
}

/* The bytes from `at` on that are frames, up to the end of the line or a tab; -1: damaged. */
static ssize_t frames_size(const char *at, const char *end)
{
	const char *begin = at;

	for (; at < end && *at != '\t'; at++) {
		bool empty = at == begin || at[-1] == STACK_FRAME_END;

		if (*at < 0x21 || *at > 0x7e || (*at == STACK_FRAME_END && empty))
			return -1;
	}
	return at == begin || at[-1] == STACK_FRAME_END ? -1 : at - begin;
}

/* One line, without its end. NULL, or the mistake. */
static const char *take_line(struct stack_table *table, const char *at, const char *end)
{
	uint32_t last = table->n ? table->lines[table->n - 1].number : 0;
	struct stack_line line = {0}, *added;
	uint64_t number = 0;
	ssize_t size;

	if (end - at > LINE_MAX_BYTES)
		return "the line is too long";
	while (at < end && *at >= '0' && *at <= '9' && number <= UINT32_MAX)
		number = number * 10 + (uint64_t)(*at++ - '0');
	if (at == end || *at++ != '\t' || number > UINT32_MAX)
		return "no number of 32 bits and a tab at its beginning";
	if (number <= last)
		return "its number is not above that of the line before";
	size = frames_size(at, end);
	if (size < 0)
		return "a frame is empty or has a byte that is not printable";
	line = (struct stack_line){
		.number = (uint32_t)number, .size = (uint32_t)size, .frames = at};
	added = ARRAY_ADD(table->lines, table->n);
	if (!added)
		return "";
	*added = line;
	return NULL;
}

static int take_lines(struct stack_table *table, size_t size, const char *path)
{
	const size_t head = sizeof(STACK_FILE_HEAD) - 1;
	const char *at = table->text, *end = at + size;

	if (size < head && !memcmp(at, STACK_FILE_HEAD, size)) {
		table->torn = true;
		return 0;
	}
	if (size < head || memcmp(at, STACK_FILE_HEAD, head) != 0) {
		log_error("%s/" STACK_FILE ": it is no file of stacks that this version can read",
			  path);
		return -EBADMSG;
	}
	at += head;
	for (unsigned number = 2; at < end; number++) {
		const char *stop = memchr(at, '\n', (size_t)(end - at)), *wrong;

		table->torn = !stop;
		wrong = stop ? take_line(table, at, stop) : NULL;
		if (wrong && !*wrong)
			return log_no_memory("while reading %s/" STACK_FILE, path);
		if (wrong) {
			log_error("%s/" STACK_FILE ": line %u: %s", path, number, wrong);
			return -EBADMSG;
		}
		at = stop ? stop + 1 : end;
	}
	return 0;
}

int stack_table_load(struct stack_table *table, int trace_fd, const char *path)
{
	uint64_t size = 0;
	int fd, have;

	*table = (struct stack_table){0};
	fd = input_open(trace_fd, STACK_FILE, INPUT_TEXT_MAX, &size);
	if (fd == -ENOENT)
		return 0;
	if (fd < 0) {
		log_error("cannot open '%s/" STACK_FILE "': %s", path,
			  input_why(fd, INPUT_TEXT_MAX));
		return fd;
	}
	have = read_text(table, fd, (size_t)size);
	close(fd);
	if (have == -ENOMEM)
		return have;
	if (have < 0) {
		log_error("cannot read '%s/" STACK_FILE "': %s", path, strerror(-have));
		return have;
	}
	return take_lines(table, (size_t)have, path);
}

void stack_table_free(struct stack_table *table)
{
	free(table->text);
	free(table->lines);
	*table = (struct stack_table){0};
}

struct stack_line *stack_table_find(const struct stack_table *table, uint32_t number)
{
	size_t low = 0, high = table->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (table->lines[middle].number == number)
			return &table->lines[middle];
		if (table->lines[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

size_t stack_line_frame(const struct stack_line *line, size_t *at, const char **frame)
{
	const char *begin = line->frames + *at, *end;

	if (*at >= line->size)
		return 0;
	end = memchr(begin, STACK_FRAME_END, line->size - *at);
	if (!end)
		end = line->frames + line->size;
	*frame = begin;
	*at += (size_t)(end - begin) + 1;
	return (size_t)(end - begin);
}

size_t stack_frame_name(const char *frame, size_t len)
{
	const char *plus = memrchr(frame, '+', len);

	return plus && plus > frame ? (size_t)(plus - frame) : len;
}

char *stack_line_text(const struct stack_line *line, unsigned most)
{
	struct bytes text = {0};
	const char *frame;
	size_t at = 0, len;

	for (unsigned i = 0; i < most && (len = stack_line_frame(line, &at, &frame)); i++) {
		if (i)
			bytes_put(&text, " <- ", 4);
		bytes_put(&text, frame, stack_frame_name(frame, len));
	}
	bytes_u8(&text, 0);
	if (text.failed)
		bytes_free(&text);
	return (char *)text.data;
}

int stack_table_write(const struct stack_table *table, int out_fd, uint32_t more)
{
	struct bytes lines = {0};
	char number[16];
	int err = 0;

	for (size_t i = 0; i < table->n; i++) {
		const struct stack_line *line = &table->lines[i];
		int len;

		if (!line->used)
			continue;
		if (!lines.size && !more)
			bytes_put(&lines, STACK_FILE_HEAD, sizeof(STACK_FILE_HEAD) - 1);
		len = snprintf(number, sizeof(number), "%u\t", line->number + more);
		bytes_put(&lines, number, (size_t)len);
		bytes_put(&lines, line->frames, line->size);
		bytes_u8(&lines, '\n');
	}
	if (lines.failed)
		err = log_no_memory("for the file " STACK_FILE);
	else if (lines.size)
		err = stream_append_text(out_fd, STACK_FILE, lines.data, lines.size);
	if (err && !lines.failed)
		log_error("cannot write the file " STACK_FILE ": %s", strerror(-err));
	bytes_free(&lines);
	return err;
}
