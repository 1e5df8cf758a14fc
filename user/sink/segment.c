/* SPDX-License-Identifier: MIT */
/* segment: see segment.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/kernel/event_counts.h"
#include "user/timeline/probe_events.h"
#include "user/sink/output_dir.h"
#include "user/sink/segment.h"
#include "user/host/privilege.h"
#include "user/writer/disk_error.h"
#include "user/kernel/snapshot.h"
#include "user/timeline/threads.h"
#include "trace/base/log.h"
#include "user/writer/writer.h"

static int make_directory(struct part *part)
{
	const struct part_plan *plan = part->plan;
	int err;

	if (mkdirat(plan->fd, PART_NEXT, 0777)) {
		err = -errno;
		goto failed;
	}
	snprintf(part->name, sizeof(part->name), PART_NEXT);
	part->fd = openat(plan->fd, PART_NEXT, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (part->fd >= 0)
		return 0;
	err = -errno;
failed:
	refusal_tell(plan->refusal, err, "%s: cannot make a directory for the next trace",
		     plan->path);
	return err;
}

/* The writer's first job. */
static void keep_privileges(void *arg)
{
	(void)arg;
	privilege_keep(PRIVILEGE_WRITE);
}

struct part *part_open(const struct part_plan *plan, bool several)
{
	struct writer_options options = {
		.max_bytes = plan->max_bytes, .files = plan->files, .refusal = plan->refusal};
	struct part *part = calloc(1, sizeof(*part));

	if (!part)
		goto no_memory;
	part->plan = plan;
	part->fd = -1;
	part->facts = plan->facts;
	if (topology_copy(&part->topology, plan->topology))
		goto no_memory;
	if (several && make_directory(part))
		goto fail;
	options.trace_fd = several ? part->fd : plan->fd;
	part->writer = writer_start(&options);
	if (!part->writer)
		goto fail;
	if (writer_run(part->writer, keep_privileges, NULL))
		goto no_memory;
	part->threads = threads_new(part->writer, &part->facts, &part->topology);
	if (!part->threads)
		goto fail;
	return part;
no_memory:
	log_no_memory("another trace");
fail:
	part_close(part);
	return NULL;
}

int part_begin(struct part *part, uint64_t t0)
{
	struct timeline_options options = part->plan->timeline;

	options.t0 = part->t0 = t0;
	part->timeline = timeline_new(&options, part->threads, &part->topology);
	if (part->timeline)
		return 0;
	return log_no_memory("another trace");
}

int part_settle(struct part *part, unsigned number)
{
	const struct part_plan *plan = part->plan;
	char name[sizeof(part->name)];
	int err = 0;

	snprintf(name, sizeof(name), "%04u", number);
	/* nobody but us writes here: what has the name would be replaced only if it is empty */
	if (renameat(plan->fd, part->name, plan->fd, name)) {
		err = -errno;
		refusal_tell(plan->refusal, err, "%s: cannot give a trace the name %s", plan->path,
			     name);
		return err;
	}
	memcpy(part->name, name, sizeof(name));
	part->number = number;
	return 0;
}

void part_stop(struct part *part, uint64_t t1)
{
	part->t1 = t1;
	timeline_stop(part->timeline, t1);
}

static int tell_tasks(struct part *part, const struct snapshot_tasks *tasks)
{
	int err = 0;

	for (size_t i = 0; tasks && i < tasks->ntasks && !err; i++)
		err = timeline_iterated(part->timeline, &tasks->tasks[i]);
	return err;
}

int part_finish(struct part *part, const struct account *account,
		const struct snapshot_tasks *tasks, const struct part_end *end)
{
	struct account_table table = {0};
	const struct timeline_counts *counts;
	int err = tell_tasks(part, tasks), failed, unknown = 0;

	if (part->from && part->to)
		unknown = account_between(account, part->from, part->to, end->aged, &table);
	if (!err)
		err = unknown;
	/* the writer looks at the facts, too, when it describes the first stream: not just now */
	failed = writer_sync(part->writer);
	if (!err)
		err = failed;
	part->facts.part = part->number;
	part->facts.stopped_by = end->stopped_by;
	part->facts.trigger = end->trigger;
	part->facts.command_status = end->command_status;
	part->facts.cpus = table.cpus;
	part->facts.ncpus = table.ncpus;
	part->facts.lost = unknown ? FACTS_UNKNOWN : table.lost;
	failed = timeline_close(part->timeline);
	if (!err)
		err = failed;
	failed = writer_sync(part->writer); /* the descriptions look at the table until here */
	if (!err)
		err = failed;
	if (part->plan->calls)
		calls_add(part->plan->calls, timeline_calls(part->timeline));
	counts = timeline_counts(part->timeline);
	part->result = (struct part_result){
		.window_ns = part->t1 > part->t0 ? part->t1 - part->t0 : 0,
		.events = counts->events,
		.records = counts->records,
		.bytes = writer_bytes(part->writer),
		.threads = threads_streams(part->threads),
		.repairs = counts->repairs,
		.late = counts->late,
		.lost = table.lost,
	};
	part->facts.cpus = NULL;
	part->facts.ncpus = 0;
	free(table.cpus);
	return err;
}

void part_close(struct part *part)
{
	if (!part)
		return;
	timeline_free(part->timeline);
	writer_finish(part->writer);
	threads_free(part->threads);
	topology_free(&part->topology);
	if (part->fd >= 0)
		close(part->fd);
	if (part->name[0] && !part->number) /* stays if there is something in it */
		unlinkat(part->plan->fd, part->name, AT_REMOVEDIR);
	free(part->from);
	free(part->to);
	free(part);
}

int part_remove(const struct part_plan *plan, unsigned number)
{
	char name[16];
	int err;

	snprintf(name, sizeof(name), "%04u", number);
	err = output_remove(plan->fd, name);
	if (err)
		refusal_tell(plan->refusal, err, "%s: cannot remove the trace %s (--keep)",
			     plan->path, name);
	return err;
}
