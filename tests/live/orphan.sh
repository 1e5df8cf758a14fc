#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ovni-bpf is killed (SIGKILL) while it runs ovni-emu on its trace (--emulate): ovni-emu is killed, too.
# A program that never ends takes the place of ovni-emu.
# needs: root
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

mkdir bin
cp "$RECORDER" bin
cat >bin/ovni-emu <<'E'
#!/bin/sh
echo $$ >emulating.new
mv emulating.new emulating
exec sleep 1000
E
chmod +x bin/ovni-emu
bin/ovni-bpf --emulate -o out -- true >log 2>&1 &
recorder=$!
wait_until [ -s emulating ] || complain "the emulator does not run: $(cat log)"
emulator=$(cat emulating)
expect "it runs" kill -0 "$emulator"
{
	kill -KILL $recorder
	wait $recorder
} 2>/dev/null
wait_until ended "$emulator" || {
	complain "the emulator has outlived the recorder"
	kill "$emulator"
}
"$B/bin/ovni-check" -q out >said 2>&1 || complain "the trace was complete before: $(cat said)"
finish
