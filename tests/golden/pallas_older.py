#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Rewrites an archive of ABI version 20 as one of an older version, 16 to 19 (pallas.md 19).

    pallas_older.py ARCHIVE DIR VERSION

The differences are in main.pallas, archive.pallas and thread.pallas; the data files stay. The archive must have identity maps.
"""
import glob
import os
import shutil
import struct
import sys


class Copy:
    """Copies fields of a file, or drops them."""

    def __init__(self, data):
        self.data, self.at, self.out = data, 0, bytearray()

    def bytes(self, n, keep=True):
        part = self.data[self.at:self.at + n]
        assert len(part) == n
        self.at += n
        if keep:
            self.out += part
        return part

    def u32(self, keep=True):
        return struct.unpack("<I", self.bytes(4, keep))[0]

    def u64(self, keep=True):
        return struct.unpack("<Q", self.bytes(8, keep))[0]

    def table(self, size):
        for _ in range(self.u64()):
            self.bytes(size)


def part(c, version):
    """The common end of main.pallas and archive.pallas."""
    for _ in range(c.u64()):
        c.bytes(4)
        c.bytes(c.u32())
    c.table(8)
    c.table(16)
    for _ in range(c.u64()):  # groups
        c.bytes(8)
        c.bytes(8, version >= 17)
        for _ in range(c.u32()):
            c.bytes(4)
            c.out += b"\0" * (0 if version >= 17 else 4)
    c.table(16)
    c.table(12)
    c.table(12)
    rest = c.bytes(len(c.data) - c.at, version >= 17)
    if version < 17:
        c.out += struct.pack("<Q", len(rest)) + b"\xee" * (len(rest) + 8)


def vector(c, version, durations):
    n = c.u64()
    subs = c.u64(version >= 18)
    if n:
        if durations:
            c.bytes(24)
        c.bytes(subs * (40 if durations else 32))


def grammar(c, version):
    identity = lambda: [c.u32(version >= 20) for _ in range(c.u64(version >= 20))]
    c.bytes(8)
    nevents, nsequences, nloops = c.u64(), c.u64(), c.u64()
    assert c.u32(version >= 20) == 0
    c.u64()
    for _ in range(nevents):
        record = c.u32(False)
        c.out += struct.pack("<I", 0 if record == 59 and version <= 18 else record)
        size = c.bytes(1)[0]
        c.bytes(size - 5)
        c.bytes(c.u64())
        vector(c, version, False)
    assert identity() == list(range(nevents))
    for _ in range(nsequences):
        c.u32()
        n = c.u64()
        if n:
            c.bytes(4 * n)
            vector(c, version, True)
            vector(c, version, True)
            vector(c, version, False)
    assert identity() == list(range(nsequences))
    for _ in range(nloops):
        c.bytes(8)
        c.u64(version >= 19)
    identity()
    assert c.at == len(c.data)


def main(top, to, version):
    version = int(version)
    shutil.copytree(top, to)
    for path in glob.glob(to + "/**/*.pallas", recursive=True):
        os.chmod(path, 0o644)
        with open(path, "rb") as f:
            c = Copy(f.read())
        name = os.path.basename(path)
        if name == "thread.pallas":
            grammar(c, version)
        else:
            if name == "archive.pallas":
                c.bytes(8)
            else:
                c.bytes(1, False)
                c.out += bytes([version])
                c.bytes(32)
            part(c, version)
        with open(path, "wb") as f:
            f.write(c.out)


main(*sys.argv[1:])
