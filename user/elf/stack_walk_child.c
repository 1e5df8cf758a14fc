/* SPDX-License-Identifier: MIT */
#include "user/elf/stack_walk_child.h"

#include <elfutils/libdwfl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "trace/base/array.h"
#include "trace/base/hash.h"
#include "user/elf/functions.h"

#define PID	       1     /* libdwfl wants a number */
#define CACHED_MAX     65536 /* names of addresses */
#define NAME_MAX_BYTES 400
#define CUT	       "[cut]" /* STACK_FRAME_CUT */

struct process {
	struct walk_mapping *mappings;
	size_t n;
	Dwfl *dwfl; /* NULL: not yet made, or impossible */
	bool tried;
};

struct cached {
	char *text;
};

struct server {
	struct {
		int fd; /* -1: none */
		char name[256];
	} files[STACK_WALK_FILES];
	struct process processes[STACK_WALK_PROCESSES];
	struct hash by_place; /* cached by file and address in it */
	struct cached *cached;
	size_t ncached;

	/* The present stack. */
	const struct process *process;
	uint64_t registers[64], from;
	uint32_t nregisters, bytes, frames;
	const uint8_t *stack;
	struct bytes text;
	bool unmapped, outside; /* an address is in no mapping; of the stack, behind its copy */
};

/* ---- libdwfl asks ---- */

static int no_elf(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base, char **file,
		  Elf **elf)
{
	(void)module, (void)user, (void)name, (void)base, (void)file, (void)elf;
	return -1; /* all files are given */
}

static int no_debug_file(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base,
			 const char *file, const char *link, GElf_Word crc, char **found)
{
	(void)module, (void)user, (void)name, (void)base, (void)file, (void)link, (void)crc;
	(void)found;
	return -1; /* this process opens no file */
}

static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread)
{
	(void)dwfl;
	if (*thread)
		return 0;
	*thread = arg;
	return PID;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *arg, void **thread)
{
	(void)dwfl, (void)tid;
	*thread = arg;
	return true;
}

/* Without the return address libdw takes a function for the outermost one. */
static bool read_memory(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *word, void *arg)
{
	struct server *s = arg;
	uint64_t at = address - s->from;

	(void)dwfl;
	if (at > s->bytes || s->bytes - at < sizeof(uint64_t)) {
		s->outside = true;
		return false;
	}
	memcpy(word, s->stack + at, sizeof(uint64_t));
	return true;
}

static bool set_registers(Dwfl_Thread *thread, void *arg)
{
	const struct server *s = arg;

	if (!dwfl_thread_state_registers(thread, 0, s->nregisters, s->registers))
		return false;
#if defined(__aarch64__)
	dwfl_thread_state_register_pc(thread, s->registers[s->nregisters - 1]);
#endif
	return true;
}

/* ---- names ---- */

static void put_text(struct bytes *text, const char *from, size_t most)
{
	for (size_t i = 0; from[i] && i < most; i++) {
		unsigned char c = (unsigned char)from[i];

		bytes_u8(text, c < 0x20 || c > 0x7e || c == ';' || c == '@' || c == '\\' ? '?' : c);
	}
}

static void put_line(struct bytes *text, Dwfl_Module *module, uint64_t pc)
{
	Dwfl_Line *line = dwfl_module_getsrc(module, pc);
	const char *path, *base;
	char number[16];
	int at;

	path = line ? dwfl_lineinfo(line, NULL, &at, NULL, NULL, NULL) : NULL;
	if (!path || at <= 0)
		return;
	base = strrchr(path, '/');
	bytes_u8(text, '@');
	put_text(text, base ? base + 1 : path, NAME_MAX_BYTES);
	snprintf(number, sizeof(number), ":%d", at);
	put_text(text, number, sizeof(number));
}

/* Bytes of a symbol without its version. */
static size_t strnlen_at(const char *name)
{
	size_t n = strcspn(name, "@");

	return n < NAME_MAX_BYTES ? n : NAME_MAX_BYTES;
}

/* "[libpool.so+0x1139]@BUILD-ID". */
static void put_unnamed(struct server *s, struct bytes *text, Dwfl_Module *module,
			const struct walk_mapping *m, uint64_t pc)
{
	const unsigned char *id;
	char number[32];
	GElf_Addr where;
	int n;

	if (m->file == STACK_WALK_NO_FILE) {
		put_text(text, "[memory]", 8);
		return;
	}
	bytes_u8(text, '[');
	put_text(text, s->files[m->file].name, NAME_MAX_BYTES);
	snprintf(number, sizeof(number), "+0x%" PRIx64 "]", pc - m->bias);
	put_text(text, number, sizeof(number));
	bytes_u8(text, '@');
	n = module ? dwfl_module_build_id(module, &id, &where) : 0;
	for (int i = 0; i < n; i++) {
		snprintf(number, sizeof(number), "%02x", id[i]);
		put_text(text, number, 2);
	}
}

/* "take@libpool.so+0x1139@pool.c:40"; without a name "[libpool.so+0x1139]@BUILD-ID". */
static void put_place(struct server *s, struct bytes *text, Dwfl_Module *module,
		      const struct walk_mapping *m, uint64_t pc)
{
	char plain[DEMANGLE_MAX], number[32];
	const char *name = NULL;
	GElf_Off offset;
	GElf_Sym symbol;

	if (module)
		name = dwfl_module_addrinfo(module, pc, &offset, &symbol, NULL, NULL, NULL);
	if (name && (!*name || (symbol.st_size && offset >= symbol.st_size) ||
		     GELF_ST_TYPE(symbol.st_info) == STT_SECTION))
		name = NULL;
	if (!name) {
		put_unnamed(s, text, module, m, pc);
		return;
	}
	if (demangle(plain, name, DEMANGLE_NAME))
		put_text(text, plain, NAME_MAX_BYTES);
	else
		put_text(text, name, strnlen_at(name));
	bytes_u8(text, '@');
	put_text(text, s->files[m->file].name, NAME_MAX_BYTES);
	snprintf(number, sizeof(number), "+0x%" PRIx64, pc - m->bias);
	put_text(text, number, sizeof(number));
	put_line(text, module, pc);
}

/* The text of an address, which is kept. */
static const char *place_text(struct server *s, Dwfl_Module *module, const struct walk_mapping *m,
			      uint64_t pc)
{
	const struct hash_key key = {.a = m->file, .b = pc - m->bias};
	uint32_t *at = hash_at(&s->by_place, key);
	struct bytes text = {0};
	struct cached *added;

	if (at && *at != HASH_NONE)
		return s->cached[*at].text;
	if (s->ncached == CACHED_MAX || !at)
		_exit(1); /* the next child begins with an empty one */
	put_place(s, &text, module, m, pc);
	bytes_u8(&text, 0);
	added = text.failed ? NULL : ARRAY_ADD(s->cached, s->ncached);
	if (!added)
		_exit(1);
	added->text = (char *)text.data;
	*at = (uint32_t)(s->ncached - 1);
	return added->text;
}

/* ---- walking ---- */

static const struct walk_mapping *mapping_of(const struct process *process, uint64_t pc)
{
	for (size_t i = 0; i < process->n; i++)
		if (pc >= process->mappings[i].start && pc < process->mappings[i].end)
			return &process->mappings[i];
	return NULL;
}

static int frame(Dwfl_Frame *state, void *arg)
{
	struct server *s = arg;
	const struct walk_mapping *m;
	const char *text;
	bool activation;
	Dwarf_Addr pc;

	s->outside = false;
	if (!dwfl_frame_pc(state, &pc, &activation))
		return DWARF_CB_ABORT;
	pc -= activation ? 0 : 1; /* a return address may be behind the end of the caller */
	m = mapping_of(s->process, pc);
	if (!m) {
		s->unmapped = true;
		return DWARF_CB_ABORT;
	}
	text = place_text(s, dwfl_addrmodule(s->process->dwfl, pc), m, pc);
	if (s->frames == STACK_WALK_FRAMES ||
	    s->text.size + strlen(text) + sizeof(CUT) + 2 > STACK_WALK_TEXT) {
		return DWARF_CB_ABORT;
	}
	if (s->frames++)
		bytes_u8(&s->text, ';');
	bytes_put(&s->text, text, strlen(text));
	return DWARF_CB_OK;
}

static const Dwfl_Callbacks callbacks = {.find_elf = no_elf, .find_debuginfo = no_debug_file};
static const Dwfl_Thread_Callbacks thread_callbacks = {
	.next_thread = next_thread,
	.get_thread = get_thread,
	.memory_read = read_memory,
	.set_initial_registers = set_registers,
};

static bool is_reported(const struct process *process, size_t before, uint32_t file)
{
	for (size_t i = 0; i < before; i++)
		if (process->mappings[i].file == file)
			return true;
	return false;
}

/* The process as libdwfl knows it. A file that it refuses has no names, and ends the walk. */
static void make_dwfl(struct server *s, struct process *process)
{
	Dwfl *dwfl = dwfl_begin(&callbacks);

	process->tried = true;
	if (!dwfl)
		return;
	dwfl_report_begin(dwfl);
	for (size_t i = 0; i < process->n; i++) {
		const struct walk_mapping *m = &process->mappings[i];
		int fd;

		if (m->file == STACK_WALK_NO_FILE || is_reported(process, i, m->file))
			continue;
		fd = dup(s->files[m->file].fd);
		if (fd >= 0 && !dwfl_report_elf(dwfl, s->files[m->file].name,
						s->files[m->file].name, fd, m->bias, true))
			close(fd);
	}
	if (dwfl_report_end(dwfl, NULL, NULL) ||
	    !dwfl_attach_state(dwfl, NULL, PID, &thread_callbacks, s)) {
		dwfl_end(dwfl);
		return;
	}
	process->dwfl = dwfl;
}

static enum walk_status walk(struct server *s, struct process *process)
{
	int err = -1;

	s->process = process;
	s->text.size = 0;
	s->frames = 0;
	s->unmapped = s->outside = false;
	if (!process->tried)
		make_dwfl(s, process);
	if (process->dwfl)
		err = dwfl_getthread_frames(process->dwfl, PID, frame, s);
	if (!err && !s->outside)
		return WALK_WHOLE;
	if (s->frames)
		bytes_put(&s->text, ";" CUT, sizeof(CUT));
	return s->unmapped ? WALK_UNMAPPED : WALK_CUT;
}

/* ---- requests ---- */

static void take_file(struct server *s, const struct walk_request *request, const char *name,
		      size_t size, int fd)
{
	if (request->number >= STACK_WALK_FILES || fd < 0)
		_exit(1);
	if (s->files[request->number].fd >= 0)
		close(s->files[request->number].fd);
	s->files[request->number].fd = fd;
	snprintf(s->files[request->number].name, sizeof(s->files[0].name), "%.*s", (int)size, name);
}

static void take_process(struct server *s, const struct walk_request *request, const void *data)
{
	struct process *process;

	if (request->number >= STACK_WALK_PROCESSES)
		_exit(1);
	process = &s->processes[request->number];
	if (process->dwfl)
		dwfl_end(process->dwfl);
	free(process->mappings);
	*process = (struct process){.n = request->n};
	process->mappings = malloc((request->n + 1) * sizeof(*process->mappings));
	if (!process->mappings)
		_exit(1);
	memcpy(process->mappings, data, request->n * sizeof(*process->mappings));
}

static void answer_stack(struct server *s, const struct walk_request *request, const uint8_t *data,
			 int socket)
{
	struct walk_answer answer = {0};
	struct iovec parts[2] = {{&answer, sizeof(answer)}};
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};

	memcpy(s->registers, data, request->n * sizeof(s->registers[0]));
	s->nregisters = request->n;
	s->stack = data + request->n * sizeof(s->registers[0]);
	s->bytes = request->bytes;
	s->from = request->from;
	answer.status = walk(s, &s->processes[request->number]);
	if (s->text.failed)
		_exit(1);
	answer.size = (uint32_t)s->text.size;
	parts[1] = (struct iovec){s->text.data, s->text.size};
	if (sendmsg(socket, &message, MSG_NOSIGNAL) < 0)
		_exit(0);
}

void stack_walk_serve(int socket)
{
	struct server *s = calloc(1, sizeof(*s));
	uint8_t *buffer = malloc(WALK_MESSAGE_MAX);

	for (size_t i = 0; s && i < STACK_WALK_FILES; i++)
		s->files[i].fd = -1;
	while (s && buffer) {
		char control[CMSG_SPACE(sizeof(int))];
		struct iovec part = {buffer, WALK_MESSAGE_MAX};
		struct msghdr message = {.msg_iov = &part,
					 .msg_iovlen = 1,
					 .msg_control = control,
					 .msg_controllen = sizeof(control)};
		ssize_t n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
		const struct walk_request *request = (const void *)buffer;
		const uint8_t *data = buffer + sizeof(*request);
		struct cmsghdr *head = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;
		size_t size = (size_t)n - sizeof(*request);
		int fd = -1;

		if (n < (ssize_t)sizeof(*request))
			break;
		if (head && head->cmsg_type == SCM_RIGHTS)
			memcpy(&fd, CMSG_DATA(head), sizeof(fd));
		if (request->kind == WALK_FILE)
			take_file(s, request, (const char *)data, size, fd);
		else if (request->kind == WALK_PROCESS &&
			 size == request->n * sizeof(struct walk_mapping))
			take_process(s, request, data);
		else if (request->kind == WALK_STACK && request->n <= 64 &&
			 request->number < STACK_WALK_PROCESSES &&
			 size == request->n * sizeof(uint64_t) + request->bytes)
			answer_stack(s, request, data, socket);
		else
			break;
	}
}
