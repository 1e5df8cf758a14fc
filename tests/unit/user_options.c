/* SPDX-License-Identifier: MIT */
/* options: command lines, their settings, and why they are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include <linux/perf_event.h>

#include "user/config/config.h"
#include "user/cli/options.h"
#include "user/probes/request.h"
#include "trace/base/log.h"

#define WORDS_MAX 32

/* Splits at blanks; the words live in `line`. */
static int split(char *line, char **words)
{
	int n = 0;

	words[n++] = (char *)"ovni-bpf";
	for (char *word = strtok(line, " "); word; word = strtok(NULL, " "))
		words[n++] = word;
	words[n] = NULL;
	return n;
}

/* Reads a command line; messages on standard error go to `said`. */
static bool parse(struct options *o, const char *text, enum status *status, char *said, size_t size)
{
	static char line[512];
	static char *words[WORDS_MAX + 1];
	FILE *file = tmpfile();
	int saved = dup(STDERR_FILENO), n;
	bool ok;

	snprintf(line, sizeof(line), "%s", text);
	n = split(line, words);
	dup2(fileno(file), STDERR_FILENO);
	ok = options_parse(o, n, words, status);
	dup2(saved, STDERR_FILENO);
	close(saved);
	rewind(file);
	size = fread(said, 1, size - 1, file);
	said[size] = '\0';
	fclose(file);
	return ok;
}

static const struct {
	const char *line;
	const char *says; /* in the message */
} bad[] = {
	{"", "no target: give -a, -p PID, -t TID or -- COMMAND"},
	{"-a -p 1", "give only one target"},
	{"-a -t 1", "give only one target"},
	{"-a --no-follow -- true", "--no-follow: needs -p or a command"},
	{"-p 1 true", "give only one target"},
	{"-p 1 -t 2", "-t 2: give either -p or -t, and only once"},
	{"-p 1 -p 2", "-p 2: give either -p or -t, and only once"},
	{"-v -q -a", "-v: excludes -q"},
	{"-p x", "-p x: not a list of numbers"},
	{"-p 1,", "-p 1,: not a list of numbers"},
	{"-p ,1", "-p ,1: not a list of numbers"},
	{"-p 1,,2", "-p 1,,2: not a list of numbers"},
	{"-p 1-3", "-p 1-3: not a list of numbers"},
	{"-p 0x1", "-p 0x1: not a list of numbers"},
	{"-p 2,1,2", "-p 2,1,2: number 2 is given twice"},
	{"-p -1", "-p -1: not a list of numbers"},
	{"-t 0", "-t 0: numbers must be from 1 to 4194304"},
	{"-t 4194305", "numbers must be from 1"},
	{"-t 99999999999999999999", "numbers must be from 1"},
	{"-p", "-p needs an argument"},
	{"-a --force=1", "--force takes no argument"},
	{"-a --nonsense", "unrecognized option '--nonsense' (see ovni-bpf --help)"},
	{"-a -Z", "unrecognized option '-Z'"},
	{"-a -C x", "-C x: not a list of CPUs"},
	{"-a -C 3-1", "-C 3-1: not a list of CPUs"},
	{"-a -C 0 -C 1", "give only one list"},
	{"-a -d 0", "-d 0: the time must be above 0"},
	{"-a -d 10x", "-d 10x: a time is"},
	{"-a -d -1s", "-d -1s: a time is"},
	{"-a -b abc", "-b abc: a size is"},
	{"-a -b 0", "-b 0: the smallest size is 1 byte"},
	{"-a -b 1G", "-b 1G: the largest size is 512M"},
	{"-a --max-size 1Q", "--max-size 1Q: a size is"},
	{"-a --rotate 10ms", "--rotate 10ms: the shortest time is 100ms"},
	{"-a --rotate 1K", "--rotate 1K: the smallest size is 64K"},
	{"-a --rotate 10", "--rotate 10: not a time or a size with its unit"},
	{"-a --rotate 1m --last 10s", "--rotate: needs --mode full, and excludes --last"},
	{"-a --rotate 1m --on-full drop-old", "--rotate: needs --mode full, and excludes --last"},
	{"-a --last 1K", "--last 1K: the smallest size is 1M"},
	{"-a --last 10s,5s", "--last 10s,5s: not a time and a size"},
	{"-a --last 64M,10s", "--last 64M,10s: not a time and a size"},
	{"-a --last 10s --on-full drop-new", "drop-new excludes --last"},
	{"-a --on-full drop-all", "--on-full drop-all: choose drop-new or drop-old"},
	{"-a --last 10s --max-size 1G", "--max-size: needs --mode full, and excludes --last"},
	{"-a --trigger latency>5ms", "--trigger: needs --last"},
	{"-a --last 10s --trigger latency>5ms,pid=", "pid= and tid= take a number, as in pid=1234"},
	{"-a --last 10s --trigger latency>5ms,tid=x", "pid= and tid= take a number"},
	{"-a --last 10s --trigger latency>5ms,comm=[a", "a '[' has no ']'"},
	{"-a --last 10s --trigger latency>5ms,comm=a,comm=b", "give comm= only once"},
	{"-a --last 10s --events switch --trigger latency>5ms,comm=a", "rename among --events"},
	{"-a --last 10s --on-trigger ./told", "--on-trigger: needs --trigger"},
	{"-a --keep 5", "--keep: needs --rotate or --last"},
	{"-a --rotate 1m --keep 0", "--keep 0: the smallest number is 1"},
	{"-a --rotate 1m --emulate", "--emulate: needs --mode full and a single trace"},
	{"-a --flush-interval 1ms", "--flush-interval 1ms: the smallest time is 10ms"},
	{"--comm [a", "--comm [a: a '[' has no ']'"},
	{"--comm abcdefghijklmnop", "at most 15 bytes"},
	{"-a --no-follow", "--no-follow: needs -p or a command"},
	{"-t 1 --no-follow", "--no-follow: needs -p or a command"},
	{"-a --user nobody", "--user: needs a command"},
	{"-a --force", "--force: needs -o"},
	{"-a --mode none", "--mode none: choose off, summary or full"},
	{"-a --mode off", "--mode: off needs a command"},
	{"-a --mode summary --events fork", "summary needs switch among --events"},
	{"-a --mode summary --sample 1/2", "--sample: needs --mode full"},
	{"-a --mode summary --strict-drops", "--strict-drops: needs --mode full"},
	{"-a --mode summary --kernel-model", "--kernel-model: needs --mode full"},
	{"-a --mode summary --why call", "--why: call, lock, prio, stack, wakers, preempted, irq "
					 "and io need --mode full and switch among --events; "
					 "io also wake among them, and no --kernel-model"},
	{"-a --mode summary --why=prio", "--why: call, lock, prio, stack, wakers, preempted, irq "
					 "and io need --mode full and switch among --events; "
					 "io also wake among them, and no --kernel-model"},
	{"-a --events fork --why=lock", "--why: call, lock, prio, stack, wakers, preempted, irq "
					"and io need --mode full and switch among --events; "
					"io also wake among them, and no --kernel-model"},
	{"-a --why=io --kernel-model", "--why: call, lock, prio, stack, wakers, preempted, irq and "
				       "io need --mode full and switch among --events; "
				       "io also wake among them, and no --kernel-model"},
	{"-a --why=io --events switch", "--why: call, lock, prio, stack, wakers, preempted, irq "
					"and io need --mode full and switch among --events; "
					"io also wake among them, and no --kernel-model"},
	{"-a --why=stack=code", "'stack=code' is none of call, lock, none, prio, irq, io, stack, "
				"stack=kernel, stack=user, stack=both, wakers, preempted"},
	{"-a --why=stack,99us", "--why stack,99us: the shortest time is 100us"},
	{"-a --why=1ms", "'1ms' is none of call, lock, none, prio, irq, io, stack, stack=kernel"},
	{"-a --why=stack,1ms,2ms",
	 "'2ms' is none of call, lock, none, prio, irq, io, stack, "
	 "stack=kernel, stack=user, stack=both, wakers, preempted and no time"},
	{"-a --why=irq,999ns", "--why irq,999ns: the shortest time of an interrupt is 1us"},
	{"-a --why=irq,1us,2us",
	 "'2us' is none of call, lock, none, prio, irq, io, stack, "
	 "stack=kernel, stack=user, stack=both, wakers, preempted and no time"},
	{"-a --why=irq,stack,99us", "--why irq,stack,99us: the shortest time is 100us"},
	{"-a --why=stack,", "'' is none of call"},
	{"-a --why=disk",
	 "--why disk: 'disk' is none of call, lock, none, prio, irq, io, stack, stack=kernel"},
	{"-a --mode summary --counters cycles", "--counters: needs --mode full and switch among"},
	{"-a --kernel-model --counters cs", "--counters: needs --mode full and switch among"},
	{"-a --counters cycles,cows", "'cows' is no event known here"},
	{"-a --counters cs,", "'' is no event known here"},
	{"-a --counters faults,page-faults", "page-faults is given twice"},
	{"-a --counters cycles,instructions,cs,faults,migrations,task-clock,cpu-clock,branches,"
	 "minor-faults",
	 "more than 8 events"},
	{"-a --events fork --kernel-model", "--kernel-model: needs --mode full and switch among"},
	{"-a --mode summary --rotate 1m", "--rotate: needs --mode full"},
	{"-a --mode summary --last 10s", "--last: needs --mode full"},
	{"-a --mode summary --on-full drop-old", "--on-full: drop-old needs --mode full"},
	{"-a --mode summary --max-size 1G", "--max-size: needs --mode full"},
	{"-a --mode summary --api mpi", "--api: needs --mode full"},
	{"-a --mode summary --emulate", "--emulate: needs --mode full"},
	{"-a --events switch -u app:f", "-u: needs probe among --events"},
	{"-a --events switch --usdt app:p:n", "--usdt: needs probe among --events"},
	{"-a --events switch --api mpi", "--api: needs --mode full and probe among --events"},
	{"-a --events wake", "--events wake: wake needs switch"},
	{"-a --events syscall", "--events syscall: not a list of kinds"},
	{"-a --wakeup-clock wall", "--wakeup-clock wall: choose scheduler or tracepoint"},
	{"-a --attach any", "--attach any: choose best, session, multi or perf"},
	{"-a --unsafe-returns --no-return-probes", "--unsafe-returns: excludes --no-return-probes"},
	{"-a --max-rate 0", "--max-rate 0: the smallest number is 1"},
	{"-a --max-rate 4294967296", "--max-rate 4294967296: the largest number is 4294967295"},
	{"-a --sample-calls x", "--sample-calls x: not a whole number"},
	{"-a --sample 3/2", "--sample 3/2: the first number must be from 1 to the second"},
	{"-a --sample 0/2", "--sample 0/2: the first number must be from 1"},
	{"-a --sample 1/1048577", "--sample 1/1048577: the largest second number is 1048576"},
	{"-a --sample half", "--sample half: not a ratio"},
	{"-a --sample 1/2/3", "--sample 1/2/3: not a ratio"},
	{"-a --sample-seed -1", "--sample-seed -1: not a whole number"},
	{"-a --interval 1ms", "--interval 1ms: the smallest time is 10ms"},
	{"-a -u app", "-u app: expected BIN:FUNC"},
	{"-a -u app:f(arg13)", "-u app:f(arg13): character 7: a value is an integer argument"},
	{"-a -u app:f,", "-u app:f,: character 7: the name of a function"},
	{"-a --api mpi --api ./a.json --api mpi", "--api mpi: it is given twice"},
	{"-a --map mpi --api mpi", "--api mpi: it is given twice"},
	{"-a --usdt app:x", "--usdt app:x: expected BIN:PROVIDER:NAME"},
	{"-u app:f", "no target"},
	{"-a --json", "--json: needs --list"},
	{"--list app -u app:f", "--list: excludes -u, --usdt and --api"},
	{"--list app --list app", "give only one file to list"},
	{"--list 0", "no such number"},
};

static void mistakes_are_refused_in_one_sentence(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct options o;
		enum status status = STATUS_COMPLETE;
		char said[1024];

		if (parse(&o, bad[i].line, &status, said, sizeof(said)))
			fail_msg("'%s' was accepted", bad[i].line);
		assert_int_equal(status, STATUS_USAGE);
		if (!strstr(said, bad[i].says))
			fail_msg("'%s' says: %s", bad[i].line, said);
		assert_int_equal(strcspn(said, "\n"), strlen(said) - 1);
	}
}

static void accepted(struct options *o, const char *line)
{
	enum status status;
	char said[1024];

	if (!parse(o, line, &status, said, sizeof(said)))
		fail_msg("'%s' was refused: %s", line, said);
}

static void defaults_are_those_of_the_manual(void **state)
{
	struct options o;

	(void)state;
	accepted(&o, "-a");
	assert_true(o.all && o.follow && o.self && o.kthreads);
	assert_false(o.force || o.emulate || o.dry_run || o.cpu_list || o.all_threads);
	assert_int_equal(o.buffer_bytes,
			 options_buffer_default((unsigned)sysconf(_SC_NPROCESSORS_ONLN)));
	assert_string_equal(o.output, "ovni");
	assert_false(o.output_chosen);
	assert_int_equal(o.duration_ns, 0);
	assert_null(o.command);
	options_free(&o);
}

static void all_buffers_together_are_bounded(void **state)
{
	(void)state;
	assert_int_equal(options_buffer_default(1), 4 << 20);
	assert_int_equal(options_buffer_default(256), 4 << 20);
	assert_int_equal(options_buffer_default(257), 2 << 20);
	assert_int_equal(options_buffer_default(512), 2 << 20);
	assert_int_equal(options_buffer_default(8192), 128 << 10);
	for (unsigned n = 1; n <= 8192; n++)
		assert_true(options_buffer_default(n) * n <= OPTIONS_BUFFERS);
}

static void every_option_reaches_its_place(void **state)
{
	struct options o;

	(void)state;
	accepted(&o, "-p 7,3 -C 0-2,5 -d 1.5m -o out --force -b 64K --max-size 2G --no-follow "
		     "--no-kthreads --no-self --all-threads");
	assert_false(o.all || o.threads || o.follow || o.kthreads || o.self);
	assert_int_equal(o.npids, 2);
	assert_int_equal(o.pids[0], 3);
	assert_int_equal(o.cpus.ncpus, 4);
	assert_int_equal(o.cpus.phyid[3], 5);
	assert_int_equal(o.duration_ns, 90000000000);
	assert_string_equal(o.output, "out");
	assert_true(o.output_chosen && o.force && o.all_threads);
	assert_int_equal(o.buffer_bytes, 65536);
	assert_int_equal(o.max_bytes, 2ull << 30);
	options_free(&o);
	accepted(&o, "-a --why=stack");
	assert_int_equal(o.why, WHY_CALL);
	assert_int_equal(o.stack_ns, 1000000);
	options_free(&o);
	accepted(&o, "-a --why=lock,stack=kernel,100us");
	assert_int_equal(o.why, WHY_LOCK);
	assert_int_equal(o.stack_ns, 100000);
	options_free(&o);
	accepted(&o, "-a --why=stack=user");
	assert_int_equal(o.stack_parts, STACK_OF_USER);
	assert_int_equal(o.stack_ns, 1000000);
	options_free(&o);
	accepted(&o, "-a --why=lock,stack=both,2ms");
	assert_int_equal(o.why, WHY_LOCK);
	assert_int_equal(o.stack_parts, STACK_OF_USER | STACK_OF_KERNEL);
	options_free(&o);
	assert_false(o.wakers);
	options_free(&o);
	accepted(&o, "-a --why=stack=user,2ms,wakers");
	assert_true(o.wakers);
	assert_int_equal(o.stack_parts, STACK_OF_USER);
	assert_int_equal(o.stack_ns, 2000000);
	options_free(&o);
	accepted(&o, "-a --why=preempted");
	assert_true(o.preempted && !o.wakers);
	assert_int_equal(o.stack_parts, STACK_OF_KERNEL);
	options_free(&o);
	accepted(&o, "-a --why=wakers");
	assert_true(o.wakers && !o.preempted);
	assert_int_equal(o.why, WHY_CALL);
	assert_int_equal(o.stack_parts, STACK_OF_KERNEL);
	assert_int_equal(o.stack_ns, 1000000);
	options_free(&o);
	accepted(&o, "-a --why=call");
	assert_int_equal(o.stack_parts, 0);
	options_free(&o);
	accepted(&o, "-a --why=stack,2s,lock");
	assert_int_equal(o.why, WHY_LOCK);
	assert_int_equal(o.stack_ns, 2000000000);
	options_free(&o);
	accepted(&o, "-a --why=stack --why=lock");
	assert_int_equal(o.stack_ns, 0);
	options_free(&o);
	accepted(&o, "-a --why=prio");
	assert_int_equal(o.why, WHY_CALL);
	assert_true(o.priorities);
	options_free(&o);
	accepted(&o, "-a --why=prio,lock,stack");
	assert_int_equal(o.why, WHY_LOCK);
	assert_true(o.priorities && o.stack_ns);
	options_free(&o);
	accepted(&o, "-a --why=prio --why=call");
	assert_false(o.priorities);
	options_free(&o);
	accepted(&o, "-a --counters cs,cpu-cycles,L1-dcache-load-misses");
	assert_int_equal(o.counters.n, 3);
	assert_string_equal(o.counters.list[0].name, "context-switches");
	assert_int_equal(o.counters.list[0].type, PERF_TYPE_SOFTWARE);
	assert_string_equal(o.counters.list[1].name, "cycles");
	assert_int_equal(o.counters.list[1].config, PERF_COUNT_HW_CPU_CYCLES);
	assert_int_equal(o.counters.list[2].config, 1 << 16); /* L1D read miss */
	options_free(&o);
	accepted(&o, "-a --mode summary --why none");
	assert_int_equal(o.why, WHY_NONE);
	options_free(&o);
	accepted(&o, "-a");
	assert_int_equal(o.why, WHY_CALL);
	options_free(&o);
	accepted(&o, "-t 12 --kernel-model --emulate --dry-run -v");
	assert_true(o.threads && o.kernel_model && o.emulate && o.dry_run && o.verbose);
	options_free(&o);
}

static void probes_are_read_in_their_order(void **state)
{
	struct options o;

	(void)state;
	accepted(&o, "-a --api mpi --api=./mine.json");
	assert_int_equal(o.napis, 2);
	assert_string_equal(o.apis[0], "mpi");
	assert_string_equal(o.apis[1], "./mine.json");
	options_free(&o);
	accepted(&o, "-a -u ./app:f,g(arg2) --usdt 7:p:n --probe libm:sin");
	assert_int_equal(o.probes->count, 4);
	assert_string_equal(o.probes->list[1].text, "./app:g(arg2)");
	assert_int_equal(o.probes->list[2].kind, REQUEST_USDT);
	assert_string_equal(o.probes->list[3].binary, "libm");
	assert_int_equal(o.npids, 0);
	options_free(&o);
	/* without another target the processes that are probed are recorded */
	accepted(&o, "-u 12:libm:sin -u 7:main -u 12:f");
	assert_false(o.all);
	assert_int_equal(o.npids, 2);
	assert_int_equal(o.pids[0], 7);
	assert_int_equal(o.pids[1], 12);
	options_free(&o);
	accepted(&o, "-p 9 -u 12:libm:sin");
	assert_int_equal(o.npids, 1);
	options_free(&o);
	accepted(&o, "--list ./app:mem* --json");
	assert_string_equal(o.list->binary, "./app");
	assert_string_equal(o.list->name, "mem*");
	assert_true(o.json && !o.all);
	options_free(&o);
	accepted(&o, "--list 12");
	assert_int_equal(o.list->pid, 12);
	assert_null(o.list->binary);
	assert_string_equal(o.list->name, "*");
	options_free(&o);
	accepted(&o, "--list 12:libm.so.6");
	assert_int_equal(o.list->pid, 12);
	assert_string_equal(o.list->binary, "libm.so.6");
	options_free(&o);
}

static void the_rest_of_the_arguments_is_the_command(void **state)
{
	struct options o;

	(void)state;
	accepted(&o, "-q --user nobody -- sh -c -a --help");
	assert_string_equal(o.command[0], "sh");
	assert_string_equal(o.command[3], "--help");
	assert_null(o.command[4]);
	assert_true(o.quiet);
	assert_false(o.all);
	options_free(&o);
	accepted(&o, "-d 1s sleep -a");
	assert_string_equal(o.command[1], "-a");
	assert_false(o.all);
	options_free(&o);
}

static void a_command_may_set_the_length_of_a_recording_of_all(void **state)
{
	struct options o;

	(void)state;
	accepted(&o, "-a -- sleep 1");
	assert_true(o.all);
	assert_string_equal(o.command[0], "sleep");
	options_free(&o);
	accepted(&o, "--comm x -- sleep 1");
	assert_false(o.all);
	options_free(&o);
}

static void triggers_reach_their_place(void **state)
{
	struct options o;

	(void)state;
	accepted(&o, "-a --last 10s --trigger latency>5ms,comm=rank*,pid=12 --trigger "
		     "f(int,long),tid=13 --on-trigger ./told");
	assert_int_equal(o.trigger.latency_ns, 5000000);
	assert_int_equal(o.trigger.latency_limit.pid, 12);
	assert_true(o.trigger.latency_limit.comm);
	assert_true(comm_glob_matches(&o.trigger.latency_limit.glob, "rank7"));
	assert_false(comm_glob_matches(&o.trigger.latency_limit.glob, "rang7"));
	assert_string_equal(o.trigger.place, "f(int,long)");
	assert_int_equal(o.trigger.place_limit.tid, 13);
	assert_false(o.trigger.place_limit.comm);
	assert_string_equal(o.on_trigger, "./told");
	options_free(&o);
}

static void a_filter_alone_means_the_whole_machine(void **state)
{
	struct options o;

	(void)state;
	accepted(&o, "--comm rank*");
	assert_true(o.all);
	assert_true(comm_glob_matches(&o.glob, "rank12"));
	options_free(&o);
	accepted(&o, "--cgroup a.slice -d 1");
	assert_true(o.all);
	assert_int_equal(o.duration_ns, 1000000000);
	options_free(&o);
	accepted(&o, "--comm x -p 1");
	assert_false(o.all);
	options_free(&o);
}

static void a_buffer_is_rounded_up_and_that_is_said(void **state)
{
	struct options o;
	enum status status;
	char said[1024];

	(void)state;
	assert_true(parse(&o, "-a -b 5M", &status, said, sizeof(said)));
	assert_int_equal(o.buffer_bytes, 8 << 20);
	assert_non_null(strstr(said, "8192K"));
	options_free(&o);
	assert_true(parse(&o, "-a -b 1", &status, said, sizeof(said)));
	assert_int_equal(o.buffer_bytes, 4096);
	options_free(&o);
	assert_true(parse(&o, "-a -b 512M", &status, said, sizeof(said)));
	assert_string_equal(said, "");
	options_free(&o);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(mistakes_are_refused_in_one_sentence),
		cmocka_unit_test(defaults_are_those_of_the_manual),
		cmocka_unit_test(all_buffers_together_are_bounded),
		cmocka_unit_test(every_option_reaches_its_place),
		cmocka_unit_test(probes_are_read_in_their_order),
		cmocka_unit_test(the_rest_of_the_arguments_is_the_command),
		cmocka_unit_test(a_filter_alone_means_the_whole_machine),
		cmocka_unit_test(a_command_may_set_the_length_of_a_recording_of_all),
		cmocka_unit_test(triggers_reach_their_place),
		cmocka_unit_test(a_buffer_is_rounded_up_and_that_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
