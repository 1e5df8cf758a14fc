#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ovni-bpf --list shows the functions of nm, at the same addresses, as text and as JSON, without
# privileges; a failure has one message with the reason.
set -u
cd "$T" || exit 1
recorder=$B/bin/ovni-bpf
[ -x "$recorder" ] || { echo "ovni-bpf is not built"; exit 1; }
command -v g++ >/dev/null || { echo "there is no g++"; exit 77; }
wrong=0
complain() {
	echo "wrong: $*"
	wrong=$((wrong + 1))
}

cat >a.cc <<'E'
namespace ns {
__attribute__((noinline)) int f(int x) { return x * 3; }
__attribute__((noinline)) int f(double x) { return (int)x; }
}
extern "C" int alias_of_g(int) __attribute__((alias("g")));
extern "C" __attribute__((noinline)) int g(int x) { return x + 1; }
int main(int c, char **) { return ns::f(c) + ns::f(2.5) + g(c); }
E
sdt=0
if echo '#include <sys/sdt.h>' | g++ -fsyntax-only -x c++ - 2>/dev/null; then
	sdt=1
	cat >>a.cc <<'E'
#include <sys/sdt.h>
extern "C" void probed(int n) { STAP_PROBE1(app, point, n); }
E
fi
g++ -O1 -fPIE -pie -o pie a.cc && g++ -O1 -fno-pie -no-pie -o nopie a.cc || exit 1
cp pie stripped && strip stripped

for file in pie nopie stripped; do
	"$recorder" --list ./$file >$file.txt 2>$file.said || complain "$file: $(cat $file.said)"
	"$recorder" --list ./$file --json >$file.json 2>>$file.said || complain "$file as JSON: $(cat $file.said)"
	nm $file 2>/dev/null >$file.nm
done
python3 - $sdt <<'E' || wrong=$((wrong + 1))
import json, sys
wrong = 0
def check(ok, *what):
    global wrong
    if not ok:
        wrong += 1
        print("wrong:", *what)
for name in ("pie", "nopie"):
    file, = json.load(open(name + ".json"))["files"]
    names = {}
    for f in file["functions"]:
        for g in [f] + f.get("aliases", []):
            names[g["name"]] = (f, g)
    for line in open(name + ".nm"):
        words = line.split()
        if len(words) == 3 and words[1] in "tT" and words[2][:2] != "_.":
            symbol = words[2].split("@")[0]
            check(symbol in names, name, "lacks", symbol)
            check(symbol not in names or names[symbol][0]["address"] == int(words[0], 16), name, symbol)
    check(names["_ZN2ns1fEi"][1]["demangled"] == "ns::f(int)", names["_ZN2ns1fEi"])
    check(names["g"][0] is names["alias_of_g"][0], "an alias has a line of its own")
    check(names["g"][0]["pair"] and not names["_start"][0]["pair"] and "why" in names["_start"][0], "pairs")
    check(names["main"][0]["cost"] in ("fast", "slow"), names["main"])
    check(not file["stripped"], name)
    text = open(name + ".txt").read()
    check(" ns::f(int)\n" in text and " ns::f(double)\n" in text, text)
    check("g = alias_of_g\n" in text and "_start  (no pair" in text, text)
    check(len(text.splitlines()) == len(file["functions"]) + len(file["usdt"]) + 2 + bool(file["usdt"]), text)
    if sys.argv[1] == "1":
        p, = file["usdt"]
        check((p["provider"], p["name"], p["arguments"]) == ("app", "point", "-4@%edi"), p)
        check("app:point  -4@%edi\n" in text and p["cost"] == "fast", text)
file, = json.load(open("stripped.json"))["files"]
check(file["stripped"] and not file["functions"], file)
sys.exit(wrong > 0)
E

"$recorder" --list './pie:ns::f*' >some.txt || complain "a glob matches nothing"
[ "$(grep -c 'ns::f' some.txt)" = 2 ] || complain "a glob: $(cat some.txt)"

# Of a process: its executable and its mapped files.
sleep 60 &
sleeper=$!
until "$recorder" --list $sleeper 2>/dev/null | grep -q '^# .*sleep'; do
	kill -0 $sleeper || { complain "the program of a process is not listed"; break; }
done
"$recorder" --list $sleeper:libc.so.6:malloc >some.txt || complain "a library of a process is not listed"
grep -qE '^# .*libc\.so\.6' some.txt && grep -qE ' malloc( |$)' some.txt || complain "of a process: $(cat some.txt)"
kill $sleeper

refused() { # STATUS PATTERN ARGUMENT...
	local want=$1 pattern=$2 got=0
	shift 2
	"$recorder" "$@" >out.txt 2>said.txt || got=$?
	[ $got = "$want" ] || complain "$*: status $got instead of $want"
	grep -qE -- "$pattern" said.txt || complain "$*: does not say '$pattern': $(cat said.txt)"
	[ "$(wc -l <said.txt)" = 1 ] && [ ! -s out.txt ] || complain "$*: says too much: $(cat said.txt out.txt)"
}
mkfifo fifo
refused 1 'does not exist' --list ./none
refused 1 'not a program or library' --list ./a.cc
refused 1 'not a regular file' --list ./fifo
refused 1 "no name matches 'nothing\*'" --list './pie:nothing*'
refused 1 "no 'no-such-program'" --list no-such-program
refused 1 'process 4194304 does not exist' --list 4194304
refused 2 'only one file|one file can be listed' --list ./pie --list ./nopie
refused 2 'needs --list' --json -a
"$recorder" --list ./pie >/dev/full 2>said.txt && complain "a full device is not noticed"
grep -q 'cannot write' said.txt || complain "a full device: $(cat said.txt)"

# libelf runs in a child process without privileges: if it crashes, that is one sentence.
LD_PRELOAD=$B/tests/faults/libelf.so refused 1 'pie is damaged, or too large: reading it crashed' --list ./pie
FAULT_ELF=uid LD_PRELOAD=$B/tests/faults/libelf.so "$recorder" --list ./pie >out.txt 2>said.txt || complain "the reader: $(cat said.txt)"
want=$(id -u)
[ "$want" = 0 ] && want=65534
[ "$(sort -u said.txt)" = "read by uid $want" ] || complain "the reader is not $want: $(cat said.txt)"

# The user nobody may list world-readable files, and no others.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	public=$(mktemp -d /tmp/ovni-public.XXXXXX) && chmod 755 "$public"
	trap 'rm -rf "$public"' EXIT
	cp "$recorder" pie "$public" && cp pie "$public/secret" && chmod 711 "$public/secret"
	nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all --ambient-caps=-all)
	"${nobody[@]}" "$public/ovni-bpf" --list "$public/pie:main" >out.txt 2>&1 || complain "nobody: $(cat out.txt)"
	grep -q ' main$' out.txt || complain "nobody: $(cat out.txt)"
	"${nobody[@]}" "$public/ovni-bpf" --list "$public/secret" >out.txt 2>&1 && complain "a secret is listed"
	grep -q 'permission denied' out.txt || complain "a secret: $(cat out.txt)"
	"${nobody[@]}" "$public/ovni-bpf" --list 1:libc.so.6 >out.txt 2>&1 && complain "a process of root is read"
	grep -q 'belongs to another user' out.txt || complain "a process of root: $(cat out.txt)"
fi
exit $((wrong > 0))
