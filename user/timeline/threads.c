/* SPDX-License-Identifier: MIT */
/* threads: see threads.h. */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/config/config.h"
#include "user/config/job_members.h"
#include "user/config/session_info.h"
#include "trace/base/array.h"
#include "trace/base/hash.h"
#include "user/probes/action.h"
#include "user/host/proc_info.h"
#include "trace/ovni/stack_file.h"
#include "user/timeline/call_stacks.h"
#include "user/timeline/sleep_stacks.h"
#include "user/timeline/threads.h"
#include "user/host/topology.h"
#include "trace/base/log.h"
#include "user/writer/writer.h"

#define BUFFER_FIRST 256	 /* bytes of a stream's first buffer, */
#define BUFFER_GROWS 4		 /* how many times larger each next one is, */
#define BUFFER_LAST  (16 * 1024) /* and the size that is handed over when full */

#define LOOM_MAX 255 /* bytes of a name in a file system */

/* ---- the whole ---- */

/* The host name becomes part of a path and of ovni.loom, neither of which takes a slash. */
static char *loom_name(const char *host)
{
	char *loom = strndup(host && *host ? host : "localhost", LOOM_MAX);

	for (char *at = loom; at && *at; at++)
		if (*at == '/')
			*at = '-';
	return loom;
}

struct threads *threads_new(struct writer *writer, const struct session_info *info,
			    const struct topology *topology)
{
	struct threads *threads = calloc(1, sizeof(*threads));

	if (!threads)
		goto fail;
	threads->writer = writer;
	threads->topology = topology;
	threads->session.info = info;
	threads->machine = call_machine(info->machine);
	threads->loom = loom_name(info->loom);
	if (info->proc && process_numbers_are_ours(info->proc))
		threads->proc = info->proc;
	if (info->stack_ns) {
		threads->sleep_stacks = sleep_stacks_new(info->symbols, info->user_stacks);
		threads->session.stacks = threads->sleep_stacks;
		if (!threads->sleep_stacks)
			goto fail;
	}
	if (!threads->loom || names_init(&threads->names, writer, threads->proc))
		goto fail;
	if (threads->proc) {
		threads->own = calloc(1, sizeof(*threads->own));
		if (!threads->own)
			goto fail;
		process_read(threads->own, threads->proc, (uint32_t)getpid());
	}
	return threads;

fail:
	log_no_memory("for the threads to be traced");
	threads_free(threads);
	return NULL;
}

static void process_free(struct process *process)
{
	if (process->info)
		process_fini(process->info);
	free(process->info);
	lock_cache_free(process->locks);
	free(process);
}

void threads_free(struct threads *threads)
{
	struct task *task;
	uint32_t id = 0;

	if (!threads)
		return;
	while ((task = threads_next(threads, &id)))
		threads_release(threads, task);
	id_pages_free(&threads->pages);
	for (size_t i = 0; i < threads->nstreams; i++) {
		free(threads->streams[i]->names);
		free(threads->streams[i]->declared);
		free(threads->streams[i]->priorities);
		fd_names_free(threads->streams[i]->fds);
		lock_names_free(threads->streams[i]->locks);
		free(threads->streams[i]);
	}
	free(threads->streams);
	for (size_t i = 0; i < threads->nprocesses; i++)
		process_free(threads->processes[i]);
	free(threads->processes);
	lock_readings_fini(&threads->lock_readings);
	hash_free(&threads->stream_of);
	hash_free(&threads->process_of);
	if (threads->own)
		process_fini(threads->own);
	free(threads->own);
	sleep_stacks_free(threads->sleep_stacks);
	if (threads->names.table)
		names_fini(&threads->names);
	free(threads->session.cpus);
	free(threads->loom);
	free(threads);
}

uint64_t threads_streams(const struct threads *threads)
{
	return threads->nstreams;
}

/* ---- tasks ---- */

struct task *threads_task_new_page(struct threads *threads, uint32_t id)
{
	struct task_page *page;

	if (!id)
		return NULL;
	page = id_page_make(&threads->pages, id / TASKS_PAGE, sizeof(*page));
	return page ? &page->tasks[id % TASKS_PAGE] : NULL;
}

struct task *threads_next(const struct threads *threads, uint32_t *id)
{
	size_t number = ++*id / TASKS_PAGE, at = number;
	struct task_page *page;

	for (; (page = id_page_next(&threads->pages, &at)); number = ++at) {
		if (at != number)
			*id = (uint32_t)(at * TASKS_PAGE);
		for (; *id / TASKS_PAGE == at; ++*id)
			if (page->tasks[*id % TASKS_PAGE].id)
				return &page->tasks[*id % TASKS_PAGE];
	}
	return NULL;
}

void threads_use(struct threads *threads, struct task *task, uint32_t id, uint32_t pid,
		 uint32_t tid)
{
	memset(task, 0, sizeof(*task));
	task->id = id;
	task->pid = pid;
	task->tid = tid;
	task->cpu = -1;
	task->creator_tid = -1;
	task->call = CALL_UNKNOWN;
	((struct task_page *)id_page(&threads->pages, id / TASKS_PAGE))->used++;
	threads->known++;
}

void threads_release(struct threads *threads, struct task *task)
{
	size_t number = task->id / TASKS_PAGE;
	struct task_page *page = id_page(&threads->pages, number);

	free(task->buffer);
	stacks_free(task->stacks);
	memset(task, 0, sizeof(*task));
	threads->known--;
	if (!--page->used)
		id_page_free(&threads->pages, number);
}

/* ---- stream.json ---- */

/* A description and its data, on the way to the writer's thread. */
struct meta {
	struct threads *threads;
	struct process *process; /* of the stream */
	bool last;		 /* the last one of the process: frees its metadata */
	uint64_t *declared;	 /* the bits of `d` */
	struct priority_marks priorities;
	struct description d;
	struct rename names[]; /* d.names, then d.cpus */
};

/* Runs in the thread of the writer, as all code that reads process->info. For a thread that has
 * ended, the cgroup is the one that its process had when it was read. */
static struct json *meta_build(void *arg)
{
	struct meta *meta = arg;
	const struct process_info *info = meta->process->info;
	const char *proc = meta->threads->proc;
	char *cgroup =
		proc && !meta->d.exited ? thread_cgroup(proc, meta->d.pid, meta->d.tid) : NULL;
	struct json *doc;

	if (meta->d.cpus)
		meta->d.info = info;
	meta->d.cgroup = cgroup;
	if (!cgroup && info)
		meta->d.cgroup = info->cgroup;
	doc = describe_stream(&meta->d);
	meta->d.cgroup = NULL;
	free(cgroup);
	return doc;
}

/* In whichever thread ends the life of the description. Facts are kept as long as the
 * processes may turn out to be the ranks of an MPI program. */
static void meta_drop(void *arg)
{
	struct meta *meta = arg;

	if (meta->last && meta->process->info && atomic_load(&meta->threads->rankless)) {
		process_fini(meta->process->info);
		free(meta->process->info);
		meta->process->info = NULL;
	}
	free(meta->declared);
	free(meta);
}

static size_t declared_bytes(const struct actions *actions)
{
	return (actions->ndeclarations + 63) / 64 * sizeof(uint64_t);
}

static uint64_t *copy_declared(const struct thread *thread, const struct actions *actions)
{
	size_t bytes = declared_bytes(actions);
	uint64_t *copy = malloc(bytes);

	return copy ? memcpy(copy, thread->declared, bytes) : NULL;
}

int threads_declare_new(struct thread *thread, const struct actions *actions, uint32_t declaration)
{
	if (!thread->declared)
		thread->declared = calloc(1, declared_bytes(actions));
	if (!thread->declared) {
		return log_no_memory("for the marks of a thread");
	}
	thread->declared[declaration / 64] |= 1ull << declaration % 64;
	thread->ndeclared++;
	return 0;
}

static struct meta *meta_new(struct threads *threads, struct thread *thread, bool finished)
{
	const struct topology *topology = threads->topology;
	struct process *process = thread->process;
	bool with_cpus =
		thread == process->first || thread->key == thread_key(process->pid, process->pid);
	unsigned ncpus = with_cpus ? topology->ncpus : 0;
	struct meta *meta;
	unsigned *cpus;

	meta = calloc(1, sizeof(*meta) + thread->nnames * sizeof(*meta->names) +
				 ncpus * sizeof(*cpus));
	if (!meta)
		return NULL;
	cpus = (unsigned *)(meta->names + thread->nnames);
	meta->threads = threads;
	meta->process = process;
	meta->d = (struct description){
		.pid = (uint32_t)(thread->key >> 32),
		.tid = (uint32_t)thread->key,
		.app_id = threads->session.info->app_id ? threads->session.info->app_id : 1,
		.loom = threads->loom,
		.finished = finished,
		.kernel_model = threads->kernel_model,
		.marks = thread->marks,
		.kthread = process->kernel,
		.fds = thread->fds,
		.locks = thread->locks,
		.exited = thread->exited,
		.exit_code = thread->exit_code,
		.events = thread->events + (thread->owner ? thread->owner->events : 0),
		.repairs = thread->repairs,
		.bytes = STREAM_HEADER_SIZE + thread->bytes,
		.first = thread->first,
		.last = thread->owner ? thread->owner->last : thread->last,
		.names = meta->names,
		.nnames = thread->nnames,
		.nnames_more = thread->nnames_more,
		.rank = -1,
		.nranks = -1,
	};
	if (thread->nnames)
		memcpy(meta->names, thread->names, thread->nnames * sizeof(*meta->names));
	if (with_cpus) {
		memcpy(cpus, topology->phyid, ncpus * sizeof(*cpus));
		meta->d.cpus = cpus;
		meta->d.ncpus = ncpus;
		meta->d.parent_pid = process->parent_pid;
		meta->d.own = threads->own;
	}
	if (thread == threads->streams[0])
		meta->d.session = &threads->session;
	meta->d.actions = threads->actions;
	meta->d.counters = threads->session.info->counters;
	if (thread->priorities) {
		meta->priorities = *thread->priorities;
		meta->d.priorities = &meta->priorities;
		meta->d.cpu_sets = &threads->cpu_sets;
	}
	memcpy(meta->d.irqs, thread->irqs, sizeof(thread->irqs));
	meta->d.irq_names = threads->session.info->irq_names;
	if (!thread->declared)
		return meta;
	meta->d.declared = meta->declared = copy_declared(thread, threads->actions);
	if (meta->declared)
		return meta;
	free(meta);
	return NULL;
}

/* ---- handing over ---- */

/* Gives the lines of new stacks to the writer, before the first events with their numbers. Once the
 * session is closed its metadata say how large the file is: then there are no more. */
static int put_stacks(struct threads *threads)
{
	struct writer_request part = {.path = STACK_FILE, .text = true};

	if (!threads->sleep_stacks || threads->session.closed)
		return 0;
	part.events = sleep_stacks_take_lines(threads->sleep_stacks, &part.size);
	return part.events ? writer_put(threads->writer, &part) : 0;
}

/* Gives `events` (taken over, maybe NULL) and the description to the writer. */
static int put(struct threads *threads, struct thread *thread, void *events, size_t size,
	       struct meta *meta)
{
	char path[512];
	struct writer_request part = {
		.path = path,
		.create = !thread->created,
		.events = events,
		.size = size,
		.meta = meta ? meta_build : NULL,
		.drop = meta ? meta_drop : NULL,
		.arg = meta,
	};
	int err = put_stacks(threads);

	if (err) {
		free(events);
		if (meta)
			meta_drop(meta);
		return err;
	}
	snprintf(path, sizeof(path), "loom.%s/proc.%u/thread.%u", threads->loom,
		 (uint32_t)(thread->key >> 32), (uint32_t)thread->key);
	thread->created = true;
	return writer_put(threads->writer, &part);
}

/* The first stream is there before any other: it lists the CPUs, and as long as it is not
 * finished, a trace that a kill leaves behind does not look complete. */
static int create_first(struct threads *threads)
{
	struct meta *meta;

	if (threads->streams[0]->created)
		return 0;
	meta = meta_new(threads, threads->streams[0], false);
	if (meta)
		return put(threads, threads->streams[0], NULL, 0, meta);
	return log_no_memory("for the description of a stream");
}

/* Without memory the events are lost: nothing more is then written of any stream, or a stream
 * that lacks events would be described as finished. */
static int hand_over(struct threads *threads, struct thread *thread, void *events, size_t size,
		     bool finished, bool last)
{
	struct meta *meta = NULL;
	int err = 0;

	if (size && !thread->bytes)
		thread->first = get_u64((const uint8_t *)events + 4);
	thread->bytes += size;
	/* The first stream has the losses of the session: it is finished when they are known. */
	if (thread == threads->streams[0])
		finished = false;
	else
		err = create_first(threads);
	if (err)
		goto failed;
	if (finished || thread->finished || !thread->created ||
	    thread->marks != thread->marks_written ||
	    thread->ndeclared != thread->declared_written) {
		meta = meta_new(threads, thread, finished);
		if (!meta) {
			err = log_no_memory("for the description of a stream");
			goto failed;
		}
		/* the first stream of the session is described once more at the end */
		meta->last = last && thread->process != threads->streams[0]->process;
	}
	if (thread->finished && !finished) {
		/* The stream continues: it must not look complete yet. */
		err = put(threads, thread, NULL, 0, meta);
		if (err)
			goto failed;
		meta = NULL;
	}
	thread->finished = finished;
	thread->marks_written = thread->marks;
	thread->declared_written = thread->ndeclared;
	return put(threads, thread, events, size, meta);
failed:
	free(events);
	writer_abandon(threads->writer, err);
	return err;
}

int threads_make_room(struct threads *threads, struct task *task)
{
	size_t used = task->buffer ? (size_t)(task->at - task->buffer) : 0;
	size_t size = task->buffer ? (size_t)task->size * BUFFER_GROWS : BUFFER_FIRST;
	uint8_t *buffer;
	int err;

	if (task->size == BUFFER_LAST) {
		buffer = task->buffer;
		task->buffer = task->at = task->end = NULL;
		task->size = 0;
		err = hand_over(threads, task->thread, buffer, used, false, false);
		if (err)
			return err;
		used = 0;
		size = BUFFER_LAST;
	}
	buffer = realloc(task->buffer, size);
	if (!buffer)
		return log_no_memory("for the events of thread %u", task->tid);
	task->buffer = buffer;
	task->size = (uint32_t)size;
	task->at = buffer + used;
	task->end = buffer + size - TASK_ROOM + 1;
	return 0;
}

/* All that `task` has buffered, and its buffer. */
static int hand_over_task(struct threads *threads, struct task *task, bool finished, bool last)
{
	size_t used = task->buffer ? (size_t)(task->at - task->buffer) : 0;
	uint8_t *buffer = task->buffer;

	task->buffer = task->at = task->end = NULL;
	task->size = 0;
	return hand_over(threads, task->thread, buffer, used, finished, last);
}

int threads_flush(struct threads *threads)
{
	struct task *task;
	uint32_t id = 0;
	int err;

	while ((task = threads_next(threads, &id))) {
		if (!task->thread || task->at <= task->buffer)
			continue;
		err = hand_over_task(threads, task, false, false);
		if (err)
			return err;
	}
	return 0;
}

/* ---- processes ---- */

struct read_job {
	struct threads *threads;
	struct process *process;
};

/* A member of a job has the rank with which it has registered: it may have ended before its
 * environment could be read. Returns `info`, which may be new; NULL: nothing is known. */
static struct process_info *take_member(const struct job_plan *job, uint32_t pid,
					struct process_info *info)
{
	struct job_member member;

	if (!job || !job_members_find(job->members, pid, &member) || member.rank < 0)
		return info;
	info = info ? info : calloc(1, sizeof(*info));
	if (info) {
		info->rank = member.rank;
		info->nranks = job->size > 0 ? job->size : member.size;
	}
	return info;
}

/* In the writer's thread. The metadata of an ended process stays, except the program, which an exec
 * has replaced since it was read. */
static void read_process(void *arg)
{
	struct read_job *job = arg;
	struct process *process = job->process;
	struct process_info *info = calloc(1, sizeof(*info));

	lock_cache_forget(process->locks);
	if (info && process_read(info, job->threads->proc, process->pid)) {
		if (process->info)
			process_fini(process->info);
		free(process->info);
		process->info = info;
	} else {
		free(info);
		if (process->info)
			process_forget_program(process->info);
	}
	process->info = take_member(job->threads->session.info->job, process->pid, process->info);
	if (!process->info || process->info->nranks < 0)
		atomic_store(&job->threads->rankless, true);
	free(job);
}

void threads_read_process(struct threads *threads, struct process *process)
{
	struct read_job *job;

	process->programs++;
	if (!threads->proc || process->kernel) {
		atomic_store(&threads->rankless, true);
		return;
	}
	job = malloc(sizeof(*job));
	if (job) {
		*job = (struct read_job){.threads = threads, .process = process};
		if (writer_run(threads->writer, read_process, job))
			free(job);
	}
}

void threads_sleep_on(struct threads *threads, struct task *task, uint64_t clock)
{
	struct process *process = task->thread->process;

	if (task->kernel_lock || task->call == CALL_NONE)
		return;
	switch (call_object(threads->machine, task->call)) {
	case CALL_OBJECT_FD:
		fd_names_sleep(&task->thread->fds, &threads->fd_readings, threads->writer,
			       threads->proc, task->pid, (uint32_t)task->object, clock);
		break;
	case CALL_OBJECT_ADDRESS:
		lock_names_sleep(&task->thread->locks, &process->locks, &threads->lock_readings,
				 threads->writer, threads->proc, task->pid, process->programs,
				 task->object, clock);
		break;
	default:
		break;
	}
}

void threads_name_address(struct threads *threads, struct task *task, uint64_t address,
			  uint64_t clock)
{
	struct process *process = task->thread->process;

	lock_names_sleep(&task->thread->locks, &process->locks, &threads->lock_readings,
			 threads->writer, threads->proc, task->pid, process->programs, address,
			 clock);
}

static struct process *process_of(struct threads *threads, uint32_t pid)
{
	uint32_t *at = hash_at(&threads->process_of, (struct hash_key){.a = pid});
	struct process *process, **added;

	if (!at)
		return NULL;
	if (*at != HASH_NONE)
		return threads->processes[*at];
	process = calloc(1, sizeof(*process));
	added = process ? ARRAY_ADD(threads->processes, threads->nprocesses) : NULL;
	if (!added) {
		free(process);
		return NULL;
	}
	process->pid = pid;
	*added = process;
	*at = (uint32_t)(added - threads->processes);
	return process;
}

/* ---- streams ---- */

struct thread *threads_find(const struct threads *threads, uint32_t pid, uint32_t tid)
{
	uint32_t at = hash_get(&threads->stream_of, (struct hash_key){.a = pid, .b = tid});

	return at == HASH_NONE ? NULL : threads->streams[at];
}

static struct thread *thread_new(struct threads *threads, uint32_t pid, uint32_t tid)
{
	uint32_t *at = hash_at(&threads->stream_of, (struct hash_key){.a = pid, .b = tid});
	struct process *process = at ? process_of(threads, pid) : NULL;
	struct thread *thread = process ? calloc(1, sizeof(*thread)) : NULL, **added;

	added = thread ? ARRAY_ADD(threads->streams, threads->nstreams) : NULL;
	if (!added) {
		free(thread);
		return NULL;
	}
	*added = thread;
	*at = (uint32_t)(added - threads->streams);
	thread->key = thread_key(pid, tid);
	thread->process = process;
	if (!process->first)
		process->first = thread;
	names_has_stream(&threads->names, tid);
	return thread;
}

/* Adds a name to a stream, unless it is the same as the last one. */
static int rename_to(struct thread *thread, const struct rename *name)
{
	struct rename *last = thread->names ? &thread->names[thread->nnames - 1] : NULL, *grown;
	uint32_t room = thread->nnames ? thread->nnames * 2 : 1;

	if (!name->name[0] || (last && !strcmp(last->name, name->name)))
		return 0;
	if (last && thread->nnames == DESCRIBE_RENAMES_MAX + 1) {
		/* The last place always has the name that holds. */
		*last = *name;
		thread->nnames_more++;
		return 0;
	}
	if (!last || !(thread->nnames & (thread->nnames - 1))) {
		grown = realloc(thread->names, room * sizeof(*grown));
		if (!grown)
			return log_no_memory("for the names of a thread");
		thread->names = grown;
	}
	thread->names[thread->nnames++] = *name;
	return 0;
}

int threads_name(struct task *task, uint64_t clock, const char *comm)
{
	task->name.clock = clock;
	memcpy(task->name.name, comm, RECORD_COMM_SIZE);
	task->name.name[RECORD_COMM_SIZE - 1] = '\0';
	return task->thread ? rename_to(task->thread, &task->name) : 0;
}

int threads_bind(struct threads *threads, struct task *task)
{
	struct thread *thread = threads_find(threads, task->pid, task->tid);

	if (!thread)
		thread = thread_new(threads, task->pid, task->tid);
	if (!thread || rename_to(thread, &task->name))
		return log_no_memory("for the stream of thread %u", task->tid);
	thread->owner = task;
	thread->exited = false;
	task->thread = thread;
	task->key = thread->key;
	task->last = thread->last;
	task->events = 0;
	task->cpu = -1;
	task->state = thread->events ? THREAD_STATE_DEAD : THREAD_STATE_UNKNOWN;
	if (task->parent_pid)
		thread->process->parent_pid = task->parent_pid;
	if (!thread->process->live++) {
		thread->process->kernel = task->flags & TASK_KERNEL;
		threads_read_process(threads, thread->process);
	}
	return 0;
}

int threads_unbind(struct threads *threads, struct task *task)
{
	struct thread *thread = task->thread;
	bool last = !--thread->process->live;
	int err;

	if (task->flags & TASK_EXITING) {
		thread->exited = true;
		thread->exit_code = task->exit_code;
	}
	err = hand_over_task(threads, task, true, last);
	thread->last = task->last;
	thread->events += task->events;
	thread->owner = NULL;
	task->thread = NULL;
	task->key = 0;
	task->events = 0;
	return err;
}

/* ---- the end ---- */

/* ovni.rank is for all processes or for none. The writer is idle: processes can be read here. */
static bool all_ranked(const struct threads *threads)
{
	int32_t nranks = threads->nprocesses ? 0 : -1;

	for (size_t i = 0; i < threads->nprocesses; i++) {
		const struct process_info *info = threads->processes[i]->info;

		if (!info || info->rank < 0 || info->nranks < 0 ||
		    (nranks && info->nranks != nranks))
			return false;
		nranks = info->nranks;
	}
	return nranks > 0;
}

int threads_finish(struct threads *threads, const struct session *session)
{
	int err = writer_sync(threads->writer);
	bool ranked = !err && all_ranked(threads);

	if (!err && threads->sleep_stacks) {
		sleep_stacks_settle(threads->sleep_stacks);
		err = put_stacks(threads);
	}
	threads->session = *session;
	threads->session.stacks = threads->sleep_stacks;
	if (err)
		return err;
	threads->session.names = &threads->names;
	threads->session.streams = 0;
	for (size_t i = 0; i < threads->nstreams; i++)
		threads->session.streams += threads->streams[i]->created;
	for (size_t i = 0; i < threads->nstreams; i++) {
		struct thread *thread = threads->streams[i];

		struct process *process = thread->process;
		struct meta *meta;

		if (thread != threads->streams[0] && !(ranked && thread == process->first))
			continue;
		meta = meta_new(threads, thread, true);
		if (!meta)
			return log_no_memory("for the description of a stream");
		if (ranked && thread == process->first) {
			meta->d.rank = process->info->rank;
			meta->d.nranks = process->info->nranks;
		}
		err = put(threads, thread, NULL, 0, meta);
		if (err)
			return err;
	}
	return 0;
}
