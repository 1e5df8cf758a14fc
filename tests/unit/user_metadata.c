/* SPDX-License-Identifier: MIT */
/* metadata: the content of stream.json, with facts from /proc (files of ours here). */
#include "timeline_kit.h"

#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/base/build_info.h"
#include "user/probes/action.h"
#include "user/host/proc_info.h"

/* ---- one description ---- */

static const struct rename one_name[] = {{1000, "worker"}};

static struct description simple(void)
{
	return (struct description){.pid = 10,
				    .tid = 11,
				    .app_id = 1,
				    .loom = "node",
				    .names = one_name,
				    .nnames = 1,
				    .rank = -1,
				    .nranks = -1,
				    .events = 5};
}

static void assert_text(const struct json *doc, const char *dotted, const char *want)
{
	const char *got = json_string(json_get(doc, dotted));

	if (!got)
		fail_msg("no string %s", dotted);
	assert_string_equal(got, want);
}

static void every_stream_has_the_required_metadata(void **state)
{
	struct description d = simple();
	struct json *doc = describe_stream(&d);
	char want[1024], *text = json_text(doc);

	(void)state;
	snprintf(want, sizeof(want),
		 "{\n"
		 "    \"version\": 3,\n"
		 "    \"ovni\": {\n"
		 "        \"lib\": {\n"
		 "            \"version\": \"%s\",\n"
		 "            \"commit\": \"%s\"\n"
		 "        },\n"
		 "        \"part\": \"thread\",\n"
		 "        \"tid\": 11,\n"
		 "        \"pid\": 10,\n"
		 "        \"loom\": \"node\",\n"
		 "        \"app_id\": 1,\n"
		 "        \"require\": {\n"
		 "            \"ovni\": \"1.1.0\",\n"
		 "            \"bpf\": \"1.0.0\"\n"
		 "        }\n"
		 "    },\n"
		 "    \"bpf\": {\n"
		 "        \"name\": \"worker\",\n"
		 "        \"events\": \"5\",\n"
		 "        \"repairs\": \"0\"\n"
		 "    }\n"
		 "}\n",
		 version_string, version_commit);
	assert_string_equal(text, want);
	free(text);
	json_free(doc);
}

static void compatible_meanings_are_added(void **state)
{
	struct description d = simple();
	struct json *doc;

	(void)state;
	d.finished = d.kernel_model = d.marks = d.kthread = d.exited = true;
	d.exit_code = 7 << 8;
	d.repairs = 1ull << 60;
	doc = describe_stream(&d);
	assert_int_equal(json_int(json_get(doc, "ovni.finished")), 1);
	assert_text(doc, "ovni.require.kernel", "1.0.0");
	assert_text(doc, "ovni.mark.92.title", "Events lost");
	assert_true(json_bool(json_get(doc, "bpf.kernel_thread")));
	assert_int_equal(json_int(json_get(doc, "bpf.exit.status")), 7);
	assert_text(doc, "bpf.repairs", "1152921504606846976");
	json_free(doc);
}

static void only_the_first_stream_of_a_process_has_its_facts(void **state)
{
	static const unsigned cpus[] = {0, 4, 2};
	static char command[] = "prog\0-x\0two words";
	struct process_info info = {.executable = (char[]){"/bin/prog"},
				    .command = command,
				    .command_size = sizeof(command),
				    .rank = 3,
				    .nranks = 8,
				    .ns = {[NS_PID] = 77, [NS_NET] = 5},
				    .monotonic_ns = -5000};
	struct process_info own = {.ns = {[NS_PID] = 66, [NS_NET] = 5}};
	struct description d = simple();
	const struct json *cpu;
	struct json *doc;

	(void)state;
	d.cpus = cpus;
	d.ncpus = 3;
	d.parent_pid = 9;
	d.info = &info;
	d.own = &own;
	doc = describe_stream(&d);
	assert_int_equal(json_count(json_get(doc, "ovni.loom_cpus")), 3);
	cpu = json_next(json_first(json_get(doc, "ovni.loom_cpus")));
	assert_int_equal(json_int(json_get(cpu, "index")), 1);
	assert_int_equal(json_int(json_get(cpu, "phyid")), 4);
	assert_text(doc, "bpf.executable", "/bin/prog");
	assert_int_equal(json_count(json_get(doc, "bpf.command")), 3);
	assert_string_equal(
		json_string(json_next(json_next(json_first(json_get(doc, "bpf.command"))))),
		"two words");
	assert_int_equal(json_int(json_get(doc, "bpf.parent")), 9);
	assert_int_equal(json_int(json_get(doc, "bpf.rank")), 3);
	assert_int_equal(json_int(json_get(doc, "bpf.nranks")), 8);
	assert_text(doc, "bpf.namespaces.pid", "77");
	assert_null(json_get(doc, "bpf.namespaces.net"));
	assert_text(doc, "bpf.monotonic_offset", "-5000");
	assert_null(json_get(doc, "ovni.rank"));
	json_free(doc);
	d.rank = 3;
	d.nranks = 8;
	doc = describe_stream(&d);
	assert_int_equal(json_int(json_get(doc, "ovni.rank")), 3);
	assert_int_equal(json_int(json_get(doc, "ovni.nranks")), 8);
	json_free(doc);
}

static void every_stream_says_that_nosv_has_no_breakdown(void **state)
{
	struct declaration declared[] = {{.model = 'M'}, {.model = 'V'}};
	struct actions actions = {.declarations = declared, .ndeclarations = 1};
	struct description d = simple();
	struct json *doc;

	(void)state;
	/* in each stream with events of the model: it is about the whole trace */
	d.actions = &actions;
	doc = describe_stream(&d);
	assert_null(json_get(doc, "nosv"));
	json_free(doc);
	actions.ndeclarations = 2;
	doc = describe_stream(&d);
	assert_true(json_is_bool(json_get(doc, "nosv.can_breakdown")));
	assert_false(json_bool(json_get(doc, "nosv.can_breakdown")));
	assert_null(json_get(doc, "ovni.require.nosv"));
	json_free(doc);
}

static void names_that_are_not_utf8_are_escaped(void **state)
{
	const struct rename names[] = {{1, "a\xff\x01z"}, {2, "\xc3\xa9"}};
	struct description d = simple();
	struct json *doc;
	char *text;

	(void)state;
	d.names = names;
	d.nnames = 2;
	d.nnames_more = 1000;
	doc = describe_stream(&d);
	text = json_text(doc);
	json_free(doc);
	doc = json_parse(text, strlen(text), "again");
	assert_non_null(doc);
	assert_text(doc, "bpf.name", "\xc3\xa9");
	assert_text(json_first(json_get(doc, "bpf.renames")), "name", "a\\xff\x01z");
	assert_text(json_first(json_get(doc, "bpf.renames")), "clock", "1");
	assert_int_equal(json_int(json_get(doc, "bpf.renames_more")), 1000);
	json_free(doc);
	free(text);
}

static void the_first_stream_of_the_session_has_its_account(void **state)
{
	const char *const argv[] = {"ovni-bpf", "-a", NULL};
	struct cpu_event_counts cpu = {.cpu = 4, .missed = 1};
	struct timeline_cpu use = {.cpu = 4, .index = 1, .ns = {1, 2, 3, 4}, .records = 9};
	struct session_info info = {.kernel = "6.18",
				    .kinds = 1u << EVENT_SWITCH | 1u << EVENT_EXIT,
				    .mode = "full",
				    .argv = argv,
				    .buffer_bytes = 1ull << 54,
				    .yields_unknown = true,
				    .throttled_partly = true,
				    .idle_known = true,
				    .stopped_by = "signal",
				    .command_status = 3 << 8,
				    .cpus = &cpu,
				    .ncpus = 1,
				    .lost = 17};
	struct session session = {.info = &info,
				  .t0 = 1ull << 62,
				  .t1 = (1ull << 62) + 1,
				  .counts = {.records = 99, .repairs = 2},
				  .cpus = &use,
				  .ncpus = 1};
	struct description d = simple();
	const struct json *counts, *cpus;
	struct names names;
	struct json *doc;

	(void)state;
	cpu.kinds[EVENT_SWITCH] = (struct event_count){.seen = 10, .written = 7, .full = 3};
	assert_int_equal(names_init(&names, NULL, NULL), 0);
	session.names = &names;
	d.session = &session;
	doc = describe_stream(&d);
	assert_text(doc, "bpf.session.t0", "4611686018427387904");
	assert_text(doc, "bpf.session.version", version_string);
	assert_text(doc, "bpf.session.buffer_bytes", "18014398509481984");
	assert_int_equal(json_count(json_get(doc, "bpf.session.options")), 2);
	assert_true(json_bool(json_get(doc, "bpf.session.yields_unknown")));
	assert_null(json_get(doc, "bpf.session.interrupts_unknown"));
	assert_true(json_bool(json_get(doc, "bpf.session.throttled_partly")));
	assert_true(json_bool(json_get(doc, "bpf.session.idle_known")));
	assert_null(json_get(doc, "bpf.session.machine"));
	assert_null(json_get(doc, "bpf.session.t1"));
	assert_null(json_get(doc, "bpf.session.account"));
	assert_int_equal(json_count(json_get(doc, "bpf.session.kinds")), 2);
	assert_int_equal(json_count(json_get(doc, "bpf.session.kinds_off")), 5);
	json_free(doc);
	session.closed = true;
	doc = describe_stream(&d);
	assert_text(doc, "bpf.session.t1", "4611686018427387905");
	assert_text(doc, "bpf.session.stopped_by", "signal");
	assert_int_equal(json_int(json_get(doc, "bpf.session.command.status")), 3);
	assert_text(doc, "bpf.session.lost", "17");
	assert_text(doc, "bpf.session.counts.records", "99");
	assert_text(doc, "bpf.session.counts.repairs", "2");
	counts = json_first(json_get(doc, "bpf.session.account"));
	assert_int_equal(json_int(json_get(counts, "cpu")), 4);
	assert_text(counts, "switch.seen", "10");
	assert_text(counts, "switch.lost", "3");
	assert_text(counts, "missed", "1");
	assert_null(json_get(counts, "task"));
	cpus = json_first(json_get(doc, "bpf.session.cpus"));
	assert_int_equal(json_int(json_get(cpus, "index")), 1);
	assert_text(cpus, "ns.unknown", "1");
	assert_text(cpus, "ns.thread", "4");
	assert_true(json_is_object(json_get(doc, "bpf.names")));
	json_free(doc);
	names_fini(&names);
}

/* ---- the time of day ---- */

static void assert_i64(const struct json *doc, const char *dotted, int64_t want)
{
	int64_t value = 0;

	assert_true(json_i64(json_get(doc, dotted), &value));
	assert_int_equal(value, want);
}

static void the_ends_of_the_window_have_their_time_of_day(void **state)
{
	const uint64_t t0 = 1000000, hour = 3600000000000;
	uint64_t before[] = {70, STEAL_UNKNOWN, 5}, after[] = {90, 8, 5};
	struct timeline_cpu uses[] = {{.cpu = 0}, {.cpu = 1}, {.cpu = 2}, {.cpu = 3}};
	struct session_info info = {
		.mode = "full",
		.boot_id = "9b3e",
		.begin = {t0 + 10, 2 * (int64_t)hour, 30, 7200, before, 3},
		.end = {t0 + 500, 2 * (int64_t)hour + 490, 40, 3600, after, 3},
		.command_status = -1,
		.lost = 0,
	};
	struct session session = {
		.info = &info, .t0 = t0, .t1 = t0 + 400, .cpus = uses, .ncpus = 4};
	struct description d = simple();
	const struct json *cpu;
	struct names names;
	struct json *doc;

	(void)state;
	assert_int_equal(names_init(&names, NULL, NULL), 0);
	session.names = &names;
	d.session = &session;
	doc = describe_stream(&d); /* it still runs: a killed recorder leaves this */
	assert_text(doc, "bpf.session.boot_id", "9b3e");
	assert_i64(doc, "bpf.session.realtime.begin.clock", (int64_t)t0);
	assert_i64(doc, "bpf.session.realtime.begin.ns", 2 * (int64_t)hour - 10);
	assert_i64(doc, "bpf.session.realtime.error_ns", 30);
	assert_int_equal(json_int(json_get(doc, "bpf.session.realtime.utc_offset")), 7200);
	assert_null(json_get(doc, "bpf.session.realtime.end"));
	json_free(doc);

	session.closed = true;
	doc = describe_stream(&d);
	assert_i64(doc, "bpf.session.realtime.begin.ns", 2 * (int64_t)hour - 10);
	assert_i64(doc, "bpf.session.realtime.end.clock", (int64_t)t0 + 400);
	assert_i64(doc, "bpf.session.realtime.end.ns", 2 * (int64_t)hour + 390);
	assert_i64(doc, "bpf.session.realtime.error_ns", 40);
	assert_null(json_get(doc, "bpf.session.realtime.step_ns"));
	cpu = json_first(json_get(doc, "bpf.session.cpus"));
	assert_i64(cpu, "steal", 20);
	cpu = json_next(cpu);
	assert_null(json_get(cpu, "steal"));
	cpu = json_next(cpu);
	assert_i64(cpu, "steal", 0);
	assert_null(json_get(json_next(cpu), "steal"));
	json_free(doc);

	info.end.realtime += (int64_t)hour; /* it was set */
	doc = describe_stream(&d);
	assert_i64(doc, "bpf.session.realtime.step_ns", (int64_t)hour);
	assert_i64(doc, "bpf.session.realtime.begin.ns", 2 * (int64_t)hour - 10);
	json_free(doc);

	/* of a flight recorder, long before the window that it saved: its end counts */
	session.t0 += hour;
	session.t1 += hour;
	info.end.clock += hour;
	info.end.realtime += (int64_t)hour;
	doc = describe_stream(&d);
	assert_i64(doc, "bpf.session.realtime.step_ns", (int64_t)hour);
	assert_i64(doc, "bpf.session.realtime.begin.clock", (int64_t)(t0 + hour));
	assert_i64(doc, "bpf.session.realtime.begin.ns", 4 * (int64_t)hour - 10);
	assert_i64(doc, "bpf.session.realtime.end.ns", 4 * (int64_t)hour + 390);
	json_free(doc);

	info.begin.clock = 0; /* nobody looked */
	doc = describe_stream(&d);
	assert_null(json_get(doc, "bpf.session.realtime"));
	json_free(doc);
	names_fini(&names);
}

/* ---- ranks ---- */

static void ranks_are_read_where_launchers_put_them(void **state)
{
	static const struct {
		const char *name, *environment; /* strings, each ended by '|' here */
		int rank, nranks;
	} cases[] = {
		{"open_mpi", "A=1|OMPI_COMM_WORLD_RANK=3|OMPI_COMM_WORLD_SIZE=8|", 3, 8},
		{"mpich", "PMI_SIZE=4|PMI_RANK=0|", 0, 4},
		{"slurm", "SLURM_NTASKS=16|SLURM_PROCID=15|", 15, 16},
		{"both_and_the_first_that_is_complete_holds",
		 "PMIX_RANK=2|SLURM_PROCID=1|SLURM_NTASKS=4|", 1, 4},
		{"pmix_alone_has_no_size", "PMIX_RANK=2|", 2, -1},
		{"no_bar_at_the_end", "PMI_RANK=1|PMI_SIZE=2", 1, 2},
		{"none", "PATH=/bin|HOME=/|", -1, -1},
		{"nothing", "", -1, -1},
		{"a_longer_name", "XPMI_RANK=1|XPMI_SIZE=2|PMI_RANKS=1|", -1, -1},
		{"not_a_number", "PMI_RANK=one|PMI_SIZE=2|", -1, -1},
		{"negative", "PMI_RANK=-1|PMI_SIZE=2|", -1, -1},
		{"out_of_range", "PMI_RANK=2|PMI_SIZE=2|", -1, -1},
		{"too_large", "PMI_RANK=4294967296|PMI_SIZE=4294967297|", -1, -1},
		{"size_zero", "PMI_RANK=0|PMI_SIZE=0|", -1, -1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t size = strlen(cases[i].environment);
		char *environment = strdup(cases[i].environment);
		int32_t rank, nranks;

		for (size_t j = 0; j < size; j++)
			if (environment[j] == '|')
				environment[j] = '\0';
		print_message("  %s\n", cases[i].name);
		process_rank(environment, size, &rank, &nranks);
		assert_int_equal(rank, cases[i].rank);
		assert_int_equal(nranks, cases[i].nranks);
		free(environment);
	}
}

/* ---- a /proc made of files ---- */

static char proc[64];

static void path_in_proc(char *path, size_t size, const char *pid, const char *name)
{
	snprintf(path, size, "%s/%s%s%s", proc, pid, *name ? "/" : "", name);
}

static void make_dir(const char *pid, const char *name)
{
	char path[256];

	path_in_proc(path, sizeof(path), pid, name);
	assert_int_equal(mkdir(path, 0755), 0);
}

static void make_link(const char *pid, const char *name, const char *to)
{
	char path[256];

	path_in_proc(path, sizeof(path), pid, name);
	unlink(path);
	assert_int_equal(symlink(to, path), 0);
}

static void make_file(const char *pid, const char *name, const char *bytes, size_t size)
{
	char path[256];
	FILE *f;

	path_in_proc(path, sizeof(path), pid, name);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, size, f), size);
	assert_int_equal(fclose(f), 0);
}

static void make_process(const char *pid, const char *exe, const char *environment, size_t size)
{
	make_dir(pid, "");
	make_dir(pid, "ns");
	make_link(pid, "ns/pid", "pid:[4026531836]");
	make_link(pid, "ns/net", "net:[4026531833]");
	make_link(pid, "exe", exe);
	make_file(pid, "cmdline", "prog\0arg", 9);
	make_file(pid, "environ", environment, size);
	make_file(pid, "comm", "named\n", 6);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int make_proc(void **state)
{
	char own[16];

	(void)state;
	snprintf(proc, sizeof(proc), "proc.XXXXXX");
	if (!mkdtemp(proc))
		return -1;
	snprintf(own, sizeof(own), "%d", getpid());
	make_process(own, "/bin/recorder", "", 0);
	make_link("self", "", own);
	return 0;
}

static int remove_proc(void **state)
{
	(void)state;
	kit_forget();
	return nftw(proc, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void proc_is_read_and_missing_facts_are_left_out(void **state)
{
	struct process_info info;
	char long_line[2 * PROCESS_COMMAND_MAX], *text;

	(void)state;
	make_process("10", "/bin/a b", "PMI_RANK=1\0PMI_SIZE=2", 22);
	make_file("10", "timens_offsets", "monotonic        5000         1\nboottime  0 0\n", 46);
	assert_true(process_read(&info, proc, 10));
	assert_string_equal(info.executable, "/bin/a b");
	assert_int_equal(info.command_size, 9);
	assert_false(info.command_cut);
	assert_int_equal(info.rank, 1);
	assert_int_equal(info.nranks, 2);
	assert_true(info.ns[NS_PID] == 4026531836);
	assert_true(info.ns[NS_USER] == 0);
	assert_true(info.monotonic_ns == 5000000000001);
	process_fini(&info);

	memset(long_line, 'x', sizeof(long_line));
	make_file("10", "cmdline", long_line, sizeof(long_line));
	make_file("10", "timens_offsets", "monotonic 99999999999999 0\n", 27);
	assert_true(process_read(&info, proc, 10));
	assert_int_equal(info.command_size, PROCESS_COMMAND_MAX);
	assert_true(info.command_cut);
	assert_true(info.monotonic_ns == 0);
	process_fini(&info);

	make_file("10", "cmdline", long_line, PROCESS_COMMAND_MAX);
	assert_true(process_read(&info, proc, 10));
	assert_int_equal(info.command_size, PROCESS_COMMAND_MAX);
	assert_false(info.command_cut);
	process_fini(&info);

	/* The cgroup with the CPU quota. With cgroup version 1, a task that exits is already in
	 * "/": no cgroup is known then. */
	make_file("10", "cgroup", "0::/job\n", 8);
	assert_true(process_read(&info, proc, 10));
	assert_string_equal(info.cgroup, "/job");
	process_forget_program(&info);
	assert_null(info.cgroup);
	process_fini(&info);
	make_file("10", "cgroup", "3:cpuset:/x\n2:cpuacct,cpu:/a:b\n0::/job\n", 39);
	make_file("10", "stat", "10 (a ) b) S 1 1 1 0 -1 4194304 0", 33);
	assert_true(process_read(&info, proc, 10));
	assert_string_equal(info.cgroup, "/a:b");
	process_fini(&info);
	make_file("10", "stat", "10 (a ) b) S 1 1 1 0 -1 4194308 0", 33);
	assert_true(process_read(&info, proc, 10));
	assert_null(info.cgroup);
	process_fini(&info);
	make_file("10", "cgroup", "1:cpu:\n7\n:\n", 12);
	assert_true(process_read(&info, proc, 10));
	assert_null(info.cgroup);
	process_fini(&info);
	make_dir("10/task", "");
	make_dir("10/task/12", "");
	make_file("10", "task/12/cgroup", "0::/job/inner\n", 14);
	text = thread_cgroup(proc, 10, 12);
	assert_string_equal(text, "/job/inner");
	free(text);
	assert_null(thread_cgroup(proc, 10, 13));

	make_dir("11", "");
	assert_true(process_read(&info, proc, 11));
	assert_null(info.executable);
	assert_null(info.command);
	assert_int_equal(info.rank, -1);
	process_fini(&info);
	assert_false(process_read(&info, proc, 12));
	assert_true(process_numbers_are_ours(proc));
}

/* ---- sessions that read it ---- */

static struct kit kit;

static void open_kit(const char *from)
{
	kit_open(&kit, "0", (struct timeline_options){.t0 = 1000});
	timeline_free(kit.timeline);
	threads_free(kit.threads);
	kit.info.proc = from;
	kit.threads = threads_new(kit.writer, &kit.info, &kit.topology);
	kit.timeline =
		timeline_new(&(struct timeline_options){.t0 = 1000}, kit.threads, &kit.topology);
}

static void give(uint64_t clock, struct who prev, unsigned why, struct who next)
{
	struct record_switch r = rec_switch(clock, prev, why, next);

	assert_int_equal(kit_give(&kit, 0, &r), 0);
}

static struct json *meta_of(uint32_t pid, uint32_t tid)
{
	struct kit_stream *s = kit_stream(pid, tid);

	assert_non_null(s);
	return json_parse(s->meta, strlen(s->meta), s->path);
}

static const struct who a = {1, 10, 10}, a2 = {2, 20, 10}, b = {3, 30, 30};

static void two_processes(void)
{
	open_kit(proc);
	give(2000, idle, 0, a2);
	give(2100, a2, OFF_CPU_SLEEPING, a);
	give(2200, a, OFF_CPU_SLEEPING, b);
	give(2300, b, OFF_CPU_DEAD, idle);
	kit_close(&kit, 3000);
	assert_int_equal(kit.err, 0);
	kit_check(1);
}

static void ranks_of_all_processes_are_the_models_too(void **state)
{
	struct json *meta;

	(void)state;
	make_process("10", "/bin/mpi", "PMI_RANK=1\0PMI_SIZE=2", 22);
	make_process("30", "/bin/mpi", "PMI_RANK=0\0PMI_SIZE=2", 22);
	two_processes();
	meta = meta_of(10, 20);
	assert_int_equal(json_int(json_get(meta, "ovni.rank")), 1);
	assert_int_equal(json_int(json_get(meta, "ovni.nranks")), 2);
	assert_int_equal(json_int(json_get(meta, "bpf.rank")), 1);
	assert_int_equal(json_int(json_get(meta, "ovni.finished")), 1);
	assert_text(meta, "bpf.session.t1", "3000");
	json_free(meta);
	meta = meta_of(10, 10);
	assert_null(json_get(meta, "ovni.rank"));
	assert_text(meta, "bpf.executable", "/bin/mpi");
	json_free(meta);
	meta = meta_of(30, 30);
	assert_true(json_is_number(json_get(meta, "ovni.rank")));
	assert_int_equal(json_int(json_get(meta, "ovni.rank")), 0);
	json_free(meta);
}

static void a_rank_that_not_all_have_is_ours_alone(void **state)
{
	static const struct {
		const char *environment;
		size_t size;
	} others[] = {{"PATH=/bin", 10}, {"PMI_RANK=0\0PMI_SIZE=3", 22}, {"PMIX_RANK=0", 12}};
	char path[128];

	(void)state;
	make_process("10", "/bin/mpi", "PMI_RANK=1\0PMI_SIZE=2", 22);
	make_process("30", "/bin/sh", "", 0);
	for (size_t i = 0; i < 4; i++) {
		struct json *meta;

		if (i < 3) {
			make_file("30", "environ", others[i].environment, others[i].size);
		} else { /* gone before it can be read */
			path_in_proc(path, sizeof(path), "30", "");
			nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
		}
		two_processes();
		meta = meta_of(10, 20);
		assert_null(json_get(meta, "ovni.rank"));
		assert_int_equal(json_int(json_get(meta, "bpf.rank")), 1);
		json_free(meta);
	}
}

static void another_pid_namespace_is_not_looked_into(void **state)
{
	char own[16];
	struct json *meta;

	(void)state;
	make_process("10", "/bin/wrong", "", 0);
	snprintf(own, sizeof(own), "%d", getpid());
	make_link(own, "ns/pid", "pid:[4026532000]");
	two_processes();
	meta = meta_of(10, 20);
	assert_null(json_get(meta, "bpf.executable"));
	json_free(meta);
}

static void an_exec_makes_facts_be_read_again_or_forgotten(void **state)
{
	struct record_task exec = rec_task(2050, TASK_EXECED, a.id, a, "newprog");
	char path[128];
	struct json *meta;

	(void)state;
	make_process("10", "/bin/old", "", 0);
	for (int gone = 0; gone < 2; gone++) {
		open_kit(proc);
		give(2000, idle, 0, a);
		assert_int_equal(writer_sync(kit.writer), 0);
		if (gone) {
			path_in_proc(path, sizeof(path), "10", "");
			nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
		} else {
			make_link("10", "exe", "/bin/new");
		}
		assert_int_equal(kit_give(&kit, 0, &exec), 0);
		kit_close(&kit, 3000);
		meta = meta_of(10, 10);
		if (gone)
			assert_null(json_get(meta, "bpf.executable"));
		else
			assert_text(meta, "bpf.executable", "/bin/new");
		assert_text(meta, "bpf.name", "newprog");
		json_free(meta);
	}
}

static void names_of_those_without_a_stream_are_looked_up(void **state)
{
	const struct who told = {0, 77, 77}, found = {0, 88, 88}, gone = {0, 99, 99};
	struct record_task r = rec_task(0, TASK_ITERATED, 0, told, "told");
	struct record_switch woken = rec_switch(2500, idle, 0, a);
	struct json *meta;

	(void)state;
	make_process("88", "/bin/x", "", 0);
	make_process("10", "/bin/y", "", 0);
	make_process("30", "/bin/z", "", 0);
	open_kit(proc);
	assert_int_equal(timeline_iterated(kit.timeline, &r), 0);
	give(2000, idle, 0, a);
	give(2100, a, OFF_CPU_SLEEPING, told);
	give(2200, told, 0, a);
	give(2300, a, OFF_CPU_SLEEPING, found);
	give(2350, found, 0, gone);
	give(2400, gone, 0, idle);
	woken.wake_clock = 2450;
	woken.waker_tid = 30;
	assert_int_equal(kit_give(&kit, 0, &woken), 0);
	give(2600, a, OFF_CPU_SLEEPING, b); /* 30 gets a stream, so its name is there */
	kit_close(&kit, 3000);
	meta = meta_of(10, 10);
	assert_int_equal(json_count(json_get(meta, "bpf.names")), 2);
	assert_text(meta, "bpf.names.77", "told");
	assert_text(meta, "bpf.names.88", "named");
	json_free(meta);
}

/* Unless they may all be ranks of one program: then their first streams are written once more. */
static void facts_of_a_process_are_freed_with_it(void **state)
{
	(void)state;
	make_process("10", "/bin/y", "", 0);
	make_process("30", "/bin/z", "PMI_RANK=0\0PMI_SIZE=1", 22);
	open_kit(proc);
	give(2000, idle, 0, a);
	give(2100, a, OFF_CPU_SLEEPING, b);
	assert_int_equal(writer_sync(kit.writer), 0);
	assert_int_equal(kit.threads->nprocesses, 2);
	assert_non_null(kit.threads->processes[1]->info);
	give(2200, b, OFF_CPU_DEAD, idle);
	assert_int_equal(writer_sync(kit.writer), 0);
	assert_null(kit.threads->processes[1]->info);
	kit_close(&kit, 3000);
	assert_int_equal(kit.err, 0);
}

static void a_name_that_changes_without_end_is_counted(void **state)
{
	struct json *meta;

	(void)state;
	open_kit(NULL);
	give(2000, idle, 0, a);
	for (unsigned i = 0; i < 1000; i++) {
		char name[16];
		struct record_task r;

		snprintf(name, sizeof(name), "name %u",
			 i / 2); /* each one twice: a change only once */
		r = rec_task(2000 + i, TASK_RENAMED, a.id, a, name);
		assert_int_equal(kit_give(&kit, 0, &r), 0);
	}
	kit_close(&kit, 4000);
	meta = meta_of(10, 10);
	assert_text(meta, "bpf.name", "name 499");
	assert_int_equal(json_count(json_get(meta, "bpf.renames")), DESCRIBE_RENAMES_MAX + 1);
	assert_int_equal(json_int(json_get(meta, "bpf.renames_more")),
			 500 - DESCRIBE_RENAMES_MAX - 1);
	json_free(meta);
	kit_forget();
}

#define WITH_PROC(name) cmocka_unit_test_setup_teardown(name, make_proc, remove_proc)

/* A rotation: what no trace mentions is forgotten, what one mentions stays. */
static void names_do_not_add_up(void **state)
{
	static const char stays[RECORD_COMM_SIZE] = "stays", goes[RECORD_COMM_SIZE] = "goes";
	struct names names[4];
	struct json *doc = json_new_object();

	(void)state;
	assert_non_null(doc);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(names_init(&names[i], NULL, NULL), 0);
	names_add(&names[0], 7, stays);
	names_add(&names[0], 8, goes);
	for (size_t i = 1; i < 4; i++) {
		names_copy(&names[i], &names[i - 1]);
		names_mention(&names[i], 7);
	}
	names_mention(&names[3], 8);
	names_put(&names[3], json_put_object(doc, "names"));
	assert_text(doc, "names.7", "stays");
	assert_null(json_get(doc, "names.8"));
	for (size_t i = 0; i < 4; i++)
		names_fini(&names[i]);
	json_free(doc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_stream_has_the_required_metadata),
		cmocka_unit_test(compatible_meanings_are_added),
		cmocka_unit_test(only_the_first_stream_of_a_process_has_its_facts),
		cmocka_unit_test(every_stream_says_that_nosv_has_no_breakdown),
		cmocka_unit_test(names_that_are_not_utf8_are_escaped),
		cmocka_unit_test(the_first_stream_of_the_session_has_its_account),
		cmocka_unit_test(the_ends_of_the_window_have_their_time_of_day),
		cmocka_unit_test(ranks_are_read_where_launchers_put_them),
		WITH_PROC(proc_is_read_and_missing_facts_are_left_out),
		WITH_PROC(ranks_of_all_processes_are_the_models_too),
		WITH_PROC(a_rank_that_not_all_have_is_ours_alone),
		WITH_PROC(another_pid_namespace_is_not_looked_into),
		WITH_PROC(an_exec_makes_facts_be_read_again_or_forgotten),
		WITH_PROC(names_of_those_without_a_stream_are_looked_up),
		WITH_PROC(facts_of_a_process_are_freed_with_it),
		cmocka_unit_test(a_name_that_changes_without_end_is_counted),
		cmocka_unit_test(names_do_not_add_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
