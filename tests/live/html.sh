#!/bin/bash
# SPDX-License-Identifier: MIT
#
# --html makes the page of the trace beside it, as the calling user: its runs, stays, calls and
# findings are those of ovni-report, and its path is printed. With lost events the page says so, with
# status 3. A page that cannot be made has a message and status 1, leaves no part of it, and the trace is
# complete; ovni-view is looked for before the recording.
# needs: root
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

make_public "$RECORDER" "$B/bin/ovni-view" "$WORKLOADS/sleepers" "$WORKLOADS/storm"
record_page() { # NAME OPTION...: leaves $status
	local name=$1
	shift
	status=0
	SUDO_UID=65534 SUDO_GID=65534 "$P/bin/ovni-bpf" --html -o "$P/$name" "$@" >"$name.log" 2>&1 || status=$?
}
page_agrees() { # NAME
	python3 "$S/tests/golden/view_page.py" "$P/$1.html" "$B/bin" "$P/$1" >agreed 2>&1 || complain "$1: $(cat agreed)"
	grep -Eq '^[1-9][0-9]* runs, .* agree with ovni-report$' agreed || complain "$1: $(cat agreed)"
	[ "$(stat -c %u "$P/$1.html")" = 65534 ] || complain "$1: the page belongs to $(stat -c %u "$P/$1.html")"
}
says() { grep -qE -- "$2" "$1.log" || complain "$1 does not say '$2': $(cat "$1.log")"; }

record_page seen -- "$P/bin/sleepers" -n 2 -s 5
# 3: on a machine that is too busy for its buffers
[ $status = 0 ] || [ $status = 3 ] || complain "status $status: $(cat seen.log)"
page_agrees seen
says seen "^ovni-view: info: $P/seen\.html: [0-9]+ runs of [0-9]+ threads, "
tail -n 1 seen.log | grep -q '^ovni-bpf: recorded dir=' || complain "the last line: $(tail -n 2 seen.log)"

record_page quiet -q -- "$P/bin/sleepers" -n 1 -s 3
page_agrees quiet
grep -q 'info:' quiet.log && complain "-q prints: $(cat quiet.log)"

# The page says what is missing, and the status, too.
record_page lossy -b 4K -- "$P/bin/storm" -n 8 -l 3000
page_agrees lossy
STATUS=$status python3 - "$S/tests/golden" "$P/lossy" <<'END' || complain "losses: $(tail -n 3 lossy.log)"
import json, os, sys
sys.path.insert(0, sys.argv[1])
from view_page import Page
page, lost = Page(sys.argv[2] + ".html").meta, set()
for top, _, names in os.walk(sys.argv[2]):
    for name in names:
        if name == "stream.json":
            lost.add(json.load(open(os.path.join(top, name)))["bpf"].get("session", {}).get("lost", "0"))
assert page["lost"] in lost and (page["lost"] != "0") == (os.environ["STATUS"] == "3"), (page["lost"], lost)
assert page["lost"] == "0" or page["lost"] in page["incomplete"], page["incomplete"]
END

# No page: the trace is complete, nothing is left of the page.
mkdir "$P/folder.html"
record_page folder -- "$P/bin/sleepers" -n 1 -s 3
[ $status = 1 ] || complain "a folder in the place of the page: status $status"
says folder "cannot write '$P/folder\.html': Is a directory"
tail -n 1 folder.log | grep -q '^ovni-bpf: recorded .* status=1 ' || complain "the last line: $(tail -n 2 folder.log)"
"$B/bin/ovni-check" -q "$P/folder" >checked 2>&1 || [ $? = 3 ] || complain "the trace without a page: $(cat checked)"
[ -z "$(find "$P" -name '*.part')" ] || complain "left: $(find "$P" -name '*.part')"
rm "$P/bin/ovni-view"
record_page missing -- "$P/bin/sleepers" -n 1 -s 3
[ $status = 1 ] || complain "without ovni-view: status $status"
says missing '^ovni-bpf: error: --html: cannot run ovni-view in the folder of ovni-bpf: No such file or directory$'
[ ! -e "$P/missing" ] || complain "it records although it cannot make the page"
finish
