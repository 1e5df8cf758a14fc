/* SPDX-License-Identifier: MIT */
/* segment: see segment.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/kernel/bpf_load.h"
#include "user/kernel/event_counts.h"
#include "user/timeline/probe_events.h"
#include "user/sink/output_dir.h"
#include "user/sink/segment.h"
#include "user/host/privilege.h"
#include "user/kernel/snapshot.h"
#include "user/timeline/threads.h"
#include "trace/base/log.h"
#include "trace/ovni/write_lock.h"
#include "user/writer/writer.h"
#include "user/stacks/user_stacks.h"

static int make_directory(struct segment *segment)
{
	const struct segment_plan *plan = segment->plan;
	int err;

	if (mkdirat(plan->fd, SEGMENT_NEXT, 0755)) {
		err = -errno;
		goto failed;
	}
	snprintf(segment->name, sizeof(segment->name), SEGMENT_NEXT);
	segment->fd =
		openat(plan->fd, SEGMENT_NEXT, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (segment->fd >= 0) {
		/* nobody else knows the new directory; on failure, the output directory's lock has
		 * warned */
		if (write_lock_acquire(segment->fd, plan->path, WRITE_LOCK_WRITER, "this is a bug"))
			log_debug("%s/" SEGMENT_NEXT " is not locked", plan->path);
		return 0;
	}
	err = -errno;
failed:
	disk_error_report(plan->disk_error, err,
			  "%s: cannot create the directory of the next trace", plan->path);
	return err;
}

/* First job of the writer. The draining thread may wait for it. */
static void keep_privileges(void *arg)
{
	(void)arg;
	privilege_raise_priority();
	privilege_keep(PRIVILEGE_WRITE);
}

struct segment *segment_open(const struct segment_plan *plan, bool several)
{
	struct writer_options options = {
		.max_bytes = plan->max_bytes, .files = plan->files, .disk_error = plan->disk_error};
	struct segment *segment = calloc(1, sizeof(*segment));

	if (!segment)
		goto no_memory;
	segment->plan = plan;
	segment->fd = -1;
	segment->info = plan->info;
	if (topology_copy(&segment->topology, plan->topology))
		goto no_memory;
	if (several && make_directory(segment))
		goto fail;
	options.trace_fd = several ? segment->fd : plan->fd;
	segment->writer = writer_start(&options);
	if (!segment->writer)
		goto fail;
	if (writer_run(segment->writer, keep_privileges, NULL))
		goto no_memory;
	segment->threads = threads_new(segment->writer, &segment->info, &segment->topology);
	if (!segment->threads)
		goto fail;
	return segment;
no_memory:
	log_no_memory("for another trace");
fail:
	segment_close(segment);
	return NULL;
}

int segment_begin(struct segment *segment, uint64_t t0)
{
	struct timeline_options options = segment->plan->timeline;

	options.t0 = segment->t0 = t0;
	segment->timeline = timeline_new(&options, segment->threads, &segment->topology);
	if (segment->timeline)
		return 0;
	return log_no_memory("for another trace");
}

int segment_name(struct segment *segment, unsigned number)
{
	const struct segment_plan *plan = segment->plan;
	char name[sizeof(segment->name)];
	int err = 0;

	snprintf(name, sizeof(name), "%04u", number);
	/* no other program writes here: rename() replaces nothing but an empty directory */
	if (renameat(plan->fd, segment->name, plan->fd, name)) {
		err = -errno;
		disk_error_report(plan->disk_error, err, "%s: cannot rename a trace to %s",
				  plan->path, name);
		return err;
	}
	memcpy(segment->name, name, sizeof(name));
	segment->number = number;
	return 0;
}

void segment_stop(struct segment *segment, uint64_t t1)
{
	segment->t1 = t1;
	timeline_stop(segment->timeline, t1);
}

int segment_add_tasks(struct timeline *timeline, const struct snapshot_tasks *tasks)
{
	int err;

	for (size_t i = 0; tasks && i < tasks->nstacks; i++)
		timeline_sleeps_at(timeline, &tasks->stacks[i]);
	for (size_t i = 0; tasks && i < tasks->ntasks; i++) {
		const struct record_iterated *found = &tasks->tasks[i];

		err = timeline_iterated(timeline, &found->task);
		if (err)
			return err;
		timeline_sleeps_in(timeline, found->task.id, found->call, found->object);
	}
	for (size_t i = 0; tasks && i < tasks->npriorities; i++)
		timeline_has_priority(timeline, &tasks->priorities[i]);
	return 0;
}

/* Gives the timeline the gaps that were open when the window closed. */
static int add_open_gaps(struct segment *segment, const struct event_counts *counts)
{
	for (unsigned cpu = 0; segment->to && cpu < counts->bpf->npossible; cpu++) {
		const struct counts_of_cpu *c = &segment->to->cpus[cpu];
		int err = c->gap_count ? timeline_open_gap(segment->timeline, cpu, c->gap_clock,
							   c->gap_count)
				       : 0;

		if (err)
			return err;
	}
	return 0;
}

int segment_finish(struct segment *segment, const struct event_counts *counts,
		   const struct snapshot_tasks *tasks, const struct segment_end *end)
{
	struct event_counts_table table = {0};
	const struct timeline_counts *made;
	int err = segment_add_tasks(segment->timeline, tasks), failed, unknown = 0;

	for (size_t i = 0; segment->info.user_stacks && tasks && i < tasks->nregisters; i++)
		user_stacks_sleeper(segment->info.user_stacks, &tasks->registers[i]);
	if (!err)
		err = add_open_gaps(segment, counts);
	if (segment->from && segment->to)
		unknown =
			event_counts_between(counts, segment->from, segment->to, end->aged, &table);
	err = err ? err : unknown;
	/* the writer reads session_info when it describes the first stream: let it finish first */
	failed = writer_sync(segment->writer);
	err = err ? err : failed;
	segment->info.part = segment->number;
	segment->info.stats = segment->plan->info.stats && !segment->number; /* else beside all */
	segment->info.stopped_by = end->stopped_by;
	segment->info.trigger = end->trigger;
	segment->info.command_status = end->command_status;
	segment->info.cpus = table.cpus;
	segment->info.ncpus = table.ncpus;
	segment->info.lost = unknown ? SESSION_UNKNOWN : table.lost;
	segment->info.stacks_left_out = unknown ? SESSION_UNKNOWN : table.stacks_left_out;
	segment->info.irqs_left_out = unknown ? SESSION_UNKNOWN : table.irqs_left_out;
	failed = timeline_close(segment->timeline);
	err = err ? err : failed;
	failed = writer_sync(segment->writer); /* the metadata refers to the table until here */
	err = err ? err : failed;
	if (segment->plan->calls)
		calls_add(segment->plan->calls, timeline_calls(segment->timeline));
	made = timeline_counts(segment->timeline);
	segment->result = (struct segment_result){
		.window_ns = segment->t1 > segment->t0 ? segment->t1 - segment->t0 : 0,
		.events = made->events,
		.records = made->records,
		.bytes = writer_bytes(segment->writer),
		.threads = threads_streams(segment->threads),
		.repairs = made->repairs,
		.late = made->late,
		.lost = table.lost,
	};
	segment->info.cpus = NULL;
	segment->info.ncpus = 0;
	free(table.cpus);
	if (segment->fd >= 0)
		write_lock_release(segment->fd); /* the trace is complete */
	return err;
}

void segment_close(struct segment *segment)
{
	if (!segment)
		return;
	timeline_free(segment->timeline);
	writer_finish(segment->writer);
	threads_free(segment->threads);
	topology_free(&segment->topology);
	window_edge_free(&segment->info.begin);
	window_edge_free(&segment->info.end);
	if (segment->fd >= 0)
		close(segment->fd);
	if (segment->name[0] && !segment->number) /* removes only an empty directory */
		unlinkat(segment->plan->fd, segment->name, AT_REMOVEDIR);
	free(segment->from);
	free(segment->to);
	free(segment);
}

int segment_remove(const struct segment_plan *plan, unsigned number)
{
	char name[16];
	int err;

	snprintf(name, sizeof(name), "%04u", number);
	err = output_dir_remove(plan->fd, name);
	if (err)
		disk_error_report(plan->disk_error, err, "%s: cannot remove the trace %s (--keep)",
				  plan->path, name);
	return err;
}
