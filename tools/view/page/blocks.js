/*
 * blocks: the data elements of the page, decoded into columns (view.md 8). A block that is damaged
 * is counted, and the others still work: every count and offset is checked before its use.
 */
const KIND_GAP = 16, KIND_STAY = 32, KIND_CALL = 64, RECENT = 120;
const END_CUT = 13, END_MOVES = 14, END_DEAD = 10;
const WAKE_STAYED = 1, WAKE_INTERRUPT = 2, WAKE_UNKNOWN = 3, WAKE_LAST = 4, WAKE_BEFORE = 5, WAKE_ACTOR = 6,
	WAKE_MOVED = 8, WAKE_CREATED = 9;
const BY_NONE = -1, BY_INTERRUPT = -2, BY_UNKNOWN = -3; /* in place of an actor */
const NEXT_IDLE = -1, NEXT_UNKNOWN = -2;
const ENTRIES = ['stays', 'calls', 'points', 'gaps', 'details'], [BY_IRQ, OF_OWNER, IN_STACK] = [0, 1, 2]; /* kinds of details */

function bytesOf(text) {
	return Uint8Array.fromBase64 ? Uint8Array.fromBase64(text) : Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
}

/* The bytes of a data element. */
async function inflate(text) {
	const { readable, writable } = new DecompressionStream('deflate'), writer = writable.getWriter();
	const written = writer.write(bytesOf(text)).then(() => writer.close());
	const [bytes] = await Promise.all([new Response(readable).arrayBuffer(), written]);
	return new Uint8Array(bytes);
}

/* Numbers in LEB128: the first bytes of all, then the second bytes of those that have one, and so on. */
class Column {
	constructor(bytes, n) {
		let from = 0;
		this.bytes = bytes;
		this.left = n;
		this.places = []; /* of the next first byte, second byte ... */
		for (let count = n; count;) {
			if (count > bytes.length - from)
				throw new RangeError('a column is too short');
			this.places.push(from);
			const end = from + count;
			for (count = 0; from < end; from++)
				count += bytes[from] >> 7;
		}
		if (from !== bytes.length)
			throw new RangeError('a column is too long');
	}
	number() {
		const { bytes, places } = this;
		let byte = bytes[places[0]++], value = this.left-- > 0 ? byte & 127 : Infinity;
		for (let rank = 1, scale = 128; byte > 127; rank++, scale *= 128) {
			byte = bytes[places[rank]++];
			value += (byte & 127) * scale;
		}
		if (value > Number.MAX_SAFE_INTEGER)
			throw new RangeError('a number is missing or too large');
		return value;
	}
	signed() {
		const value = this.number();
		return value % 2 ? -(value + 1) / 2 : value / 2;
	}
	more() {
		return this.left > 0;
	}
}

function columnsOf(bytes, n) {
	const head = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), out = [];
	let at = 4 + 8 * n;
	if (head.getUint32(0, true) !== n)
		throw new RangeError('the number of columns');
	for (let i = 0; i < n; i++) {
		const size = head.getUint32(4 + 8 * i, true), numbers = head.getUint32(8 + 8 * i, true);
		if (size > bytes.length - at || numbers > size)
			throw new RangeError('the size of a column');
		out.push(new Column(bytes.subarray(at, at + size), numbers));
		at += size;
	}
	return out;
}

function below(value, limit) {
	if (value >= limit)
		throw new RangeError('an index of ' + value);
	return value;
}

/* A list of entries: a block adds all of its own, or none if it is damaged. */
class List {
	constructor(room) {
		this.n = 0;
		this.room = room;
	}
	read(kind, bytes) {
		const from = this.n;
		try {
			this[kind](bytes);
		} catch (error) {
			this.n = from;
			throw error;
		}
	}
}

/* Runs, in the order of the file. */
class Runs extends List {
	constructor(n, threads, actors, cpus, calls) {
		super(n);
		this.limits = { threads, actors, cpus, calls };
		this.begin = new Float64Array(n);
		this.end = new Float64Array(n);
		this.latency = new Float64Array(n); /* below 0: none */
		this.thread = new Uint32Array(n);
		this.cpu = new Uint32Array(n);
		this.kind = new Uint8Array(n); /* how it ended, KIND_STAY */
		this.wake = new Uint8Array(n);
		this.waker = new Int32Array(n);
		this.next = new Int32Array(n);
		this.call = new Uint32Array(calls ? n : 0); /* of the sleep after it: its number + 1; 0: not known */
		/* of each thread: its last two wakers in the block */
		this.lastWaker = new Int32Array(threads);
		this.wakerBefore = new Int32Array(threads);
	}
	runs(bytes) {
		const [head, kinds, codes, threads, wakers, nexts, gaps, durations, latencies, calls] = columnsOf(bytes, 10);
		const recent = new Uint32Array(RECENT + 1), { begin, end, latency, limits, next } = this;
		this.lastWaker.fill(BY_UNKNOWN);
		this.wakerBefore.fill(BY_UNKNOWN);
		while (head.more()) {
			const cpu = below(head.number(), limits.cpus), n = head.number();
			let at = head.number(), nrecent = 0, waits = false;
			if (n > this.room - this.n)
				throw new RangeError('the number of runs');
			for (let k = 0; k < n; k++) {
				const i = this.n++, kind = kinds.number(), code = codes.number(), wake = code & 15;
				at += kind & KIND_GAP ? gaps.signed() : k ? 1 : 0;
				let place = threads.number(), thread;
				if (place < RECENT) {
					thread = recent[below(place, nrecent)];
				} else {
					thread = below(place - RECENT, limits.threads);
					place = nrecent < RECENT ? nrecent++ : RECENT - 1;
				}
				recent.copyWithin(1, 0, place);
				recent[0] = thread;
				this.thread[i] = thread;
				this.cpu[i] = cpu;
				this.kind[i] = kind & 15 | kind & KIND_STAY;
				this.wake[i] = wake;
				begin[i] = at;
				end[i] = at += durations.number();
				latency[i] = wake >= WAKE_INTERRUPT && wake !== WAKE_MOVED ? latencies.number() : -1;
				if (kind & KIND_CALL)
					this.call[i] = 1 + below(calls.number(), limits.calls);
				this.waker[i] = this.readWaker(wake, thread, wakers);
				if (waits)
					next[i - 1] = thread;
				waits = code >> 4 === 2;
				next[i] = code >> 4 === 3 ? below(nexts.number(), limits.actors) : code >> 4 ? NEXT_UNKNOWN : NEXT_IDLE;
			}
		}
	}
	readWaker(wake, thread, wakers) {
		if (wake === WAKE_INTERRUPT)
			return BY_INTERRUPT;
		if (wake === WAKE_UNKNOWN)
			return BY_UNKNOWN;
		if (wake === WAKE_CREATED)
			return below(wakers.number(), this.limits.actors);
		if (wake < WAKE_LAST || wake > WAKE_ACTOR)
			return BY_NONE;
		const { lastWaker, wakerBefore } = this, last = lastWaker[thread];
		if (wake === WAKE_LAST)
			return last;
		lastWaker[thread] = wake === WAKE_BEFORE ? wakerBefore[thread] : below(wakers.number(), this.limits.actors);
		wakerBefore[thread] = last;
		return lastWaker[thread];
	}
}

/* Rows with many runs, as pieces of their time with the share of each use; of a CPU with its busiest thread. */
class Levels {
	constructor(threads, cpus, uses) {
		this.of = [[], []]; /* of threads, of CPUs: by number, in the order of time */
		this.limits = [threads, cpus];
		this.whats = [uses, threads];
	}
	read(kind, bytes) {
		const [heads, counts, whats, shares] = columnsOf(bytes, 4);
		while (heads.more()) {
			const row = heads.number(), cpu = row % 2, id = below(Math.floor(row / 2), this.limits[cpu]);
			const from = heads.number(), width = heads.number(), n = below(heads.number(), 257), first = new Uint32Array(n + 1);
			for (let i = 0; i < n; i++)
				first[i + 1] = first[i] + counts.number();
			const what = new Uint16Array(below(first[n], 65536)), share = new Uint8Array(first[n]);
			for (let i = 0; i < first[n]; i++) {
				what[i] = below(whats.number(), this.whats[cpu]);
				share[i] = shares.number();
			}
			(this.of[cpu][id] = this.of[cpu][id] || []).push({ from, width, end: from + n * width, first, what, share });
		}
	}
}

/* Entries with a thread, a begin and an end: stays, calls, points, gaps, details. */
class Entries extends List {
	constructor(n, threads, limits) {
		super(n);
		this.threads = threads;
		this.limits = limits;
		this.thread = new Uint32Array(n);
		this.begin = new Float64Array(n);
		this.end = new Float64Array(n);
		this.what = new Int32Array(n); /* a use, a function, a type, a CPU, a kind of details */
		this.more = new Float64Array(n); /* depth * 4 + inner * 2 + returned, a count, the call of a sleep + 1, or a detail */
		this.values = []; /* of points */
	}
	add(thread, begin, end, what, more) {
		const i = below(this.n, this.room);
		this.thread[i] = below(thread, this.threads);
		this.begin[i] = begin;
		this.end[i] = end;
		this.what[i] = what;
		this.more[i] = more;
		this.n++;
	}
	stays(bytes) {
		const [threads, uses, begins, durations, calls] = columnsOf(bytes, 5);
		for (let at = 0; threads.more();) {
			at += begins.signed();
			this.add(threads.number(), at, at + durations.number(), below(uses.number(), this.limits.uses),
				below(calls.number(), this.limits.calls + 1));
		}
	}
	calls(bytes) {
		const [threads, functions, depths, ends, durations] = columnsOf(bytes, 5);
		for (let at = 0; threads.more();) {
			at += ends.signed();
			this.add(threads.number(), at - durations.number(), at, below(functions.number(), this.limits.functions), depths.number());
		}
	}
	points(bytes) {
		const [threads, types, ats, lows, highs] = columnsOf(bytes, 5);
		for (let at = 0; threads.more();) {
			at += ats.signed();
			const value = BigInt(highs.number()) << 32n | BigInt(lows.number());
			this.values[this.n] = BigInt.asIntN(64, value >> 1n ^ -(value & 1n));
			this.add(threads.number(), at, at, types.signed(), 0);
		}
	}
	details(bytes) {
		const [threads, kinds, ats, values] = columnsOf(bytes, 4);
		for (let at = 0; threads.more();) {
			at += ats.signed();
			const kind = below(kinds.number(), this.limits.details.length);
			this.add(threads.number(), at, at, kind, below(values.number(), this.limits.details[kind]));
		}
	}
	gaps(bytes) {
		const [threads, cpus, begins, durations, counts] = columnsOf(bytes, 5);
		while (threads.more()) {
			const begin = begins.number();
			this.add(threads.number(), begin, begin + durations.number(), below(cpus.number(), this.limits.cpus + 1) - 1, counts.number());
		}
	}
}
