#!/bin/bash
# SPDX-License-Identifier: MIT
#
# No file makes the reader of functions crash, run for long or read outside of the file. Seeds are
# small programs with all kinds of sections; one mutator knows the layout of headers and tables.
# long: other fuzzers cover the promises
set -eu
. "$S/tests/fuzz/lib.sh"
need_fuzzer
mkdir "$T/seeds" "$T/make"
cd "$T/make"
cat >a.c <<'C'
int inner(int x) { return x * 3; }
int _ZN2ns1fEi(int x) { return x + inner(x); }
int _RNvC6_123foo3bar(int x) { return x; }
__asm__("990: nop\n.pushsection .note.stapsdt,\"\",\"note\"\n.balign 4\n"
	".4byte 992f-991f, 994f-993f, 3\n991: .asciz \"stapsdt\"\n992: .balign 4\n"
	"993: .8byte 990b, 0, 0\n.asciz \"app\"\n.asciz \"probe\"\n"
	".asciz \"-4@%edi 8@-8(%rbp) 4@$7 4@v(%rip)\"\n994: .balign 4\n.popsection\n");
C
echo 'V1 { global: inner; }; V2 { global: *; } V1;' >a.map
${CC:-gcc} -O1 -nostdlib -Wl,--build-id -o "$T/seeds/static" -Wl,-e,inner a.c
${CC:-gcc} -O1 -nostdlib -fPIC -shared -Wl,-soname,liba.so -Wl,--version-script=a.map -o "$T/seeds/lib" a.c
cp "$T/seeds/lib" stripped && strip stripped && cp stripped "$T/seeds/stripped"
objcopy --only-keep-debug "$T/seeds/static" static.debug
objcopy --strip-all --add-gnu-debuglink=static.debug "$T/seeds/static" "$T/seeds/linked"
# sections that are elsewhere, larger or of another kind than they say
python3 - "$T/seeds" <<'PYTHON'
import random, struct, sys
random.seed(4)
folder = sys.argv[1]
values = [0, 1, 7, 0x40, 0xffff, 2**31, 2**32 - 1, 2**63, 2**64 - 1, 2**64 - 8]
for name in ("static", "lib", "stripped"):
    data = bytearray(open(folder + "/" + name, "rb").read())
    phoff, shoff = struct.unpack_from("<QQ", data, 32)
    phnum, shnum = struct.unpack_from("<H", data, 56)[0], struct.unpack_from("<H", data, 60)[0]
    places = [phoff + 56 * i + 8 * k for i in range(phnum) for k in range(7)]
    places += [shoff + 64 * i + 8 * k for i in range(shnum) for k in range(8)]
    for turn in range(60):
        copy = bytearray(data)
        for _ in range(random.randint(1, 3)):
            struct.pack_into("<Q", copy, random.choice(places), random.choice(values))
        open("%s/%s.%d" % (folder, name, turn), "wb").write(copy)
PYTHON
cd "$T"
mapfile -t sources < <(module trace/base/{log,text}.c user/host/{read_file,proc_maps}.c \
	user/elf/{elf_file,functions,instruction,libraries,unwind,usdt}.c \
	user/probes/{argument_types,binaries,request,resolve,usdt_argument}.c)
LDLIBS="-lz -ldw -lelf -lcapstone -Wl,--push-state,-Bstatic -liberty -Wl,--pop-state" build_fuzzer probes_elf "${sources[@]}"
run_fuzzer probes_elf "$FUZZ_SECONDS" -max_len=20000
