# SPDX-License-Identifier: MIT
"""
ovni_trace: reads ovni traces in Python, through libovni-trace (ovni-trace(3)).

    import ovni_trace
    with ovni_trace.open("ovni") as trace:
        for interval in trace.intervals():
            print(interval.thread.name, interval.state, interval.ns)

All times are in ns. Needs only Python 3.7 and the library; with numpy, columns are its arrays, else
those of the module array. Memory: iterators hold one item, columns the whole trace.
A trace is read once, forward: each iterator and each call for columns begins again, and ends the
iterators before it. One thread at a time may use a trace. Errors are ovni_trace.Error.
"""
import array
import collections
import ctypes
import os

__all__ = ["open", "Trace", "Error", "Thread", "Cpu", "Event", "Interval", "Region", "Function", "VIRTUAL_CPU", "NO_CPU"]
VIRTUAL_CPU, NO_CPU = -1, -2
BATCH = 65536  # rows that are read at a time

_I64, _I32, _U32 = ctypes.c_int64, ctypes.c_int32, ctypes.c_uint32
_HANDLE, _TEXT, _SIZE = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t


class _Struct(ctypes.Structure):
    pass


def _struct(name, *fields):
    return type(name, (_Struct,), {"_fields_": list(fields)})


_Thread = _struct("_Thread", ("path", _TEXT), ("loom", _TEXT), ("name", _TEXT), ("cgroup", _TEXT), ("pid", _I64),
                  ("tid", _I64), ("rank", _I64), ("app_id", _I64), ("finished", _I32))
_Cpu = _struct("_Cpu", ("loom", _TEXT), ("index", _I32), ("number", _I32))
_Event = _struct("_Event", ("clock", _I64), ("thread", _U32), ("cpu", _I32), ("mcv", ctypes.c_char * 4),
                 ("jumbo", _I32), ("payload_size", _U32), ("payload", ctypes.c_void_p))
_Arg = _struct("_Arg", ("name", _TEXT), ("type", ctypes.c_int), ("n", _SIZE), ("text", _TEXT), ("value", _I64))
_Interval = _struct("_Interval", ("begin", _I64), ("end", _I64), ("thread", _U32), ("cpu", _I32), ("state", _I32),
                    ("reason", _I32), ("waker", _I32), ("next", _I32))
_Function = _struct("_Function", ("name", _TEXT), ("type", _TEXT), ("mark_type", _I32), ("value", _I64))
_Region = _struct("_Region", ("begin", _I64), ("end", _I64), ("thread", _U32), ("function", _U32), ("depth", _U32),
                  ("nested", _I32), ("returned", _I32), ("state_ns", _I64 * 5))

# Columns: name, type of the C function, code of module array.
INTERVAL_COLUMNS = (("begin", _I64, "q"), ("end", _I64, "q"), ("thread", _U32, "I"), ("cpu", _I32, "i"),
                    ("state", _I32, "i"), ("reason", _I32, "i"), ("waker", _I32, "i"), ("next", _I32, "i"))
REGION_COLUMNS = (("begin", _I64, "q"), ("end", _I64, "q"), ("thread", _U32, "I"), ("function", _U32, "I"),
                  ("depth", _U32, "I"), ("nested", _I32, "i"), ("returned", _I32, "i"))
STATES = ("running", "runnable", "throttled", "asleep", "unknown")  # in state_ns, and as numbers
EVENT_COLUMNS = (("clock", _I64, "q"), ("thread", _U32, "I"), ("cpu", _I32, "i"), ("mcv", _U32, "I"))

Thread = collections.namedtuple("Thread", "index path loom name cgroup pid tid rank app_id finished")
Cpu = collections.namedtuple("Cpu", "loom index number")
Event = collections.namedtuple("Event", "clock thread cpu mcv args text payload")


class Interval(collections.namedtuple("Interval", "begin end thread cpu state reason waker next call")):
    """waker: tid of the thread that ended the sleep; next: of the next thread on the CPU (ovni-trace(3))."""
    __slots__ = ()

    @property
    def ns(self):
        return self.end - self.begin

Function = collections.namedtuple("Function", "index name type mark_type value")


class Region(collections.namedtuple("Region", "begin end thread function depth nested returned state_ns")):
    """A call of a function; state_ns: {"running": ns, ...} of its time (ovni-trace(3))."""
    __slots__ = ()

    @property
    def ns(self):
        return self.end - self.begin


class Error(Exception):
    """An error of the library, with its sentence; errno is its number."""

    def __init__(self, errno, sentence):
        super().__init__(sentence)
        self.errno = errno


def _load():
    installed = "@libdir@/libovni-trace.so.1"
    path = os.environ.get("OVNI_TRACE_LIBRARY") or (installed if os.path.exists(installed) else "libovni-trace.so.1")
    lib = ctypes.CDLL(path)
    pointer = ctypes.POINTER
    for name, result, *arguments in (
            ("version", _TEXT), ("error", _TEXT), ("open", ctypes.c_int, pointer(_HANDLE), _TEXT),
            ("close", None, _HANDLE), ("incomplete", _TEXT, _HANDLE), ("nthreads", _SIZE, _HANDLE),
            ("thread", pointer(_Thread), _HANDLE, _SIZE), ("find", _I64, _HANDLE, _SIZE, _I64),
            ("ncpus", _SIZE, _HANDLE), ("cpu", pointer(_Cpu), _HANDLE, _SIZE),
            ("next_event", ctypes.c_int, _HANDLE, pointer(pointer(_Event))),
            ("next_interval", ctypes.c_int, _HANDLE, pointer(pointer(_Interval))),
            ("next_region", ctypes.c_int, _HANDLE, pointer(pointer(_Region))), ("nfunctions", _SIZE, _HANDLE),
            ("function", pointer(_Function), _HANDLE, _SIZE), ("tid_name", _TEXT, _HANDLE, _SIZE, _I64),
            ("mark_label", _TEXT, _HANDLE, _I32, _I64), ("mark_title", _TEXT, _HANDLE, _I32),
            ("rewind", ctypes.c_int, _HANDLE), ("event_text", _TEXT, _HANDLE), ("event_nargs", _SIZE, _HANDLE),
            ("event_arg", pointer(_Arg), _HANDLE, _SIZE),
            ("event_value", ctypes.c_int, _HANDLE, _SIZE, _SIZE, pointer(_I64)),
            ("interval_call", _TEXT, _HANDLE), ("state_name", _TEXT, ctypes.c_int),
            ("reason_name", _TEXT, ctypes.c_int),
            ("read_intervals", _I64, _HANDLE, _SIZE, *(pointer(c[1]) for c in INTERVAL_COLUMNS)),
            ("read_regions", _I64, _HANDLE, _SIZE, *(pointer(c[1]) for c in REGION_COLUMNS), pointer(_I64)),
            ("read_events", _I64, _HANDLE, _SIZE, *(pointer(c[1]) for c in EVENT_COLUMNS))):
        function = getattr(lib, "ovni_trace_" + name)
        function.restype, function.argtypes = result, arguments
    return lib


_lib = None


def _text(raw):
    """Untrusted bytes of a trace."""
    return (raw or b"").decode("utf-8", "backslashreplace")


def _check(result):
    if result < 0:
        raise Error(-result, _text(_lib.ovni_trace_error()))
    return result


def open(path):
    """Opens the trace in the directory `path`; close() or `with` closes it."""
    return Trace(path)


def state_name(state):
    return _text(_lib.ovni_trace_state_name(state))


def reason_name(reason):
    return _text(_lib.ovni_trace_reason_name(reason))


class Trace:
    """threads, cpus: lists; incomplete: why something is missing, or ""."""

    def __init__(self, path):
        global _lib
        self._handle = None
        _lib = _lib or _load()
        handle = _HANDLE()
        _check(_lib.ovni_trace_open(ctypes.byref(handle), os.fsencode(path)))
        self._handle = handle
        self._turn = 0  # of the present iterator
        self.incomplete = _text(_lib.ovni_trace_incomplete(handle))
        self.threads = [self._thread(i) for i in range(_lib.ovni_trace_nthreads(handle))]
        self.cpus = [self._cpu(i) for i in range(_lib.ovni_trace_ncpus(handle))]
        self._states = STATES
        self._functions = []
        self._reasons = [reason_name(i) for i in range(64)]

    def _thread(self, i):
        t = _lib.ovni_trace_thread(self._handle, i).contents
        return Thread(i, _text(t.path), _text(t.loom), _text(t.name), _text(t.cgroup), t.pid, t.tid, t.rank, t.app_id,
                      bool(t.finished))

    def _cpu(self, i):
        c = _lib.ovni_trace_cpu(self._handle, i).contents
        return Cpu(_text(c.loom), c.index, c.number)

    def close(self):
        if self._handle:
            _lib.ovni_trace_close(self._handle)
        self._handle = None
        self._turn = None

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def __del__(self):
        self.close()

    def find(self, tid, seen_by=None):
        """The thread with this id, of the machine of the thread `seen_by` (of the first thread); or None."""
        i = _lib.ovni_trace_find(self._open(), seen_by.index if seen_by else 0, tid) if self.threads else -1
        return self.threads[i] if i >= 0 else None

    def tid_name(self, tid, seen_by=None):
        """The name of the thread with this id, also of one outside the trace; "" if it is not known."""
        return self._named(_lib.ovni_trace_tid_name(self._open(), seen_by.index if seen_by else 0, tid))

    def mark_label(self, type, value):
        """The label of a value of a type of marks, or ""."""
        return self._named(_lib.ovni_trace_mark_label(self._open(), type, value))

    def mark_title(self, type):
        return self._named(_lib.ovni_trace_mark_title(self._open(), type))

    @staticmethod
    def _named(raw):
        if raw is None:
            raise Error(5, _text(_lib.ovni_trace_error()))
        return _text(raw)

    @property
    def functions(self):
        """The functions of the regions that were read: a Function for each index."""
        for i in range(len(self._functions), _lib.ovni_trace_nfunctions(self._open())):
            f = _lib.ovni_trace_function(self._handle, i).contents
            self._functions.append(Function(i, _text(f.name), _text(f.type), f.mark_type, f.value))
        return self._functions

    def _open(self):
        if not self._handle:
            raise Error(9, "the trace is closed")
        return self._handle

    def _begin(self):
        _check(_lib.ovni_trace_rewind(self._open()))
        self._turn += 1
        return self._turn

    def _each(self, function, kind):
        """The items of a trace; another iterator or close() ends it."""
        at, turn = ctypes.POINTER(kind)(), self._begin()
        while self._turn == turn and _check(function(self._handle, ctypes.byref(at))) > 0:
            yield at.contents

    def intervals(self, calls=False):
        """Yields an Interval for each stay of a thread in a state; with `calls`, the system calls of sleeps."""
        handle = self._handle
        for i in self._each(_lib.ovni_trace_next_interval, _Interval):
            yield Interval(i.begin, i.end, self.threads[i.thread], i.cpu, self._states[i.state], self._reasons[i.reason],
                           i.waker, i.next, _text(_lib.ovni_trace_interval_call(handle)) if calls else None)

    def regions(self):
        """Yields a Region for each call of a function, when it ends."""
        for r in self._each(_lib.ovni_trace_next_region, _Region):
            if r.function >= len(self._functions):
                _ = self.functions
            yield Region(r.begin, r.end, self.threads[r.thread], self._functions[r.function], r.depth, bool(r.nested),
                         bool(r.returned), dict(zip(STATES, r.state_ns)))

    def events(self, mcv=None):
        """Yields an Event for each event, or each one that begins with `mcv`: "OH"."""
        want = mcv.encode("latin-1") if mcv else b""
        for ev in self._each(_lib.ovni_trace_next_event, _Event):
            raw = ctypes.string_at(ctypes.addressof(ev) + _Event.mcv.offset, 3)
            if not raw.startswith(want):
                continue
            payload = ctypes.string_at(ev.payload, ev.payload_size) if ev.payload_size else b""
            yield Event(ev.clock, self.threads[ev.thread], ev.cpu, raw.decode("latin-1"), self._args(),
                        _text(_lib.ovni_trace_event_text(self._handle)), payload)

    def _args(self):
        args = {}
        for i in range(_lib.ovni_trace_event_nargs(self._handle)):
            arg = _lib.ovni_trace_event_arg(self._handle, i).contents
            name = _text(arg.name)
            if arg.type == 2:
                args[name] = _text(arg.text)
            elif arg.type == 3:
                args[name] = [self._value(i, k) for k in range(arg.n)]
            else:
                args[name] = arg.value & 0xffffffffffffffff if arg.type == 1 else arg.value
        return args

    def _value(self, i, k):
        value = _I64()
        _check(_lib.ovni_trace_event_value(self._handle, i, k, ctypes.byref(value)))
        return value.value

    def interval_columns(self, partial=False):
        """All intervals as {column: array}: begin, end, thread (index), cpu, state, reason (names:
        state_name(), reason_name()), waker, next. Of a damaged trace `partial` gives those before the
        damage, and the attribute `damage` has the sentence; else that is an Error."""
        return self._columns(_lib.ovni_trace_read_intervals, INTERVAL_COLUMNS, partial)

    def event_columns(self, partial=False):
        """The same for events: clock, thread, cpu, mcv (three bytes as one number)."""
        return self._columns(_lib.ovni_trace_read_events, EVENT_COLUMNS, partial)

    def region_columns(self, partial=False):
        """The same for regions: begin, end, thread, function (index of `functions`), depth, nested, returned, and
        running, runnable, throttled, asleep, unknown: ns in these states."""
        wide = [(state, _I64, "q") for state in STATES]
        return self._columns(_lib.ovni_trace_read_regions, REGION_COLUMNS, partial, wide)

    def _columns(self, function, columns, partial, wide=()):
        self._begin()
        self.damage = ""
        batch = [(kind * BATCH)() for _, kind, _ in columns]
        matrix = [(_I64 * (BATCH * len(wide)))()] if wide else []
        columns = [*columns, *wide]
        kept = [array.array(code) for _, _, code in columns]
        while True:
            n = function(self._handle, BATCH, *batch, *matrix)
            if n <= 0:
                break
            for column, part in zip(kept, batch):
                column.frombytes(memoryview(part).cast("B")[:n * ctypes.sizeof(part._type_)])
            for i in range(len(wide)):
                kept[len(batch) + i].extend(matrix[0][i:n * len(wide):len(wide)])
        if n < 0:
            self.damage = _text(_lib.ovni_trace_error())
            if not partial:
                _check(n)
        try:
            import numpy
        except ImportError:
            return {name: column for (name, _, _), column in zip(columns, kept)}
        return {name: numpy.frombuffer(column, dtype=code) for (name, _, code), column in zip(columns, kept)}
