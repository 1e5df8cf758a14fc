/* SPDX-License-Identifier: MIT */
/* attach: see attach.h. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "user/probes/attach.h"
#include "user/probes/site_value.h"
#include "user/elf/instruction.h"
#include "user/host/clock.h"
#include "bpf/state.h"
#include "trace/base/array.h"
#include "trace/base/log.h"

#define MULTI_RETURN	1u	     /* flag of a link: the return of the function */
#define FUNCTION_MAX	(256u << 10) /* bytes of a function that are decoded */
#define BEGINNING_BYTES 48
#define ENOTSUPP	524 /* of the kernel alone */
#define NAMES_MAX	5   /* functions that a message names */

const char *const attach_kind_names[] = {"best", "session", "multi", "perf", NULL};

const char *const attach_program_names[ATTACH_PROGRAMS] = {
	[ATTACH_PROGRAM_SESSION] = "probe_session",
	[ATTACH_PROGRAM_ENTRY] = "probe_entry",
	[ATTACH_PROGRAM_RETURN] = "probe_return",
	[ATTACH_PROGRAM_POINT] = "probe_point",
};

/* One probe in the kernel. */
struct spot_probe {
	uint32_t site;
	uint8_t program;
	bool at_return; /* a return probe */
	uint64_t offset, semaphore, cookie;
};

/* The way the end of a site is probed. */
enum leave {
	LEAVE_NOT,    /* not: a point, or no action there */
	LEAVE_RETURN, /* by a return probe */
	LEAVE_EXITS,  /* by probes at the instructions that leave it */
	LEAVE_AFTER,  /* by the events after it: it can throw, and its exits were not found */
};

struct site_plan {
	bool slow;    /* its entry is single-stepped */
	bool refused; /* it has no probe, with a warning */
	enum leave leave;
};

struct attach {
	const struct site *sites;
	size_t nsites;
	const struct actions *actions;
	const struct options *options;
	enum attach_kind kind;
	struct site_plan *plans;   /* by site */
	struct spot_probe *probes; /* nprobes of them; probes of one link are neighbours */
	size_t nprobes;
	uint32_t only; /* attach_only(); 0: the processes of the options */
	int *fds;      /* nfds of them: links */
	size_t nfds;
	struct bpf_link **perf; /* nperf of them: links of perf events */
	size_t nperf;
	size_t nattached;
};

/* ---- abilities of the kernel ---- */

/* The part of bpf_attr that creates a link of many uprobes. */
struct multi_attr {
	uint32_t program_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, semaphores, cookies;
	uint32_t count, multi_flags, pid, pad;
};

static int create_link(const struct multi_attr *attr)
{
	int fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, attr, sizeof(*attr));

	return fd < 0 ? -errno : fd;
}

int attach_try(int type, const char *path, uint64_t offset)
{
	struct bpf_insn nothing[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = (enum bpf_attach_type)type);
	struct multi_attr attr = {.attach_type = (uint32_t)type,
				  .path = (uintptr_t)path,
				  .offsets = (uintptr_t)&offset,
				  .count = 1};
	int fd = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "ovni_try", "Dual MIT/GPL", nothing, 2, &opts);
	int link;

	if (fd < 0)
		return -errno;
	attr.program_fd = (uint32_t)fd;
	link = create_link(&attr);
	close(fd);
	if (link < 0)
		return link;
	close(link);
	return 0;
}

/* A link to a folder is refused as such by a kernel that knows the type. */
static bool type_is_known(int type)
{
	return attach_try(type, "/", 0) == -EBADF;
}

static int find_kind(struct attach *a)
{
	bool session = type_is_known(ATTACH_TYPE_SESSION), multi = type_is_known(ATTACH_TYPE_MULTI);

	a->kind = a->options->attach;
	if (a->kind == ATTACH_BEST && session)
		a->kind = ATTACH_SESSION;
	else if (a->kind == ATTACH_BEST)
		a->kind = multi ? ATTACH_MULTI : ATTACH_PERF;
	if ((a->kind == ATTACH_SESSION && !session) || (a->kind == ATTACH_MULTI && !multi)) {
		log_error("--attach %s: this kernel cannot do that, or does not permit it (Linux "
			  "%s or newer is needed; CAP_BPF and CAP_PERFMON)",
			  attach_kind_names[a->kind], a->kind == ATTACH_SESSION ? "6.13" : "6.6");
		return -EOPNOTSUPP;
	}
	log_debug("probes are attached by %s links", attach_kind_names[a->kind]);
	return 0;
}

/* ---- the probes of each site ---- */

#if defined(__x86_64__)
#define REGISTERS     6
#define STACK_ADDRESS 8 /* bytes of the return address, on the stack before the arguments */
#else
#define REGISTERS     8
#define STACK_ADDRESS 0
#endif

/* The offset of an integer argument, from 1, in struct pt_regs. */
static unsigned argument_offset(unsigned number)
{
#if defined(__x86_64__)
	static const uint8_t offsets[] = {112, 104, 96, 88, 72, 64}; /* rdi rsi rdx rcx r8 r9 */

	return number && number <= sizeof(offsets) ? offsets[number - 1] : 0;
#else
	return number ? 8 * (number - 1) : 0; /* arm64: x0 to x7 */
#endif
}

/* Has the site one value at most, that a cookie describes? */
static bool site_is_plain(const struct site *s)
{
	return s->kind == SITE_POINT ||
	       (site_values_count(s->values) < 2 && !s->value.follow &&
		(s->value.source != SITE_ARGUMENT || s->value.number <= REGISTERS));
}

/* The registers of the arguments to read at the entry: bit n of argument n. */
static unsigned arguments_read(const struct site *s)
{
	unsigned arguments = 0;

	for (unsigned i = 0; i < site_values_count(s->values); i++)
		if (s->values[i].source == SITE_ARGUMENT && s->values[i].number <= REGISTERS)
			arguments |= 1u << s->values[i].number;
	return arguments;
}

static int add_probe(struct attach *a, size_t site, enum attach_program program, bool at_return,
		     uint64_t offset, unsigned cookie_flags)
{
	const struct site *s = &a->sites[site];
	static const uint8_t sources[] = {
		[SITE_NOTHING] = PROBE_FROM_NOTHING,   [SITE_ARGUMENT] = PROBE_FROM_ARGUMENT,
		[SITE_RETURN] = PROBE_FROM_RETURN,     [SITE_CONSTANT] = PROBE_FROM_CONSTANT,
		[SITE_REGISTER] = PROBE_FROM_REGISTER, [SITE_MEMORY] = PROBE_FROM_MEMORY,
	};
	unsigned number =
		s->value.source == SITE_ARGUMENT ? argument_offset(s->value.number) : s->value.reg;
	unsigned source =
		site_is_plain(s) ? sources[s->value.source] : (unsigned)PROBE_FROM_SEVERAL;
	struct spot_probe *added = ARRAY_ADD(a->probes, a->nprobes);

	if (!added)
		return -ENOMEM;
	*added = (struct spot_probe){
		.site = (uint32_t)site,
		.program = (uint8_t)program,
		.at_return = at_return,
		.offset = offset,
		.semaphore = s->semaphore,
		.cookie = PROBE_COOKIE(site, source, number & 0xffff, cookie_flags),
	};
	return 0;
}

/* The code of a function, or, if its size is unknown, its beginning; *code is for the caller to
 * free. */
static size_t read_code(const struct site *s, uint8_t **code)
{
	size_t want = s->size && s->size < FUNCTION_MAX ? s->size : FUNCTION_MAX;
	ssize_t n = -1;
	int fd;

	if (!s->size)
		want = BEGINNING_BYTES;
	*code = malloc(want);
	fd = *code ? open(s->path, O_RDONLY | O_CLOEXEC) : -1;
	if (fd >= 0) {
		n = pread(fd, *code, want, (off_t)s->offset);
		close(fd);
	}
	return n > 0 ? (size_t)n : 0;
}

static int plan_exits(struct attach *a, size_t i, const uint8_t *code, size_t bytes)
{
	const struct site *s = &a->sites[i];
	struct exit_spot *exits = NULL;
	int n = -ENOEXEC, err = 0;

	if (s->size && bytes == s->size)
		n = instruction_exits(code, bytes, &exits);
	if (n == -ENOMEM)
		return n;
	if (n < 0) {
		a->plans[i].leave = LEAVE_AFTER;
		return 0;
	}
	a->plans[i].leave = LEAVE_EXITS;
	for (int e = 0; e < n; e++) {
		err = add_probe(a, i, ATTACH_PROGRAM_RETURN, false, s->offset + exits[e].shift,
				PROBE_COOKIE_EXIT);
		if (err)
			break;
		if (exits[e].is_jump) /* nothing has been returned yet */
			a->probes[a->nprobes - 1].cookie =
				PROBE_COOKIE(i, PROBE_FROM_NOTHING, 0, PROBE_COOKIE_EXIT);
	}
	free(exits);
	return err;
}

static const char refused_instruction[] =
	"its first instruction is one that the kernel does not step over (a lock prefix)";

static int plan_function(struct attach *a, size_t i)
{
	const struct site *s = &a->sites[i];
	const struct options *o = a->options;
	bool returns = action_returns(&a->actions->list[i]);
	bool exits = returns && (o->no_returns || (s->unwinds && !o->unsafe_returns));
	uint8_t *code;
	size_t bytes = read_code(s, &code);
	struct spot spot = instruction_entry(code, bytes, arguments_read(s));
	int err = 0;

	a->plans[i].refused = spot.kind == SPOT_REFUSED;
	if (spot.kind == SPOT_REFUSED)
		log_warn("%s is not probed: %s", s->label, refused_instruction);
	else if (exits)
		err = plan_exits(a, i, code, bytes);
	free(code);
	if (err || spot.kind == SPOT_REFUSED)
		return err;
	a->plans[i].slow = spot.kind == SPOT_SLOW;
	if (returns && !exits) {
		a->plans[i].leave = LEAVE_RETURN;
		if (a->kind == ATTACH_SESSION)
			return add_probe(a, i, ATTACH_PROGRAM_SESSION, false,
					 s->offset + spot.shift, 0);
		err = add_probe(a, i, ATTACH_PROGRAM_RETURN, true, s->offset + spot.shift, 0);
		if (err)
			return err;
	}
	return add_probe(a, i, ATTACH_PROGRAM_ENTRY, false, s->offset + spot.shift, 0);
}

static int plan_point(struct attach *a, size_t i)
{
	const struct site *s = &a->sites[i];
	uint8_t *code;
	size_t bytes = read_code(s, &code);
	struct spot spot = instruction_point(code, bytes);

	free(code);
	a->plans[i].slow = spot.kind == SPOT_SLOW;
	a->plans[i].refused = spot.kind == SPOT_REFUSED ||
			      (spot.kind == SPOT_UNSAFE && !a->options->unsafe_nop5);
	if (spot.kind == SPOT_REFUSED) {
		log_warn("%s is not probed: %s", s->label, refused_instruction);
		return 0;
	}
	if (spot.kind == SPOT_UNSAFE && !a->options->unsafe_nop5) {
		log_warn("%s is not probed: it is a nop of five bytes, and Linux 6.18 makes a call "
			 "of it that overwrites data which the function may keep below its stack "
			 "pointer "
			 "(--unsafe-nop5 if it does not)",
			 s->label);
		return 0;
	}
	return add_probe(a, i, ATTACH_PROGRAM_POINT, false, s->offset, 0);
}

static bool same_file(const struct site *a, const struct site *b)
{
	return a->device == b->device && a->inode == b->inode;
}

static int by_link(const void *x, const void *y, void *arg)
{
	const struct site *sites = arg;
	const struct spot_probe *a = x, *b = y;
	const struct site *s = &sites[a->site], *t = &sites[b->site];

	if (s->device != t->device)
		return s->device < t->device ? -1 : 1;
	if (s->inode != t->inode)
		return s->inode < t->inode ? -1 : 1;
	if (a->program != b->program)
		return a->program < b->program ? -1 : 1;
	if (a->at_return != b->at_return)
		return a->at_return < b->at_return ? -1 : 1;
	return (a->offset > b->offset) - (a->offset < b->offset);
}

/* Reports once the meaning of a property of some sites: of those with one `leave`, or, for
 * LEAVE_NOT, of the slow ones. */
static void report_sites(const struct attach *a, enum leave leave, const char *meaning)
{
	char names[512] = "";
	size_t n = 0, at = 0;

	for (size_t i = 0; i < a->nsites; i++) {
		const char *label = a->sites[i].label;

		if (leave == LEAVE_NOT ? !a->plans[i].slow : a->plans[i].leave != leave)
			continue;
		if (n++ < NAMES_MAX && at + strlen(label) + 4 < sizeof(names))
			at += (size_t)snprintf(names + at, sizeof(names) - at, "%s%s",
					       at ? ", " : "", label);
	}
	if (n)
		log_info("%s: %zu of %zu (%s%s)", meaning, n, a->nsites, names,
			 n > NAMES_MAX ? ", ..." : "");
}

static int plan(struct attach *a)
{
	int err;

	for (size_t i = 0; i < a->nsites; i++) {
		err = a->sites[i].kind == SITE_FUNCTION ? plan_function(a, i) : plan_point(a, i);
		if (err)
			return log_no_memory("for the probes");
	}
	if (!a->nprobes) {
		log_error("there is nothing left to probe");
		return -ENOENT;
	}
	qsort_r(a->probes, a->nprobes, sizeof(*a->probes), by_link, (void *)a->sites);
	if (log_level() >= LOG_DEBUG)
		report_sites(a, LEAVE_NOT, "probes that are single-stepped");
	if (a->options->no_returns)
		return 0;
	report_sites(
		a, LEAVE_EXITS,
		"functions whose exits are probed, single-stepped, since exceptions of C++ cannot "
		"pass a return probe (--unsafe-returns if there are none)");
	report_sites(a, LEAVE_AFTER,
		     "functions whose end is only known from later events, since exceptions of C++ "
		     "cannot pass a return probe (--unsafe-returns if there are none)");
	return 0;
}

struct attach *attach_plan(const struct site *sites, size_t nsites, const struct actions *actions,
			   const struct options *options)
{
	struct attach *a = calloc(1, sizeof(*a));

	if (!a)
		goto no_memory;
	*a = (struct attach){
		.sites = sites, .nsites = nsites, .actions = actions, .options = options};
	a->plans = calloc(nsites ? nsites : 1, sizeof(*a->plans));
	if (!a->plans)
		goto no_memory;
	if (find_kind(a) || plan(a))
		goto fail;
	return a;
no_memory:
	log_no_memory("for the probes");
fail:
	attach_free(a);
	return NULL;
}

uint64_t attach_cost_ns(const struct attach *a, size_t site)
{
	static const uint64_t fast = 750, slow = 10000, returns = 700;
	const struct site_plan *plan = &a->plans[site];
	uint64_t cost = plan->slow ? slow : fast;

	if (plan->leave == LEAVE_RETURN)
		cost += returns;
	if (plan->leave == LEAVE_EXITS)
		cost += slow;
	return cost;
}

bool attach_is_refused(const struct attach *a, size_t site)
{
	return a->plans[site].refused;
}

bool attach_is_slow(const struct attach *a, size_t site)
{
	return a->plans[site].slow;
}

/* ---- for the programs ---- */

bool attach_needs(const struct attach *a, enum attach_program program)
{
	for (size_t i = 0; i < a->nprobes; i++)
		if (a->probes[i].program == program)
			return true;
	return false;
}

int attach_type(const struct attach *a, enum attach_program program)
{
	if (a->kind == ATTACH_PERF)
		return 0;
	return program == ATTACH_PROGRAM_SESSION ? ATTACH_TYPE_SESSION : ATTACH_TYPE_MULTI;
}

static struct probe_value describe(const struct site_value *value)
{
	bool in_register = value->number <= REGISTERS;
	struct probe_value out = {
		.offset = (__u16)value->constant,
		.bytes = (__u8)value->bytes,
		.flags = site_value_returns(value) ? PROBE_VALUE_RETURN : 0,
	};

	if (value->source == SITE_RETURN)
		return out;
	out.flags |= PROBE_VALUE_ARGUMENT | (value->follow ? PROBE_VALUE_FOLLOW : 0);
	if (in_register)
		out.reg = (__u16)argument_offset(value->number);
	else
		out.stack = (__u16)(STACK_ADDRESS + 8 * (value->number - REGISTERS - 1));
	if (!in_register)
		out.flags |= PROBE_VALUE_STACK;
	return out;
}

void attach_fill(const struct attach *a, struct probe_site *table)
{
	for (size_t i = 0; i < a->nsites; i++) {
		table[i].constant = a->sites[i].value.constant;
		table[i].bytes = a->sites[i].value.bytes;
	}
}

bool attach_has_several(const struct attach *a)
{
	for (size_t i = 0; i < a->nsites; i++)
		if (!site_is_plain(&a->sites[i]))
			return true;
	return false;
}

void attach_fill_values(const struct attach *a, size_t site, struct probe_values *values)
{
	const struct site *s = &a->sites[site];

	*values = (struct probe_values){0};
	if (site_is_plain(s))
		return;
	values->count = site_values_count(s->values);
	for (unsigned i = 0; i < values->count; i++)
		values->list[i] = describe(&s->values[i]);
}

/* ---- links ---- */

static int explain(const struct attach *a, int err)
{
	if (err == -EPERM || err == -EACCES)
		log_error("not permitted to attach probes: %s",
			  a->kind == ATTACH_PERF
				  ? "perf events need root or CAP_SYS_ADMIN"
				  : "run ovni-bpf as root (sudo), or with CAP_BPF and CAP_PERFMON");
	else
		log_error("cannot attach probes: %s", strerror(-err));
	return err;
}

static void refuse(struct attach *a, const struct spot_probe *probe, int err)
{
	const struct site *s = &a->sites[probe->site];

	if (probe->program != ATTACH_PROGRAM_RETURN)
		a->plans[probe->site].refused = true;
	log_warn("%s is not probed: the kernel refuses %s+0x%llx: %s", s->label, s->binary,
		 (unsigned long long)probe->offset,
		 err == -ENOTSUPP ? "an instruction that it does not step over" : strerror(-err));
}

/* Some probes of one file and program, in one link; if the kernel refuses one of them, by halves.
 */
static int link_probes(struct attach *a, const struct spot_probe *probes, size_t count, int fd,
		       uint32_t pid)
{
	const struct site *s = &a->sites[probes->site];
	uint64_t *offsets = calloc(count, 3 * sizeof(*offsets));
	uint64_t *semaphores = offsets + count, *cookies = offsets + 2 * count;
	bool counted = false;
	struct multi_attr attr = {
		.program_fd = (uint32_t)fd,
		.attach_type = probes->program == ATTACH_PROGRAM_SESSION ? ATTACH_TYPE_SESSION
									 : ATTACH_TYPE_MULTI,
		.path = (uintptr_t)s->path,
		.count = (uint32_t)count,
		.multi_flags = probes->at_return ? MULTI_RETURN : 0,
		.pid = pid,
	};
	int *kept, err;

	if (!offsets)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		offsets[i] = probes[i].offset;
		cookies[i] = probes[i].cookie;
		semaphores[i] = probes[i].semaphore;
		counted |= semaphores[i] != 0;
	}
	attr.offsets = (uintptr_t)offsets;
	attr.cookies = (uintptr_t)cookies;
	attr.semaphores = counted ? (uintptr_t)semaphores : 0;
	err = create_link(&attr);
	free(offsets);
	if (err >= 0) {
		kept = ARRAY_ADD(a->fds, a->nfds);
		if (!kept) {
			close(err);
			return -ENOMEM;
		}
		*kept = err;
		a->nattached += count;
		return 0;
	}
	if (err == -EPERM || err == -EACCES || err == -ENOMEM || err == -EMFILE || err == -ESRCH)
		return err;
	if (count == 1) {
		refuse(a, probes, err);
		return 0;
	}
	err = link_probes(a, probes, count / 2, fd, pid);
	return err ? err : link_probes(a, probes + count / 2, count - count / 2, fd, pid);
}

static int perf_probe(struct attach *a, const struct spot_probe *probe, struct bpf_program *program,
		      int pid)
{
	LIBBPF_OPTS(bpf_uprobe_opts, opts, .ref_ctr_offset = probe->semaphore,
		    .bpf_cookie = probe->cookie, .retprobe = probe->at_return);
	struct bpf_link *link, **kept;

	link = bpf_program__attach_uprobe_opts(program, pid, a->sites[probe->site].path,
					       probe->offset, &opts);
	if (!link) {
		if (errno == EPERM || errno == EACCES)
			return -errno;
		refuse(a, probe, -errno);
		return 0;
	}
	kept = ARRAY_ADD(a->perf, a->nperf);
	if (!kept) {
		bpf_link__destroy(link);
		return -ENOMEM;
	}
	*kept = link;
	a->nattached++;
	return 0;
}

static int attach_group(struct attach *a, const struct spot_probe *probes, size_t count,
			struct bpf_program *program, uint32_t pid)
{
	int err;

	if (a->kind != ATTACH_PERF)
		return link_probes(a, probes, count, bpf_program__fd(program), pid);
	for (size_t i = 0; i < count; i++) {
		err = perf_probe(a, &probes[i], program, pid ? (int)pid : -1);
		if (err)
			return err;
	}
	return 0;
}

/* The number of probes, from the first one on, that go into one link. */
static size_t group(const struct attach *a, size_t from)
{
	const struct spot_probe *first = &a->probes[from];
	size_t n = 1;

	while (from + n < a->nprobes && a->probes[from + n].program == first->program &&
	       a->probes[from + n].at_return == first->at_return &&
	       same_file(&a->sites[a->probes[from + n].site], &a->sites[first->site]))
		n++;
	return n;
}

void attach_only(struct attach *a, uint32_t pid)
{
	a->only = pid;
}

/*
 * The processes that get the probes, npids of them. If children of the target are not followed,
 * only its processes get them, so that no other process has any cost; else (0) all processes that
 * map the file get them, and the programs check whether a thread is recorded.
 */
static size_t find_scope(const struct attach *a, const uint32_t **pids)
{
	const struct options *o = a->options;

	*pids = a->only ? &a->only : o->pids;
	if (a->only)
		return 1;
	return o->follow || o->all || o->threads || o->command ? 0 : o->npids;
}

int attach_attach(struct attach *a, struct bpf_program *const programs[ATTACH_PROGRAMS])
{
	const uint32_t *pids;
	size_t npids = find_scope(a, &pids);
	uint64_t start = clock_now();
	int err;

	for (size_t at = 0, n; at < a->nprobes; at += n) {
		struct bpf_program *program = programs[a->probes[at].program];
		size_t p = 0;

		n = group(a, at);
		do {
			err = attach_group(a, &a->probes[at], n, program, npids ? pids[p] : 0);
			if (err)
				return explain(a, err);
		} while (++p < npids);
	}
	if (!a->nattached) {
		log_error("the kernel has refused every probe");
		return -EINVAL;
	}
	log_debug("%zu probes are attached by %zu links, in %.1f ms", a->nattached,
		  a->nfds + a->nperf, (double)(clock_now() - start) / 1e6);
	return 0;
}

void attach_detach(struct attach *a)
{
	uint64_t start = clock_now();

	if (!a || (!a->nfds && !a->nperf))
		return;
	while (a->nfds)
		close(a->fds[--a->nfds]);
	while (a->nperf)
		bpf_link__destroy(a->perf[--a->nperf]);
	log_debug("the probes were detached in %.1f ms", (double)(clock_now() - start) / 1e6);
}

void attach_free(struct attach *a)
{
	if (!a)
		return;
	attach_detach(a);
	free(a->fds);
	free(a->perf);
	free(a->probes);
	free(a->plans);
	free(a);
}
