/* SPDX-License-Identifier: MIT */
/*
 * flame_svg: the picture of a flame graph: a rectangle for each frame, as wide as its total time,
 * below the frame that called it. Names are untrusted: printable and escaped for XML. Each frame
 * has its exact times as attributes, for the script of the page and for tests.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/lib/table.h"
#include "tools/report/flame/flame.h"
#include "trace/base/text.h"

#define WIDTH	1200.0 /* pixels */
#define ROW	18
#define HEAD	40
#define LETTER	7.25 /* width of a character of 12 pixels of the font */
#define COLOURS 12   /* of functions */

/* The first `most` characters of a text; U+FFFE and U+FFFF are no characters of XML. */
static void put_xml(struct printer *out, const char *text, size_t most)
{
	const char *shown = text_shown(text), *end = shown + strlen(shown);

	for (size_t n; shown < end && most--; shown += n) {
		n = text_char(shown, end);
		if (*shown == '&')
			printer_text(out, "&amp;");
		else if (*shown == '<')
			printer_text(out, "&lt;");
		else if (*shown == '>')
			printer_text(out, "&gt;");
		else if (*shown == '"')
			printer_text(out, "&quot;");
		else if (n == 3 && !memcmp(shown, "\xef\xbf", 2) && (uint8_t)shown[2] >= 0xbe)
			printer_text(out, "?");
		else
			printer_bytes(out, shown, n);
	}
}

static size_t letters(const char *text)
{
	const char *shown = text_shown(text), *end = shown + strlen(shown);
	size_t count = 0;

	for (; shown < end; shown += text_char(shown, end))
		count++;
	return count;
}

/* The same name has the same colour in each picture: functions warm, functions of models blue or
 * green, threads grey. */
static void put_colour(struct printer *out, const struct flame_name *name)
{
	unsigned sum = 0;

	if (!name->type) {
		printer_text(out, "#c8ccd2");
		return;
	}
	for (const char *c = name->label; *c; c++)
		sum = sum * 31 + (uint8_t)*c;
	sum %= COLOURS;
	if (name->function.type < 0)
		printer_format(out, "#%02x%02x%02x", 105 + 4 * sum, 190 + 4 * sum, 225 - 2 * sum);
	else
		printer_format(out, "#%02x%02x%02x", 238 + sum, 135 + 8 * sum, 70 + 5 * sum);
}

static double share(const struct flame *flame, int64_t ns)
{
	int64_t all = flame->frames[0].total;

	return all > 0 ? (double)ns / (double)all : 1;
}

static void put_title(const struct flame *flame, struct printer *out, const struct flame_frame *f)
{
	const struct flame_name *name = &flame->names[f->name];
	char total[DURATION_TEXT], own[DURATION_TEXT];

	put_xml(out, name->label, SIZE_MAX);
	if (name->type) {
		printer_text(out, " (");
		put_xml(out, name->type, SIZE_MAX);
		printer_text(out, ")");
	}
	printer_format(out, ": %s, %.2f %%; itself %s", duration_words(total, f->total),
		       100 * share(flame, f->total), duration_words(own, flame_own(flame, f)));
	if (f->calls)
		printer_format(out, "; %" PRIu64 " %s", f->calls,
			       plural(f->calls, "call", "calls"));
}

static void put_frame(const struct flame *flame, struct printer *out, const struct flame_frame *f,
		      int64_t from)
{
	const char *label = flame->names[f->name].label;
	double x = WIDTH * share(flame, from), width = WIDTH * share(flame, f->total);
	size_t room = (size_t)((width - 6) / LETTER * (width > 6)), length;

	if (!flame->frames[0].total)
		x = 0;
	printer_format(out,
		       "<g data-from=\"%" PRId64 "\" data-ns=\"%" PRId64 "\" data-own=\"%" PRId64
		       "\" data-depth=\"%u\"><title>",
		       from, f->total, flame_own(flame, f), f->depth);
	put_title(flame, out, f);
	printer_format(out,
		       "</title><rect x=\"%.3f\" y=\"%u\" width=\"%.3f\" height=\"%d\" fill=\"", x,
		       HEAD + ROW * f->depth, width, ROW - 1);
	put_colour(out, &flame->names[f->name]);
	printer_format(out, "\"/><text x=\"%.3f\" y=\"%u\" data-name=\"", x + 3,
		       HEAD + ROW * f->depth + 13);
	put_xml(out, label, SIZE_MAX);
	printer_text(out, "\">");
	length = letters(label);
	if (length <= room) {
		put_xml(out, label, room);
	} else if (room >= 3) {
		put_xml(out, label, room - 1);
		printer_text(out, "…");
	}
	printer_text(out, "</text></g>\n");
}

int flame_svg(const struct flame *flame, struct printer *out, const char *path, double least,
	      bool inline_html)
{
	int64_t *ends = calloc(flame->nframes, sizeof(*ends)); /* of the children so far */
	char total[DURATION_TEXT];
	uint64_t small = 0;
	uint32_t depth = 0;

	if (!ends)
		return -ENOMEM;
	for (size_t i = 0; i < flame->nframes; i++) {
		bool drawn = !i || share(flame, flame->frames[i].total) >= 1 / least;

		small += !drawn && flame->frames[i].total > 0;
		if (drawn && flame->frames[i].depth > depth)
			depth = flame->frames[i].depth;
	}
	if (!inline_html)
		printer_text(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
	printer_format(out,
		       "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %u\" "
		       "width=\"%.0f\" font-family=\"monospace\" font-size=\"12\">\n"
		       "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n"
		       "<text x=\"3\" y=\"16\" font-size=\"15\">",
		       WIDTH, HEAD + ROW * (depth + 1) + 4, WIDTH);
	put_xml(out, path, SIZE_MAX);
	printer_format(out, ": %s by stack of functions, %s</text>\n",
		       flame_time_words[flame->time],
		       duration_words(total, flame->frames[0].total));
	if (small)
		printer_format(out,
			       "<text x=\"3\" y=\"33\">%" PRIu64
			       " %s of less than 1/%.0f of the time %s not drawn</text>\n",
			       small, plural(small, "frame", "frames"), least,
			       plural(small, "is", "are"));
	for (size_t i = 0; i < flame->nframes; i++) {
		const struct flame_frame *f = &flame->frames[i];
		int64_t from = i ? ends[f->parent] : 0;

		ends[i] = from;
		if (i)
			ends[f->parent] = clock_sum(from, f->total);
		if (!i || (f->total > 0 && share(flame, f->total) >= 1 / least))
			put_frame(flame, out, f, from);
	}
	printer_text(out, "</svg>\n");
	free(ends);
	return 0;
}
