#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Modules: a folder is a module, and includes go one way. Every #include of every source file must be
# in the table below, that of CONTRIBUTING.md. Neither the modules nor the files may
# form a cycle; a folder holds at most 25 source files; no file name stands for two things.
# Violations planted in a scratch copy show that each rule can fail.
set -u
cd "$S" || exit 1
exec python3 - "$T" <<'PYTHON'
import os, re, shutil, sys

# module: the modules, or single headers, that it may include (beside its own), and the libraries beside libc.
BASE = "trace/base trace/base/files"
TABLE = {
    "vmlinux": ("", ""),
    "trace/base/files": ("", ""),
    "trace/base": ("trace/base/files", r"cjson/"),
    "trace/ovni": (BASE, r"cjson/"),
    "trace/catalog": (BASE + " trace/ovni", "seccomp"),
    "trace/states": (BASE + " trace/ovni trace/catalog", r"cjson/"),
    "trace/analysis": (BASE + " trace/ovni trace/catalog trace/states trace/messages", r"cjson/"),
    "trace/efficiency": (BASE + " trace/ovni trace/catalog trace/states trace/analysis trace/messages", r"cjson/"),
    "trace/lib": (BASE + " trace/ovni trace/catalog trace/states trace/analysis", ""),
    "trace/messages": (BASE + " trace/ovni trace/catalog trace/states", r"cjson/"),
    "trace/pallas": (BASE + " trace/ovni", "zstd"),
    "trace/pallas/read": (BASE + " trace/pallas", "zstd"),
    "trace/pallas/write": (BASE + " trace/ovni trace/pallas", "zstd"),
    "trace/loom": (BASE, ""),
    "trace/loom/stats": (BASE + " trace/loom", r"cjson/"),
    "trace/loom/write": (BASE + " trace/loom trace/loom/stats", ""),
    "bpf": ("vmlinux trace/base/off_cpu.h", "bpf/"),
    "bpf/why": ("bpf vmlinux", "bpf/"),
    "bpf/job": ("bpf vmlinux", "bpf/"),
    "emu": (BASE + " trace/ovni trace/catalog trace/states trace/analysis trace/messages emu/paraver emu/system", ""),
    "emu/paraver": (BASE, "zlib"),
    "emu/system": (BASE + " trace/ovni emu/paraver", r"cjson/"),
    "emu/task": (BASE + " emu", ""),
    "emu/models": (BASE + " trace/ovni trace/states emu emu/system emu/task", ""),
    "user/cli": (BASE + " user/", "bpf/"),
    "user/session": (BASE + " trace/ovni bpf user/apis user/config user/control user/host user/kernel user/probes "
                     "user/sink user/stacks user/stats user/timeline user/writer", "bpf/"),
    "user/job": (BASE + " user/config user/host user/session user/sink", ""),
    "user/doctor": (BASE + " bpf user/config user/host user/kernel user/probes", "bpf/|cap-ng"),
    "user/stats": (BASE + " trace/ovni bpf user/config user/host user/kernel user/sink user/timeline user/writer",
                   "bpf/|cjson/"),
    "user/sink": (BASE + " trace/ovni bpf user/config user/host user/kernel user/probes user/stacks user/timeline user/writer", ""),
    "user/timeline": (BASE + " trace/ovni trace/catalog bpf user/config user/elf user/host user/probes user/stacks user/writer", "cjson/"),
    "user/stacks": (BASE + " bpf user/elf user/host", ""),
    "user/kernel": (BASE + " bpf bpf/why user/config user/host user/probes", "bpf/"),
    "user/apis": (BASE + " trace/catalog user/probes", ""),
    "user/probes": (BASE + " trace/ovni trace/catalog bpf user/config user/elf user/host", "bpf/|elfutils/|dwarf"),
    "user/elf": (BASE + " user/host", r"libelf|gelf|elfutils/|dwarf|libiberty/|capstone/|zlib"),
    "user/control": (BASE + " user/host", ""),
    "user/writer": (BASE + " trace/ovni user/host", ""),
    "user/config": (BASE + " bpf bpf/why user/host", "bpf/"),
    "user/host": (BASE, "cap-ng"),
    "tools": (BASE + " trace/ tools/lib", ""),
    "tools/lib": (BASE + " trace/ovni", "cjson/"),
    "tools/check": ("trace/ emu tools/lib", "cjson/"),
    "tools/convert": ("trace/ tools/lib", "cjson/"),
    "tools/cut": ("trace/ tools/lib", "cjson/"),
    "tools/dump": ("trace/ tools/lib", "cjson/"),
    "tools/export": ("trace/ tools/lib", "cjson/"),
    "tools/merge": ("trace/ tools/lib", "cjson/"),
    "tools/pallas": ("trace/ tools/lib", "cjson/"),
    "tools/findings": ("trace/ tools/lib", ""),
    "tools/report": ("trace/ tools/lib tools/findings", "cjson/"),
    "tools/report/efficiency": ("trace/ tools/lib tools/report", "cjson/"),
    "tools/report/flame": ("trace/ tools/lib tools/report", ""),
    "tools/report/messages": ("trace/ tools/lib tools/report", ""),
    "tools/sort": ("trace/ tools/lib", "cjson/"),
    "tools/sync": ("trace/ tools/lib", "mpi"),
    "tools/job": ("trace/ tools/lib tools/sync", "mpi"),
    "tools/view": ("trace/ tools/lib tools/findings", "cjson/|zlib"),
    "tools/loom": ("trace/ tools/lib tools/loom/run", "cjson/"),
    "tools/loom/run": ("trace/ tools/lib", "cjson/"),
    "tools/loom/import": ("trace/ tools/lib tools/loom/run", "cjson/"),
    "tools/loom/export": ("trace/ tools/lib tools/loom/run", "cjson/"),
}
LIBRARIES = re.compile(r"(bpf/|cjson/|zstd|zlib|libelf|gelf|elfutils/|dwarf|cap-ng|seccomp|libiberty/|capstone/|mpi|cmocka)")
KERNEL_HEADERS = {"record.h", "state.h", "summary.h", "sample.h", "irq.h", "ovni.skel.h"}  # the contract with user/
# A name that stands in two folders: the kernel half and the user half of a thing, the page of a model in the
# catalog and in the emulator, the sub-commands that ovni-loom and ovni-pallas share, and summary: the mode in bpf, and
# the report.
TWICE = [{"trace/catalog", "emu/models"}, {"bpf", "tools/report"}, {"tools", "tools/loom", "tools/loom/import", "tools/loom/export", "tools/pallas"}]
MOST = 25


def sources(top):
    for module in ("bpf", "trace", "emu", "user", "tools"):
        for folder, _, names in os.walk(os.path.join(top, module)):
            for name in sorted(names):
                if name.endswith((".c", ".h")):
                    yield os.path.relpath(os.path.join(folder, name), top)


def allowed(module, target):
    if module == target:
        return True
    for entry in TABLE[module][0].split():
        if target == entry or (entry.endswith("/") and target.startswith(entry)):
            return True
    return False


def includes(top, file):
    text = open(os.path.join(top, file), encoding="utf-8").read()
    for bracket, name in re.findall(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', text, re.M):
        yield bracket, name


def cycles(graph):
    """Cycles of a graph {node: set of nodes}, each once, as lists."""
    state, path, found = {}, [], []

    def visit(node):
        state[node] = "open"
        path.append(node)
        for to in sorted(graph.get(node, ())):
            if state.get(to) == "open":
                found.append(path[path.index(to):] + [to])
            elif to not in state:
                visit(to)
        path.pop()
        state[node] = "done"

    for node in sorted(graph):
        if node not in state:
            visit(node)
    return found


def check(top):
    wrong, files, modules, held, names = [], {}, {}, {}, {}
    for file in sources(top):
        module = os.path.dirname(file)
        held[module] = held.get(module, 0) + 1
        names.setdefault(os.path.splitext(os.path.basename(file))[0], set()).add(module)
        if module not in TABLE:
            wrong.append("%s: the folder is not in the table of modules" % file)
            continue
        for bracket, name in includes(top, file):
            if bracket == "<":
                if LIBRARIES.match(name) and not (TABLE[module][1] and re.match(TABLE[module][1], name)):
                    wrong.append("%s: may not use <%s>" % (file, name))
                continue
            if name == "vmlinux.h":
                name = "vmlinux/vmlinux.h"
            if module == "bpf" and "/" not in name:
                name = "bpf/" + name
            target = os.path.dirname(name)
            if not (allowed(module, target) or name in TABLE[module][0].split()) or (target == "bpf" and module not in ("bpf", "bpf/why", "bpf/job") and
                                               os.path.basename(name) not in KERNEL_HEADERS):
                wrong.append('%s: may not include "%s"' % (file, name))
            files.setdefault(file, set()).add(name)
            if target != module:
                modules.setdefault(module, set()).add(target)
    for cycle in cycles(modules):
        wrong.append("modules form a cycle: " + " -> ".join(cycle))
    for cycle in cycles(files):
        wrong.append("files form a cycle: " + " -> ".join(cycle))
    for module, n in held.items():
        if n > MOST:
            wrong.append("%s: holds %d source files, more than %d" % (module, n, MOST))
    for name, where in names.items():
        if len(where) > 1 and name != "main" and not any(where <= set(pair) for pair in TWICE):
            wrong.append("%s: the name of files in %s" % (name, ", ".join(sorted(where))))
    return wrong


found = check(".")
if found:
    print("\n".join(found))
    sys.exit(1)

top = os.path.join(sys.argv[1], "copy")
planted = {module + "/planted.c": [] for module in TABLE if module not in ("vmlinux",)}
for file in planted:
    module = os.path.dirname(file)
    outside = [t for t in TABLE if not allowed(module, t)]
    forbidden = outside[0] if outside else "emu"  # user/cli may include all of user/
    planted[file] = ['#include "%s/x.h"' % forbidden]
planted["trace/base/library.c"] = ["#include <zstd.h>"]
planted["user/cli/half.c"] = ['#include "bpf/emit.bpf.h"']
planted["emu/one.h"], planted["emu/two.h"] = ['#include "emu/two.h"'], ['#include "emu/one.h"']
planted["user/elf/window.c"] = planted["user/host/window.c"] = []
planted["elsewhere"] = None
for file, lines in planted.items():
    if lines is None:
        continue
    shutil.rmtree(top, ignore_errors=True)
    os.makedirs(os.path.join(top, os.path.dirname(file)))
    pair = {"emu/one.h": "emu/two.h", "user/elf/window.c": "user/host/window.c", "emu/two.h": "emu/one.h",
            "user/host/window.c": "user/elf/window.c"}.get(file)
    for name in filter(None, (file, pair)):
        os.makedirs(os.path.dirname(os.path.join(top, name)), exist_ok=True)
        open(os.path.join(top, name), "w").write("\n".join(planted[name]) + "\n")
    if not check(top):
        print("the check does not see what is wrong with %s: %s" % (file, lines))
        sys.exit(1)
shutil.rmtree(top)
os.makedirs(os.path.join(top, "emu"))
for i in range(MOST + 1):
    open(os.path.join(top, "emu", "f%d.c" % i), "w").close()
if not check(top):
    print("the check does not see a folder of %d files" % (MOST + 1))
    sys.exit(1)
PYTHON
