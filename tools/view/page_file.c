/* SPDX-License-Identifier: MIT */
#include "tools/view/page_file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/lib/new_file.h"
#include "tools/view/page_source.h"
#include "trace/base/log.h"

static void encode_base64(char *out, const uint8_t *in, size_t size)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (; size >= 3; size -= 3, in += 3, out += 4) {
		uint32_t word = (uint32_t)in[0] << 16 | (uint32_t)in[1] << 8 | in[2];

		out[0] = digits[word >> 18];
		out[1] = digits[word >> 12 & 63];
		out[2] = digits[word >> 6 & 63];
		out[3] = digits[word & 63];
	}
	if (!size)
		return;
	out[0] = digits[in[0] >> 2];
	out[1] = digits[(in[0] & 3) << 4 | (size > 1 ? in[1] >> 4 : 0)];
	out[2] = size > 1 ? digits[(in[1] & 15) << 2] : '=';
	out[3] = '=';
}

/* The text of the next section is NULL without memory. */
static void pack(struct page_file *page)
{
	z_stream *z = &page->deflate;
	struct page_section *next = &page->next;

	page->packed.size = 0;
	if (page->raw.size > UINT_MAX / 2 ||
	    !bytes_more(&page->packed, deflateBound(z, page->raw.size)))
		return;
	z->next_in = page->raw.data;
	z->avail_in = (uInt)page->raw.size;
	z->next_out = page->packed.data;
	z->avail_out = (uInt)page->packed.size;
	if (deflate(z, Z_FINISH) != Z_STREAM_END)
		return;
	next->size = (z->total_out + 2) / 3 * 4;
	next->text = malloc(next->size);
	if (next->text)
		encode_base64(next->text, page->packed.data, z->total_out);
	deflateReset(z);
}

static void wait_for(sem_t *sem)
{
	while (sem_wait(sem)) /* interrupted by a signal */
		;
}

static void *pack_each(void *arg)
{
	struct page_file *page = arg;

	for (wait_for(&page->filled); !page->ended; wait_for(&page->filled)) {
		pack(page);
		sem_post(&page->done);
	}
	return NULL;
}

int page_file_init(struct page_file *page, int level)
{
	memset(page, 0, sizeof(*page));
	/* Z_RLE is twice as fast as level 1, for 3 % at most: repeats are near. Little memory makes
	 * it choose new codes after 8192 bytes, as the bytes of a column change */
	if (deflateInit2(&page->deflate, level, Z_DEFLATED, MAX_WBITS, level == 1 ? 7 : 9,
			 level == 1 ? Z_RLE : Z_DEFAULT_STRATEGY) != Z_OK)
		return log_no_memory("for the page");
	sem_init(&page->filled, 0, 0);
	sem_init(&page->done, 0, 0);
	page->threaded = !pthread_create(&page->packer, NULL, pack_each, page);
	return 0;
}

/* Appends the next section, once it is packed. Returns 0 or -ENOMEM. */
static int take_next(struct page_file *page)
{
	struct page_section *section;

	if (!page->pending)
		return 0;
	if (page->threaded)
		wait_for(&page->done);
	else
		pack(page);
	page->pending = false;
	section = page->next.text ? ARRAY_ADD(page->sections, page->n) : NULL;
	if (!section)
		return -ENOMEM;
	*section = page->next;
	page->next.text = NULL;
	page->bytes += section->size;
	return 0;
}

void page_file_fini(struct page_file *page)
{
	if (!page->deflate.state)
		return;
	take_next(page);
	if (page->threaded) {
		page->ended = true;
		sem_post(&page->filled);
		pthread_join(page->packer, NULL);
	}
	sem_destroy(&page->filled);
	sem_destroy(&page->done);
	for (size_t i = 0; i < page->n; i++)
		free(page->sections[i].text);
	free(page->sections);
	free(page->next.text);
	bytes_free(&page->raw);
	bytes_free(&page->packed);
	deflateEnd(&page->deflate);
	memset(page, 0, sizeof(*page));
}

int page_file_add(struct page_file *page, const char *kind, const void *data, size_t size)
{
	int err = take_next(page);

	page->raw.size = 0;
	bytes_put(&page->raw, data, size);
	if (err || page->raw.failed)
		return log_no_memory("for the page");
	page->next.kind = kind;
	page->pending = true;
	if (page->threaded)
		sem_post(&page->filled);
	return 0;
}

static int write_section(struct new_file *file, const struct page_section *section)
{
	static const char end[] = "</script>\n";
	char begin[96];
	int n = snprintf(begin, sizeof(begin),
			 "<script type=\"application/octet-stream\" data-kind=\"%s\">",
			 section->kind);
	int err = new_file_write(file, begin, (size_t)n);

	if (err)
		return err;
	err = new_file_write(file, section->text, section->size);
	return err ? err : new_file_write(file, end, sizeof(end) - 1);
}

static int write_sections(const struct page_file *page, struct new_file *file)
{
	int err = new_file_write(file, page_source, page_source_size);

	for (size_t i = 0; i < page->n && err == 0; i++)
		err = write_section(file, &page->sections[i ? i - 1 : page->n - 1]);
	if (err)
		return err;
	return new_file_write(file, PAGE_END, sizeof(PAGE_END) - 1);
}

int page_file_write(struct page_file *page, const char *path)
{
	struct new_file file;
	int err;

	if (take_next(page))
		return log_no_memory("for the page");
	err = new_file_open(&file, path);
	if (err)
		goto out;
	err = write_sections(page, &file);
	if (!err)
		err = new_file_finish(&file);
out:
	new_file_abandon(&file);
	return err;
}
