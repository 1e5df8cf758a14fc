/* SPDX-License-Identifier: MIT */
/* resolve: functions of programs and libraries that are compiled here. */
#include "probes_kit.h"

#include <sys/stat.h>

static const char program[] =
	"#include <string.h>\n"
	"__attribute__((noinline)) int compute_one(int x) { return x * 3 + 1; }\n"
	"__attribute__((noinline)) int compute_two(int x) { return compute_one(x) * 5; }\n"
	"__attribute__((noinline)) static int helper(int x) { return x ^ 7; }\n"
	"int alias_of_one(int) __attribute__((alias(\"compute_one\")));\n"
	"int __alias(int) __attribute__((alias(\"compute_one\")));\n"
	"int data = 5;\n"
	"int main(int c, char **v) { (void)v; return compute_two(c) + helper(c) + "
	"(int)strlen(v[0]); }\n";

/* Four instructions: offsets of all but the first, the size of all, and of the last. */
#ifdef __aarch64__
#define FIXED	    "mov w0,#5\\nnop\\nnop\\nret"
#define SECOND	    "4"
#define THIRD	    "8"
#define FOURTH	    "c"
#define FIXED_SIZE  "10"
#define RETURN_SIZE 4
#else
#define FIXED	    "push %rbx\\nmov $5,%eax\\npop %rbx\\nret"
#define SECOND	    "1"
#define THIRD	    "6"
#define FOURTH	    "7"
#define FIXED_SIZE  "8"
#define RETURN_SIZE 1
#endif

static int compile(void **state)
{
	(void)state;
	write_file("program.c", program);
	run("gcc -O1 -fPIE -pie -o pie program.c");
	run("gcc -O1 -fno-pie -no-pie -o nopie program.c");
	run("gcc -O1 -static -o static program.c");
	run("gcc -O1 -fPIC -shared -o libprogram.so.1 -Wl,-soname,libprogram.so.1 program.c");
	return 0;
}

/* The offset is where the function's bytes are, in every kind of file. */
static void the_offset_is_that_of_the_functions_bytes(void **state)
{
	static const char *const files[] = {"pie", "nopie", "static", "libprogram.so.1"};

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		char text[64];
		struct sites sites, again;

		snprintf(text, sizeof(text), "./%s:compute_two", files[i]);
		resolved(&sites, text);
		assert_int_equal(sites.count, 1);
		assert_int_equal(sites.list[0].kind, SITE_FUNCTION);
		assert_true(sites.list[0].size > 4);
		assert_string_equal(sites.list[0].symbol, "compute_two");
		/* by its address the same */
		snprintf(text, sizeof(text), "./%s:0x%llx", files[i],
			 (unsigned long long)nm_address(files[i], "compute_two"));
		resolved(&again, text);
		assert_int_equal(again.list[0].offset, sites.list[0].offset);
		assert_int_equal(again.list[0].kind, SITE_FUNCTION);
		assert_string_equal(again.list[0].label, "compute_two");
		resolve_free(&again);
		resolve_free(&sites);
	}
}

static void the_path_of_a_site_leads_to_its_file(void **state)
{
	struct sites sites;
	struct stat st;
	int fd;

	(void)state;
	resolved(&sites, "./pie:main");
	/* even when its name is another's */
	fd = open(sites.list[0].path, O_RDONLY);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_ino, sites.list[0].inode);
	assert_int_equal(st.st_dev, sites.list[0].device);
	close(fd);
	resolve_free(&sites);
}

static void names_globs_and_lists_find_functions(void **state)
{
	(void)state;
	found("./pie:compute_*", "compute_one | compute_two");
	found("./pie:compute_two,helper", "helper | compute_two");
	found("./pie:c?mpute_[!x]ne", "compute_one");
	found("./pie:helper", "helper");
}

/* One place, one site, by the name that was asked for, or the preferred one. */
static void aliases_are_one_function(void **state)
{
	(void)state;
	found("./pie:alias_of_one", "alias_of_one");
	found("./pie:__alias", "__alias");
	found("./pie:*alias*", "alias_of_one");
	found("./pie:*_o[fn]*", "compute_one");
}

static void a_point_inside_of_a_function_is_no_pair(void **state)
{
	struct sites sites;

	(void)state;
	write_file("inside.c", "__asm__(\".text\\n.type fixed,%function\\nfixed: " FIXED
			       "\\n.size fixed,.-fixed\\n\");\n"
			       "int main(void) { return 0; }\n");
	run("gcc -O1 -o inside inside.c");
	resolved(&sites, "./inside:fixed+0x" SECOND);
	assert_int_equal(sites.list[0].kind, SITE_POINT);
	assert_string_equal(sites.list[0].label, "fixed+0x" SECOND);
	resolve_free(&sites);
	found("./inside:fixed+0x" THIRD ",fixed+0x" FOURTH, "fixed+0x" THIRD " | fixed+0x" FOURTH);
	refused("./inside:fixed+2", -EINVAL, "no instruction begins at fixed+0x2");
	refused("./inside:fixed+5", -EINVAL, "no instruction begins at fixed+0x5");
	refused("./inside:fixed+0x" FIXED_SIZE, -ENOENT, "so there is no byte +0x" FIXED_SIZE);
	resolved(&sites, "./pie:compute_two+0");
	assert_int_equal(sites.list[0].kind, SITE_POINT);
	assert_string_equal(sites.list[0].label, "compute_two+0x0");
	resolve_free(&sites);
	refused("./pie:compute_two+0x1000", -ENOENT, "so there is no byte +0x1000");
}

/* Where no function is known, the address alone says that no instruction of arm64 begins there. */
static void an_instruction_begins_where_the_machine_allows_it(void **state)
{
	(void)state;
	write_file("naked.c", "__asm__(\".globl _start\\n_start: nop\\nnop\\nnop\\nnop\\n\");\n");
	run("gcc -nostdlib -static -fno-asynchronous-unwind-tables -Wl,-Ttext=0x400000 -o naked "
	    "naked.c");
	run("strip naked");
	found("./naked:0x400004", "naked+0x400004");
#ifdef __aarch64__
	refused("./naked:0x400001", -EINVAL, "no instruction begins at 0x400001");
	refused("./naked:0x400006", -EINVAL, "no instruction begins at 0x400006");
#else
	found("./naked:0x400001", "naked+0x400001");
#endif
}

/* Without names the table for unwinding still has the begins of functions. */
static void functions_of_a_stripped_file_have_addresses(void **state)
{
	struct sites sites, named;
	char text[64];
	uint64_t address = nm_address("pie", "compute_two");

	(void)state;
	run("cp pie nameless");
	run("strip nameless");
	resolved(&named, "./pie:compute_two");
	snprintf(text, sizeof(text), "./nameless:0x%llx(arg1:i32)", (unsigned long long)address);
	resolved(&sites, text);
	assert_int_equal(sites.list[0].kind, SITE_FUNCTION);
	assert_int_equal(sites.list[0].offset, named.list[0].offset);
	assert_int_equal(sites.list[0].size, named.list[0].size);
	snprintf(text, sizeof(text), "nameless+0x%llx", (unsigned long long)address);
	assert_string_equal(sites.list[0].label, text);
	resolve_free(&sites);
	/* its last instruction (ret) is in the middle of the function: a point */
	snprintf(text, sizeof(text), "./nameless:0x%llx",
		 (unsigned long long)(address + named.list[0].size - RETURN_SIZE));
	resolved(&sites, text);
	assert_int_equal(sites.list[0].kind, SITE_POINT);
	resolve_free(&sites);
	resolve_free(&named);
	/* the start of the program has a frame, too, but was not called */
	snprintf(text, sizeof(text), "./nameless:0x%llx",
		 (unsigned long long)nm_address("pie", "_start"));
	resolved(&sites, text);
	assert_int_equal(sites.list[0].kind, SITE_POINT);
	resolve_free(&sites);
}

static void missing_files_are_reported_with_the_reason(void **state)
{
	(void)state;
	refused("./none:f", -ENOENT, "./none does not exist");
	refused("./program.c:f", -ENOEXEC, "not a program or library");
	refused(".//:f", -ENOEXEC, "is a directory");
	refused("./pie:comptue_two", -ENOENT, "did you mean 'compute_two'?");
	refused("./pie:mian", -ENOENT, "did you mean 'main'?");
	refused("./pie:nothing_at_all_like_it", -ENOENT,
		"has no function 'nothing_at_all_like_it'");
	refused("./pie:zzz*", -ENOENT, "has no function like 'zzz*'");
	refused("./pie:data", -ENOENT, "has no function 'data'");
	refused("./pie:strlen", -ENOENT, "has no function 'strlen'");
	refused("./pie:0x7ffffff0", -ENOENT, "no code at the address 0x7ffffff0");
	refused("./pie:_start", -EINVAL, "it has no caller");
}

static void things_that_are_no_files_do_not_hang(void **state)
{
	(void)state;
	assert_int_equal(mkfifo("fifo", 0600), 0);
	refused("./fifo:f", -ENOEXEC, "is not a regular file");
	refused("/dev/zero:f", -ENOEXEC, "is not a regular file");
	write_file("script", "#!/bin/sh\n");
	refused("./script:f", -ENOEXEC, "is a script");
	write_file("empty", "");
	refused("./empty:f", -ENOEXEC, "is not a program or library");
	run("gcc -c -o object.o program.c");
	refused("./object.o:main", -ENOEXEC, "object file that is not linked");
}

static void a_request_for_one_place_counts_once(void **state)
{
	struct requests requests = {0};
	struct sites sites;
	struct said said;
	size_t at;

	(void)state;
	assert_null(requests_add_functions(&requests, "./pie:compute_*", &at));
	assert_null(requests_add_functions(&requests, "./pie:alias_of_one(arg1:i32)", &at));
	said_begin(&said);
	assert_int_equal(resolve_sites(&sites, &requests, &no_scope), 0);
	said_end(&said);
	assert_string_equal(said.text, "");
	/* an exact name wins over the glob that came first */
	assert_string_equal(labels_of(&sites), "alias_of_one | compute_two");
	assert_int_equal(sites.list[0].request, 1);
	assert_int_equal(sites.list[0].value.source, SITE_ARGUMENT);
	assert_int_equal(sites.list[0].value.bytes, 4);
	resolve_free(&sites);
	assert_null(requests_add_functions(&requests, "./pie:compute_one", &at));
	said_begin(&said);
	assert_int_equal(resolve_sites(&sites, &requests, &no_scope), 0);
	said_end(&said);
	assert_non_null(strstr(said.text, "the same site"));
	assert_int_equal(sites.count, 2);
	resolve_free(&sites);
	requests_free(&requests);
}

static void missing_functions_are_listed_and_not_fatal(void **state)
{
	struct requests requests = {0};
	struct request entry = {.kind = REQUEST_FUNCTION,
				.binary = (char *)"./pie",
				.name = (char *)"compute_one",
				.optional = true};
	struct sites sites;

	(void)state;
	assert_int_equal(requests_add(&requests, &entry), 0);
	entry.name = (char *)"not_there";
	assert_int_equal(requests_add(&requests, &entry), 0);
	entry.binary = (char *)"./none";
	assert_int_equal(requests_add(&requests, &entry), 0);
	assert_int_equal(resolve_sites(&sites, &requests, &no_scope), 0);
	assert_int_equal(sites.count, 1);
	assert_int_equal(sites.nmissing, 2);
	assert_int_equal(sites.missing[0].request, 1);
	assert_non_null(strstr(sites.missing[0].why, "no function 'not_there'"));
	assert_int_equal(sites.missing[1].request, 2);
	assert_non_null(strstr(sites.missing[1].why, "./none does not exist"));
	resolve_free(&sites);
	requests_free(&requests);
}

/* The same function in two files, and twice in one, stays apart. */
static void equal_names_stay_apart(void **state)
{
	struct requests requests = {0};
	struct sites sites;
	size_t at;

	(void)state;
	write_file("a.c",
		   "__attribute__((noinline,used)) static int twice(int x) { return x + 1; }\n"
		   "int a(int x) { return twice(x); }\n");
	write_file("b.c",
		   "__attribute__((noinline,used)) static int twice(int x) { return x + 2; }\n"
		   "int a(int); int main(void) { return a(twice(1)); }\n");
	run("gcc -O1 -o twice a.c b.c");
	resolved(&sites, "./twice:twice");
	assert_int_equal(sites.count, 2);
	assert_int_equal(strncmp(sites.list[0].label, "twice (./twice 0x", 17), 0);
	assert_string_not_equal(sites.list[0].label, sites.list[1].label);
	resolve_free(&sites);

	assert_null(requests_add_functions(&requests, "./pie:main,helper", &at));
	assert_null(requests_add_functions(&requests, "./nopie:main", &at));
	assert_int_equal(resolve_sites(&sites, &requests, &no_scope), 0);
	assert_string_equal(labels_of(&sites), "helper | main (pie) | main (nopie)");
	resolve_free(&sites);
	requests_free(&requests);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_offset_is_that_of_the_functions_bytes),
		cmocka_unit_test(the_path_of_a_site_leads_to_its_file),
		cmocka_unit_test(names_globs_and_lists_find_functions),
		cmocka_unit_test(aliases_are_one_function),
		cmocka_unit_test(a_point_inside_of_a_function_is_no_pair),
		cmocka_unit_test(an_instruction_begins_where_the_machine_allows_it),
		cmocka_unit_test(functions_of_a_stripped_file_have_addresses),
		cmocka_unit_test(missing_files_are_reported_with_the_reason),
		cmocka_unit_test(things_that_are_no_files_do_not_hang),
		cmocka_unit_test(a_request_for_one_place_counts_once),
		cmocka_unit_test(missing_functions_are_listed_and_not_fatal),
		cmocka_unit_test(equal_names_stay_apart),
	};

	return cmocka_run_group_tests(tests, compile, NULL);
}
