/* SPDX-License-Identifier: MIT */
/* symbols, demangle, debugfile, image: names of functions, wherever they are kept. */
#include "probes_kit.h"

#include <elf.h>
#include <sys/stat.h>

#include "user/elf/elf_file.h"
#include "user/probes/binaries.h"
#include "user/probes/resolve.h"
#include "user/elf/functions.h"

/* ---- C++ and Rust ---- */

static const char cpp[] =
	"namespace ns {\n"
	"struct X { int v; X(int); ~X(); int get() const; static int of(int);\n"
	"	X operator<<(int n) const; int operator()(int a, char b); };\n"
	"#define N __attribute__((noinline))\n"
	"N X::X(int n) : v(n) {}\n"
	"N X::~X() { v = 0; }\n"
	"N int X::get() const { return v * 3; }\n"
	"N int X::of(int n) { return n + 4; }\n"
	"N X X::operator<<(int n) const { return X(v << n); }\n"
	"N int X::operator()(int a, char b) { return v + a + b; }\n"
	"N int f(int x) { return x * 7; }\n"
	"N int f(double x) { return (int)x; }\n"
	"template <typename T> N T twice(T x) { return x + x; }\n"
	"template int twice<int>(int);\n"
	"template long twice<long>(long);\n"
	"}\n"
	"N int compute(int a, char b) { return a / (b + 1); }\n"
	"extern \"C\" N int plain_c(int a) { return a + 1; }\n"
	"int main(int c, char **) { ns::X x(c); return (x << 2).get() + x(1, 2) + \n"
	"	ns::f(c) + ns::f(2.5) + compute(c, 3) + ns::X::of(c) + plain_c(c); }\n";

static void names_of_cpp_are_found_in_every_form(void **state)
{
	static const struct {
		const char *text, *labels;
	} cases[] = {
		{"./cpp:ns::f(int)", "ns::f"},
		{"./cpp:ns::f(double)", "ns::f"},
		{"./cpp:ns::f", "ns::f(int) | ns::f(double)"},
		{"./cpp:_ZN2ns1fEi", "ns::f"},
		{"./cpp:compute", "compute"},
		{"./cpp:compute(int,char)", "compute"},
		{"./cpp:compute(int, char)", "compute"},
		{"./cpp:ns::X::get", "ns::X::get"},
		{"./cpp:ns::X::get() const", "ns::X::get"},
		{"./cpp:ns::X::operator<<", "ns::X::operator<<"},
		{"./cpp:ns::X::operator()", "ns::X::operator()"},
		{"./cpp:ns::X::X", "ns::X::X"},
		{"./cpp:ns::X::~X", "ns::X::~X"},
		{"./cpp:ns::twice<int>", "ns::twice<int>"},
		{"./cpp:int ns::twice<int>(int)", "ns::twice<int>"},
		{"./cpp:ns::twice*", "ns::twice<int> | ns::twice<long>"},
		{"./cpp:plain_c", "plain_c"},
		{"./cpp:_ZN2ns1X2ofEi,compute*", "ns::X::of | compute"},
		{"./cpp:ns::?(*)", "ns::f(int) | ns::f(double)"},
	};

	(void)state;
	write_file("cpp.cc", cpp);
	run("g++ -O1 -fno-exceptions -o cpp cpp.cc");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		found(cases[i].text, cases[i].labels);
	refused("./cpp:ns::g", -ENOENT, "did you mean 'ns::f'?");
	refused("./cpp:ns::X::gte", -ENOENT, "did you mean 'ns::X::get'?");
	refused("./cpp:ns::f(long)", -ENOENT, "has no function 'ns::f(long)'");
}

static void names_of_rust_are_found_in_every_form(void **state)
{
	(void)state;
	write_file("rust.c",
		   "int v0(int x) __asm__(\"_RNvNtCs1234_7mycrate3foo3bar\");\n"
		   "int v0(int x) { return x + 1; }\n"
		   "int old(int x) __asm__(\"_ZN7mycrate3baz3run17h0123456789abcdefE\");\n"
		   "int old(int x) { return x + 2; }\n"
		   "int main(void) { return 0; }\n");
	run("gcc -O1 -o rust rust.c");
	found("./rust:mycrate::foo::bar", "mycrate::foo::bar");
	found("./rust:mycrate::baz::run", "mycrate::baz::run");
	found("./rust:_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar");
	found("./rust:mycrate::*", "mycrate::foo::bar | mycrate::baz::run");
	refused("./rust:mycrate::foo::bra", -ENOENT, "did you mean 'mycrate::foo::bar'?");
}

static void names_are_demangled(void **state)
{
	static const struct {
		const char *name;
		enum demangle_form form;
		const char *want; /* "": is none */
	} cases[] = {
		{"_ZN2ns1fEi", DEMANGLE_NAME, "ns::f"},
		{"_ZN2ns1fEi", DEMANGLE_PARAMETERS, "ns::f(int)"},
		{"_ZN2ns5twiceIiEET_S1_", DEMANGLE_NAME, "ns::twice<int>"},
		{"_ZN2ns5twiceIiEET_S1_", DEMANGLE_PARAMETERS, "ns::twice<int>(int)"},
		{"_ZN2ns5twiceIiEET_S1_", DEMANGLE_WHOLE, "int ns::twice<int>(int)"},
		{"_RNvC6_123foo3bar", DEMANGLE_NAME, "123foo::bar"},
		{"_RNvNtCs1234_7mycrate3foo3bar", DEMANGLE_NAME, "mycrate::foo::bar"},
		{"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", DEMANGLE_NAME,
		 "core::fmt::Formatter::pad"},
		{"main", DEMANGLE_NAME, ""},
		{"_start", DEMANGLE_NAME, ""},
		{"_Z", DEMANGLE_NAME, ""},
		{"_Znonsense", DEMANGLE_NAME, ""},
		{"_R", DEMANGLE_NAME, ""},
		{"", DEMANGLE_NAME, ""},
	};
	char out[DEMANGLE_MAX], bomb[2000];
	size_t n;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		n = demangle(out, cases[i].name, cases[i].form);
		if (n != strlen(cases[i].want) || (n && strcmp(out, cases[i].want) != 0))
			fail_msg("%s is '%s'", cases[i].name, n ? out : "");
	}
	/* each pair doubles the text before it: 2^200 characters */
	n = (size_t)snprintf(bomb, sizeof(bomb), "_Z1fSt4pairIiiE");
	for (char digit = '0'; digit < 'Z' && n < 1000; digit++)
		n += (size_t)snprintf(bomb + n, sizeof(bomb) - n, "St4pairIS%c_S%c_E", digit,
				      digit);
	for (int i = 0; i < 2; i++)
		demangle(out, bomb, DEMANGLE_PARAMETERS);
	assert_true(strlen(bomb) > 500);
}

/* ---- versions, IFUNC, parts ---- */

static void versions_are_distinguished(void **state)
{
	static const char text[] = "int old_f(int x) { return x + 1; }\n"
				   "int new_f(int x) { return x + 2; }\n"
				   "__asm__(\".symver old_f,f@V1\");\n"
				   "__asm__(\".symver new_f,f@@V2\");\n";

	(void)state;
	write_file("versions.c", text);
	write_file("versions.map", "V1 { global: f; local: *; };\nV2 { global: f; } V1;\n");
	run("gcc -O1 -fPIC -shared -Wl,--version-script=versions.map -o libversions.so versions.c");
	run("gcc -O1 -fPIC -shared -s -Wl,--version-script=versions.map -o libstripped.so "
	    "versions.c");
	for (int i = 0; i < 2; i++) {
		const char *file = i ? "./libstripped.so" : "./libversions.so";
		char request[64];

		snprintf(request, sizeof(request), "%s:f", file);
		found(request, "f@V1 | f");
		snprintf(request, sizeof(request), "%s:f@@V2", file);
		found(request, "f");
		snprintf(request, sizeof(request), "%s:f@V1", file);
		found(request, "f@V1");
		snprintf(request, sizeof(request), "%s:f@V3", file);
		refused(request, -ENOENT, "has no function 'f@V3'");
	}
}

static void functions_without_calls_are_no_pairs(void **state)
{
	static const char text[] =
		"static int a(int x) { return x; } static int b(int x) { return x + 1; }\n"
		"static int (*choose(void))(int) { return a; }\n"
		"int chosen(int) __attribute__((ifunc(\"choose\")));\n"
		"__asm__(\".type part.cold,@function\\npart.cold: ret\\n.size part.cold,1\\n\");\n"
		"__asm__(\".globl _setjmp\\n.type _setjmp,@function\\n_setjmp: ret\\n\"\n"
		"	\".size _setjmp,1\\n\");\n"
		"int main(int c, char **v) { (void)v; return chosen(c) + b(c); }\n";
	struct sites sites;

	(void)state;
	write_file("special.c", text);
	run("gcc -O0 -o special special.c");
	refused("./special:chosen", -EINVAL, "is an IFUNC");
	refused("./special:part.cold", -EINVAL, "jumped to");
	refused("./special:_setjmp", -EINVAL, "uses its own return address");
	refused("./special:_start", -EINVAL, "where the program starts");
	/* but a point in it is one */
	found("./special:part.cold+0", "part.cold+0x0");
	resolved(&sites, "./special:*");
	assert_int_equal(sites.skipped, 4);
	for (size_t i = 0; i < sites.count; i++)
		assert_null(strstr(sites.list[i].label, "_start"));
	resolve_free(&sites);
}

/* Imports have a place of their own in the table of exports of some programs: the PLT entry. */
static void imports_are_not_functions_of_the_file(void **state)
{
	(void)state;
	write_file("import.c", "#include <stdio.h>\nint (*p)(const char *) = puts;\n"
			       "int main(void) { return p(\"x\") + puts(\"y\"); }\n");
	run("gcc -O1 -fno-pie -no-pie -o import import.c");
	run("gcc -O1 -fno-pie -no-pie -rdynamic -s -o importstripped import.c");
	refused("./import:puts", -ENOENT, "has no function 'puts'");
	refused("./importstripped:puts", -ENOENT, "has no function 'puts'");
	found("./importstripped:main", "main");
}

/* ---- where names are kept ---- */

static const char program[] =
	"__attribute__((noinline)) static int inner(int x) { return x * 3; }\n"
	"int main(int c, char **v) { (void)v; return inner(c); }\n";

static void names_of_stripped_files_are_in_their_debug_files(void **state)
{
	struct sites whole, stripped;

	(void)state;
	write_file("debugged.c", program);
	run("gcc -O1 -Wl,--build-id=none -o debugged debugged.c");
	resolved(&whole, "./debugged:inner");
	run("objcopy --only-keep-debug debugged debugged.debug");
	run("objcopy --strip-all --add-gnu-debuglink=debugged.debug debugged linked");
	resolved(&stripped, "./linked:inner");
	assert_int_equal(stripped.list[0].offset, whole.list[0].offset);
	assert_int_equal(stripped.list[0].size, whole.list[0].size);
	resolve_free(&stripped);
	/* in .debug, by a link with another name */
	assert_int_equal(mkdir(".debug", 0700), 0);
	run("mv debugged.debug .debug/debugged.debug");
	assert_int_equal(mkdir("elsewhere", 0700), 0);
	assert_int_equal(symlink("../linked", "elsewhere/link"), 0);
	found("./elsewhere/link:inner", "inner");
	/* from another build: the checksum in .gnu_debuglink differs */
	write_file("other.c", "int main(void) { return 0; }\nint inner(void) { return 1; }\n");
	run("gcc -O1 -Wl,--build-id=none -o other other.c");
	run("objcopy --only-keep-debug other .debug/debugged.debug");
	refused("./linked:inner", -ENOENT, "stripped");
	resolve_free(&whole);
}

/* Build ids hold where there are some: the checksum is then not read. */
static void a_debug_file_of_another_build_is_not_used(void **state)
{
	(void)state;
	write_file("id.c", program);
	run("gcc -O1 -Wl,--build-id=0x00112233445566778899aabbccddeeff00112233 -o id id.c");
	run("objcopy --only-keep-debug id id.debug");
	run("objcopy --strip-all --add-gnu-debuglink=id.debug id idlinked");
	found("./idlinked:inner", "inner");
	run("gcc -O1 -Wl,--build-id=0x0011223344556677889900000000000000000000 -o id2 id.c");
	run("objcopy --only-keep-debug id2 id.debug");
	refused("./idlinked:inner", -ENOENT, "stripped");
}

static void exported_functions_of_a_stripped_library_are_known(void **state)
{
	(void)state;
	write_file("exports.c",
		   "__attribute__((noinline)) static int hidden(int x) { return x * 3; }\n"
		   "int shown(int x) { return hidden(x); }\n");
	run("gcc -O1 -fPIC -shared -s -o libexports.so exports.c");
	found("./libexports.so:shown", "shown");
	refused("./libexports.so:hidden", -ENOENT, "only those that it exports are known");
	run("gcc -O1 -s -o nothing debugged.c");
	refused("./nothing:inner", -ENOENT, "is stripped");
}

/* Compressed symbols in the file itself, as some distributions have them. */
static void names_are_in_the_file_compressed(void **state)
{
	(void)state;
	write_file("mini.c", program);
	run("gcc -O1 -o mini mini.c");
	run("objcopy --only-keep-debug mini mini.debug");
	run("cp mini.debug mini.data");
	run("xz -f mini.data");
	run("objcopy --strip-all --add-section .gnu_debugdata=mini.data.xz mini packed");
	run("rm mini.debug");
	found("./packed:inner", "inner");
	/* an .xz that does not unpack is ignored */
	write_file("bad.xz", "this is not xz at all");
	run("objcopy --strip-all --add-section .gnu_debugdata=bad.xz mini unpacked");
	refused("./unpacked:inner", -ENOENT, "stripped");
}

/* ---- how large values are ---- */

static void values_have_the_size_in_debug_information(void **state)
{
	static const char text[] =
		"#include <stdbool.h>\n"
		"#define N __attribute__((noinline))\n"
		"typedef unsigned short small; struct large { long a[4]; }; struct pair { int a, "
		"b; };\n"
		"enum color { RED, GREEN }; enum sign { MINUS = -1, PLUS };\n"
		"N int f(int a, const long b, small c, char *d, bool e, signed char g)\n"
		"{ return a + (int)b + c + *d + e + g; }\n"
		"N unsigned char mixed(double x, int a, float y, unsigned b)\n"
		"{ return (unsigned char)(a + (int)x + (int)y + (int)b); }\n"
		"N struct large shifted(int a) { struct large l = {{a}}; return l; }\n"
		"N int behind(struct pair p, int a) { return p.a + a; }\n"
		"N enum color colors(enum color c, enum sign s) { return (int)c + (int)s ? RED : "
		"GREEN; }\n"
		"N double real(int a) { return a; }\n"
		"int main(int c, char **v) { return f(c, 2, 3, v[0], 1, 2) + mixed(1, 2, 3, 4) +\n"
		"	(int)shifted(c).a[0] + behind((struct pair){1, 2}, 3) + colors(RED, PLUS) "
		"+\n"
		"	(int)real(c); }\n";
	static const struct {
		const char *function;
		unsigned bytes;
		bool is_signed;
	} cases[] = {
		{"f(arg1)", 4, true},
		{"f(arg2)", 8, true},
		{"f(arg3)", 2, false},
		{"f(arg4)", 8, false},
		{"f(arg5)", 1, false},
		{"f(arg6)", 1, true},
		{"f(ret)", 4, true},
		{"f(arg1:u64)", 8, false},
		{"mixed(arg1)", 4, true},
		{"mixed(arg2)", 4, false},
		{"mixed(ret)", 1, false},
		{"colors(arg1)", 4, false},
		{"colors(arg2)", 4, true},
		{"colors(ret)", 4, false},
		{"real(arg1)", 4, true},
		/* not certain: the whole register */
		{"shifted(arg1)", 8, true},
		{"behind(arg3)", 8, true},
		{"real(ret)", 8, true},
		{"f(arg2:i16)", 2, true},
	};
	static const char *const files[] = {"typed", "typed4", "separate", "untyped"};

	(void)state;
	write_file("typed.c", text);
	run("gcc -O1 -g -o typed typed.c");
	run("gcc -O1 -gdwarf-4 -gno-strict-dwarf -fno-pie -no-pie -o typed4 typed.c");
	run("gcc -O1 -o untyped typed.c");
	run("objcopy --only-keep-debug typed separate.debug");
	run("objcopy --strip-all --add-gnu-debuglink=separate.debug typed separate");
	for (size_t k = 0; k < sizeof(files) / sizeof(files[0]); k++) {
		for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
			bool said = strchr(cases[i].function, ':');
			unsigned bytes = k == 3 && !said ? 8 : cases[i].bytes;
			bool is_signed = k == 3 && !said ? true : cases[i].is_signed;
			struct sites sites;
			char request[128];

			snprintf(request, sizeof(request), "./%s:%s", files[k], cases[i].function);
			resolved(&sites, request);
			if (sites.list[0].value.bytes != bytes ||
			    sites.list[0].value.is_signed != is_signed)
				fail_msg("%s: %u bytes, %s", request, sites.list[0].value.bytes,
					 sites.list[0].value.is_signed ? "signed" : "unsigned");
			resolve_free(&sites);
		}
	}
}

/* ---- many ---- */

static void thousands_of_functions_are_found(void **state)
{
	enum { MANY = 6000 };
	FILE *file = fopen("many.c", "w");
	struct requests requests = {0};
	struct sites sites;
	char name[64];
	size_t at;

	(void)state;
	for (int i = 0; i < MANY; i++)
		fprintf(file, "int f%d(int x) { return x + %d; }\n", i, i);
	fprintf(file, "int main(void) { return 0; }\n");
	fclose(file);
	run("gcc -O0 -o many many.c");
	resolved(&sites, "./many:f[0-9]*");
	assert_int_equal(sites.count, MANY);
	resolve_free(&sites);
	for (int i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "./many:f%d", i);
		assert_null(requests_add_functions(&requests, name, &at));
	}
	assert_int_equal(resolve_sites(&sites, &requests, &no_scope), 0);
	assert_int_equal(sites.count, MANY);
	for (size_t i = 1; i < sites.count; i++)
		assert_true(sites.list[i].offset > sites.list[i - 1].offset);
	resolve_free(&sites);
	requests_free(&requests);
}

/* ---- labels ---- */

static void labels_are_text_of_bounded_length(void **state)
{
	struct sites sites;
	char text[1200] = "__attribute__((noinline)) int n";

	(void)state;
	/* two names that differ beyond the limit, and bytes that are no text */
	memset(text + strlen(text), 'x', 600);
	FILE *file = fopen("labels.c", "w");
	fprintf(file, "%s1(int x) { return x; }\n%s2(int x) { return x + 1; }\n", text, text);
	fprintf(file, "__asm__(\".text\\n.type "
		      "\\\"a\\033\\377b\\\",@function\\n\\\"a\\033\\377b\\\": ret\\n\"\n"
		      "\".size \\\"a\\033\\377b\\\",1\\n\");\n"
		      "int main(void) { return 0; }\n");
	fclose(file);
	run("gcc -O1 -o labels labels.c");
	resolved(&sites, "./labels:nx*");
	assert_int_equal(sites.count, 2);
	assert_true(strlen(sites.list[0].label) < 512);
	assert_true(strlen(sites.list[1].label) < 512);
	assert_string_not_equal(sites.list[0].label, sites.list[1].label);
	resolve_free(&sites);
	found("./labels:a*b", "a\\x1b\\xffb");
}

/* The same function in files of the same name, in two containers, even at the same address. */
static void labels_of_two_containers_stay_apart(void **state)
{
	struct function function = {.name = "f", .offset = 4, .size = 4};
	struct binary binaries[3] = {{.name = (char *)"/lib/libx.so", .file.inode = 1},
				     {.name = (char *)"/lib/libx.so", .file.inode = 2},
				     {.name = (char *)"/opt/libx.so", .file.inode = 3}};
	struct site sites[4] = {{.offset = 4}, {.offset = 4}, {.offset = 4}, {.offset = 4}};
	struct label labels[4];

	(void)state;
	for (size_t i = 0; i < 4; i++)
		labels[i] = (struct label){
			.binary = &binaries[i % 3], .function = &function, .site = &sites[i]};
	/* a point at the same place of the first file */
	sites[3].kind = SITE_POINT;
	assert_int_equal(labels_make(labels, 4), 0);
	assert_string_equal(labels[0].text, "f (/lib/libx.so 0x4 0:1)");
	assert_string_equal(labels[1].text, "f (/lib/libx.so 0x4 0:2)");
	assert_string_equal(labels[2].text, "f (/opt/libx.so)");
	assert_string_equal(labels[3].text, "f+0x0");
	for (size_t i = 0; i < 4; i++)
		free(labels[i].text);
}

/* ---- files that were made to harm ---- */

static uint8_t *read_whole(const char *path, size_t *size)
{
	FILE *file = fopen(path, "r");
	uint8_t *bytes;
	struct stat st;

	assert_non_null(file);
	assert_int_equal(fstat(fileno(file), &st), 0);
	bytes = malloc((size_t)st.st_size);
	*size = fread(bytes, 1, (size_t)st.st_size, file);
	fclose(file);
	return bytes;
}

static void write_whole(const char *path, const uint8_t *bytes, size_t size)
{
	FILE *file = fopen(path, "w");

	assert_int_equal(fwrite(bytes, 1, size, file), size);
	fclose(file);
}

/* A file cut at any place is refused with a message, or its rest is read. */
static void a_file_that_is_cut_is_refused_or_read(void **state)
{
	struct said said;
	size_t size;
	uint8_t *bytes;

	(void)state;
	write_file("cut.c", program);
	run("gcc -O1 -o whole cut.c");
	bytes = read_whole("whole", &size);
	for (size_t n = 0; n < size; n += n < 1024 ? 7 : 509) {
		struct sites sites;

		write_whole("cut", bytes, n);
		if (!resolve_in(&sites, "./cut:*", false, &no_scope, &said))
			resolve_free(&sites);
		else if (strcspn(said.text, "\n") != strlen(said.text) - 1)
			fail_msg("cut at %zu: %s", n, said.text);
	}
	free(bytes);
}

/* Wrong in the header: said in words. */
static void damaged_headers_are_said(void **state)
{
	static const struct {
		size_t at, size;
		uint64_t value;
		const char *says;
	} cases[] = {
		{EI_CLASS, 1, ELFCLASS32, "32-bit"},
		{EI_DATA, 1, ELFDATA2MSB, "big-endian"},
		{offsetof(Elf64_Ehdr, e_machine), 2, EM_RISCV, "for another machine (RISC-V)"},
		{offsetof(Elf64_Ehdr, e_machine), 2, EM_386, "32-bit program"},
		{offsetof(Elf64_Ehdr, e_machine), 2, 0x1234, "for another machine"},
		{offsetof(Elf64_Ehdr, e_type), 2, ET_CORE, "core"},
		{offsetof(Elf64_Ehdr, e_type), 2, 99, "neither a program nor a library"},
		{offsetof(Elf64_Ehdr, e_phoff), 8, 1ull << 40, "cut short, or damaged"},
		{offsetof(Elf64_Ehdr, e_phoff), 8, UINT64_MAX, "cut short, or damaged"},
		{offsetof(Elf64_Ehdr, e_phnum), 2, 0, "nothing that could be run"},
		{offsetof(Elf64_Ehdr, e_phentsize), 2, 3, "wrong size"},
		{offsetof(Elf64_Ehdr, e_shoff), 8, UINT64_MAX, "is stripped"},
		{offsetof(Elf64_Ehdr, e_shnum), 2, 0xffff, "is stripped"},
	};
	size_t size;
	uint8_t *bytes = read_whole("whole", &size);

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t saved[8];

		memcpy(saved, bytes + cases[i].at, cases[i].size);
		memcpy(bytes + cases[i].at, &cases[i].value, cases[i].size);
		write_whole("damaged", bytes, size);
		memcpy(bytes + cases[i].at, saved, cases[i].size);
		refused("./damaged:main", strstr(cases[i].says, "stripped") ? -ENOENT : -ENOEXEC,
			cases[i].says);
	}
	free(bytes);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_cpp_are_found_in_every_form),
		cmocka_unit_test(names_of_rust_are_found_in_every_form),
		cmocka_unit_test(names_are_demangled),
		cmocka_unit_test(versions_are_distinguished),
		cmocka_unit_test(functions_without_calls_are_no_pairs),
		cmocka_unit_test(imports_are_not_functions_of_the_file),
		cmocka_unit_test(names_of_stripped_files_are_in_their_debug_files),
		cmocka_unit_test(a_debug_file_of_another_build_is_not_used),
		cmocka_unit_test(exported_functions_of_a_stripped_library_are_known),
		cmocka_unit_test(names_are_in_the_file_compressed),
		cmocka_unit_test(values_have_the_size_in_debug_information),
		cmocka_unit_test(thousands_of_functions_are_found),
		cmocka_unit_test(labels_are_text_of_bounded_length),
		cmocka_unit_test(labels_of_two_containers_stay_apart),
		cmocka_unit_test(a_file_that_is_cut_is_refused_or_read),
		cmocka_unit_test(damaged_headers_are_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
