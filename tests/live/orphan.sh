#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ovni-bpf is killed (SIGKILL) while it runs ovni-emu, ovni-view or ovni-export on its trace (--emulate, --html,
# --perfetto): this program is killed, too. One that never ends takes its place.
# needs: root
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

mkdir bin
cp "$RECORDER" bin
for program in ovni-emu ovni-view ovni-export; do
	cat >bin/$program <<'E2'
#!/bin/sh
echo $$ >running.new
mv running.new running
exec sleep 1000
E2
	chmod +x bin/$program
done
# shellcheck disable=SC2086 # several words
while read -r options; do
	rm -rf out running
	bin/ovni-bpf $options -o out -- true >log 2>&1 </dev/null &
	recorder=$!
	wait_until [ -s running ] || complain "$options: the program does not run: $(cat log)"
	program=$(cat running)
	expect "$options: it runs" kill -0 "$program"
	{
		kill -KILL $recorder
		wait $recorder
	} 2>/dev/null
	wait_until ended "$program" || {
		complain "$options: the program has outlived the recorder"
		kill "$program"
	}
	"$B/bin/ovni-check" -q out >said 2>&1 || complain "$options: the trace was complete before: $(cat said)"
done <<'E2'
--emulate
--html
--perfetto out.pftrace
E2
finish
