/* SPDX-License-Identifier: MIT */
/* pcf: writes the labels of one view (see pcf.h). */
#include "emu/paraver/pcf.h"

#include <inttypes.h>

static const struct {
	const char *key, *value;
} options[] = {
	{"LEVEL", "THREAD"},  {"UNITS", "NANOSEC"},	 {"LOOK_BACK", "100"},
	{"SPEED", "1"},	      {"FLAG_ICONS", "ENABLED"}, {"NUM_OF_STATE_COLORS", "1000"},
	{"YMAX_SCALE", "37"},
};

static const unsigned char palette[][3] = {
	{0, 0, 0},	 {0, 130, 200},	  {217, 217, 217}, {230, 25, 75},   {60, 180, 75},
	{255, 225, 25},	 {245, 130, 48},  {145, 30, 180},  {70, 240, 240},  {240, 50, 230},
	{210, 245, 60},	 {250, 190, 212}, {0, 128, 128},   {128, 128, 128}, {220, 190, 255},
	{170, 110, 40},	 {255, 250, 200}, {128, 0, 0},	   {170, 255, 195}, {128, 128, 0},
	{255, 215, 180}, {0, 0, 128},	  {0, 0, 255},
};

/* Writes a label, which comes from the trace, without characters that would end the line. */
static void put_text(FILE *out, const char *text)
{
	for (; *text; text++)
		putc(*text == '\n' || *text == '\r' ? ' ' : *text, out);
}

void pcf_head(FILE *out)
{
	fprintf(out, "DEFAULT_OPTIONS\n\n");
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		fprintf(out, "%-20s %s\n", options[i].key, options[i].value);
	fprintf(out, "\n\nDEFAULT_SEMANTIC\n\n%-20s %s\n", "THREAD_FUNC", "State As Is");
	fprintf(out, "\n\nSTATES_COLOR\n");
	for (size_t i = 0; i < sizeof(palette) / sizeof(palette[0]); i++)
		fprintf(out, "%-3zu {%3d, %3d, %3d}\n", i, palette[i][0], palette[i][1],
			palette[i][2]);
}

void pcf_type(FILE *out, uint32_t type, const char *label, const char *suffix)
{
	fprintf(out, "\n\nEVENT_TYPE\n0 %-10" PRIu32 " ", type);
	put_text(out, label);
	fprintf(out, "%s\n", suffix);
}

void pcf_values(FILE *out)
{
	fprintf(out, "VALUES\n");
}

void pcf_value(FILE *out, int64_t value, const char *label)
{
	fprintf(out, "%-4" PRIi64 " ", value);
	put_text(out, label);
	putc('\n', out);
}

void pcf_labels(FILE *out, const struct value_label *labels, size_t n)
{
	for (size_t i = 0; i < n; i++)
		pcf_value(out, labels[i].value, labels[i].label);
}
