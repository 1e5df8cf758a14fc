#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The text timeline: who had each column of each CPU, and the states of the threads.
set -eu
mkdir -p "$T/trace/loom.x/proc.7/thread.7"
cd "$T/trace"
echo '{"version":3,"ovni":{"tid":7},"bpf":{"name":"busy"}}' >loom.x/proc.7/thread.7/stream.json
header() { echo "#Paraver (19/01/38 at 03:14):00000000000010000000_ns:0:1:1($1:1)"; }
rows() { printf 'LEVEL NODE SIZE 1\nhostname\n\nLEVEL THREAD SIZE %d\n' $#; printf '%s\n' "$@"; }
# Thread 7 is on CPU 0 from 0 to 4 ms, waits, then on CPU 1 from 6 to 10; 8 is on CPU 0 meanwhile.
{
	header 3
	printf '2:0:1:1:%s\n' 1:0:2:7 1:4000000:2:8 1:8000000:2:0 2:6000000:2:7
} >cpu.prv
{
	header 2
	printf '2:0:1:1:%s\n' 1:0:4:1 1:4000000:4:5 1:6000000:2:7:4:1 2:0:4:2 2:4000000:4:1 2:8000000:4:2
	echo 3:0:1:1:1:3500000:3500000:0:1:1:2:4000000:4000000:0:1 # 1 wakes 2
} >thread.prv
rows ' CPU 0.0' ' CPU 0.1' 'vCPU 0.*' >cpu.row
rows 'TH 1.7' 'TH 1.8' >thread.row

PYTHONIOENCODING=ascii "$S/tests/timeline.py" -w 20 . >"$T/all"
PYTHONIOENCODING=ascii "$S/tests/timeline.py" -w 20 -s 5 -l 2 -n 1 . >"$T/part"
diff -u - "$T/all" <<-'E'
	                    |0 ns           10 ms|   one column is 500 us
	           CPU 0.0  |AAAAAAAABBBBBBBB    |  80 % busy
	           CPU 0.1  |            AAAAAAAA|  40 % busy

	            A busy  |########----########|  80 %
	               B 8  |........########....|  40 %
	                    # running   - runnable, waits for a CPU   . asleep
E
diff -u - "$T/part" <<-'E'
	                    |5 ms            7 ms|   one column is 100 us
	           CPU 0.0  |AAAAAAAAAAAAAAAAAAAA| 100 % busy
	           CPU 0.1  |          BBBBBBBBBB|  50 % busy

	               A 8  |####################| 100 %
	                    and 1 more: B busy
	                    # running   - runnable, waits for a CPU   . asleep
E

# The picture of it: states of both threads, who runs on both CPUs, and the wake-up.
python3 -B "$S/docs/picture.py" . >"$T/picture.svg"
for drawn in '4 Running<' '2 Warming: runnable, waits for a CPU<' '3 Paused: asleep<' '2 TH 1.7</title' \
	'1 TH 1.8</title' '1 <line '; do
	[ "$(grep -c "${drawn#* }" "$T/picture.svg")" = "${drawn%% *}" ] || {
		echo "not ${drawn%% *} of '${drawn#* }' in the picture:"
		cat "$T/picture.svg"
		exit 1
	}
done
