/* SPDX-License-Identifier: MIT */
/* progress: shows the progress of the emulation (see progress.h). */
#include "emu/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "emu/emulation.h"
#include "trace/base/log.h"

#define INTERVAL_NS 200000000

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

void progress_start(struct progress *progress, const struct emulator *emu)
{
	*progress = (struct progress){.start_ns = now_ns()};
	progress->next_ns = progress->start_ns + INTERVAL_NS;
	progress->on = !emu->opt->quiet && isatty(STDERR_FILENO);
	for (size_t i = 0; i < emu->nstreams; i++)
		progress->total_bytes += emu->streams[i].size;
}

void progress_show(struct progress *progress, const struct emulator *emu)
{
	int64_t now;
	uint64_t bytes = 0;
	double seconds, share;
	char line[128];

	if (!progress->on)
		return;
	now = now_ns();
	if (now < progress->next_ns)
		return;
	progress->next_ns = now + INTERVAL_NS;
	for (size_t i = 0; i < emu->nstreams; i++)
		bytes += stream_offset(&emu->streams[i]);
	seconds = (double)(now - progress->start_ns) / 1e9;
	share = (double)bytes / (double)(progress->total_bytes + 1);
	snprintf(line, sizeof(line), "%2.0f %%, %.1f M events, %.1f M/s, %.0f s left", 100 * share,
		 (double)emu->nevents / 1e6, (double)emu->nevents / 1e6 / seconds,
		 share > 0 ? seconds * (1 - share) / share : 0);
	log_status(line);
}

void progress_end(struct progress *progress, const struct emulator *emu, int err)
{
	double seconds = (double)(now_ns() - progress->start_ns) / 1e9;

	log_status(NULL);
	if (!err && !emu->opt->quiet)
		log_info("%" PRIu64 " events of %u threads on %u CPUs in %.2f s (%.2f M events/s)",
			 emu->nevents, emu->sys.nthreads, emu->sys.ncpus - emu->sys.nlooms, seconds,
			 seconds > 0 ? (double)emu->nevents / 1e6 / seconds : 0);
}
