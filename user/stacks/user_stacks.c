/* SPDX-License-Identifier: MIT */
#include "user/stacks/user_stacks.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "trace/base/array.h"
#include "trace/base/hash.h"
#include "trace/base/log.h"
#include "trace/base/text.h"
#include "user/elf/elf_file.h"
#include "user/elf/stack_walk.h"
#include "user/host/proc_info.h"
#include "user/host/privilege.h"
#include "user/host/proc_maps.h"
#include "user/host/read_file.h"
#include "user/stacks/user_stacks.h"

#define POLL_MS 50
/* The mappings of a new process are read SOON_MS after its begin or exec, for one that sleeps and
 * ends, and LATER_MS after it, when all of its libraries are there. */
#define SOON_MS	       2
#define LATER_MS       20
#define SETTLE_SECONDS 10
#define QUEUE_MOST     64 /* stacks that wait to be walked: 1 MiB */
#define NONE_ID	       UINT32_MAX
#if defined(__x86_64__)
#define NREGISTERS  17
#define SP_REGISTER 7
#else
#define NREGISTERS  33
#define SP_REGISTER 31
#endif

/* A file that processes have mapped. */
struct file {
	dev_t device;
	ino_t inode;
	int fd; /* -1: it cannot be read */
	char *name;
	Elf64_Phdr *segments; /* nsegments of them */
	size_t nsegments;
	unsigned generation; /* of the child that has it, + 1 */
};

struct process {
	uint32_t pid; /* 0: none */
	int dir;      /* /proc/PID, of this process and no later one with its number; -1 */
	uint64_t used;
	ino_t program; /* inode of its executable: an exec changes it */
	struct walk_mapping mappings[STACK_WALK_MAPPINGS];
	size_t n;
	unsigned generation; /* of the child that has these mappings, + 1 */
};

struct user_stacks {
	const char *proc;
	user_stacks_poll poll;
	void *source;
	pthread_t thread, walker;
	_Atomic bool stop;

	/* Of the first thread, which reads mappings while the processes live. */
	const uint32_t *pids; /* npids of them, the caller's */
	size_t npids;
	struct new_process {
		uint32_t pid;
		bool read;		       /* once */
		int64_t when;		       /* to read it, CLOCK_MONOTONIC, ms */
	} new_processes[STACK_WALK_PROCESSES]; /* nnew of them; more at a time are left out */
	size_t nnew;

	/* Of the walker: a walk may take seconds, where large files are read. */
	struct stack_walk *walk;
	char text[STACK_WALK_TEXT];

	pthread_mutex_t table; /* of the next ones */
	struct file files[STACK_WALK_FILES];
	size_t nfiles;
	struct process processes[STACK_WALK_PROCESSES];
	uint64_t uses;

	pthread_mutex_t lock; /* of all below */
	pthread_cond_t queued, walked;
	struct user_stack *queue; /* of QUEUE_MOST: nqueued of them from `first` on */
	size_t first, nqueued;
	bool end; /* no more come */
	uint64_t bytes;
	pthread_cond_t settled;
	uint64_t settle_asked, settle_done;
	struct record_registers *sleepers; /* nsleepers of them */
	size_t nsleepers;
	struct hash by_text; /* in texts */
	char **texts;
	size_t ntexts;
	uint64_t known; /* stacks */
	struct {
		uint32_t number, id;
	} * found; /* by number % USER_STACKS_KEPT */
};

/* ---- files ---- */

static struct file *add_file(struct user_stacks *s, dev_t device, ino_t inode, const char *name)
{
	struct file *file = &s->files[s->nfiles];

	*file = (struct file){.device = device, .inode = inode, .fd = -1, .name = strdup(name)};
	if (!file->name)
		return NULL;
	s->nfiles++;
	return file;
}

/* Takes over an open file. */
static void attach(struct file *file, struct elf_file *elf)
{
	file->fd = elf->fd;
	file->segments = elf->segments;
	file->nsegments = elf->nsegments;
	elf->fd = -1;
	elf->segments = NULL;
}

/* Opens the file of a mapping: by its name, or, deleted or replaced, as the kernel still has it. */
static bool open_mapped(const struct user_stacks *s, struct elf_file *elf, const char *root,
			uint32_t pid, const struct mapping *m)
{
	char *paths[] = {
		m->deleted ? NULL : strdup(m->path),
		xasprintf("%s/%u/exe", s->proc, pid),
		xasprintf("%s/%u/map_files/%llx-%llx", s->proc, pid, (unsigned long long)m->start,
			  (unsigned long long)m->end),
	};
	bool found = false;
	int err;

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		if (paths[i] && !found && !elf_file_open(elf, i ? "" : root, paths[i], &err)) {
			found = elf->inode == m->inode;
			if (!found)
				elf_file_close(elf);
		}
		free(paths[i]);
	}
	return found;
}

/* The file of a mapping, which is opened once; NULL: it has none that can be read. */
static struct file *file_of(struct user_stacks *s, const char *root, uint32_t pid,
			    const struct mapping *m)
{
	const char *base = strrchr(m->path, '/') + 1;
	struct elf_file elf;
	struct file *file;

	for (size_t i = 0; i < s->nfiles; i++)
		if (s->files[i].inode == m->inode && s->files[i].device == m->device)
			return s->files[i].fd < 0 ? NULL : &s->files[i];
	if (s->nfiles == STACK_WALK_FILES)
		return NULL;
	file = add_file(s, m->device, m->inode, base);
	if (!file || !open_mapped(s, &elf, root, pid, m))
		return NULL;
	attach(file, &elf);
	return file;
}

/* The code that the kernel maps into each process: this process has it, too. */
static struct file *vdso_file(struct user_stacks *s)
{
	struct mappings mappings;
	struct file *file = NULL;

	for (size_t i = 0; i < s->nfiles; i++)
		if (!s->files[i].inode)
			return s->files[i].fd < 0 ? NULL : &s->files[i];
	if (s->nfiles == STACK_WALK_FILES ||
	    mappings_read_all(&mappings, s->proc, (uint32_t)getpid()))
		return NULL;
	for (size_t i = 0; i < mappings.count && !file; i++) {
		const struct mapping *m = &mappings.list[i];
		int fd, err;
		struct elf_file elf;

		if (strcmp(m->path, "[vdso]") != 0)
			continue;
		file = add_file(s, 0, 0, m->path);
		fd = file ? memfd_create("vdso", MFD_CLOEXEC) : -1;
		if (fd >= 0 && write(fd, (const void *)m->start, m->end - m->start) < 0) {
			close(fd);
			fd = -1;
		}
		if (fd >= 0 && !elf_file_attach(&elf, fd, &err))
			attach(file, &elf);
	}
	mappings_free(&mappings);
	return file && file->fd >= 0 ? file : NULL;
}

/* Address in memory - address in the file, of a mapping for execution. */
static bool find_bias(const struct file *file, const struct mapping *m, uint64_t *bias)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE) - 1;

	for (size_t i = 0; i < file->nsegments; i++) {
		const Elf64_Phdr *segment = &file->segments[i];

		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X) ||
		    m->offset < (segment->p_offset & ~page) ||
		    m->offset - (segment->p_offset & ~page) >= segment->p_filesz + page)
			continue;
		*bias = m->start - (segment->p_vaddr - segment->p_offset + m->offset);
		return true;
	}
	return false;
}

/* ---- processes ---- */

static void add_mapping(struct user_stacks *s, struct process *p, const char *root,
			const struct mapping *m)
{
	struct walk_mapping *to = &p->mappings[p->n];
	struct file *file = NULL;

	if (p->n == STACK_WALK_MAPPINGS || m->start >= m->end)
		return;
	*to = (struct walk_mapping){m->start, m->end, 0, STACK_WALK_NO_FILE, 0};
	if (m->path[0] == '/')
		file = file_of(s, root, p->pid, m);
	else if (!strcmp(m->path, "[vdso]"))
		file = vdso_file(s);
	if (file && find_bias(file, m, &to->bias))
		to->file = (uint32_t)(file - s->files);
	p->n++;
}

/* Reads the mappings of a process. False: it cannot be read, or they are as before. */
static bool read_mappings(struct user_stacks *s, struct process *p)
{
	char *root = xasprintf("%s/%u/root", s->proc, p->pid);
	struct mappings mappings = {0};
	struct hash_key before = hash_key_of(p->mappings, p->n * sizeof(p->mappings[0])), after;

	if (!root || mappings_read_all(&mappings, s->proc, p->pid) || !mappings.count) {
		free(root);
		mappings_free(&mappings);
		return false;
	}
	p->n = 0;
	for (size_t i = 0; i < mappings.count; i++)
		add_mapping(s, p, root, &mappings.list[i]);
	free(root);
	mappings_free(&mappings);
	after = hash_key_of(p->mappings, p->n * sizeof(p->mappings[0]));
	if (before.a == after.a && before.b == after.b && before.c == after.c)
		return false;
	p->generation = 0;
	return true;
}

/* The inode of the program that a process runs; 0: it has ended. */
static ino_t program_of(int dir)
{
	struct stat st;

	return dir >= 0 && !fstatat(dir, "exe", &st, 0) ? st.st_ino : 0;
}

static void forget(struct process *p)
{
	if (p->pid && p->dir >= 0)
		close(p->dir);
	p->pid = 0;
	p->dir = -1;
	p->n = 0;
	p->generation = 0;
}

static int open_dir(const struct user_stacks *s, uint32_t pid)
{
	char path[256];
	int dir;

	snprintf(path, sizeof(path), "%s/%u", s->proc, pid);
	dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir >= 0 && !process_is_users(dir)) {
		close(dir);
		return -1;
	}
	return dir;
}

/* The process of a number, with its mappings; NULL: it cannot be read. */
static struct process *process_of(struct user_stacks *s, uint32_t pid)
{
	struct process *p = NULL, *oldest = &s->processes[0];
	ino_t program;
	int dir;

	for (size_t i = 0; i < STACK_WALK_PROCESSES; i++) {
		if (s->processes[i].pid == pid)
			p = &s->processes[i];
		if (s->processes[i].used < oldest->used)
			oldest = &s->processes[i];
	}
	program = p ? program_of(p->dir) : 0;
	if (p && program == p->program)
		goto found;
	if (p && program) { /* it runs another program now */
		p->program = program;
		read_mappings(s, p);
		goto found;
	}
	dir = open_dir(s, pid);
	program = program_of(dir);
	if (!program) { /* it has ended; maybe after its mappings were read */
		if (dir >= 0)
			close(dir);
		if (p)
			goto found;
		return NULL;
	}
	p = p ? p : oldest;
	forget(p);
	p->pid = pid;
	p->dir = dir;
	p->program = program;
	if (!read_mappings(s, p)) {
		forget(p);
		return NULL;
	}
found:
	p->used = ++s->uses;
	return p;
}

/* ---- new processes ---- */

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

/* A process is born, or runs another program. */
static void add_new(struct user_stacks *s, uint32_t pid)
{
	size_t i = 0;

	while (i < s->nnew && s->new_processes[i].pid != pid)
		i++;
	if (i == STACK_WALK_PROCESSES)
		return;
	s->nnew += i == s->nnew;
	s->new_processes[i] = (struct new_process){.pid = pid, .when = now_ms() + SOON_MS};
}

/* Reads the mappings of new processes whose time has come. Returns the ms until the next one, at
 * most POLL_MS. */
static int read_new(struct user_stacks *s)
{
	int64_t now = s->nnew ? now_ms() : 0, wait = POLL_MS;

	pthread_mutex_lock(&s->table);
	for (size_t i = 0; i < s->nnew;) {
		struct new_process *next = &s->new_processes[i];
		struct process *p = next->when <= now ? process_of(s, next->pid) : NULL;

		if (next->when <= now && (!p || next->read)) {
			if (p && program_of(p->dir))
				read_mappings(s, p);
			*next = s->new_processes[--s->nnew];
			continue;
		}
		if (p) { /* process_of() has read them */
			next->read = true;
			next->when = now + LATER_MS - SOON_MS;
		}
		if (next->when - now < wait)
			wait = next->when - now;
		i++;
	}
	pthread_mutex_unlock(&s->table);
	return (int)wait;
}

/* Gives the child the mappings of a process, and their files. 0 or -errno. */
static int tell(struct user_stacks *s, struct process *p)
{
	unsigned now = stack_walk_generation(s->walk) + 1;
	int err = 0;

	for (size_t i = 0; i < p->n && !err; i++) {
		struct file *file;

		if (p->mappings[i].file == STACK_WALK_NO_FILE)
			continue;
		file = &s->files[p->mappings[i].file];
		if (file->generation != now)
			err = stack_walk_file(s->walk, p->mappings[i].file, file->fd, file->name);
		file->generation = now;
	}
	if (!err && p->generation != now)
		err = stack_walk_process(s->walk, (uint32_t)(p - s->processes), p->mappings, p->n);
	p->generation = now;
	return err;
}

/* ---- stacks ---- */

/* Walks a stack with the mappings of its process as they are known, or, if `again`, as they are now
 * if they have changed. Returns how many frames, or -errno. */
static int walk(struct user_stacks *s, const struct user_stack *stack, bool again)
{
	const struct walk_stack from = {
		.from = stack->from,
		.bytes = stack->bytes < USER_STACK_MAX ? stack->bytes : USER_STACK_MAX,
		.nregisters = NREGISTERS,
		.registers = (const uint64_t *)stack->registers,
		.stack = stack->stack,
	};
	uint32_t index = 0;
	struct process *p;
	int err = -ESRCH;

	pthread_mutex_lock(&s->table);
	p = process_of(s, stack->pid);
	if (p && (!again || read_mappings(s, p))) {
		index = (uint32_t)(p - s->processes);
		err = tell(s, p);
	}
	pthread_mutex_unlock(&s->table);
	return err ? err : stack_walk_frames(s->walk, index, &from, s->text);
}

/* The number of the text, or NONE_ID. With the lock. */
static uint32_t intern(struct user_stacks *s, const char *text)
{
	size_t size = strlen(text) + 1;
	uint32_t *at = hash_at(&s->by_text, hash_key_of(text, size));
	char **added;

	if (!at)
		return NONE_ID;
	if (*at != HASH_NONE)
		return *at;
	if (s->bytes + size > USER_STACKS_BYTES)
		return NONE_ID;
	added = ARRAY_ADD(s->texts, s->ntexts);
	if (added)
		*added = strdup(text);
	if (!added || !*added) {
		s->ntexts -= added != NULL;
		return NONE_ID;
	}
	s->bytes += size;
	return *at = (uint32_t)(s->ntexts - 1);
}

/* Walks a stack, and keeps its text. */
static void take_frames(struct user_stacks *s, const struct user_stack *stack)
{
	size_t at = stack->number % USER_STACKS_KEPT;
	int n, now;

	s->text[0] = '\0';
	n = walk(s, stack, false);
	if (n == -EAGAIN || n == 0) { /* a library that was loaded since */
		now = walk(s, stack, true);
		n = now == -ESRCH ? n : now;
	}
	pthread_mutex_lock(&s->lock);
	s->found[at].id = (n > 0 || n == -EAGAIN) && s->text[0] ? intern(s, s->text) : NONE_ID;
	s->found[at].number = stack->number;
	s->known += s->found[at].id != NONE_ID;
	pthread_mutex_unlock(&s->lock);
}

/* The walker: takes the stacks of the queue, until the end. */
static void *walk_queue(void *arg)
{
	struct user_stacks *s = arg;

	pthread_setname_np(pthread_self(), "ovni-walker");
	privilege_keep(PRIVILEGE_WRITE);
	pthread_mutex_lock(&s->lock);
	for (;;) {
		while (!s->nqueued && !s->end)
			pthread_cond_wait(&s->queued, &s->lock);
		if (!s->nqueued)
			break;
		pthread_mutex_unlock(&s->lock);
		take_frames(s, &s->queue[s->first]);
		pthread_mutex_lock(&s->lock);
		s->first = (s->first + 1) % QUEUE_MOST;
		s->nqueued--;
		pthread_cond_signal(&s->walked);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* Waits until at most `most` stacks are in the queue. With the lock. */
static void wait_walked(struct user_stacks *s, size_t most)
{
	while (s->nqueued > most)
		pthread_cond_wait(&s->walked, &s->lock);
}

/* Takes a record of the ring, or a stack that was read: the mappings are read now, the walker has
 * the rest. */
static void take(void *arg, const struct user_stack *stack)
{
	struct user_stacks *s = arg;

	if (!stack->number) {
		add_new(s, stack->pid);
		return;
	}
	pthread_mutex_lock(&s->table);
	(void)process_of(s, stack->pid);
	pthread_mutex_unlock(&s->table);
	pthread_mutex_lock(&s->lock);
	wait_walked(s, QUEUE_MOST - 1);
	memcpy(&s->queue[(s->first + s->nqueued++) % QUEUE_MOST], stack,
	       offsetof(struct user_stack, stack) + stack->bytes);
	pthread_cond_signal(&s->queued);
	pthread_mutex_unlock(&s->lock);
}

enum user_stack_state user_stacks_find(struct user_stacks *s, uint32_t number, uint32_t *id,
				       const char **text)
{
	enum user_stack_state state = USER_STACK_PENDING;
	size_t at = number % USER_STACKS_KEPT;

	pthread_mutex_lock(&s->lock);
	if (s->found[at].number == number) {
		*id = s->found[at].id;
		state = *id == NONE_ID ? USER_STACK_NONE : USER_STACK_KNOWN;
		*text = state == USER_STACK_KNOWN ? s->texts[*id] : NULL;
	} else if (s->found[at].number > number) {
		state = USER_STACK_NONE; /* a newer one has its place */
	}
	pthread_mutex_unlock(&s->lock);
	return state;
}

uint64_t user_stacks_known(struct user_stacks *s)
{
	uint64_t known;

	pthread_mutex_lock(&s->lock);
	known = s->known;
	pthread_mutex_unlock(&s->lock);
	return known;
}

/* ---- threads that sleep ---- */

/* The stack pointer of a thread that sleeps, the last word but one; 0: it does not. */
static uint64_t sleeping_at(const struct user_stacks *s, const struct record_registers *r)
{
	char path[256], line[256] = "", *last;

	snprintf(path, sizeof(path), "%s/%u/task/%u/syscall", s->proc, r->pid, r->tid);
	read_line(path, line, sizeof(line));
	last = strrchr(line, ' ');
	if (!last)
		return 0;
	*last = '\0';
	last = strrchr(line, ' ');
	return last ? strtoull(last, NULL, 16) : 0;
}

/* Reads the stack of a thread up to its end. */
static void take_sleeper(struct user_stacks *s, const struct record_registers *r)
{
	uint64_t sp = r->registers[SP_REGISTER];
	struct user_stack *stack = NULL;
	const struct process *p;
	int memory;
	ssize_t n;

	pthread_mutex_lock(&s->table);
	p = process_of(s, r->pid);
	memory = p && p->dir >= 0 ? openat(p->dir, "mem", O_RDONLY | O_CLOEXEC) : -1;
	pthread_mutex_unlock(&s->table);
	if (memory >= 0)
		stack = malloc(sizeof(*stack));
	if (!stack)
		goto out;
	*stack = (struct user_stack){.number = r->number, .pid = r->pid, .tid = r->tid};
	memcpy(stack->registers, r->registers, sizeof(stack->registers));
	stack->from = sp - USER_STACK_BELOW;
	if (sleeping_at(s, r) != sp)
		goto out;
	n = pread(memory, stack->stack, sizeof(stack->stack), (off_t)stack->from);
	if (n <= 0 || sleeping_at(s, r) != sp)
		goto out;
	stack->bytes = (uint32_t)n;
	take(s, stack);
out:
	free(stack);
	if (memory >= 0)
		close(memory);
}

static void take_sleepers(struct user_stacks *s)
{
	struct record_registers *list;
	size_t n;

	pthread_mutex_lock(&s->lock);
	list = s->sleepers;
	n = s->nsleepers;
	s->sleepers = NULL;
	s->nsleepers = 0;
	pthread_mutex_unlock(&s->lock);
	for (size_t i = 0; i < n && !s->stop; i++)
		take_sleeper(s, &list[i]);
	free(list);
}

void user_stacks_sleeper(struct user_stacks *s, const struct record_registers *registers)
{
	struct record_registers *added;

	pthread_mutex_lock(&s->lock);
	added = ARRAY_ADD(s->sleepers, s->nsleepers);
	if (added) /* without memory its frames are not known */
		*added = *registers;
	pthread_mutex_unlock(&s->lock);
}

/* ---- the threads ---- */

/* Reads the mappings of the processes that were there before. */
static void read_first(struct user_stacks *s)
{
	pthread_mutex_lock(&s->table);
	for (size_t i = 0; i < s->npids && i < STACK_WALK_PROCESSES; i++)
		(void)process_of(s, s->pids[i]);
	pthread_mutex_unlock(&s->table);
}

static void *run(void *arg)
{
	struct user_stacks *s = arg;
	uint64_t asked = 0;
	bool stop = false;
	int n, wait;

	pthread_setname_np(pthread_self(), "ovni-stacks");
	privilege_keep(PRIVILEGE_WRITE);
	read_first(s);
	while (!stop) {
		stop = s->stop;
		take_sleepers(s);
		wait = read_new(s);
		n = s->poll(s->source, asked || stop ? 0 : wait, take, s);
		if (n < 0 && n != -EINTR)
			break;
		if (n > 0)
			continue;
		pthread_mutex_lock(&s->lock);
		if (asked) {
			wait_walked(s, 0);
			s->settle_done = asked;
		}
		asked = s->settle_asked > s->settle_done ? s->settle_asked : 0;
		pthread_cond_broadcast(&s->settled);
		pthread_mutex_unlock(&s->lock);
	}
	pthread_mutex_lock(&s->lock);
	wait_walked(s, 0);
	s->settle_done = UINT64_MAX; /* nobody waits for a thread that has ended */
	pthread_cond_broadcast(&s->settled);
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

void user_stacks_settle(struct user_stacks *s)
{
	struct timespec until;
	uint64_t own;
	int err = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += SETTLE_SECONDS;
	pthread_mutex_lock(&s->lock);
	own = ++s->settle_asked;
	while (s->settle_done < own && err != ETIMEDOUT)
		err = pthread_cond_timedwait(&s->settled, &s->lock, &until);
	pthread_mutex_unlock(&s->lock);
}

static void end_walker(struct user_stacks *s)
{
	pthread_mutex_lock(&s->lock);
	s->end = true;
	pthread_cond_signal(&s->queued);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->walker, NULL);
}

static int start_threads(struct user_stacks *s)
{
	int err = -pthread_create(&s->walker, NULL, walk_queue, s);

	if (err)
		return err;
	err = -pthread_create(&s->thread, NULL, run, s);
	if (err)
		end_walker(s);
	return err;
}

static void free_all(struct user_stacks *s)
{
	stack_walk_free(s->walk);
	for (size_t i = 0; i < s->nfiles; i++) {
		if (s->files[i].fd >= 0)
			close(s->files[i].fd);
		free(s->files[i].name);
		free(s->files[i].segments);
	}
	for (size_t i = 0; i < STACK_WALK_PROCESSES; i++)
		forget(&s->processes[i]);
	for (size_t i = 0; i < s->ntexts; i++)
		free(s->texts[i]);
	free(s->texts);
	free(s->sleepers);
	free(s->queue);
	free(s->found);
	hash_free(&s->by_text);
	pthread_cond_destroy(&s->settled);
	pthread_cond_destroy(&s->queued);
	pthread_cond_destroy(&s->walked);
	pthread_mutex_destroy(&s->table);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

struct user_stacks *user_stacks_start(const char *proc, user_stacks_poll poll, void *source,
				      const uint32_t *pids, size_t npids)
{
	struct user_stacks *s = calloc(1, sizeof(*s));
	pthread_condattr_t attributes;
	int err = -ENOMEM;

	if (!s)
		goto failed;
	s->proc = proc;
	s->poll = poll;
	s->source = source;
	s->pids = pids;
	s->npids = npids;
	for (size_t i = 0; i < STACK_WALK_PROCESSES; i++)
		s->processes[i].dir = -1;
	s->found = calloc(USER_STACKS_KEPT, sizeof(*s->found));
	s->queue = calloc(QUEUE_MOST, sizeof(*s->queue));
	s->walk = stack_walk_new();
	pthread_mutex_init(&s->table, NULL);
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->queued, NULL);
	pthread_cond_init(&s->walked, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&s->settled, &attributes);
	pthread_condattr_destroy(&attributes);
	if (s->found && s->queue && s->walk)
		err = start_threads(s);
	if (!err)
		return s;
	free_all(s);
failed:
	log_error("cannot start the threads that walk stacks: %s", strerror(-err));
	return NULL;
}

void user_stacks_stop(struct user_stacks *s)
{
	if (!s)
		return;
	s->stop = true;
	pthread_join(s->thread, NULL);
	end_walker(s);
	free_all(s);
}
