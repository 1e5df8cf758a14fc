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
#include "user/elf/instruction.h"
#include "user/host/clock.h"
#include "bpf/state.h"
#include "trace/base/log.h"

/* Of newer kernels than the headers that this may be built with. */
#define TYPE_UPROBE_MULTI   48
#define TYPE_UPROBE_SESSION 57
#define MULTI_RETURN	    1u /* flag of a link: the return of the function */

#define FUNCTION_MAX (256u << 10) /* bytes of a function that are looked at */
#define ENOTSUPP     524	  /* of the kernel alone */
#define SLOW_TOLD    5		  /* functions that a message names */

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

struct attach {
	const struct site *sites;
	size_t nsites;
	const struct actions *actions;
	struct attach_options options;
	enum attach_kind kind;
	struct attach_site *plans; /* by site */
	struct spot_probe *probes; /* nprobes of them, those of one link side by side */
	size_t nprobes, room;
	int *fds; /* nfds of them: links */
	size_t nfds, fds_room;
	struct bpf_link **perf; /* nperf of them: links of perf events */
	size_t nperf;
	struct attach_figures figures;
	uint32_t only; /* attach_only() */
};

/* ---- what the kernel can do ---- */

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

/* Is a link of this type known? One to a folder is refused as such by a kernel that knows it. */
static bool type_is_known(enum bpf_attach_type type)
{
	struct bpf_insn nothing[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = type);
	uint64_t offset = 0;
	struct multi_attr attr = {.attach_type = (uint32_t)type,
				  .path = (uintptr_t) "/",
				  .offsets = (uintptr_t)&offset,
				  .count = 1};
	int fd = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "ovni_try", "Dual MIT/GPL", nothing, 2, &opts);
	int link;

	if (fd < 0)
		return false;
	attr.program_fd = (uint32_t)fd;
	link = create_link(&attr);
	close(fd);
	if (link >= 0)
		close(link);
	return link == -EBADF;
}

static int find_kind(struct attach *a)
{
	bool session = type_is_known(TYPE_UPROBE_SESSION), multi = type_is_known(TYPE_UPROBE_MULTI);
	enum attach_kind wanted = a->options.kind;

	a->kind = wanted;
	if (wanted == ATTACH_BEST)
		a->kind = session ? ATTACH_SESSION : multi ? ATTACH_MULTI : ATTACH_PERF;
	if ((a->kind == ATTACH_SESSION && !session) || (a->kind == ATTACH_MULTI && !multi)) {
		log_error("--attach %s: this kernel cannot do that, or does not permit it (%s; "
			  "CAP_BPF and CAP_PERFMON)",
			  attach_kind_names[wanted],
			  wanted == ATTACH_SESSION ? "Linux 6.13 or newer is needed"
						   : "Linux 6.6 or newer is needed");
		return -EOPNOTSUPP;
	}
	log_debug("probes are attached by %s links", attach_kind_names[a->kind]);
	return 0;
}

/* ---- where each site is probed ---- */

/* Where an integer argument, from 1, is in struct pt_regs. */
static unsigned argument_offset(unsigned number)
{
#if defined(__x86_64__)
	static const uint8_t offsets[] = {112, 104, 96, 88, 72, 64}; /* rdi rsi rdx rcx r8 r9 */

	return number && number <= sizeof(offsets) ? offsets[number - 1] : 0;
#else
	return number ? 8 * (number - 1) : 0; /* arm64: x0 to x7 */
#endif
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

	if (a->nprobes == a->room) {
		size_t room = a->room ? a->room * 2 : 64;
		struct spot_probe *grown = realloc(a->probes, room * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		a->probes = grown;
		a->room = room;
	}
	a->probes[a->nprobes++] = (struct spot_probe){
		.site = (uint32_t)site,
		.program = (uint8_t)program,
		.at_return = at_return,
		.offset = offset,
		.semaphore = s->semaphore,
		.cookie =
			PROBE_COOKIE(site, sources[s->value.source], number & 0xffff, cookie_flags),
	};
	return 0;
}

/* The code of a function; *code is for the caller to free. */
static size_t read_code(const struct site *s, uint8_t **code)
{
	size_t want = s->size ? s->size : s->code_bytes;
	ssize_t n = -1;
	int fd;

	if (want > FUNCTION_MAX)
		want = FUNCTION_MAX;
	*code = malloc(want ? want : 1);
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
	a->plans[i].nexits = (uint32_t)n;
	for (int e = 0; e < n && !err; e++) {
		err = add_probe(a, i, ATTACH_PROGRAM_RETURN, false, s->offset + exits[e].shift,
				PROBE_COOKIE_EXIT);
		if (!err && exits[e].is_jump) /* nothing has been returned yet */
			a->probes[a->nprobes - 1].cookie =
				PROBE_COOKIE(i, PROBE_FROM_NOTHING, 0, PROBE_COOKIE_EXIT);
	}
	free(exits);
	return err;
}

static int refuse_place(struct attach *a, size_t i, const char *why)
{
	log_warn("%s is not probed: %s", a->sites[i].label, why);
	a->plans[i].refused = true;
	a->figures.refused++;
	return 0;
}

static const char refused_instruction[] =
	"its first instruction is one that the kernel does not step over (a lock prefix)";

static int plan_function(struct attach *a, size_t i, bool throws)
{
	const struct site *s = &a->sites[i];
	const struct action *action = &a->actions->list[i];
	struct attach_site *plan = &a->plans[i];
	bool returns = action_returns(action), exits = returns && throws;
	struct spot spot = {0, SPOT_FAST};
	uint8_t *code = NULL;
	size_t bytes;
	int err = 0;

	if (instruction_point(s->code, s->code_bytes).kind == SPOT_REFUSED)
		return refuse_place(a, i, refused_instruction);
	if (exits || !instruction_is_fast(s->code, s->code_bytes)) {
		bytes = read_code(s, &code);
		spot = instruction_entry(code, bytes,
					 s->value.source == SITE_ARGUMENT ? s->value.number : 0);
		if (exits)
			err = plan_exits(a, i, code, bytes);
		free(code);
	}
	plan->shift = spot.shift;
	plan->slow = spot.kind == SPOT_SLOW;
	if (err)
		return err;
	if (returns && !exits) {
		plan->leave = LEAVE_RETURN;
		if (a->kind == ATTACH_SESSION)
			return add_probe(a, i, ATTACH_PROGRAM_SESSION, false,
					 s->offset + spot.shift, 0);
		err = add_probe(a, i, ATTACH_PROGRAM_RETURN, true, s->offset + spot.shift, 0);
	}
	if (!err)
		err = add_probe(a, i, ATTACH_PROGRAM_ENTRY, false, s->offset + spot.shift, 0);
	return err;
}

static int plan_point(struct attach *a, size_t i)
{
	const struct site *s = &a->sites[i];
	struct spot spot = instruction_point(s->code, s->code_bytes);

	a->plans[i].slow = spot.kind == SPOT_SLOW;
	if (spot.kind == SPOT_REFUSED)
		return refuse_place(a, i, refused_instruction);
	if (spot.kind == SPOT_UNSAFE && !a->options.unsafe_nop5)
		return refuse_place(
			a, i,
			"it is a nop of five bytes, and Linux 6.18 makes a call of it that "
			"overwrites what the function may keep below its stack pointer "
			"(--unsafe-nop5 if it does not)");
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

/* Says once what a property of some sites means. */
static void tell_sites(const struct attach *a, bool (*has)(const struct attach_site *),
		       const char *what)
{
	char names[512] = "";
	size_t n = 0, at = 0;

	for (size_t i = 0; i < a->nsites; i++) {
		const char *label = a->sites[i].label;

		if (!has(&a->plans[i]))
			continue;
		if (n++ < SLOW_TOLD && at + strlen(label) + 4 < sizeof(names))
			at += (size_t)snprintf(names + at, sizeof(names) - at, "%s%s",
					       at ? ", " : "", label);
	}
	if (n)
		log_info("%s: %zu of %zu (%s%s)", what, n, a->nsites, names,
			 n > SLOW_TOLD ? ", ..." : "");
}

static bool is_slow(const struct attach_site *plan)
{
	return plan->slow;
}

static bool by_exits(const struct attach_site *plan)
{
	return plan->leave == LEAVE_EXITS;
}

static bool by_after(const struct attach_site *plan)
{
	return plan->leave == LEAVE_AFTER;
}

static int plan(struct attach *a)
{
	int err = 0;

	for (size_t i = 0; i < a->nsites && !err; i++) {
		const struct site *s = &a->sites[i];

		if (s->kind == SITE_FUNCTION)
			err = plan_function(a, i,
					    a->options.no_returns ||
						    (s->unwinds && !a->options.unsafe_returns));
		else
			err = plan_point(a, i);
	}
	if (err) {
		log_no_memory("for the probes");
		return err;
	}
	if (!a->nprobes) {
		log_error("there is nothing left to probe");
		return -ENOENT;
	}
	qsort_r(a->probes, a->nprobes, sizeof(*a->probes), by_link, (void *)a->sites);
	if (log_level() >= LOG_DEBUG)
		tell_sites(a, is_slow, "probes that are single-stepped");
	if (a->options.no_returns)
		return 0;
	tell_sites(
		a, by_exits,
		"functions whose exits are probed, single-stepped, since exceptions of C++ cannot "
		"pass a return probe (--unsafe-returns if there are none)");
	tell_sites(
		a, by_after,
		"functions whose end is only known from what comes after, since exceptions of C++ "
		"cannot pass a return probe (--unsafe-returns if there are none)");
	return 0;
}

struct attach *attach_plan(const struct site *sites, size_t nsites, const struct actions *actions,
			   const struct attach_options *options)
{
	struct attach *a = calloc(1, sizeof(*a));

	if (a) {
		a->sites = sites;
		a->nsites = nsites;
		a->actions = actions;
		a->options = *options;
		a->plans = calloc(nsites ? nsites : 1, sizeof(*a->plans));
	}
	if (!a || !a->plans)
		log_no_memory("for the probes");
	else if (!find_kind(a) && !plan(a))
		return a;
	attach_free(a);
	return NULL;
}

uint64_t attach_cost_ns(const struct attach *a, size_t site)
{
	static const uint64_t fast = 750, slow = 10000, returns = 700;
	const struct attach_site *plan = &a->plans[site];
	uint64_t cost = plan->slow ? slow : fast;

	if (plan->leave == LEAVE_RETURN)
		cost += returns;
	if (plan->leave == LEAVE_EXITS)
		cost += slow;
	return cost;
}

enum attach_kind attach_kind_of(const struct attach *a)
{
	return a->kind;
}

const struct attach_site *attach_site(const struct attach *a, size_t site)
{
	return &a->plans[site];
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
	return program == ATTACH_PROGRAM_SESSION ? TYPE_UPROBE_SESSION : TYPE_UPROBE_MULTI;
}

void attach_fill(const struct attach *a, struct probe_site *table)
{
	for (size_t i = 0; i < a->nsites; i++) {
		table[i].constant = a->sites[i].value.constant;
		table[i].bytes = a->sites[i].value.bytes;
	}
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

static int keep_fd(struct attach *a, int fd)
{
	if (a->nfds == a->fds_room) {
		size_t room = a->fds_room ? a->fds_room * 2 : 16;
		int *grown = realloc(a->fds, room * sizeof(*grown));

		if (!grown) {
			close(fd);
			return -ENOMEM;
		}
		a->fds = grown;
		a->fds_room = room;
	}
	a->fds[a->nfds++] = fd;
	return 0;
}

static void refuse(struct attach *a, const struct spot_probe *probe, int err)
{
	const struct site *s = &a->sites[probe->site];

	log_warn("%s is not probed: the kernel refuses %s+0x%llx: %s", s->label, s->binary,
		 (unsigned long long)probe->offset,
		 err == -ENOTSUPP ? "an instruction that it does not step over" : strerror(-err));
	a->plans[probe->site].refused = true;
	a->figures.refused++;
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
		.attach_type = probes->program == ATTACH_PROGRAM_SESSION ? TYPE_UPROBE_SESSION
									 : TYPE_UPROBE_MULTI,
		.path = (uintptr_t)s->path,
		.count = (uint32_t)count,
		.multi_flags = probes->at_return ? MULTI_RETURN : 0,
		.pid = pid,
	};
	int err;

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
		a->figures.links++;
		a->figures.probes += count;
		return keep_fd(a, err);
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
	struct bpf_link *link, **grown;

	link = bpf_program__attach_uprobe_opts(program, pid, a->sites[probe->site].path,
					       probe->offset, &opts);
	if (!link) {
		if (errno == EPERM || errno == EACCES)
			return -errno;
		refuse(a, probe, -errno);
		return 0;
	}
	grown = realloc(a->perf, (a->nperf + 1) * sizeof(*grown));
	if (!grown) {
		bpf_link__destroy(link);
		return -ENOMEM;
	}
	a->perf = grown;
	a->perf[a->nperf++] = link;
	a->figures.links++;
	a->figures.probes++;
	return 0;
}

static int attach_group(struct attach *a, const struct spot_probe *probes, size_t count,
			struct bpf_program *program, uint32_t pid)
{
	int err = 0;

	if (a->kind != ATTACH_PERF)
		return link_probes(a, probes, count, bpf_program__fd(program), pid);
	for (size_t i = 0; i < count && !err; i++)
		err = perf_probe(a, &probes[i], program, pid ? (int)pid : -1);
	return err;
}

/* How many probes, from the first one on, go into one link. */
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
	a->options.pids = &a->only;
	a->options.npids = 1;
}

int attach_attach(struct attach *a, struct bpf_program *const programs[ATTACH_PROGRAMS])
{
	uint64_t start = clock_now();
	int err = 0;

	for (size_t at = 0, n; at < a->nprobes && !err; at += n) {
		struct bpf_program *program = programs[a->probes[at].program];

		n = group(a, at);
		if (!a->options.npids)
			err = attach_group(a, &a->probes[at], n, program, 0);
		for (size_t p = 0; p < a->options.npids && !err; p++)
			err = attach_group(a, &a->probes[at], n, program, a->options.pids[p]);
	}
	a->figures.attach_ns = clock_now() - start;
	if (err)
		return explain(a, err);
	if (!a->figures.links) {
		log_error("the kernel has refused every probe");
		return -EINVAL;
	}
	log_debug("%zu probes are attached by %zu links, in %.1f ms", a->figures.probes,
		  a->figures.links, (double)a->figures.attach_ns / 1e6);
	return 0;
}

struct attach_figures attach_figures(const struct attach *a)
{
	return a->figures;
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
	a->figures.detach_ns = clock_now() - start;
	log_debug("the probes were detached in %.1f ms", (double)a->figures.detach_ns / 1e6);
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
