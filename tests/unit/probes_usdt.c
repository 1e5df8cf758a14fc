/* SPDX-License-Identifier: MIT */
/* usdt: the notes of sys/sdt.h, and where their arguments are. */
#include "probes_kit.h"

#include <elf.h>

#include "user/elf/usdt.h"
#include "user/probes/usdt_argument.h"

/* "register 112 4s", "memory 32-24 8u", "constant -7 4s", or the reason. */
static void show(const struct site_value *v, const struct usdt_symbol *s, char *out, size_t size)
{
	char type[8];

	snprintf(type, sizeof(type), "%u%c", v->bytes, v->is_signed ? 's' : 'u');
	if (v->source == SITE_CONSTANT)
		snprintf(out, size, "constant %lld %s", (long long)v->constant, type);
	else if (v->source == SITE_REGISTER)
		snprintf(out, size, "register %u %s", v->reg, type);
	else if (s->name[0])
		snprintf(out, size, "memory %u %s%+lld %s", v->reg, s->name, (long long)s->offset,
			 type);
	else
		snprintf(out, size, "memory %u%+lld %s", v->reg, (long long)v->constant, type);
}

static const struct {
	unsigned machine;
	const char *text;
	const char *means;
} places[] = {
	{EM_X86_64, "-4@%edi", "register 112 4s"},
	{EM_X86_64, "4@%esi", "register 104 4u"},
	{EM_X86_64, "8@%rax", "register 80 8u"},
	{EM_X86_64, "-2@%ax", "register 80 2s"},
	{EM_X86_64, "1@%al", "register 80 1u"},
	{EM_X86_64, "1@%ah", "register 81 1u"},
	{EM_X86_64, "-1@%sil", "register 104 1s"},
	{EM_X86_64, "8@%r8", "register 72 8u"},
	{EM_X86_64, "4@%r9d", "register 64 4u"},
	{EM_X86_64, "2@%r10w", "register 56 2u"},
	{EM_X86_64, "1@%r15b", "register 0 1u"},
	{EM_X86_64, "8@%rsp", "register 152 8u"},
	{EM_X86_64, "-4@$7", "constant 7 4s"},
	{EM_X86_64, "-4@$-7", "constant -7 4s"},
	{EM_X86_64, "8@$0x10", "constant 16 8u"},
	{EM_X86_64, "8@$18446744073709551615", "constant -1 8u"},
	{EM_X86_64, "8@-24(%rbp)", "memory 32-24 8u"},
	{EM_X86_64, "-4@(%rdi)", "memory 112+0 4s"},
	{EM_X86_64, "4@0x10(%rsp)", "memory 152+16 4u"},
	{EM_X86_64, "-4@counter(%rip)", "memory 128 counter+0 4s"},
	{EM_X86_64, "8@table+16(%rip)", "memory 128 table+16 8u"},
	{EM_X86_64, "8@table-8(%rip)", "memory 128 table-8 8u"},
	{EM_X86_64, "%rax", "register 80 8s"},
	{EM_X86_64, "@%rax", "register 80 8s"},
	{EM_X86_64, "8f@%xmm0", "floating"},
	{EM_X86_64, "-8@%xmm1", "floating"},
	{EM_X86_64, "8@(%rax,%rbx,4)", "two registers"},
	{EM_X86_64, "8@8(,%rbx,4)", "two registers"},
	{EM_X86_64, "4@table(,%rbx,4)", "two registers"},
	{EM_X86_64, "4@table(%rbx)", "a symbol plus a register"},
	{EM_X86_64, "8@$symbol", "address of a symbol"},
	{EM_X86_64, "8@symbol", "absolute"},
	{EM_X86_64, "8@%fs:0", "segment"},
	{EM_X86_64, "3@%rax", "a size other than"},
	{EM_X86_64, "16@%rax", "a size other than"},
	{EM_X86_64, "0@%rax", "a size other than"},
	{EM_X86_64, "8@%nonsense", "not understood"},
	{EM_X86_64, "8@", "not understood"},
	{EM_X86_64, "8@8", "not understood"},
	{EM_X86_64, "8@8(%rip)", "not understood"},
	{EM_X86_64, "8@(%rax", "not understood"},
	{EM_X86_64, "8@(%rax)x", "not understood"},
	{EM_X86_64, "8@%rax%rbx", "not understood"},
	{EM_X86_64, "8@$5x", "not understood"},
	{EM_X86_64, "", "no such argument"},
	{EM_AARCH64, "-4@w1", "register 8 4s"},
	{EM_AARCH64, "8@x30", "register 240 8u"},
	{EM_AARCH64, "8@sp", "register 248 8u"},
	{EM_AARCH64, "8@fp", "register 232 8u"},
	{EM_AARCH64, "4@wzr", "constant 0 4u"},
	{EM_AARCH64, "-4@7", "constant 7 4s"},
	{EM_AARCH64, "-4@#-7", "constant -7 4s"},
	{EM_AARCH64, "8@[sp, 16]", "memory 248+16 8u"},
	{EM_AARCH64, "8@[sp,#-16]", "memory 248-16 8u"},
	{EM_AARCH64, "-4@[x19]", "memory 152+0 4s"},
	{EM_AARCH64, "8@[x0, x1]", "two registers"},
	{EM_AARCH64, "8@d0", "floating"},
	{EM_AARCH64, "8@x31", "not understood"},
	{EM_AARCH64, "8@[x0", "not understood"},
	{EM_AARCH64, "8@q", "not understood"},
};

static void arguments_are_found_where_the_compiler_left_them(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		struct site_value value;
		struct usdt_symbol symbol;
		char text[512] = "";
		const char *wrong =
			usdt_argument(places[i].text, 1, places[i].machine, &value, &symbol);

		if (!wrong)
			show(&value, &symbol, text, sizeof(text));
		if (wrong ? !strstr(wrong, places[i].means) : strcmp(text, places[i].means) != 0)
			fail_msg("'%s' is: %s", places[i].text, wrong ? wrong : text);
	}
}

static void arguments_are_counted_with_their_brackets(void **state)
{
	struct site_value value;
	struct usdt_symbol symbol;

	(void)state;
	assert_int_equal(usdt_arguments(""), 0);
	assert_int_equal(usdt_arguments("  "), 0);
	assert_int_equal(usdt_arguments("-4@%edi 8@-24(%rbp) 4@$7"), 3);
	assert_int_equal(usdt_arguments("-4@w1 8@[sp, 16] 4@7"), 3);
	assert_null(usdt_argument("-4@w1 8@[sp, 16] 4@7", 3, EM_AARCH64, &value, &symbol));
	assert_int_equal(value.constant, 7);
	assert_null(usdt_argument("-4@%edi  8@-24(%rbp) ", 2, EM_X86_64, &value, &symbol));
	assert_int_equal(value.constant, -24);
	assert_non_null(usdt_argument("-4@%edi  8@-24(%rbp) ", 3, EM_X86_64, &value, &symbol));
	assert_non_null(usdt_argument("-4@%edi", 0, EM_X86_64, &value, &symbol));
}

/* Any bytes of the alphabet of arguments. */
static void any_argument_is_read_to_its_end(void **state)
{
	static const char signs[] = "-48@%$()[], xrabpisdfh.0+#";
	uint32_t seed = 5;

	(void)state;
	for (int turn = 0; turn < 100000; turn++) {
		struct site_value value;
		struct usdt_symbol symbol;
		char text[20];
		size_t length = ((seed = seed * 1103515245 + 12345) >> 16) % sizeof(text);

		for (size_t i = 0; i < length; i++)
			text[i] = signs[((seed = seed * 1103515245 + 12345) >> 16) %
					(sizeof(signs) - 1)];
		text[length] = '\0';
		for (unsigned n = 0; n < 4; n++) {
			unsigned machine = turn % 2 ? EM_X86_64 : EM_AARCH64;

			if (usdt_argument(text, n, machine, &value, &symbol))
				continue;
			assert_true(value.bytes == 1 || value.bytes == 2 || value.bytes == 4 ||
				    value.bytes == 8);
			assert_true(value.source == SITE_CONSTANT ||
				    value.reg < (machine == EM_X86_64 ? 160u : 256u));
			assert_true(n <= usdt_arguments(text));
		}
	}
}

/* ---- in programs ---- */

static const char program[] =
	"#include <sys/sdt.h>\n"
	"__attribute__((noinline)) void work(int n, long l) {\n"
	"	STAP_PROBE2(app, work, n, l);\n"
	"	__asm__ volatile(\"\" ::: \"memory\");\n"
	"	STAP_PROBE1(app, twice, 1);\n"
	"	__asm__ volatile(\"\" ::: \"memory\");\n"
	"	STAP_PROBE1(app, twice, 2);\n"
	"}\n"
	"int main(int c, char **v) { (void)v; work(c, 7); STAP_PROBE(app, plain); return 0; }\n";

#if defined(__x86_64__)
#define NOP_BYTE 0x90
#else
#define NOP_BYTE 0x1f /* arm64: the first of four */
#endif

static bool have_header;

static int compile(void **state)
{
	(void)state;
	write_file("header.c", "#include <sys/sdt.h>\n");
	have_header = run_status("gcc -fsyntax-only header.c") == 0;
	if (!have_header)
		return 0;
	write_file("probes.c", program);
	run("gcc -O1 -fPIE -pie -o pie probes.c");
	run("gcc -O1 -fno-pie -no-pie -o nopie probes.c");
	run("gcc -O1 -fPIC -shared -o libprobes.so probes.c");
	run("gcc -O1 -fPIE -pie -s -o stripped probes.c");
	return 0;
}

/* Without the header of SystemTap there is nothing to be looked at. */
static void need_header(void)
{
	if (!have_header)
		skip();
}

static void probe(struct sites *sites, const char *text)
{
	struct said said;

	if (resolve_in(sites, text, true, &no_scope, &said))
		fail_msg("'%s' is not found: %s", text, said.text);
}

static uint8_t byte_at(const struct site *site)
{
	int fd = open(site->path, O_RDONLY);
	uint8_t byte = 0;

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &byte, 1, (off_t)site->offset), 1);
	close(fd);
	return byte;
}

static void probes_of_programs_are_found_with_their_values(void **state)
{
	static const char *const files[] = {"./pie", "./nopie", "./libprobes.so", "./stripped"};
	struct sites sites;
	char text[64];

	(void)state;
	need_header();
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(text, sizeof(text), "%s:app:work,arg1", files[i]);
		probe(&sites, text);
		assert_int_equal(sites.count, 1);
		assert_int_equal(sites.list[0].kind, SITE_POINT);
		assert_string_equal(sites.list[0].label, "app:work");
		assert_int_equal(byte_at(&sites.list[0]), NOP_BYTE);
		assert_int_equal(sites.list[0].value.source, SITE_REGISTER);
		assert_int_equal(sites.list[0].value.bytes, 4);
		assert_true(sites.list[0].value.is_signed);
		assert_int_equal(sites.list[0].semaphore, 0);
		resolve_free(&sites);
	}
	probe(&sites, "./pie:app:work,arg2");
	assert_int_equal(sites.list[0].value.bytes, 8);
	resolve_free(&sites);
	probe(&sites, "./pie:app:plain");
	assert_int_equal(sites.list[0].value.source, SITE_NOTHING);
	resolve_free(&sites);
}

static void a_probe_at_several_places_has_one_label(void **state)
{
	struct sites sites;

	(void)state;
	need_header();
	probe(&sites, "./pie:app:twice,arg1");
	assert_int_equal(sites.count, 2);
	assert_string_equal(labels_of(&sites), "app:twice | app:twice");
	assert_int_equal(sites.list[0].value.source, SITE_CONSTANT);
	assert_int_equal(sites.list[0].value.constant + sites.list[1].value.constant, 3);
	resolve_free(&sites);
	probe(&sites, "./pie:*:*");
	assert_int_equal(sites.count, 4);
	resolve_free(&sites);
}

static void probes_that_are_not_there_are_said(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{"./pie:app:nothing", "./pie has no probe app:nothing"},
		{"./pie:lib:work", "has no probe lib:work"},
		{"./pie:app:work,arg3", "of arg3, there is no such argument"},
		{"./pie:app:plain,arg1", "there is no such argument"},
	};
	struct sites sites;
	struct said said;

	(void)state;
	need_header();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_not_equal(resolve_in(&sites, cases[i].text, true, &no_scope, &said), 0);
		if (!strstr(said.text, cases[i].says))
			fail_msg("'%s' says: %s", cases[i].text, said.text);
		assert_int_equal(strcspn(said.text, "\n"), strlen(said.text) - 1);
	}
	write_file("none.c", "int main(void) { return 0; }\n");
	run("gcc -o none none.c");
	assert_int_not_equal(resolve_in(&sites, "./none:a:b", true, &no_scope, &said), 0);
	assert_non_null(strstr(said.text, "no USDT probes"));
}

/* A semaphore is a word of the file that can be written; the note names its address. */
static void semaphores_are_places_in_the_file(void **state)
{
	static const char counted[] =
		"#define _SDT_HAS_SEMAPHORES 1\n"
		"#include <sys/sdt.h>\n"
		"unsigned short app_counted_semaphore __attribute__((section(\".probes\"))) = 0;\n"
		"int main(int c, char **v) { (void)v; STAP_PROBE1(app, counted, c); return 0; }\n";
	struct sites sites;
	uint16_t bytes = 1;
	int fd;

	(void)state;
	need_header();
	write_file("counted.c", counted);
	run("gcc -O1 -o counted counted.c");
	probe(&sites, "./counted:app:counted,arg1");
	assert_int_equal(sites.count, 1);
	assert_true(sites.list[0].semaphore > 0);
	fd = open("counted", O_RDONLY);
	assert_int_equal(pread(fd, &bytes, 2, (off_t)sites.list[0].semaphore), 2);
	assert_int_equal(bytes, 0);
	close(fd);
	resolve_free(&sites);
}

/* A value that the compiler leaves in a static variable is read relative to the probe. */
#if defined(__x86_64__) /* the texts of arm64 have no variables */
static void variables_are_found_from_the_probe(void **state)
{
	static const char text[] =
		"#include <sys/sdt.h>\n"
		"static volatile int variable = 5;\n"
		"int main(void) { __asm__ volatile(\n"
		"\"990: nop\\n\"\n"
		"\".pushsection .note.stapsdt,\\\"\\\",\\\"note\\\"\\n\"\n"
		"\".balign 4\\n .4byte 992f-991f, 994f-993f, 3\\n\"\n"
		"\"991: .asciz \\\"stapsdt\\\"\\n992: .balign 4\\n\"\n"
		"\"993: .8byte 990b, 0, 0\\n\"\n"
		"\".asciz \\\"app\\\"\\n .asciz \\\"var\\\"\\n\"\n"
		"\".asciz \\\"-4@variable(%%rip)\\\"\\n\"\n"
		"\"994: .balign 4\\n .popsection\\n\" : : ); return variable; }\n";
	struct sites sites;

	(void)state;
	need_header();
	write_file("variable.c", text);
	run("gcc -O1 -fno-pie -no-pie -o variable variable.c");
	probe(&sites, "./variable:app:var,arg1");
	assert_int_equal(sites.list[0].value.source, SITE_MEMORY);
	assert_int_equal(sites.list[0].value.reg, 128);
	assert_int_equal(0x400000 + sites.list[0].offset + (uint64_t)sites.list[0].value.constant,
			 nm_address("variable", "variable"));
	resolve_free(&sites);
}
#endif

/* prelink has moved the program to other addresses; .stapsdt.base tells how far. */
static void addresses_move_with_their_base(void **state)
{
	static const char text[] =
		"__asm__(\".pushsection "
		".stapsdt.base,\\\"aG\\\",\\\"progbits\\\",.stapsdt.base,comdat\\n\"\n"
		"\"_.stapsdt.base: .space 1\\n.popsection\\n\"\n"
		"\".data\\nsemaphore: .2byte 0\\n.text\\n\"\n"
		"\"probed: .byte 0x90, 0xc3\\n\"\n"
		"\".pushsection .note.stapsdt,\\\"\\\",\\\"note\\\"\\n\"\n"
		"\".balign 4\\n .4byte 992f-991f, 994f-993f, 3\\n\"\n"
		"\"991: .asciz \\\"stapsdt\\\"\\n992: .balign 4\\n\"\n"
		"\"993: .8byte probed-0x30000, _.stapsdt.base-0x30000, semaphore-0x30000\\n\"\n"
		"\".asciz \\\"app\\\"\\n .asciz \\\"moved\\\"\\n .asciz \\\"\\\"\\n\"\n"
		"\"994: .balign 4\\n .popsection\\n\");\n"
		"int main(void) { return 0; }\n";
	struct sites sites;
	uint8_t byte = 0;
	int fd;

	(void)state;
	write_file("moved.c", text);
	run("gcc -O1 -fno-pie -no-pie -o moved moved.c");
	probe(&sites, "./moved:app:moved");
	fd = open("moved", O_RDONLY);
	assert_int_equal(pread(fd, &byte, 1, (off_t)sites.list[0].offset), 1);
	close(fd);
	assert_int_equal(byte, 0x90);
	assert_int_equal(0x400000 + sites.list[0].offset, nm_address("moved", "probed"));
	assert_true(sites.list[0].semaphore > 0);
	resolve_free(&sites);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(arguments_are_found_where_the_compiler_left_them),
		cmocka_unit_test(arguments_are_counted_with_their_brackets),
		cmocka_unit_test(any_argument_is_read_to_its_end),
		cmocka_unit_test(probes_of_programs_are_found_with_their_values),
		cmocka_unit_test(a_probe_at_several_places_has_one_label),
		cmocka_unit_test(probes_that_are_not_there_are_said),
		cmocka_unit_test(semaphores_are_places_in_the_file),
		cmocka_unit_test(addresses_move_with_their_base),
#if defined(__x86_64__)
		cmocka_unit_test(variables_are_found_from_the_probe),
#endif
	};

	return cmocka_run_group_tests(tests, compile, NULL);
}
