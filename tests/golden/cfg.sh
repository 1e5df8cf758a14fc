#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The Paraver configurations: emu/cfg is generated from its table; the client accepts every file;
# numbers and labels are the same as in the output of our emulator.
set -eu
export PYTHONDONTWRITEBYTECODE=1
check="$S/tests/golden/cfgcheck.py"

echo "the checker sees every mistake of its table"
python3 "$S/tests/golden/cfgmistakes.py"

echo "the files are those of the table"
python3 "$S/emu/cfg.py" "$T/cfg"
diff -r "$T/cfg" "$S/emu/cfg" || { echo "run emu/cfg.py"; exit 1; }

echo "the client takes every file"
cd "$S/emu/cfg"
mapfile -t files < <(find . -type f)
[ ${#files[@]} -ge 50 ]
python3 "$check" "${files[@]}"

# The labels that the emulator writes.
emu=$B/bin/ovni-emu
if [ ! -x "$emu" ]; then
	echo "no $emu: labels are not compared with a real .pcf"
	exit 0
fi
echo "numbers and labels are those of the emulator"
python3 "$S/tests/golden/cfgtrace.py" "$T/trace"
"$emu" -a -b --critical 7 "$T/trace"
cd "$T/trace/cfg" # a copy, and what the emulator adds for the counter
[ -e thread/nosv/hwc-INSTRUCTIONS.cfg ] && [ -e cpu/nosv/hwc-INSTRUCTIONS.cfg ]
for view in thread cpu; do
	mapfile -t files < <(find $view -name '*.cfg')
	python3 "$check" --complete --pcf "$T/trace/$view.pcf" "${files[@]}"
done
for file in breakdown/*.cfg; do
	view=$(basename "$file" .cfg)-breakdown
	python3 "$check" --complete --pcf "$T/trace/$view.pcf" "$file"
done

echo "and a wrong number is seen in a real .pcf"
sed 's/^window_filter_module evt_type 1 4$/window_filter_module evt_type 1 6/' \
	thread/state.cfg >"$T/wrong.cfg"
if python3 "$check" --pcf "$T/trace/thread.pcf" "$T/wrong.cfg"; then
	echo "a wrong number passed"
	exit 1
fi
