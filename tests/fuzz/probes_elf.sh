#!/bin/bash
# SPDX-License-Identifier: MIT
#
# No file makes the reader of functions crash, run for long or read outside of the file. Seeds are
# small programs with all kinds of sections; one mutator knows the layout of headers and tables.
# long: other fuzzers cover the promises
set -eu
. "$S/tests/fuzz/lib.sh"
need_fuzzer
make_elf_files "$T/seeds"
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
	user/elf/{debug_file,elf_file,functions,instruction,libraries,unwind,usdt}.c \
	user/probes/{argument_types,binaries,request,resolve,site_value,usdt_argument}.c)
LDLIBS="-lz -ldw -lelf -lcapstone -Wl,--push-state,-Bstatic -liberty -Wl,--pop-state" build_fuzzer probes_elf "${sources[@]}"
run_fuzzer probes_elf "$FUZZ_SECONDS" -max_len=20000
