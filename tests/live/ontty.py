# SPDX-License-Identifier: MIT
"""ontty.py COLUMNS TYPED COMMAND...: runs COMMAND on a terminal of its own, whose output it prints.

Each of TYPED (split at blanks; "^C" is that key) is typed when a line of the command asks for it:
"ready".
"""
import fcntl, os, pty, struct, sys, termios
columns, typed = int(sys.argv[1]), sys.argv[2].split()
pid, fd = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
    os.execv(sys.argv[3], sys.argv[3:])
said, asked = b"", 0
while True:
    try:
        got = os.read(fd, 65536)
    except OSError: # the last one has closed it
        break
    said += got
    while said.count(b"ready") > asked and typed:
        asked += 1
        os.write(fd, typed.pop(0).replace("^C", "\x03").encode())
        if not typed:
            break
status = os.waitpid(pid, 0)[1]
sys.stdout.buffer.write(said)
sys.exit(status if status < 128 else status >> 8)
