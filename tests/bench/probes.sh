#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What a probed function costs, next to peers; how many hits are recorded without a loss; how
# long thousands of functions take to attach and detach.
#
#   tests/bench/probes.sh BUILD      knobs: ROUNDS=5 CALLS=100000 FUNCTIONS=5000 STORM=3000000
#
# A call of an empty function, in ns of its thread's CPU time, so that what else the machine does
# counts little; the tracer is kept on another CPU. Rounds are interleaved, A B C A B C; medians
# are shown, with half the distance between the outermost. Sites: a function that begins with
# push, one with endbr64, and GOMP_taskwait of libgomp, which begins with endbr64, too. Every tool records each
# hit with its clock (bpftrace: adds up the times, as one would do there).
set -u
cd "$(dirname "$0")/../.." || exit 1
if [ "$(id -u)" != 0 ]; then
	echo "bench: needs root"
	exit 1
fi
# tracefs for ourselves alone: perf and bpftrace want it mounted.
if [ "${BENCH_MOUNTS:-}" != private ]; then
	BENCH_MOUNTS=private exec unshare --mount "$0" "$@"
fi
mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null

B=$(realpath "${1:-build}")
ROUNDS=${ROUNDS:-5}
CALLS=${CALLS:-100000}
FUNCTIONS=${FUNCTIONS:-5000}
STORM=${STORM:-3000000}
[ "$(nproc)" -gt 1 ] || { echo "bench: needs two CPUs"; exit 1; }

D=$(mktemp -d "${TMPDIR:-/tmp}/ovni-bench.XXXXXX") || exit 1
hits=$D/hits
probes=()
cleanup() {
	[ ${#probes[@]} = 0 ] || perf probe -q -d 'ovni_bench:*' >/dev/null 2>&1
	rm -rf "$D"
}
trap cleanup EXIT
trap 'exit 130' INT TERM
cp "$B/tests/bench/hits" "$hits" || exit 1

load=(taskset -c 0)
tracer=(taskset -c 1)
gomp=$(ldconfig -p | sed -n 's/.*libgomp\.so\.1 .*=> //p' | head -n 1)

site_file() { [ "$1" = libgomp ] && echo "$gomp" || echo "$hits"; }
site_function() { [ "$1" = libgomp ] && echo GOMP_taskwait || echo "$1_site"; }

# Each prints what hits prints.
run_none() { "${load[@]}" "$hits" "$1" $((CALLS * 10)); }

ours() { # SITE FUNCTION
	rm -rf "$D/out"
	"${tracer[@]}" "$B/bin/ovni-bpf" -q -o "$D/out" -u "$(site_file "$1"):$2" -- \
		"${load[@]}" "$hits" "$1" "$CALLS" 2>"$D/log"
	grep -q 'were lost' "$D/log" && echo "bench: ovni-bpf has lost events" >&2
	return 0
}
run_ours() { ours "$1" "$(site_function "$1")"; }
run_ours_entry() { # behind endbr64, as for functions
	local at=0
	[ "$1" = push ] || at=4
	ours "$1" "$(site_function "$1")+$at"
}

traced_by_bpftrace() { # PROGRAM SITE
	"${tracer[@]}" bpftrace -o "$D/out" -c "$(command -v taskset) -c 0 $hits $2 $CALLS" -e "$1" 2>"$D/log"
}
run_bpftrace() {
	local at
	at="$(site_file "$1"):$(site_function "$1")"
	rm -rf "$D/out"
	traced_by_bpftrace "uprobe:$at { @at[tid] = nsecs; }
		uretprobe:$at /@at[tid]/ { @time = sum(nsecs - @at[tid]); delete(@at[tid]); }" "$1"
}
run_bpftrace_entry() {
	rm -rf "$D/out"
	traced_by_bpftrace "uprobe:$(site_file "$1"):$(site_function "$1") { @calls = count(); }" "$1"
}

perf_probes() {
	local site
	for site in push endbr64 libgomp; do
		perf probe -q -x "$(site_file $site)" "ovni_bench:${site}_in=$(site_function $site)" &&
			perf probe -q -x "$(site_file $site)" \
				"ovni_bench:${site}_out=$(site_function $site)%return" || return 1
	done >/dev/null 2>"$D/log"
	probes=(there)
}
traced_by_perf() { # EVENTS SITE
	rm -rf "$D/out"
	"${tracer[@]}" perf record -q -e "$1" -o "$D/out" -- "${load[@]}" "$hits" "$2" "$CALLS" \
		2>"$D/log"
}
run_perf() { traced_by_perf "ovni_bench:$1_in,ovni_bench:$1_out*" "$1"; }
run_perf_entry() { traced_by_perf "ovni_bench:$1_in" "$1"; }

run_uftrace() { # compiled in; it cannot trace a library as it is
	[ "$1" = push ] || return 1
	rm -rf "$D/out"
	"${load[@]}" uftrace record -d "$D/out" --no-libcall -- "$D/plain" "$1" "$CALLS" 2>"$D/log"
}

tools=(none ours_entry ours)
command -v bpftrace >/dev/null && tools+=(bpftrace_entry bpftrace) || echo "bench: no bpftrace: left out"
if command -v perf >/dev/null && perf_probes; then
	tools+=(perf_entry perf)
else
	echo "bench: perf cannot probe: left out: $(head -n 1 "$D/log" 2>/dev/null)"
fi
if command -v uftrace >/dev/null && gcc -D_GNU_SOURCE -O2 -pg -DPLAIN -o "$D/plain" tests/bench/hits.c -lpthread -ldl; then
	tools+=(uftrace)
else
	echo "bench: no uftrace: left out"
fi

: >"$D/results"
for ((round = 1; round <= ROUNDS; round++)); do
	for tool in "${tools[@]}"; do
		for site in push endbr64 libgomp; do
			[ -t 2 ] && printf '\rround %d of %d, %-16s' $round "$ROUNDS" "$tool" >&2
			"run_$tool" $site </dev/null 2>/dev/null |
				sed -nE "s/.*\\b$site ([0-9.]+) [0-9]+.*/$tool $site \\1/p" >>"$D/results"
		done
	done
done
[ -t 2 ] && printf '\r%60s\r' '' >&2
python3 - "$D/results" <<'E'
import statistics
import sys

results = {}
for line in open(sys.argv[1], encoding="ascii"):
    tool, site, ns = line.split()
    results.setdefault((tool, site), []).append(float(ns))
sites = ["push", "endbr64", "libgomp"]
names = {"none": "no tracer", "ours_entry": "ovni-bpf, entry", "ours": "ovni-bpf, entry + return",
         "bpftrace_entry": "bpftrace, entry, count", "bpftrace": "bpftrace, entry + return",
         "perf_entry": "perf record, entry", "perf": "perf record, entry + return",
         "uftrace": "uftrace (compiled in), both"}
print(f"{'ns of CPU time for a call':34}" + "".join(f"{s:>18}" for s in sites))
for tool, name in names.items():
    row = []
    for site in sites:
        ns = results.get((tool, site))
        row.append(f"{statistics.median(ns):10.0f} ± {(max(ns) - min(ns)) / 2:4.0f}" if ns else "-")
    if any(r != "-" for r in row):
        print(f"  {name:32}" + "".join(f"{r:>18}" for r in row))
limits = {"push": 1600, "endbr64": 1700, "libgomp": 1700}
for site, limit in limits.items():
    ns = statistics.median(results[("ours", site)])
    print(f"target: entry + return on {site} at most {limit} ns: {ns:.0f}: "
          f"{'met' if ns <= limit else 'MISSED'}")
    peers = {t: statistics.median(results[(t, site)]) for t in ("bpftrace", "perf")
             if (t, site) in results}
    if peers and site != "push":
        best = min(peers, key=peers.get)
        print(f"        {best} takes {peers[best] / ns:.1f} times as long "
              f"(target 5: {'met' if peers[best] >= 5 * ns else 'MISSED'})")
E

# ---- many at once ------------------------------------------------------------------------------

rm -rf "$D/out"
"$B/bin/ovni-bpf" -o "$D/out" -u "$hits:push_site" -- "$hits" push "$STORM" 2 >"$D/log" 2>&1
sed -nE 's/.*recorded .*seconds=([0-9.]+).* records=([0-9]+) .* lost=([0-9]+) .*/\1 \2 \3/p' "$D/log" |
	awk '{ printf "\nstorm of two threads, default buffer: %d records in %.2f s, %.2f M/s, %d lost " \
		"(target 1 M/s, 0 lost: %s)\n", $2, $1, $2 / $1 / 1e6, $3,
		($2 / $1 >= 1e6 && $3 == 0 ? "met" : "MISSED") }'

# ---- thousands of functions --------------------------------------------------------------------

{
	for ((i = 0; i < FUNCTIONS; i++)); do
		echo "__attribute__((noinline, used)) void many_$i(void) { __asm__ volatile(\"\"); }"
	done
	echo "int main(void) { many_0(); return 0; }"
} >"$D/many.c"
gcc -O1 -fno-omit-frame-pointer -o "$D/many" "$D/many.c" || exit 1
for kind in session multi; do
	rm -rf "$D/out"
	"$B/bin/ovni-bpf" -v --attach $kind -o "$D/out" -u "$D/many:many_*" -- "$D/many" >"$D/log" 2>&1
	awk -v kind=$kind '/probes are attached by [0-9]+ links/ { probes = $3; attach = $(NF - 1) }
		/the probes were detached in/ { detach = $(NF - 1) }
		END { printf "%s links: %d probes attached in %s ms, detached in %s ms (target 1000: %s)\n",
			kind, probes, attach, detach, (attach < 1000 && detach < 1000 ? "met" : "MISSED") }' \
		"$D/log"
done

echo
echo "versions"
uname -srm
"$B/bin/ovni-bpf" --version 2>/dev/null | head -n 1
command -v perf >/dev/null && perf --version
command -v bpftrace >/dev/null && bpftrace --version
command -v uftrace >/dev/null && uftrace --version
echo "$(nproc) CPUs: $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1)"
