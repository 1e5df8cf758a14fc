# SPDX-License-Identifier: MIT
"""Types into a real shell on a terminal, and prints what it completes.

    completion.py bash|zsh SCRIPT BIN_FOLDER    reads lines TEXT|WANTED|UNWANTED from stdin

Types TEXT and Tab twice, and waits until WANTED is on the screen; UNWANTED (may be empty) must not be
by then. Status 1 names what was not completed.
"""
import os
import pty
import re
import select
import sys
import time

shell, script, programs = sys.argv[1:]
env = {"PATH": programs + ":" + os.environ["PATH"], "TERM": "dumb", "HOME": os.getcwd(), "PS1": "> ", "LC_ALL": "C.UTF-8"}
pid, fd = pty.fork()
if pid == 0:
    os.execvpe(shell, {"bash": ["bash", "--norc", "--noprofile", "-i"], "zsh": ["zsh", "-f", "-i"]}[shell], env)


def wait_for(wanted, seconds=60):
    """What the shell prints, up to `wanted`."""
    seen, end = "", time.monotonic() + seconds
    while wanted not in seen and time.monotonic() < end:
        if select.select([fd], [], [], 0.2)[0]:
            try:
                seen += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|[\r\a]", "", os.read(fd, 65536).decode(errors="replace"))
            except OSError:
                break
    return seen


def say(text):
    os.write(fd, text.encode())


if shell == "bash":
    say(f"bind 'set page-completions off'; bind 'set completion-query-items 0'; . {script}; echo rea''dy\n")
else:
    os.makedirs("site", exist_ok=True)
    with open(script) as source, open("site/_ovni", "w") as copy:
        copy.write(source.read())
    say(f"unsetopt zle_bracketed_paste; fpath=($PWD/site $fpath); autoload -Uz compinit; compinit -u -D; LISTMAX=9999; echo rea''dy\n")
failed = "ready" not in wait_for("ready")
if failed:
    print(f"{shell} does not answer")
for line in sys.stdin:
    text, wanted, unwanted = line.rstrip("\n").split("|")
    say(text + "\t\t")
    seen = wait_for(wanted)
    if wanted not in seen or (unwanted and unwanted in seen):
        print(f"{shell}: '{text}' and Tab shows {seen!r}, expected {wanted!r} without {unwanted!r}")
        failed = True
    say("\x15echo clea''red\n")  # a line of its own begins
    wait_for("cleared")
say("exit\n")
os.close(fd)
os.waitpid(pid, 0)
sys.exit(failed)
