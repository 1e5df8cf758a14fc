/* SPDX-License-Identifier: MIT */
#include "tools/view/details.h"

#include <errno.h>
#include <stdlib.h>

#include "trace/base/array.h"
#include "trace/base/log.h"
#include "trace/base/text.h"
#include "trace/states/sleep_call.h"

#define ENTRIES_MOST 65536 /* of a block */
#define FRAMES_MOST  24	   /* of the text of a stack */

enum detail_column { DETAIL_THREAD, DETAIL_KIND, DETAIL_AT, DETAIL_VALUE, DETAIL_COLUMNS };

int details_init(struct details *d, const struct source *source, struct page_file *page)
{
	int err;

	*d = (struct details){.page = page};
	err = stack_table_load(&d->stacks, source->trace.fd, source->trace.path);
	if (err == -ENOMEM)
		return err;
	if (err) { /* the rest of the page is still of use */
		stack_table_free(&d->stacks);
		d->damaged = true;
	}
	return 0;
}

void details_fini(struct details *d)
{
	for (size_t i = 0; i < d->ntexts; i++)
		free(d->texts[i]);
	free(d->texts);
	hash_free(&d->text_of);
	stack_table_free(&d->stacks);
	columns_fini(&d->columns);
}

int details_flush(struct details *d)
{
	d->at = 0;
	return columns_flush(&d->columns, DETAIL_COLUMNS, d->page, "details");
}

static int add(struct details *d, uint32_t stream, enum detail_kind kind, int64_t at,
	       uint64_t value)
{
	column_number(&d->columns, DETAIL_THREAD, stream);
	column_byte(&d->columns, DETAIL_KIND, (uint8_t)kind);
	column_signed(&d->columns, DETAIL_AT, at - d->at);
	column_number(&d->columns, DETAIL_VALUE, value);
	d->at = at;
	d->n++;
	return ++d->columns.entries < ENTRIES_MOST ? 0 : details_flush(d);
}

/* "futex_wait <- take", and of a waker ", woken by futex_wake <- release". NULL without memory. */
static char *text_of(const struct stack_line *line, const struct stack_line *waker)
{
	char *text = stack_line_text(line, FRAMES_MOST), *by, *both;

	if (!text || !waker)
		return text;
	by = stack_line_text(waker, FRAMES_MOST);
	both = by ? xasprintf("%s, woken by %s", text, by) : NULL;
	free(text);
	free(by);
	return both;
}

static int add_stack(struct details *d, uint32_t stream, uint32_t number, int64_t at)
{
	const struct stack_line *line = stack_table_find(&d->stacks, number);
	const struct stack_line *waker = stack_line_waker(&d->stacks, line);
	uint32_t *index;
	char **text;

	if (!line)
		return 0;
	index = hash_at(&d->text_of,
			(struct hash_key){.a = line->first, .b = waker ? waker->first + 1ull : 0});
	if (index && *index == HASH_NONE) {
		text = ARRAY_ADD(d->texts, d->ntexts);
		if (text)
			*text = text_of(line, waker);
		*index = text && *text ? (uint32_t)d->ntexts - 1 : HASH_NONE;
	}
	if (!index || *index == HASH_NONE)
		return log_no_memory("for the stacks of the page");
	return add(d, stream, DETAIL_STACK, at, *index);
}

int details_end_off_cpu(struct details *d, struct actors *actors, uint32_t stream,
			const struct event *ev, int64_t at)
{
	int32_t owner = sleep_lock_owner(ev);
	uint32_t stack = sleep_stack(ev), actor;
	int err = 0;

	if (owner > 0) {
		actor = actors_find(actors, stream, owner);
		err = actor == UINT32_MAX ? log_no_memory("for the owners of the page")
					  : add(d, stream, DETAIL_OWNER, at, actor);
	}
	return err || !stack ? err : add_stack(d, stream, stack, at);
}

int details_end_run(struct details *d, uint32_t stream, int64_t irq_ns, int64_t at)
{
	return irq_ns > 0 ? add(d, stream, DETAIL_IRQ, at, (uint64_t)irq_ns) : 0;
}
