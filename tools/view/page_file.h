/* SPDX-License-Identifier: MIT */
/*
 * page_file: the HTML file: the constant page, and the data of a trace in it.
 *
 * In: sections of bytes, each of a kind; out: one file, in which each section is a data element,
 * in the format of zlib, whose checksum shows damage, and in base64. Nothing from a trace stands in
 * the HTML in another form. Sections stay in memory until the file is written, since the first one
 * is known last. A thread packs a section while the caller makes the next one. Invariant: the file
 * appears under its name only when it is complete, with mode 0644 at most. Specification: view.md
 * 1, 5 and 8.
 */
#ifndef TOOLS_VIEW_PAGE_FILE_H
#define TOOLS_VIEW_PAGE_FILE_H

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <zlib.h>

#include "trace/base/array.h"

struct page_section {
	const char *kind; /* a constant */
	char *text;	  /* base64 */
	size_t size;
};

struct page_file {
	struct page_section *sections;
	size_t n;
	uint64_t bytes; /* of the texts of `sections` */
	z_stream deflate;
	struct bytes packed; /* scratch */
	/* the section after them, which the packer has from `filled` to `done` */
	struct page_section next;
	struct bytes raw;
	bool pending;
	pthread_t packer;
	bool threaded, ended;
	sem_t filled, done;
};

/* `level` is that of zlib. Returns 0, or -ENOMEM after one message. */
int page_file_init(struct page_file *page, int level) __attribute__((warn_unused_result));
void page_file_fini(struct page_file *page); /* also of a zeroed one */

/* Adds a section at the end, with a copy of `data`; it counts in `bytes` from the next call on.
 * Returns 0, or -ENOMEM after one message, perhaps for the section before. */
int page_file_add(struct page_file *page, const char *kind, const void *data, size_t size)
	__attribute__((warn_unused_result));

/* Writes the page to `path`: the last section first, then the others. An older file there is
 * replaced when the new one is complete. Returns 0, or -errno after one message and without a file.
 */
int page_file_write(struct page_file *page, const char *path) __attribute__((warn_unused_result));

#endif
