#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ovni-report messages: the messages of an unmodified MPI program of four ranks are those that it prints, by sender,
# receiver and bytes: blocking and not, from any source, to MPI_PROC_NULL, cancelled, in communicators that it makes;
# a sender and a receiver that are late by a known time are.
# needs: root
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"
command -v mpicc >/dev/null && command -v mpirun >/dev/null || skip "there is no MPI (openmpi-bin, libopenmpi-dev)"
cat >talk.c <<'E'
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>
static int me;
static FILE *out;
static void told(int to, int bytes)
{
	fprintf(out, "%d %d %d\n", me, to, bytes);
}
int main(int argc, char **argv)
{
	double d[100];
	int x[10], n, hr, hn, k = 0;
	char name[64];
	MPI_Request r[8];
	MPI_Status s;
	MPI_Comm dup, half;
	MPI_Datatype pairs;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &n);
	snprintf(name, sizeof name, "told.%d", me);
	out = fopen(name, "w");
	MPI_Comm_dup(MPI_COMM_WORLD, &dup);
	MPI_Comm_split(MPI_COMM_WORLD, me % 2, -me, &half); /* the ranks in reverse */
	MPI_Comm_rank(half, &hr);
	MPI_Comm_size(half, &hn);
	MPI_Type_contiguous(2, MPI_DOUBLE, &pairs);
	MPI_Type_commit(&pairs);
	int next = (me + 1) % n, prev = (me + n - 1) % n;
	MPI_Sendrecv(d, 50, MPI_DOUBLE, next, 3, d, 100, MPI_DOUBLE, prev, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	told(next, 400);
	MPI_Barrier(MPI_COMM_WORLD);
	if (me == 0) { /* a late sender */
		usleep(200000);
		MPI_Send(x, 10, MPI_INT, 1, 7, MPI_COMM_WORLD);
		told(1, 40);
	}
	if (me == 1)
		MPI_Recv(x, 10, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &s);
	MPI_Barrier(MPI_COMM_WORLD);
	if (me == 2) { /* a late receiver */
		MPI_Ssend(d, 30, MPI_DOUBLE, 3, 8, dup);
		told(3, 240);
	}
	if (me == 3) {
		usleep(300000);
		MPI_Recv(d, 30, MPI_DOUBLE, 2, 8, dup, MPI_STATUS_IGNORE);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	for (int i = 0; i < hn; i++) {
		if (i == hr)
			continue;
		MPI_Irecv(x, 10, MPI_CHAR, i, 1, half, &r[k++]);
		MPI_Isend(x + 5, 3, MPI_SHORT, i, 1, half, &r[k++]);
		told((hn - 1 - i) * 2 + me % 2, 6);
	}
	MPI_Waitall(k, r, MPI_STATUSES_IGNORE);
	for (int i = 1; me == 0 && i <= 2; i++) { /* two with one tag */
		MPI_Isend(x, i, MPI_INT, 3, 9, MPI_COMM_WORLD, &r[0]);
		MPI_Wait(&r[0], MPI_STATUS_IGNORE);
		told(3, 4 * i);
	}
	if (me == 3) {
		MPI_Irecv(x, 1, MPI_INT, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &r[0]);
		MPI_Irecv(x + 2, 2, MPI_INT, 0, 9, MPI_COMM_WORLD, &r[1]);
		MPI_Wait(&r[1], &s);
		MPI_Wait(&r[0], &s);
	}
	MPI_Send(x, 5, MPI_INT, MPI_PROC_NULL, 4, MPI_COMM_WORLD);
	MPI_Recv(x, 5, MPI_INT, MPI_PROC_NULL, 4, MPI_COMM_WORLD, &s);
	if (me == 2) { /* cancelled: of any source, and of the next message's source and tag */
		for (int i = 0; i < 2; i++) {
			MPI_Irecv(x, 1, MPI_INT, i ? 1 : MPI_ANY_SOURCE, i ? 10 : 99, MPI_COMM_WORLD, &r[0]);
			MPI_Cancel(&r[0]);
			MPI_Wait(&r[0], &s);
		}
	}
	MPI_Barrier(MPI_COMM_WORLD);
	if (me == 2)
		MPI_Recv(x, 1, MPI_INT, 1, 10, MPI_COMM_WORLD, &s);
	if (me == 1) {
		MPI_Send(x, 1, MPI_INT, 2, 10, MPI_COMM_WORLD);
		told(2, 4);
	}
	if (me == 3) { /* a datatype of the program: its size is not known */
		MPI_Send(d, 2, pairs, 0, 11, MPI_COMM_WORLD);
		fprintf(out, "3 0 0\n");
	}
	if (me == 0)
		MPI_Recv(d, 2, pairs, 3, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Barrier(MPI_COMM_WORLD);
	if (argc > 1 && me == 1) { /* without a status */
		MPI_Recv(x, 1, MPI_INT, MPI_ANY_SOURCE, 12, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Recv(x, 1, MPI_INT, 0, 12, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	for (int i = 0; argc > 1 && me == 0 && i < 2; i++)
		MPI_Send(x, 1, MPI_INT, 1, 12, MPI_COMM_WORLD);
	fclose(out);
	MPI_Finalize();
	return 0;
}
E
cat >forward.c <<'E'
#include <mpi.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	int me, n, x = 0;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &n);
	for (int i = 0; argc == 1 && i < 20; i++) { /* around the ring */
		if (me == 0)
			MPI_Send(&x, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
		MPI_Recv(&x, 1, MPI_INT, me ? MPI_ANY_SOURCE : n - 1, me ? 5 : MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		if (me)
			MPI_Send(&x, 1, MPI_INT, (me + 1) % n, me < n - 1 ? 5 : 9, MPI_COMM_WORLD);
	}
	for (int i = 0; argc > 1 && me && i < 20; i++) /* all to rank 0, which receives later */
		MPI_Send(&x, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
	MPI_Barrier(MPI_COMM_WORLD);
	for (int i = 0; argc > 1 && !me && i < 20 * (n - 1); i++)
		MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	usleep(500000); /* until its variables have names, on a busy machine */
	MPI_Finalize();
	return 0;
}
E
mpicc -O1 -o forward forward.c || skip "mpicc does not work here"
mpicc -O1 -o talk talk.c || skip "mpicc does not work here"
launch=(mpirun --allow-run-as-root --oversubscribe --bind-to none)
"${launch[@]}" -n 4 ./talk >first 2>&1 || { cat first; skip "mpirun does not work here"; }
cat >compare.py <<'E'
import json
from collections import Counter
count, size = Counter(), Counter()
for line in open("told"):
    source, to, number = map(int, line.split())
    count[source, to] += 1
    size[source, to] += number
wrong = []
rows = {(row["from"], row["to"]): row for row in json.load(open("messages.json"))}
for what, truth in (("messages", count), ("bytes", size)):
    seen = {pair: row[what] for pair, row in rows.items()}
    if seen != dict(truth):
        wrong.append((what, seen, dict(truth)))
# the receiver was in its call 200 ms before, the sender 300 ms, less the time that a busy machine takes to get there
late = rows[0, 1]["receiver_waited"]
if not 100e6 < late < 2e9:
    wrong.append(("late sender", late))
late = rows[2, 3]["sender_waited"]
if not 150e6 < late < 2e9 or rows[2, 3]["late_receivers"] != 1:
    wrong.append(("late receiver", rows[2, 3]))
if max(rows.values(), key=lambda row: row["receiver_waited"])["from"] != 0:
    wrong.append(("the latest sender is another one",))
for line in wrong:
    print(*line)
raise SystemExit(len(wrong) > 0)
E

# NAME PROGRAM LAUNCHER...
judge_messages() {
	local name=$1 program=$2
	shift 2
	rm -f told.?
	record_output "$name" --api mpi --api mpi-messages -- "$@" -n 4 "$program"
	judge "$name"
	cat told.? >told
	"$B/bin/ovni-report" messages --json "$name" >messages.json || complain "$name: report messages: $?"
	"$B/bin/ovni-report" messages "$name" >messages.txt
	expect "$name: the messages are those that the program prints" python3 compare.py
	expect "$name: an unknown size is told" grep -q '^1 message of a derived datatype' messages.txt
	"$EMULATOR" -q --messages -o views "$name" || complain "$name: ovni-emu --messages: $?"
	# each message has an arrow with its bytes, forward in time, between two rows; lines end in size:tag
	grep '^3:' views/thread.prv | awk -F: '{print ($7 <= $13 && $5 != $11) ? $14 : "wrong"}' | sort >arrows
	expect "$name: the arrows of Paraver" cmp arrows <(awk '{print $3}' told | sort)
	# parts add up to the whole
	"$B/bin/ovni-report" messages --csv --to +600ms "$name" >parts
	"$B/bin/ovni-report" messages --csv --from +600000001ns "$name" | sed 1d >>parts
	expect "$name: parts add up" [ "$(awk -F, '{n += $6} END {print n}' parts)" = "$(grep -c . told)" ]
	expect "$name: all is known" [ "$(grep -c 'not known\|without' messages.txt)" = 1 ]
}
judge_messages openmpi ./talk "${launch[@]}"
if command -v mpicc.mpich && command -v mpiexec.mpich && mpicc.mpich -O1 -w -o talk.mpich talk.c; then
	judge_messages mpich ./talk.mpich mpiexec.mpich -launcher fork
else
	echo "MPICH is not installed (mpich, libmpich-dev): not tested"
fi >mpich.log
cat mpich.log

# A receive from any source whose status the program ignores has the only message that is sent to it; of several
# it has one, and the report says so. The messages behind it are known.
record_output ignored --api mpi-messages -- "${launch[@]}" -n 4 ./talk ignored
"$B/bin/ovni-report" messages ignored >ignored.txt
expect "ignored statuses: one source is known" [ "$(grep -c 'without\|not known' ignored.txt)" = 1 ]
record_output ring_trace --api mpi-messages -- "${launch[@]}" -n 4 ./forward
"$B/bin/ovni-report" messages --csv ring_trace | cut -d, -f2,3,6,7 | sort >forward.csv
printf '%s\n' 0,1,20,80 1,2,20,80 2,3,20,80 3,0,20,80 from,to,messages,bytes >ring
expect "a ring without a status" cmp forward.csv ring
record_output many --api mpi-messages -- "${launch[@]}" -n 4 ./forward many
"$B/bin/ovni-report" messages many >many.txt
expect "several senders at once" grep -q '^[1-9][0-9]* receives\? from any source, without a status, while several' many.txt
[ -s many.txt ] && [ "$(grep -c '^ ' many.txt)" = 4 ] || cat many.txt # of a busy machine
expect "each message has its receive" [ "$("$B/bin/ovni-report" messages --csv many | awk -F, '$3 == 0 && $6 == 20' | wc -l)" = 3 ]

# Without the calls it says so.
record_output none -- true
expect "a trace without messages" grep -q 'no point-to-point calls of MPI' <("$B/bin/ovni-report" messages none)
finish
