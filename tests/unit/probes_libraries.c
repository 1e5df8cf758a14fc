/* SPDX-License-Identifier: MIT */
/* libraries, binaries: the file that a name means. */
#include "probes_kit.h"

#include <sys/stat.h>
#include <sys/prctl.h>
#include <signal.h>
#include <limits.h>

#include "user/elf/libraries.h"

struct seen {
	char text[4096];
};

static int see(const char *name, const char *path, void *seen_)
{
	struct seen *seen = seen_;
	size_t used = strlen(seen->text);

	snprintf(seen->text + used, sizeof(seen->text) - used, "%s=%s ", name, path);
	return 0;
}

static int make(void **state)
{
	(void)state;
	assert_int_equal(mkdir("lib", 0700), 0);
	assert_int_equal(mkdir("deep", 0700), 0);
	assert_int_equal(mkdir("env", 0700), 0);
	assert_int_equal(mkdir("plug", 0700), 0);
	write_file("deep.c", "int deep(void) { return 3; }\n");
	write_file("one.c", "int deep(void); int one(void) { return deep() + 1; }\n");
	write_file("wait.c", "#include <unistd.h>\n"
			     "int one(void);\n"
			     "int main(int c, char **v) { (void)v; if (c > 1) return one();\n"
			     "	if (write(1, \"x\", 1) != 1) return 1; for (;;) pause(); }\n");
	run("gcc -fPIC -shared -Wl,-soname,libdeep.so.3 -o deep/libdeep.so.3 deep.c");
	/* found by its RUNPATH alone */
	run("gcc -fPIC -shared -Wl,-soname,libone.so.1 -Wl,--enable-new-dtags "
	    "-Wl,-rpath,$ORIGIN/../deep -o lib/libone.so.1 one.c deep/libdeep.so.3");
	run("gcc -Wl,--enable-new-dtags -Wl,-rpath,${ORIGIN}/lib -o runpath wait.c lib/libone.so.1 "
	    "-Wl,-rpath-link,deep");
	run("gcc -Wl,--disable-new-dtags -Wl,-rpath,$ORIGIN/lib:$ORIGIN/plug -o rpath wait.c "
	    "lib/libone.so.1 -Wl,-rpath-link,deep");
	run("gcc -o nopath wait.c lib/libone.so.1 -Wl,-rpath-link,deep");
	run("cp lib/libone.so.1 env/libone.so.1");
	run("gcc -fPIC -shared -Wl,-soname,libplug.so.2 -o plug/libplug.so.2 deep.c");
	return 0;
}

/* The needed libraries are the ones that the dynamic linker itself lists. */
static void libraries_are_those_that_the_dynamic_linker_loads(void **state)
{
	static const char *const programs[] = {"./runpath", "./rpath", "/bin/ls",
					       "/usr/bin/python3", "/usr/bin/mpirun"};
	size_t compared = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		char command[256], line[1024], name[256], path[512], real[PATH_MAX],
			want[PATH_MAX + 300];
		struct seen seen = {""};
		FILE *ldd;

		if (access(programs[i], X_OK))
			continue;
		assert_int_equal(libraries_needed("", programs[i], see, &seen), 0);
		snprintf(command, sizeof(command), "ldd %s", programs[i]);
		ldd = popen(command, "r");
		assert_non_null(ldd);
		while (fgets(line, sizeof(line), ldd)) {
			const char *at;

			if (sscanf(line, " %255s => %511s", name, path) != 2)
				continue;
			snprintf(want, sizeof(want), "%s=", name);
			at = strstr(seen.text, want);
			if (!at) {
				fail_msg("%s needs %s: %s", programs[i], name, seen.text);
				break;
			}
			at += strlen(want);
			snprintf(want, sizeof(want), "%.*s", (int)strcspn(at, " "), at);
			assert_non_null(realpath(want, real));
			assert_non_null(realpath(path, want));
			if (strcmp(real, want))
				fail_msg("%s: %s is %s, not %s", programs[i], name, want, real);
			compared++;
		}
		pclose(ldd);
	}
	assert_true(compared >= 8);
}

static void the_cache_of_the_linker_is_read(void **state)
{
	struct seen seen = {""};
	FILE *file;

	(void)state;
	run("mkdir -p root/etc root/opt/a root/opt/b");
	write_file("root/etc/ld.so.conf", "/opt/a\n/opt/b\n");
	run("gcc -fPIC -shared -Wl,-soname,libx.so.1 -o root/opt/b/libx.so.1 deep.c");
	run("gcc -fPIC -shared -Wl,-soname,libz.so.1 -o root/opt/b/libz.so.1 deep.c");
	run("/sbin/ldconfig -r root");
	/* an absolute link stays below the root */
	assert_int_equal(symlink("/opt/b/libx.so.1", "root/opt/a/libx.so.1"), 0);
	run("/sbin/ldconfig -r root");
	assert_int_equal(libraries_cached("root", see, &seen), 0);
	assert_string_equal(seen.text, "libz.so.1=/opt/b/libz.so.1 libx.so.1=/opt/a/libx.so.1 ");
	/* a cache that is cut, or damaged, at any byte */
	for (size_t cut = 0; cut < 200; cut += 3) {
		static const char *const bytes[] = {"\377\377\377\377", "\177"};
		char command[128];

		run("/sbin/ldconfig -r root");
		snprintf(command, sizeof(command), "truncate -s %zu root/etc/ld.so.cache", cut);
		if (cut % 2)
			run(command);
		file = fopen("root/etc/ld.so.cache", "r+");
		assert_non_null(file);
		fseek(file, (long)cut, SEEK_SET);
		fputs(bytes[cut % 3 == 0], file);
		fclose(file);
		seen.text[0] = '\0';
		assert_int_equal(libraries_cached("root", see, &seen), 0);
	}
}

static void the_environment_comes_between_rpath_and_runpath(void **state)
{
	static const struct {
		const char *program, *path, *want;
	} cases[] = {
		{"./runpath", NULL, "libone.so.1=./lib/libone.so.1 "},
		{"./runpath", "env", "libone.so.1=env/libone.so.1 "},
		{"./rpath", "env", "libone.so.1=./lib/libone.so.1 "},
		{"./nopath", "none:env", "libone.so.1=env/libone.so.1 "},
		{"./nopath", NULL, ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct seen seen = {""};
		const char *at;

		if (cases[i].path)
			setenv("LD_LIBRARY_PATH", cases[i].path, 1);
		else
			unsetenv("LD_LIBRARY_PATH");
		assert_int_equal(libraries_needed("", cases[i].program, see, &seen), 0);
		unsetenv("LD_LIBRARY_PATH");
		at = strstr(seen.text, "libone.so.1=");
		if (*cases[i].want ? !at || strncmp(at, cases[i].want, strlen(cases[i].want)) != 0
				   : at != NULL)
			fail_msg("%s with %s: %s", cases[i].program,
				 cases[i].path ? cases[i].path : "nothing", seen.text);
	}
}

static void in_scope(const struct resolve_scope *scope, const char *text, const char *binary)
{
	struct sites sites;
	struct said said;

	if (resolve_in(&sites, text, false, scope, &said))
		fail_msg("'%s' is not found: %s", text, said.text);
	assert_int_equal(sites.count, 1);
	assert_string_equal(sites.list[0].binary, binary);
	resolve_free(&sites);
}

static void not_in_scope(const struct resolve_scope *scope, const char *text, const char *says)
{
	struct sites sites;
	struct said said;

	if (!resolve_in(&sites, text, false, scope, &said))
		fail_msg("'%s' is found", text);
	if (!strstr(said.text, says))
		fail_msg("'%s' says: %s", text, said.text);
	assert_int_equal(strcspn(said.text, "\n"), strlen(said.text) - 1);
}

static void a_command_and_its_programs_have_their_libraries(void **state)
{
	char *plain[] = {(char *)"./runpath", NULL};
	char *launched[] = {(char *)"/usr/bin/env", (char *)"A=1", (char *)"./rpath",
			    (char *)"-n",	    (char *)"4",   NULL};
	struct resolve_scope scope = {.proc = "/proc", .root = "", .command = plain};

	(void)state;
	in_scope(&scope, "runpath:main", "./runpath");
	in_scope(&scope, "libone.so.1:one", "./lib/libone.so.1");
	in_scope(&scope, "libone:one", "./lib/libone.so.1");
	in_scope(&scope, "libone.so:one", "./lib/libone.so.1");
	in_scope(&scope, "libdeep.so.*:deep", "./lib/../deep/libdeep.so.3");
	/* a library that only dlopen() loads is found once it is mapped */
	not_in_scope(&scope, "libplug.so.2:deep",
		     "neither the command nor a library that it needs");
	not_in_scope(&scope, "libone.so.1:two", "has no function 'two'");
	scope.command = launched;
	in_scope(&scope, "rpath:main", "./rpath");
	in_scope(&scope, "libone.so.1:one", "./lib/libone.so.1");
	/* a library that any program could load later, by the cache */
	run("/sbin/ldconfig -r root");
	scope.root = "root";
	in_scope(&scope, "libx:deep", "/opt/a/libx.so.1");
	not_in_scope(&scope, "libx:none", "has no function 'none'");
}

/* A script is its interpreter, too, also by way of env. */
static void scripts_have_the_libraries_of_their_interpreters(void **state)
{
	char here[PATH_MAX], text[PATH_MAX + 64];
	char *command[] = {(char *)"./script", NULL};
	struct resolve_scope scope = {.proc = "/proc", .root = "", .command = command};

	(void)state;
	assert_non_null(getcwd(here, sizeof(here)));
	snprintf(text, sizeof(text), "#!%s/runpath -x\n", here);
	write_file("inner", text);
	write_file("script", "#! /usr/bin/env ./inner\nexit\n");
	write_file("loop", "#!./loop\n");
	run("chmod +x inner script loop");
	snprintf(text, sizeof(text), "%s/lib/libone.so.1", here);
	in_scope(&scope, "libone.so.1:one", text);
	snprintf(text, sizeof(text), "%s/runpath", here);
	in_scope(&scope, "runpath:main", text);
	command[0] = (char *)"./loop";
	not_in_scope(&scope, "libone.so.1:one", "neither the command");
}

/* Starts a program and waits until it runs. */
static pid_t start(const char *program)
{
	int out[2];
	pid_t pid;
	char c;

	assert_int_equal(pipe(out), 0);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(out[1], 1);
		execl(program, program, (char *)NULL);
		_exit(127);
	}
	close(out[1]);
	assert_int_equal(read(out[0], &c, 1), 1);
	close(out[0]);
	return pid;
}

static void stop(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void a_process_has_its_mapped_files(void **state)
{
	pid_t pid = start("./runpath");
	uint32_t pids[] = {(uint32_t)pid};
	struct resolve_scope scope = {.proc = "/proc", .root = "", .pids = pids, .npids = 1};
	struct resolve_scope other = {.proc = "/proc", .root = ""};
	char here[PATH_MAX], want[PATH_MAX + 64], text[128];

	(void)state;
	assert_non_null(getcwd(here, sizeof(here)));
	snprintf(want, sizeof(want), "%s/lib/libone.so.1", here);
	in_scope(&scope, "libone.so.1:one", want);
	in_scope(&scope, "libone:one", want);
	snprintf(want, sizeof(want), "%s/runpath", here);
	in_scope(&scope, "runpath:main", want);
	snprintf(text, sizeof(text), "%d:libone:one", (int)pid);
	snprintf(want, sizeof(want), "%s/lib/libone.so.1", here);
	in_scope(&other, text, want);
	snprintf(text, sizeof(text), "%d:main", (int)pid);
	snprintf(want, sizeof(want), "%s/runpath", here);
	in_scope(&other, text, want);
	snprintf(text, sizeof(text), "%d:lib/libone.so.1:one", (int)pid);
	in_scope(&other, text, "lib/libone.so.1");
	not_in_scope(&scope, "libnone.so:f", "no recorded process has a file 'libnone.so' mapped");
	stop(pid);
	snprintf(text, sizeof(text), "%d:main", (int)pid);
	not_in_scope(&other, text, "does not exist");
	not_in_scope(&scope, "libone.so.1:one", "does not exist");
	snprintf(text, sizeof(text), "%d:/bin/ls:main", (int)pid);
	not_in_scope(&other, text, "does not exist");
}

/* With the whole machine, in any process. No other file has the name. */
static void any_process_may_have_it_mapped(void **state)
{
	struct resolve_scope scope = {.proc = "/proc", .root = "", .all = true};
	char program[64], request[80], here[PATH_MAX], want[PATH_MAX + 64], command[128];
	pid_t one, two;

	(void)state;
	snprintf(program, sizeof(program), "./any-%d", (int)getpid());
	snprintf(command, sizeof(command), "cp runpath %s", program);
	run(command);
	one = start(program);
	two = start(program);
	assert_non_null(getcwd(here, sizeof(here)));
	snprintf(request, sizeof(request), "%s:main", program + 2);
	snprintf(want, sizeof(want), "%s/%s", here, program + 2);
	in_scope(&scope, request, want);
	stop(one);
	stop(two);
	not_in_scope(&scope, request, "as in ./app");
}

/* The library is replaced while the process runs: the mapped file is not the one that now has the
 * name. The executable can still be reached. */
static void a_file_that_was_replaced_is_not_taken_for_the_mapped_one(void **state)
{
	struct sites sites;
	struct stat before, after;
	struct said said;
	char text[128];
	pid_t pid;
	int err;

	(void)state;
	run("cp runpath replaced");
	assert_int_equal(stat("replaced", &before), 0);
	pid = start("./replaced");
	assert_int_equal(unlink("replaced"), 0);
	run("cp /bin/true replaced");
	assert_int_equal(stat("replaced", &after), 0);
	snprintf(text, sizeof(text), "%d:main", (int)pid);
	err = resolve_in(&sites, text, false, &no_scope, &said);
	assert_int_equal(err, 0);
	assert_int_equal(sites.list[0].inode, before.st_ino);
	resolve_free(&sites);
	/* by its name in the mappings it needs a privilege */
	snprintf(text, sizeof(text), "%d:replaced:main", (int)pid);
	err = resolve_in(&sites, text, false, &no_scope, &said);
	if (!err) {
		assert_int_equal(sites.list[0].inode, before.st_ino);
		resolve_free(&sites);
	} else {
		assert_non_null(strstr(said.text, "has been replaced or deleted"));
	}
	stop(pid);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(libraries_are_those_that_the_dynamic_linker_loads),
		cmocka_unit_test(the_cache_of_the_linker_is_read),
		cmocka_unit_test(the_environment_comes_between_rpath_and_runpath),
		cmocka_unit_test(a_command_and_its_programs_have_their_libraries),
		cmocka_unit_test(scripts_have_the_libraries_of_their_interpreters),
		cmocka_unit_test(a_process_has_its_mapped_files),
		cmocka_unit_test(any_process_may_have_it_mapped),
		cmocka_unit_test(a_file_that_was_replaced_is_not_taken_for_the_mapped_one),
	};

	return cmocka_run_group_tests(tests, make, NULL);
}
