/* SPDX-License-Identifier: MIT */
#include "trace/ovni/stack_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/base/array.h"
#include "trace/base/files/input.h"
#include "trace/base/hash.h"
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

		if (*at < 0x20 || *at > 0x7e || (*at == STACK_FRAME_END && empty))
			return -1;
	}
	return at == begin || at[-1] == STACK_FRAME_END ? -1 : at - begin;
}

/* A number of 32 bits at *at, which moves behind it. */
static bool take_number(const char **at, const char *end, uint32_t *number)
{
	const char *begin = *at;
	uint64_t n = 0;

	while (*at < end && **at >= '0' && **at <= '9' && n <= UINT32_MAX)
		n = n * 10 + (uint64_t)(*(*at)++ - '0');
	*number = (uint32_t)n;
	return *at > begin && n <= UINT32_MAX;
}

/* One line, without its end. NULL, or the mistake. Until resolve(), `first` is the number that
 * follows a '='. */
static const char *take_line(struct stack_table *table, const char *at, const char *end)
{
	struct stack_line line = {0}, *added;
	bool frames = true;
	const char *waker;
	ssize_t size = 0;

	if (end - at > LINE_MAX_BYTES)
		return "the line is too long";
	if (!take_number(&at, end, &line.number) || at == end || *at++ != '\t')
		return "no number of 32 bits and a tab at its beginning";
	if (!line.number)
		return "its number is 0";
	if (at < end && *at == STACK_LINE_SAME) {
		at++;
		if (!take_number(&at, end, &line.first) || !line.first)
			return "no number behind '='";
		if (at < end && *at != STACK_FRAME_END && *at != '\t')
			return "no frames behind the number";
		frames = at < end && *at == STACK_FRAME_END;
		at += frames;
	}
	if (frames)
		size = frames_size(at, end);
	if (size < 0)
		return "a frame is empty or has a byte that is not printable";
	waker = at + size;
	if (waker < end && (waker++, !take_number(&waker, end, &line.waker)))
		return "no number of a stack behind the frames";
	line.frames = line.first ? NULL : at;
	line.size = line.first ? 0 : (uint32_t)size;
	line.outer = line.first ? at : NULL;
	line.outer_size = line.first ? (uint32_t)size : 0;
	added = ARRAY_ADD(table->lines, table->n);
	if (!added)
		return "";
	*added = line;
	return NULL;
}

/* By number; of equal ones in the order of the file, which is that of the text. */
static int compare(const void *pa, const void *pb)
{
	const struct stack_line *a = pa, *b = pb;
	const char *x = a->frames ? a->frames : a->outer, *y = b->frames ? b->frames : b->outer;

	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* Sorts the lines, and keeps the last one of each number. */
static void sort_lines(struct stack_table *table)
{
	size_t n = 0;

	if (table->n)
		qsort(table->lines, table->n, sizeof(*table->lines), compare);
	for (size_t i = 0; i < table->n; i++)
		if (i + 1 == table->n || table->lines[i + 1].number != table->lines[i].number)
			table->lines[n++] = table->lines[i];
	table->n = n;
}

/* Gives a line the frames of that which it names. NULL, or the mistake. */
static const char *resolve(struct stack_table *table, struct stack_line *line, unsigned depth)
{
	struct stack_line *of;
	const char *wrong;

	if (line->frames)
		return NULL;
	of = depth < STACK_SAME_MAX ? stack_table_find(table, line->first) : NULL;
	if (!of || of == line)
		return "the stack that it names is not there";
	wrong = resolve(table, of, depth + 1);
	if (wrong)
		return wrong;
	if (line->outer_size && of->outer_size)
		return "the stack that it names has frames of user code, too";
	line->frames = of->frames;
	line->size = of->size;
	if (line->outer_size) {
		line->first = (uint32_t)(line - table->lines);
		return NULL;
	}
	line->outer = of->outer;
	line->outer_size = of->outer_size;
	line->first = of->first;
	return NULL;
}

static int resolve_lines(struct stack_table *table, const char *path)
{
	sort_lines(table);
	for (size_t i = 0; i < table->n; i++)
		if (table->lines[i].frames)
			table->lines[i].first = (uint32_t)i;
	for (size_t i = 0; i < table->n; i++) {
		const char *wrong = resolve(table, &table->lines[i], 0);

		if (wrong) {
			log_error("%s/" STACK_FILE ": stack %u: %s", path, table->lines[i].number,
				  wrong);
			return -EBADMSG;
		}
		if (table->lines[i].waker && !stack_line_waker(table, &table->lines[i])) {
			log_error("%s/" STACK_FILE
				  ": stack %u: the stack of its waker is not there",
				  path, table->lines[i].number);
			return -EBADMSG;
		}
	}
	return 0;
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
	return resolve_lines(table, path);
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

const struct stack_line *stack_line_waker(const struct stack_table *table,
					  const struct stack_line *line)
{
	return line && line->waker ? stack_table_find(table, line->waker) : NULL;
}

size_t stack_line_frame(const struct stack_line *line, size_t *at, const char **frame)
{
	bool outer = *at >= line->size;
	const char *begin = outer ? line->outer + (*at - line->size) : line->frames + *at, *end;
	size_t left = outer ? line->outer_size - (*at - line->size) : line->size - *at, len;

	if (*at >= (size_t)line->size + line->outer_size)
		return 0;
	end = memchr(begin, STACK_FRAME_END, left);
	len = end ? (size_t)(end - begin) : left;
	*frame = begin;
	*at += len + (end != NULL);
	return len;
}

bool stack_frame_is_user(const char *frame, size_t len)
{
	return memchr(frame, STACK_FRAME_FILE, len) != NULL;
}

size_t stack_frame_name(const char *frame, size_t len)
{
	const char *user = memchr(frame, STACK_FRAME_FILE, len);
	const char *plus = user ? user : memrchr(frame, '+', len);

	return plus && plus > frame ? (size_t)(plus - frame) : len;
}

static bool has_user(const struct stack_line *line)
{
	const char *frame;
	size_t at = 0, len;

	while ((len = stack_line_frame(line, &at, &frame)))
		if (stack_frame_is_user(frame, len))
			return true;
	return false;
}

char *stack_line_text(const struct stack_line *line, unsigned most)
{
	bool user = has_user(line);
	struct bytes text = {0};
	const char *frame;
	size_t at = 0, len;
	unsigned i = 0;

	while (i < most && (len = stack_line_frame(line, &at, &frame))) {
		if (user && !stack_frame_is_user(frame, len))
			continue;
		if (i++)
			bytes_put(&text, " <- ", 4);
		bytes_put(&text, frame, stack_frame_name(frame, len));
	}
	bytes_u8(&text, 0);
	if (text.failed)
		bytes_free(&text);
	return (char *)text.data;
}

/* Is it a frame of the C library, of its threads, of the dynamic linker or of the vDSO? */
static bool in_c_library(const char *frame, size_t len)
{
	static const char *const files[] = {"libc.so",	"libc-2.", "libpthread", "ld-2.",
					    "ld-linux", "ld-musl", "[vdso]",	 "vdso"};
	const char *end = frame + len;
	const char *file = *frame == '[' ? frame : memchr(frame, STACK_FRAME_FILE, len);

	file++; /* a frame of user code has one */
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if ((size_t)(end - file) >= strlen(files[i]) &&
		    !memcmp(file, files[i], strlen(files[i])))
			return true;
	return false;
}

/* Puts " (pool.c:40)" if the frame has a line. */
static void put_source(struct bytes *text, const char *frame, size_t len)
{
	const char *file = memchr(frame, STACK_FRAME_FILE, len), *source;

	if (!file || *frame == '[')
		return;
	source = memchr(file + 1, STACK_FRAME_FILE, len - (size_t)(file + 1 - frame));
	if (!source)
		return;
	source++;
	bytes_put(text, " (", 2);
	bytes_put(text, source, len - (size_t)(source - frame));
	bytes_put(text, ")", 1);
}

char *stack_line_place(const struct stack_line *line)
{
	struct bytes text = {0};
	const char *frame;
	size_t at = 0, len;

	while ((len = stack_line_frame(line, &at, &frame))) {
		bool user = stack_frame_is_user(frame, len);

		if (!text.size && (!user || in_c_library(frame, len)))
			continue;
		if (text.size && (!user || in_c_library(frame, len)))
			break; /* [cut], or what starts a thread */
		if (text.size) {
			bytes_put(&text, " <- ", 4);
			bytes_put(&text, frame, stack_frame_name(frame, len));
			break;
		}
		bytes_put(&text, frame, stack_frame_name(frame, len));
		put_source(&text, frame, len);
	}
	bytes_u8(&text, 0);
	if (text.failed)
		bytes_free(&text);
	return (char *)text.data;
}

char *stack_line_waker_place(const struct stack_line *line)
{
	char *place = stack_line_place(line);

	if (!place || *place)
		return place;
	free(place);
	return stack_line_text(line, 2);
}

static void end_line(struct bytes *lines, const struct stack_line *line, uint32_t more)
{
	char number[16];
	int len = snprintf(number, sizeof(number), "\t%u", line->waker + more);

	if (line->waker)
		bytes_put(lines, number, (size_t)len);
	bytes_u8(lines, '\n');
}

/* Marks the stacks of the wakers of used lines. */
static void use_wakers(const struct stack_table *table)
{
	for (size_t i = 0; i < table->n; i++) {
		const struct stack_line *line = &table->lines[i];
		struct stack_line *waker =
			line->used && line->waker ? stack_table_find(table, line->waker) : NULL;

		if (waker)
			waker->used = true;
	}
}

int stack_table_write(const struct stack_table *table, int out_fd, uint32_t more)
{
	struct hash written = {0}; /* numbers of lines with frames, by `first` */
	struct bytes lines = {0};
	char number[32];
	int err = 0;

	use_wakers(table);
	for (size_t i = 0; i < table->n; i++) {
		const struct stack_line *line = &table->lines[i];
		uint32_t *before;
		int len;

		if (!line->used)
			continue;
		if (!lines.size && !more)
			bytes_put(&lines, STACK_FILE_HEAD, sizeof(STACK_FILE_HEAD) - 1);
		before = hash_at(&written, (struct hash_key){.a = line->first});
		if (before && *before != HASH_NONE) {
			len = snprintf(number, sizeof(number), "%u\t%c%u", line->number + more,
				       STACK_LINE_SAME, *before + more);
			bytes_put(&lines, number, (size_t)len);
			end_line(&lines, line, more);
			continue;
		}
		lines.failed |= !before;
		if (before)
			*before = line->number;
		len = snprintf(number, sizeof(number), "%u\t", line->number + more);
		bytes_put(&lines, number, (size_t)len);
		bytes_put(&lines, line->frames, line->size);
		if (line->outer_size) {
			bytes_u8(&lines, STACK_FRAME_END);
			bytes_put(&lines, line->outer, line->outer_size);
		}
		end_line(&lines, line, more);
	}
	hash_free(&written);
	if (lines.failed)
		err = log_no_memory("for the file " STACK_FILE);
	else if (lines.size)
		err = stream_append_text(out_fd, STACK_FILE, lines.data, lines.size);
	if (err && !lines.failed)
		log_error("cannot write the file " STACK_FILE ": %s", strerror(-err));
	bytes_free(&lines);
	return err;
}
