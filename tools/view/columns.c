/* SPDX-License-Identifier: MIT */
#include "tools/view/columns.h"

#include "trace/base/log.h"

int columns_flush(struct columns *columns, unsigned n, struct page_file *page, const char *kind)
{
	struct bytes *block = &columns->block;
	bool failed = false;

	if (!columns->entries)
		return 0;
	block->size = 0;
	bytes_u32(block, n);
	for (unsigned i = 0; i < n; i++)
		bytes_u32(block, (uint32_t)columns->of[i].size);
	for (unsigned i = 0; i < n; i++) {
		bytes_put(block, columns->of[i].data, columns->of[i].size);
		failed |= columns->of[i].failed;
		columns->of[i].size = 0;
	}
	columns->entries = 0;
	if (failed || block->failed)
		return log_no_memory("for the page");
	return page_file_add(page, kind, block->data, block->size);
}

void columns_fini(struct columns *columns)
{
	for (unsigned i = 0; i < COLUMNS_MOST; i++)
		bytes_free(&columns->of[i]);
	bytes_free(&columns->block);
}
