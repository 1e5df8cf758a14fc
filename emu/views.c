/* SPDX-License-Identifier: MIT */
/*
 * views: writes the files beside a .prv: names of rows (.row) and labels (.pcf).
 *
 * In: the finished emulation; out: thread.row, thread.pcf, cpu.row, cpu.pcf, and the same of the
 * breakdowns. They are created empty together with the .prv, and filled at the end.
 * Specification: prv.md 1.3, 1.4, 2, 6.4; emulator.md 4.3.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu/breakdown.h"
#include "emu/emulation.h"
#include "trace/ovni/thread_state.h"
#include "trace/base/log.h"

/* ---- labels ---- */

static const struct {
	const char *key, *value;
} pcf_options[] = {
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

/* The options and the palette that every .pcf begins with. */
static void pcf_head(FILE *out)
{
	fprintf(out, "DEFAULT_OPTIONS\n\n");
	for (size_t i = 0; i < sizeof(pcf_options) / sizeof(pcf_options[0]); i++)
		fprintf(out, "%-20s %s\n", pcf_options[i].key, pcf_options[i].value);
	fprintf(out, "\n\nDEFAULT_SEMANTIC\n\n%-20s %s\n", "THREAD_FUNC", "State As Is");
	fprintf(out, "\n\nSTATES_COLOR\n");
	for (size_t i = 0; i < sizeof(palette) / sizeof(palette[0]); i++)
		fprintf(out, "%-3zu {%3d, %3d, %3d}\n", i, palette[i][0], palette[i][1],
			palette[i][2]);
}

/* The line of a type, with `suffix` after its label. Types that follow each other share values. */
static void pcf_type_line(FILE *out, uint32_t type, const char *label, const char *suffix)
{
	fprintf(out, "0 %-10" PRIu32 " ", type);
	put_text(out, label);
	fprintf(out, "%s\n", suffix);
}

/* Begins a type. */
static void pcf_type(FILE *out, uint32_t type, const char *label, const char *suffix)
{
	fprintf(out, "\n\nEVENT_TYPE\n");
	pcf_type_line(out, type, label, suffix);
}

/* Begins the values of a type, then one line each. */
static void pcf_values(FILE *out)
{
	fprintf(out, "VALUES\n");
}

static void pcf_value(FILE *out, int64_t value, const char *label)
{
	fprintf(out, "%-4" PRIi64 " ", value);
	put_text(out, label);
	putc('\n', out);
}

static void pcf_labels(FILE *out, const struct value_label *labels, size_t n)
{
	for (size_t i = 0; i < n; i++)
		pcf_value(out, labels[i].value, labels[i].label);
}

/* ---- files ---- */

static FILE *open_text(const struct emulator *emu, const char *view, const char *suffix)
{
	char name[64];
	FILE *file = NULL;
	int fd;

	snprintf(name, sizeof(name), "%s%s", view, suffix);
	fd = out_create(emu->out_fd, name);
	if (fd >= 0) {
		file = fdopen(fd, "w");
		if (file)
			return file;
		fd = -errno;
	}
	log_error("cannot create '%s/%s': %s%s", emu->out_dir, name, strerror(-fd), out_remedy(fd));
	errno = -fd;
	return NULL;
}

static int close_text(const struct emulator *emu, FILE *file, const char *view, const char *suffix)
{
	char path[PATH_MAX];
	int err = ferror(file) ? -EIO : 0;

	errno = 0;
	if (fclose(file))
		err = errno ? -errno : -EIO;
	if (err) {
		snprintf(path, sizeof(path), "%s/%s%s", emu->out_dir, view, suffix);
		out_report(emu->pool, path, err);
	}
	return err;
}

struct out *view_create(struct emulator *emu, const char *name)
{
	static const char *const suffixes[] = {".pcf", ".row"};
	char prv[64];

	for (size_t i = 0; i < 2; i++) {
		FILE *file = open_text(emu, name, suffixes[i]);

		if (!file || close_text(emu, file, name, suffixes[i]))
			return NULL;
	}
	snprintf(prv, sizeof(prv), "%s.prv", name);
	return out_open(emu->pool, emu->out_fd, emu->out_dir, prv, emu->opt->gzip);
}

static void row_head(FILE *out, uint32_t nrows)
{
	fprintf(out, "LEVEL NODE SIZE 1\nhostname\n\nLEVEL THREAD SIZE %" PRIu32 "\n", nrows);
}

static void put_cpu_name(FILE *out, const struct emulator *emu, const struct cpu *cpu)
{
	uint32_t loom = (uint32_t)(cpu->loom - emu->sys.looms);

	if (cpu->phyid < 0)
		fprintf(out, "vCPU %" PRIu32 ".*\n", loom);
	else
		fprintf(out, " CPU %" PRIu32 ".%" PRIi32 "\n", loom, cpu->phyid);
}

/* ---- channels ---- */

static const char *const track_suffix[] = {
	[TRACK_ANY] = "",
	[TRACK_RUNNING] = " of the RUNNING thread",
	[TRACK_ACTIVE] = " of the ACTIVE thread",
};

#define LASTING_SUFFIX " (on and off the CPU)"

static void put_channels(FILE *out, const struct emulator *emu, bool cpu_view)
{
	for (uint32_t c = 0; c < emu->nchannels; c++) {
		const struct channel *ch = &emu->channels[c];
		const struct channel_page *page = ch->page;
		enum channel_track track = cpu_view ? TRACK_RUNNING : page->track;

		if (cpu_view && page->cpu == CPU_NONE)
			continue;
		pcf_type(out, page->type, page->label, page->alone ? "" : track_suffix[track]);
		if (ch->lasting.len && !cpu_view) /* has the same labels */
			pcf_type_line(out, ch->lasting.number, page->label, LASTING_SUFFIX);
		if (ch->nlabels) {
			pcf_values(out);
			pcf_labels(out, ch->labels, ch->nlabels);
		}
	}
}

/* ---- the thread view ---- */

/* "solver rank 3 (1234)", or the name that the reference has; `id` is a tid or a pid. */
static void put_thread_name(FILE *out, const struct emulator *emu, const struct thread *th,
			    int32_t id)
{
	if (!emu->names || !th->name) {
		fprintf(out, "TH %" PRIi32 ".%" PRIi32, th->process->app_id, id);
		return;
	}
	for (const char *at = th->name; *at; at++)
		putc((unsigned char)*at < ' ' || *at == 0x7f ? '?' : *at, out);
	if (th->process->shown_rank >= 0)
		fprintf(out, " rank %" PRIi32, th->process->shown_rank);
	fprintf(out, " (%" PRIi32 ")", id);
}

static void put_thread_rows(FILE *out, const struct emulator *emu, const struct breakdown *b)
{
	const struct system *sys = &emu->sys;

	(void)b;
	row_head(out, sys->nthreads);
	for (uint32_t i = 0; i < sys->nthreads; i++) {
		put_thread_name(out, emu, &sys->threads[i], sys->threads[i].tid);
		putc('\n', out);
	}
}

/* The label of a thread, or of its process (`id` is then the pid), for the number `value`. */
static void put_named_value(FILE *out, const struct emulator *emu, int64_t value,
			    const struct thread *th, int32_t id)
{
	fprintf(out, "%-4" PRIi64 " ", value);
	put_thread_name(out, emu, th, id);
	if (emu->sys.nlooms > 1)
		fprintf(out, " on %s", th->process->loom->name);
	putc('\n', out);
}

static void put_thread_labels(FILE *out, const struct emulator *emu, const struct breakdown *b)
{
	const struct system *sys = &emu->sys;

	(void)b;
	pcf_head(out);
	pcf_type(out, 6, "Thread: CPU affinity", "");
	pcf_values(out);
	for (uint32_t i = 0; i < sys->ncpus; i++) {
		fprintf(out, "%-4" PRIu32 " ", i + 1);
		put_cpu_name(out, emu, &sys->cpus[i]);
	}
	pcf_type(out, 2, "Thread: TID of the ACTIVE thread", "");
	if (emu->names) {
		pcf_values(out);
		for (uint32_t i = 0; i < sys->nthreads; i++)
			put_named_value(out, emu, sys->threads[i].tid, &sys->threads[i],
					sys->threads[i].tid);
	}
	pcf_type(out, 4, "Thread: thread state", "");
	pcf_values(out);
	for (int s = 0; s < THREAD_STATE_COUNT; s++)
		pcf_value(out, s, thread_state_names[s]);
	put_channels(out, emu, false);
}

/* ---- the cpu view ---- */

static void put_cpu_rows(FILE *out, const struct emulator *emu, const struct breakdown *b)
{
	(void)b;
	row_head(out, emu->sys.ncpus);
	for (uint32_t i = 0; i < emu->sys.ncpus; i++)
		put_cpu_name(out, emu, &emu->sys.cpus[i]);
}

/* The numbers of processes; a process without its main thread has the name of its first thread. */
static void put_processes(FILE *out, const struct emulator *emu)
{
	const struct system *sys = &emu->sys;
	const struct thread *shown = NULL;

	for (uint32_t i = 0; i < sys->nthreads; i++) { /* side by side, by process */
		const struct thread *th = &sys->threads[i];
		bool last = i + 1 == sys->nthreads || sys->threads[i + 1].process != th->process;

		if (!shown || th->tid == th->process->pid)
			shown = th;
		if (!last)
			continue;
		put_named_value(out, emu, th->process->index + 1, shown, th->process->pid);
		shown = NULL;
	}
}

static void put_cpu_labels(FILE *out, const struct emulator *emu, const struct breakdown *b)
{
	const struct system *sys = &emu->sys;

	(void)b;
	pcf_head(out);
	if (emu->names) { /* an extension: the reference does not label the types 1 to 3 */
		pcf_type(out, 1, "CPU: PID of the RUNNING thread", "");
		pcf_type(out, 2, "CPU: TID of the RUNNING thread", "");
		pcf_type(out, 3, "CPU: number of RUNNING threads", "");
		pcf_type(out, CPU_TYPE_PROCESS, "CPU: process of the RUNNING thread", "");
		pcf_values(out);
		put_processes(out, emu);
		pcf_type(out, CPU_TYPE_THREAD, "CPU: the RUNNING thread", "");
		pcf_values(out);
		for (uint32_t i = 0; i < sys->nthreads; i++)
			put_named_value(out, emu, i + 1, &sys->threads[i], sys->threads[i].tid);
	}
	put_channels(out, emu, true);
}

/* ---- breakdowns ---- */

static void put_breakdown_rows(FILE *out, const struct emulator *emu, const struct breakdown *b)
{
	(void)emu;
	row_head(out, b->ncpus);
	for (uint32_t i = b->ncpus; i > 0; i--)
		fprintf(out, "~CPU %4" PRIu32 "\n", i);
}

static void put_breakdown_labels(FILE *out, const struct emulator *emu, const struct breakdown *b)
{
	pcf_head(out);
	pcf_type(out, b->page->type, b->page->label, "");
	pcf_values(out);
	for (uint32_t c = 0; c < emu->nchannels; c++)
		if (emu->channels[c].breakdown == b)
			pcf_labels(out, emu->channels[c].labels, emu->channels[c].nlabels);
}

/* ---- all views ---- */

typedef void (*put_fn)(FILE *out, const struct emulator *emu, const struct breakdown *b);

static int write_file(struct emulator *emu, const char *view, const char *suffix, put_fn put,
		      const struct breakdown *b)
{
	FILE *file = open_text(emu, view, suffix);

	if (!file)
		return -errno;
	put(file, emu, b);
	return close_text(emu, file, view, suffix);
}

static int write_two(struct emulator *emu, const char *view, put_fn rows, put_fn labels,
		     const struct breakdown *b)
{
	int err = write_file(emu, view, ".row", rows, b);

	return err ? err : write_file(emu, view, ".pcf", labels, b);
}

int views_write(struct emulator *emu)
{
	int err = write_two(emu, "thread", put_thread_rows, put_thread_labels, NULL);
	int other = write_two(emu, "cpu", put_cpu_rows, put_cpu_labels, NULL);

	err = err ?: other;
	for (size_t i = 0; i < emu->nbreakdowns; i++) {
		const struct breakdown *b = emu->breakdowns[i];

		other = write_two(emu, b->page->file, put_breakdown_rows, put_breakdown_labels, b);
		err = err ?: other;
	}
	return err;
}
