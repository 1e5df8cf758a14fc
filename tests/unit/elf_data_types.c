/* SPDX-License-Identifier: MIT */
/*
 * data_types: the parts of variables. Each program under test prints expressions, as C and C++ say
 * them, with their addresses; the names that its debug information gives for these must be equal.
 *
 * MUTATIONS: damaged copies of a program; SEED: the first number for their damage; ONLY: some of
 * the tests.
 */
#include "probes_kit.h"

#include <sys/stat.h>

#include "user/elf/data_symbols.h"
#include "user/elf/functions.h"

static const char source_c[] =
	"#include <pthread.h>\n#include <stdio.h>\n"
	"#define SHOW(e) printf(\"%p %s\\n\", (void *)&(e), #e)\n"
	"struct pool { long used; pthread_mutex_t lock;\n"
	"  struct { int x; pthread_rwlock_t table; } in;\n"
	"  union { char c[64]; struct { long _own; pthread_cond_t changed; } more; };\n"
	"  pthread_mutex_t each[3]; struct pool *next; };\n"
	"typedef const struct pool fixed;\n"
	"struct pool one = {.used = 1}; static struct pool many[4][3]; pthread_mutex_t plain[2];\n"
	"pthread_mutex_t alone; volatile fixed *volatile pointer = &one;\n"
	"struct tail { long n; pthread_mutex_t list[]; } tail = {.n = 1};\n"
	"int main(void) { static struct pool inner[2];\n"
	"  SHOW(one.used); SHOW(one.lock); SHOW(one.in.table); SHOW(one.more.changed);\n"
	"  SHOW(one.each[2]); SHOW(one.next); SHOW(many[3][2].lock); SHOW(many[0][1].in.x);\n"
	"  SHOW(many[1][0].each[1]); SHOW(plain[1]); SHOW(alone); SHOW(pointer); "
	"SHOW(inner[1].lock);\n"
	"  SHOW(one.more._own); SHOW(tail.n); return (int)many[1][1].used; }\n";

static const char source_cxx[] =
	"#include <array>\n#include <cstdio>\n#include <mutex>\n#include <shared_mutex>\n"
	"#define SHOW(e) printf(\"%p %s\\n\", (void *)&(e), #e)\n"
	"struct Base { long b; std::mutex guard; };\n"
	"class Shop : public Base { public: virtual ~Shop() {} int k; std::recursive_mutex again;\n"
	"  static std::mutex common; };\n"
	"std::mutex Shop::common;\n"
	"template <class T> struct Box { T value; std::mutex lock; };\n"
	"namespace ns { Shop shops[2]; std::array<Base, 3> bases; Box<Base> box; std::mutex "
	"alone;\n"
	"  namespace { Shop secret; } }\n"
	"int main() { static Base local;\n"
	"  SHOW(ns::shops[1].guard); SHOW(ns::shops[0].b); SHOW(ns::shops[0].again); "
	"SHOW(ns::bases[2].guard);\n"
	"  SHOW(ns::box.value.guard); SHOW(ns::box.lock); SHOW(ns::alone); SHOW(Shop::common);\n"
	"  printf(\"%p main::local.guard\\n\", (void *)&local.guard);\n"
	"  printf(\"%p ns::(anonymous namespace)::secret.again\\n\", (void *)&ns::secret.again); "
	"}\n";

static void read_symbols(struct data_symbols *symbols, const char *root, const char *path)
{
	struct elf_file file;
	int err = 0;

	assert_null(elf_file_open(&file, root, path, &err));
	assert_int_equal(data_symbols_read(symbols, &file, root, path), 0);
	elf_file_close(&file);
}

/* Reads "truth": the lines of a program, which runs at the addresses of its file. Returns how many
 * of them the file names as they say; `wanted`: all of them must be. */
static int compare_with_truth(const char *root, const char *path, bool wanted)
{
	FILE *truth = fopen("truth", "r");
	struct data_symbols symbols;
	char expression[256];
	void *address;
	int n = 0, equal = 0;

	assert_non_null(truth);
	read_symbols(&symbols, root, path);
	while (fscanf(truth, "%p %255[^\n]", &address, expression) == 2) {
		char *text = data_symbols_text(&symbols, (uint64_t)(uintptr_t)address);

		/* clang gives a variable of a function the name of that, too */
		const char *name = !text ? "" : text + (strncmp(text, "main.", 5) ? 0 : 5);

		n++;
		if (wanted)
			assert_string_equal(name, expression);
		equal += !strcmp(name, expression);
		free(text);
	}
	fclose(truth);
	assert_true(n >= 10);
	data_symbols_free(&symbols);
	return equal;
}

static void make(const char *compiler, const char *source)
{
	char line[256];

	snprintf(line, sizeof(line), "%s -no-pie -pthread -o made %s", compiler, source);
	run(line);
	assert_int_equal(system("./made >truth"), 0);
}

static void check_compilers(const char *const *compilers, const char *source)
{
	int skipped = 0, n = 0;

	for (; compilers[n]; n++) {
		char name[64];

		snprintf(name, sizeof(name), "%.*s -dumpversion", (int)strcspn(compilers[n], " "),
			 compilers[n]);
		if (run_status(name)) {
			skipped++;
			continue;
		}
		make(compilers[n], source);
		compare_with_truth("", "./made", true);
	}
	assert_true(skipped < n);
}

static void parts_of_variables_of_c_have_names(void **state)
{
	const char *const compilers[] = {"gcc -g -O1",
					 "gcc -gdwarf-4 -fdebug-types-section",
					 "gcc -gdwarf-3 -O2",
					 "gcc -g -gz=zlib",
					 "clang -g -O1",
					 "clang -gdwarf-4",
					 NULL};

	(void)state;
	write_file("parts.c", source_c);
	check_compilers(compilers, "parts.c");
}

static void parts_of_variables_of_cxx_have_names(void **state)
{
	const char *const compilers[] = {"g++ -std=c++17 -g -O1",
					 "g++ -std=c++17 -gdwarf-4 -fdebug-types-section",
					 "clang++ -std=c++17 -g -O1", NULL};

	(void)state;
	write_file("parts.cc", source_cxx);
	check_compilers(compilers, "parts.cc");
}

static void types_of_the_library_of_rust_have_no_parts(void **state)
{
	struct data_symbols symbols;
	int plain = 0, member = 0;

	(void)state;
	write_file(
		"parts.rs",
		"use std::sync::Mutex;\nstruct Pool { used: u64, lock: Mutex<u32> }\n"
		"static PLAIN: Mutex<u64> = Mutex::new(1);\n"
		"static POOLS: [Pool; 2] = [const { Pool { used: 1, lock: Mutex::new(1) } }; 2];\n"
		"fn main() { *POOLS[1].lock.lock().unwrap() += POOLS[0].used as u32;\n"
		"  *PLAIN.lock().unwrap() += 1; }\n");
	run("rustc -g -o rust parts.rs");
	read_symbols(&symbols, "", "./rust");
	for (size_t i = 0; i < symbols.count; i++) {
		for (uint64_t at = 0; at < symbols.list[i].size; at += 4) {
			char *text = data_symbols_text(&symbols, symbols.list[i].address + at);

			plain += text && !strcmp(text, "parts::PLAIN");
			member += text && !strcmp(text, "parts::POOLS[1].lock");
			free(text);
		}
	}
	assert_int_equal(plain, 1);
	assert_int_equal(member, 1);
	data_symbols_free(&symbols);
}

static void the_debug_file_of_a_stripped_program_has_the_types(void **state)
{
	(void)state;
	write_file("parts.c", source_c);
	make("gcc -g -Wl,--build-id=0x00112233445566778899aabbccddeeff00112233", "parts.c");
	run("mkdir -p root/bin root/usr/lib/debug/.build-id/00");
	run("strip -o root/bin/made made");
	/* .dynsym alone: nothing of it */
	assert_int_equal(compare_with_truth("root", "/bin/made", false), 0);
	run("objcopy --only-keep-debug made root/usr/lib/debug/.build-id/00/"
	    "112233445566778899aabbccddeeff00112233.debug");
	compare_with_truth("root", "/bin/made", true);
	/* the symbols are in the program, the types are not */
	run("strip -g -o root/bin/made made");
	compare_with_truth("root", "/bin/made", true);
	run("rm -r root/usr/lib/debug");
	assert_in_range(compare_with_truth("root", "/bin/made", false), 2, 3);
}

static void without_debug_information_parts_are_offsets(void **state)
{
	struct data_symbols symbols;
	int found = 0;

	(void)state;
	write_file("parts.c", source_c);
	make("gcc -g0", "parts.c");
	read_symbols(&symbols, "", "./made");
	assert_int_equal(symbols.types.count, 0);
	for (size_t i = 0; i < symbols.count; i++) {
		char *text;

		if (strcmp(symbols.list[i].name, "one") != 0)
			continue;
		text = data_symbols_text(&symbols, symbols.list[i].address + 8);
		assert_string_equal(text, "one+0x8");
		free(text);
		found++;
	}
	assert_int_equal(found, 1);
	data_symbols_free(&symbols);
}

/* Answers of a child that must not be believed: types that contain themselves, unknown numbers. */
static void loops_of_types_end(void **state)
{
	struct data_type list[] = {
		{.stride = 1, .count = UINT64_MAX, .element = 1},
		{.first = 0, .n = 2},
		{.stride = UINT64_MAX, .count = UINT64_MAX, .element = 77},
	};
	struct data_member members[] = {{0, 8, 2, "again"}, {8, UINT64_MAX, 1, "long"}};
	const struct data_types types = {
		.list = list, .count = 3, .members = members, .nmembers = 2};
	char text[DATA_PART_BYTES];

	(void)state;
	for (uint32_t type = 0; type < 5; type++) {
		for (uint64_t at = 0; at < 20; at++) {
			data_types_text(&types, type, at, text);
			assert_true(strlen(text) < sizeof(text));
		}
		data_types_text(&types, type, UINT64_MAX, text);
	}
	data_types_text(&types, 2, 3, text);
	assert_int_equal(strncmp(text, ".again.again", 12), 0);
	assert_non_null(strstr(text, "+0x3"));
	members[0].name = "a_name_of_twenty_five_bytes";
	data_types_text(&types, 2, 3, text);
	assert_non_null(strstr(text, "+0x3"));
}

/* The place of a section in the file, as readelf says. */
static bool find_section(const char *name, unsigned long *at, unsigned long *size)
{
	char line[256], word[64], *behind;
	bool found = false;
	FILE *sections;

	assert_int_equal(system("readelf -SW made >sections"), 0);
	sections = fopen("sections", "r");
	assert_non_null(sections);
	snprintf(word, sizeof(word), " %s ", name);
	while (!found && fgets(line, sizeof(line), sections)) {
		behind = strstr(line, word);
		found = behind && sscanf(behind + strlen(word), "%*s %*s %lx %lx", at, size) == 2;
	}
	fclose(sections);
	return found;
}

static void damaged_debug_information_does_no_harm(void **state)
{
	static const char *const sections[] = {".debug_info", ".debug_abbrev", ".debug_str"};
	const char *rounds = getenv("MUTATIONS"), *seed = getenv("SEED");
	unsigned long at[3], size[3];
	int fd, read_some = 0, whole = 0;

	(void)state;
	write_file("parts.c", source_c);
	make("gcc -g", "parts.c");
	for (int s = 0; s < 3; s++)
		assert_true(find_section(sections[s], &at[s], &size[s]));
	whole = compare_with_truth("", "./made", true);
	for (int round = 0; round < (rounds ? atoi(rounds) : 60); round++) {
		struct data_symbols symbols;
		struct elf_file file;
		int err = 0;

		srand((unsigned)(round + (seed ? atoi(seed) : 1)));
		run("cp made damaged");
		fd = open("damaged", O_WRONLY | O_CLOEXEC);
		assert_true(fd >= 0);
		for (int i = rand() % 30; i >= 0; i--) {
			int s = rand() % 3;
			char byte = (char)rand();

			assert_int_equal(
				pwrite(fd, &byte, 1, (off_t)(at[s] + (unsigned)rand() % size[s])),
				1);
		}
		close(fd);
		assert_null(elf_file_open(&file, "", "damaged", &err));
		assert_int_equal(data_symbols_read(&symbols, &file, "", "damaged"), 0);
		assert_true(symbols.count > 5); /* the symbols are undamaged */
		for (size_t i = 0; i < symbols.count; i++) {
			for (uint64_t o = 0; o < symbols.list[i].size; o += 8)
				free(data_symbols_text(&symbols, symbols.list[i].address + o));
		}
		read_some += symbols.types.count > 3;
		data_symbols_free(&symbols);
		elf_file_close(&file);
	}
	assert_true(whole && read_some);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_of_variables_of_c_have_names),
		cmocka_unit_test(parts_of_variables_of_cxx_have_names),
		cmocka_unit_test(types_of_the_library_of_rust_have_no_parts),
		cmocka_unit_test(the_debug_file_of_a_stripped_program_has_the_types),
		cmocka_unit_test(without_debug_information_parts_are_offsets),
		cmocka_unit_test(loops_of_types_end),
		cmocka_unit_test(damaged_debug_information_does_no_harm),
	};

	if (getenv("ONLY"))
		cmocka_set_test_filter(getenv("ONLY"));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
