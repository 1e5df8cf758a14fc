#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes an archive with the library of Pallas itself, and prints the calls in it.

    pallas_real.py LIBPALLAS DIR [COMPRESSION [ENCODING]]

Threads: `regular` (loops of calls), `random` (a random tree of calls, with recursion and messages), and with the environment
variable EMPTY a third one without events, at which the tools of Pallas end. One line for each call, in the order of its end:
thread, region, start and end in ns, and `inner` inside a call of the same region, else `outer`.
"""
import ctypes
import os
import random
import sys

random.seed(3)
NONE = 0xffffffff


def main(library, top, compression="None", encoding="None"):
    config = os.path.abspath(top) + ".conf"
    with open(config, "w") as f:
        f.write("compressionAlgorithm=%s\nencodingAlgorithm=%s\nloopFindingAlgorithm=BasicTruncated\nmaxLoopLength=100\n"
                "zstdCompressionLevel=3\ntimestampStorageAlgorithm=Delta\n" % (compression, encoding))
    os.environ["PALLAS_CONFIG_PATH"] = config
    lib = ctypes.CDLL(library)
    u32, u64 = ctypes.c_uint32, ctypes.c_uint64

    def call(name, *args):
        function = getattr(lib, name)
        function.restype = ctypes.c_void_p
        return ctypes.c_void_p(function(*args))

    names = ["f%d" % i for i in range(8)]
    trace = call("pallas_global_archive_new", top.encode(), b"main")
    archive = call("pallas_archive_new", top.encode(), u32(0))
    for i, name in enumerate(names + ["process", "regular", "random", "empty"]):
        call("pallas_global_archive_register_string", trace, u32(i), name.encode())
    for i in range(len(names)):
        call("pallas_global_archive_register_region", trace, u32(i), u32(i))
    call("pallas_global_archive_define_location_group", trace, u32(0), u32(8), u32(NONE))

    def thread(index, name, body):
        call("pallas_archive_define_location", archive, u32(index), u32(9 + index), u32(0))
        open_calls = [0] * len(names)
        writer, now = call("pallas_thread_writer_new", archive, u32(index)), [1000 + index]

        def put(function, *args):
            now[0] += random.choice((0, 1, 10, 100, 1000, random.randrange(1, 5000)))
            call(function, writer, None, u64(now[0]), *args)
            return now[0]

        def region(ref, *inner):
            start, open_calls[ref] = put("pallas_record_enter", u32(ref)), open_calls[ref] + 1
            for step in inner:
                step()
            open_calls[ref] -= 1
            print("%s\t%s\t%d\t%d\t%s" % (name, names[ref], start, put("pallas_record_leave", u32(ref)),
                                           "inner" if open_calls[ref] else "outer"))

        if body:
            put("pallas_record_thread_begin")
            body(region, put)
            put("pallas_record_thread_end")
        call("pallas_thread_writer_close", writer)

    def regular(region, put):
        for _ in range(300):
            region(0, lambda: [region(1) for _ in range(10)], lambda: region(2))

    def tree(region, put):
        def grow(depth):
            if random.random() < 0.2:
                put("pallas_record_mpi_send", u32(1), u32(0), u32(7), u64(64))
            region(random.randrange(8), *[lambda: grow(depth - 1) for _ in range(random.randrange(3) if depth else 0)])

        for _ in range(1500):
            grow(5)

    thread(0, "regular", regular)
    thread(1, "random", tree)
    if "EMPTY" in os.environ:
        thread(2, "empty", None)
    call("pallas_archive_close", archive)
    settings = ctypes.create_string_buffer(4096)  # larger than the object of the library
    call("_ZN6pallas16ParameterHandlerC1Ev", settings)
    call("_ZN6pallas13GlobalArchive5storeEPKcPKNS_16ParameterHandlerE", trace, top.encode(), settings)


main(*sys.argv[1:])
