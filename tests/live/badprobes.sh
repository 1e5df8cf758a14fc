#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A probe that is not possible has one clear message, before anything is recorded. A row: status, a
# pattern of the message, the arguments.
# needs: root
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"
command -v gcc >/dev/null || skip "there is no gcc"

cat >a.c <<'E'
__attribute__((noinline)) int compute(int x) { return x * 3; }
int data = 4;
int main(int c, char **v) { (void)v; return compute(c); }
E
gcc -O1 -o app a.c && gcc -c -o object.o a.c && cp app stripped && strip stripped || exit 1
printf '\x7fELF\x02\x01\x01' >magic
head -c 100 app >short
# for another machine, and for 32 bits
cp app arm && printf '\xb7\x00' | dd of=arm bs=1 seek=18 conv=notrunc 2>/dev/null
cp app small && printf '\x03\x00' | dd of=small bs=1 seek=18 conv=notrunc 2>/dev/null
mkfifo fifo
mkdir folder
echo '#!/bin/sh' >script && chmod +x script

while read -r status pattern arguments; do
	[ -n "$status" ] || continue
	# shellcheck disable=SC2086 # words
	try "$status" "${pattern//_/ }" "$RECORDER" -o out $arguments -- true
done <<'E'
2 expected_BIN:FUNC                      -u app
2 name_of_a_function_is_missing          -u ./app:
2 character_15:.*arg1_to_arg12           -u ./app:compute(arg13)
2 one_of_i8                              -u ./app:compute(arg1:int)
2 an_address_is_a_number                 -u ./app:0xyz
2 expected_BIN:PROVIDER:NAME             --usdt ./app:x
1 none_does_not_exist                    -u ./none:main
1 a.c_is_not_a_program_or_library        -u ./a.c:main
1 magic_is_not_a_program_or_library      -u ./magic:main
1 short_is_cut_short|short_.*damaged     -u ./short:main
1 another_machine                        -u ./arm:main
1 32-bit_program                         -u ./small:main
1 object_file_that_is_not_linked         -u ./object.o:main
1 is_not_a_regular_file                  -u ./fifo:main
1 is_not_a_regular_file                  -u /dev/null:main
1 is_a_directory                         -u ./folder:main
1 is_a_script                            -u ./script:main
1 did_you_mean_'compute'                 -u ./app:comptue
1 has_no_function_'nowherenear'          -u ./app:nowherenear
1 has_no_function_like_'zz\*'            -u ./app:zz*
1 has_no_function_'data'                 -u ./app:data
1 is_stripped_and_has_no_debug_file      -u ./stripped:compute
1 it_has_no_caller                       -u ./app:_start
1 no_instruction_begins_at_compute       -u ./app:compute+1
1 so_there_is_no_byte                    -u ./app:compute+4096
1 no_code_at_the_address_0x1             -u ./app:0x1
1 neither_the_command_nor_a_library      -u libnothing.so.9:f
1 neither_the_command.*as_in_./app       -u app:main
1 process_4194304_does_not_exist         -u 4194304:main
1 process_4194304_does_not_exist         -u 4194304:libc.so.6:malloc
1 has_no_USDT_probes                     --usdt ./app:a:b
E
[ -z "$(ls -d out* 2>/dev/null)" ] || complain "something was recorded: $(ls -d out*)"

# Whom the file does not belong to: with capabilities for the recording, but not for reading it.
P=$(mktemp -d /tmp/ovni-public.XXXXXX) && chmod 1777 "$P"
trap 'rm -rf "$P"' EXIT
cp "$RECORDER" app "$P" && cp app "$P/secret" && chmod 700 "$P/secret"
caps=+bpf,+perfmon
some=(setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps="$caps" --ambient-caps="$caps")
try 1 'secret cannot be read: permission denied' \
	"${some[@]}" "$P/ovni-bpf" -o "$P/out" -u "$P/secret:main" -- true
"${some[@]}" "$P/ovni-bpf" -o "$P/out" -u "$P/app:compute" -- "$P/app" >said.log 2>&1
expect "what can be read is recorded: $(cat said.log)" grep -q 'command=3 status=0' said.log
finish
