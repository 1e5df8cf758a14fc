#!/bin/bash
# SPDX-License-Identifier: MIT
#
# 300 ranks of one node that start at once, with the variables of Open MPI: one of them is elected, all are
# recorded, none says anything. A rank that runs no further between its connection and its message, as on
# a busy machine, is recorded too.
# needs: root
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"
cat >crowd.py <<'E'
import os, socket, struct, subprocess, sys, time
n, recorder = int(sys.argv[1]), sys.argv[2]
wrong = []


def start(rank, size, key, out, *command):
    env = dict(os.environ, OMPI_COMM_WORLD_RANK=str(rank), OMPI_COMM_WORLD_SIZE=str(size),
               OMPI_COMM_WORLD_LOCAL_SIZE=str(size), PMIX_NAMESPACE=key)
    return subprocess.Popen([recorder, "--job", "-o", out, "--", *command], env=env, stderr=subprocess.PIPE)


def end(rank, process, want=7):
    said = process.communicate()[1].decode()
    if said or process.returncode != want:
        wrong.append("rank %d: status %d: %s" % (rank, process.returncode, said))


begin = time.monotonic()
crowd = [start(r, n, "crowd%d" % os.getpid(), "crowd", "sh", "-c", "sleep 0.1; exit 7") for r in range(n)]
for rank, process in enumerate(crowd):
    end(rank, process)
print("%d ranks ended after %.1f s" % (n, time.monotonic() - begin))

# the name of the socket, as job.md 4.1 has it
key, host = "slow%d" % os.getpid(), os.uname().nodename
sum_ = 0xcbf29ce484222325
for byte in (key + host).encode():
    sum_ = (sum_ ^ byte) * 0x100000001b3 % 2**64
name = "\0ovni-bpf.job.%d.%s.%016x" % (os.geteuid(), key[:40], sum_)
leader = start(0, 2, key, "slow", "sh", "-c", "exit 7")
pid = os.fork()
if not pid:  # the recording lasts as long as its members
    peer = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    peer.settimeout(60)
    while peer.connect_ex(name) and time.monotonic() < begin + 90:
        time.sleep(0.01)
    time.sleep(2.5)
    try:
        peer.send(struct.pack("i", 1))
        os._exit(peer.recv(1) != b"R")
    except OSError:
        os._exit(1)
if os.waitpid(pid, 0)[1]:
    wrong.append("the slow rank is not recorded")
end(0, leader)
print(*wrong, sep="\n")
sys.exit(len(wrong) > 0)
E
python3 crowd.py 300 "$RECORDER" || complain "not all ran as they should"
"$B/bin/ovni-info" crowd >info || complain "ovni-info: $?"
expect "all ranks are recorded: $(grep ^job info)" grep -q '^job .*300 of 300 ranks recorded' info
expect "each has a process in the trace" [ "$(grep -o '^process .*rank [0-9]* of 300' info | grep -o 'rank [0-9]*' | sort -u | wc -l)" = 300 ]
"$B/bin/ovni-info" slow | grep -q '2 of 2 ranks recorded' || complain "slow: $("$B/bin/ovni-info" slow | grep ^job)"
judge crowd
finish
