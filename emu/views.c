/* SPDX-License-Identifier: MIT */
/* views: writes names of rows and labels beside each .prv (see views.h). */
#include "emu/views.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu/breakdown.h"
#include "emu/paraver/pcf.h"
#include "trace/ovni/thread_state.h"
#include "trace/base/log.h"

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
	log_error("%s/%s: cannot create: %s%s", emu->out_dir, name, strerror(-fd), out_remedy(fd));
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

static void put_channels(FILE *out, const struct emulator *emu, bool cpu_view)
{
	for (uint32_t c = 0; c < emu->nchannels; c++) {
		const struct channel *ch = &emu->channels[c];
		const struct channel_page *page = ch->page;
		enum channel_track track = cpu_view ? TRACK_RUNNING : page->track;

		if (cpu_view && page->cpu == CPU_NONE)
			continue;
		pcf_type(out, page->type, page->label, page->alone ? "" : track_suffix[track]);
		if (ch->nlabels) {
			pcf_values(out);
			pcf_labels(out, ch->labels, ch->nlabels);
		}
	}
}

/* ---- the thread view ---- */

static void put_thread_rows(FILE *out, const struct emulator *emu)
{
	const struct system *sys = &emu->sys;

	row_head(out, sys->nthreads);
	for (uint32_t i = 0; i < sys->nthreads; i++) {
		const struct thread *th = &sys->threads[i];

		if (emu->names && th->name) {
			for (const char *at = th->name; *at; at++)
				putc((unsigned char)*at < ' ' || *at == 0x7f ? '?' : *at, out);
			if (th->process->shown_rank >= 0)
				fprintf(out, " rank %" PRIi32, th->process->shown_rank);
			fprintf(out, " (%" PRIi32 ")\n", th->tid);
		} else {
			fprintf(out, "TH %" PRIi32 ".%" PRIi32 "\n", th->process->app_id, th->tid);
		}
	}
}

static void put_thread_labels(FILE *out, const struct emulator *emu)
{
	const struct system *sys = &emu->sys;

	pcf_head(out);
	pcf_type(out, 6, "Thread: CPU affinity", "");
	pcf_values(out);
	for (uint32_t i = 0; i < sys->ncpus; i++) {
		fprintf(out, "%-4" PRIu32 " ", i + 1);
		put_cpu_name(out, emu, &sys->cpus[i]);
	}
	pcf_type(out, 2, "Thread: TID of the ACTIVE thread", "");
	pcf_type(out, 4, "Thread: thread state", "");
	pcf_values(out);
	for (int s = 0; s < THREAD_STATE_COUNT; s++)
		pcf_value(out, s, thread_state_names[s]);
	put_channels(out, emu, false);
}

/* ---- the cpu view ---- */

static void put_cpu_rows(FILE *out, const struct emulator *emu)
{
	row_head(out, emu->sys.ncpus);
	for (uint32_t i = 0; i < emu->sys.ncpus; i++)
		put_cpu_name(out, emu, &emu->sys.cpus[i]);
}

static void put_cpu_labels(FILE *out, const struct emulator *emu)
{
	pcf_head(out);
	if (emu->names) { /* an extension: the reference does not label the types 1 to 3 */
		pcf_type(out, 1, "CPU: PID of the RUNNING thread", "");
		pcf_type(out, 2, "CPU: TID of the RUNNING thread", "");
		pcf_type(out, 3, "CPU: number of RUNNING threads", "");
	}
	put_channels(out, emu, true);
}

static int write_two(struct emulator *emu, const char *view,
		     void (*rows)(FILE *, const struct emulator *),
		     void (*labels)(FILE *, const struct emulator *))
{
	FILE *file = open_text(emu, view, ".row");
	int err;

	if (!file)
		return -errno;
	rows(file, emu);
	err = close_text(emu, file, view, ".row");
	if (err)
		return err;
	file = open_text(emu, view, ".pcf");
	if (!file)
		return -errno;
	labels(file, emu);
	return close_text(emu, file, view, ".pcf");
}

int view_write_thread(struct emulator *emu)
{
	return write_two(emu, "thread", put_thread_rows, put_thread_labels);
}

int view_write_cpu(struct emulator *emu)
{
	return write_two(emu, "cpu", put_cpu_rows, put_cpu_labels);
}

/* ---- breakdowns ---- */

int view_write_breakdown(struct emulator *emu, const struct breakdown *b)
{
	FILE *file = open_text(emu, b->page->file, ".row");
	int err;

	if (!file)
		return -errno;
	row_head(file, b->ncpus);
	for (uint32_t i = b->ncpus; i > 0; i--)
		fprintf(file, "~CPU %4" PRIu32 "\n", i);
	err = close_text(emu, file, b->page->file, ".row");
	if (err)
		return err;
	file = open_text(emu, b->page->file, ".pcf");
	if (!file)
		return -errno;
	pcf_head(file);
	pcf_type(file, b->page->type, b->page->label, "");
	pcf_values(file);
	for (uint32_t c = 0; c < emu->nchannels; c++)
		if (emu->channels[c].breakdown == b)
			pcf_labels(file, emu->channels[c].labels, emu->channels[c].nlabels);
	return close_text(emu, file, b->page->file, ".pcf");
}
