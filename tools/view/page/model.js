/*
 * model: the runs, stays, calls and gaps of a trace, found by row and time.
 *
 * In: the decoded columns; out: for a thread its stays in a part of the time, written or concluded
 * from its runs as `ovni-view` does (view.md 8), so that sums are those of ovni-report; for a CPU
 * its runs.
 */

/* Entries sorted by `key`, from 0 to `most`: by buckets of time first, which is nearly all of it. */
function orderByKey(n, key, most) {
	const order = new Uint32Array(n), first = new Uint32Array(n + 2), scale = n ? (n - 1) / Math.max(most, 1) : 0;
	const bucket = (i) => Math.min(n - 1, Math.max(0, Math.floor(key[i] * scale)));
	for (let i = 0; i < n; i++)
		first[bucket(i) + 2]++;
	for (let b = 2; b < first.length; b++)
		first[b] += first[b - 1];
	for (let i = 0; i < n; i++)
		order[first[bucket(i) + 1]++] = i;
	for (let b = 0; b < n; b++)
		if (first[b + 1] - first[b] > 32)
			order.subarray(first[b], first[b + 1]).sort((i, j) => key[i] - key[j]);
	for (let k = 1; k < n; k++) { /* the others are near their places */
		const i = order[k];
		let at = k;
		for (; at > 0 && key[order[at - 1]] > key[i]; at--)
			order[at] = order[at - 1];
		order[at] = i;
	}
	return order;
}

/* Entries by group, sorted by `key` in each: those of group g are order[first[g] .. first[g + 1]).
 * `sorted` has all entries by key. */
class Index {
	constructor(n, ngroups, groupOf, key, sorted) {
		const first = this.first = new Uint32Array(ngroups + 2);
		this.order = new Uint32Array(n);
		for (let i = 0; i < n; i++)
			first[groupOf(i) + 2]++;
		for (let g = 2; g < first.length; g++)
			first[g] += first[g - 1];
		for (let k = 0; k < n; k++) {
			const i = sorted[k];
			this.order[first[groupOf(i) + 1]++] = i;
		}
		this.key = key;
	}
	/* The first place in group g whose key is at least `least`. */
	place(g, least) {
		let low = this.first[g], high = this.first[g + 1];
		while (low < high) {
			const middle = low + high >>> 1;
			if (this.key[this.order[middle]] < least)
				low = middle + 1;
			else
				high = middle;
		}
		return low;
	}
	/* The last place in group g whose key is at most `most`, an integer; -1: there is none. */
	last(g, most) {
		const at = this.place(g, most + 1) - 1;
		return at < this.first[g] ? -1 : at;
	}
	/* Calls each(i) for the entries of group g below `end`, from the last one before `begin` on. */
	each(g, begin, end, each) {
		const { first, order, key } = this;
		for (let at = Math.max(this.place(g, begin) - 1, first[g]); at < first[g + 1] && key[order[at]] < end; at++)
			each(order[at]);
	}
	size(g) {
		return this.first[g + 1] - this.first[g];
	}
}

const WAITS_MOST = 1e6; /* runs and stays whose waits are counted exactly */

class Model {
	constructor(meta) {
		const n = meta.counts, nthreads = meta.threads.length;
		this.meta = meta;
		/* looms of accelerators: their CPUs are places, none of a machine */
		this.accelerators = new Set(meta.threads.filter((thread) => thread.accelerator).map((thread) => thread.loom));
		this.hosts = meta.looms.length - this.accelerators.size;
		this.cpus = meta.cpus.map((cpu, id) => id).filter((id) => meta.cpus[id].cpu >= 0 && !this.accelerators.has(meta.cpus[id].loom))
			.sort((a, b) => meta.cpus[a].loom - meta.cpus[b].loom || meta.cpus[a].cpu - meta.cpus[b].cpu);
		this.nactors = nthreads + meta.others.length;
		this.runs = new Runs(n.runs, nthreads, this.nactors, meta.cpus.length, meta.sleep_calls.length);
		this.levels = new Levels(nthreads, meta.cpus.length, meta.uses.length);
		for (const kind of ENTRIES)
			this[kind] = new Entries(n[kind], nthreads, { uses: meta.uses.length, functions: meta.functions.length,
				cpus: meta.cpus.length, calls: meta.sleep_calls.length, details: [Infinity, this.nactors, meta.stacks.length] });
		this.classOf = meta.uses.map((use) => {
			if (use.state === 'asleep')
				return { io: IO, uninterruptible: BLOCKED, stopped: STOPPED, traced: STOPPED, parked: STOPPED,
					}[use.reason] || ASLEEP;
			return use.reason === 'lost' ? REPAIRED : CLASSES.indexOf(use.state);
		});
		this.useOf = new Map(meta.uses.map((use, i) => [use.state + ' ' + use.reason, i]));
		this.waiting = meta.uses.map((use) => use.state === 'runnable' || use.state === 'throttled');
		this.why = meta.why;
		this.stayed = [];
		for (const [word, use] of [['preempted', 'runnable preempted'], ['yielded', 'runnable yielded'],
			['throttled', 'throttled ']])
			this.stayed[meta.why.indexOf(word)] = this.useOf.get(use);
		this.woken = this.useOf.get('runnable woken');
	}

	/* After all blocks. */
	index() {
		const { runs, stays, calls, details } = this, nthreads = this.meta.threads.length;
		const end = this.meta.end, sorted = orderByKey(runs.n, runs.begin, end);
		this.byThread = new Index(runs.n, nthreads, (i) => runs.thread[i], runs.begin, sorted);
		this.byCpu = new Index(runs.n, this.meta.cpus.length, (i) => runs.cpu[i], runs.begin, sorted);
		[this.staysOf, this.detailsOf] = [stays, details].map((list) =>
			new Index(list.n, nthreads, (i) => list.thread[i], list.begin, orderByKey(list.n, list.begin, end)));
		[this.linesOf, this.callLines] = this.linesBelow(calls, (i) => Math.min(Math.floor(calls.more[i] / 4), 65535), 'depth');
		this.indexValues();
		this.onCpu = new Float64Array(nthreads);
		for (let i = 0; i < runs.n; i++)
			this.onCpu[runs.thread[i]] += runs.end[i] - runs.begin[i];
	}

	/* The entries as lines below their threads, one for each key: the lines of each thread by key, and the entries of each. */
	linesBelow(entries, keyOf, name) {
		const lines = new Map(), lineOf = new Uint32Array(entries.n);
		for (let i = 0; i < entries.n; i++) {
			const thread = entries.thread[i], key = keyOf(i), id = (thread + 1) * 2 ** 33 + key;
			if (!lines.has(id))
				lines.set(id, { line: lines.size, thread, [name]: key });
			lineOf[i] = lines.get(id).line;
		}
		const of = grouped([...lines.values()].sort((a, b) => a[name] - b[name]), ({ thread }) => thread);
		return [of, new Index(entries.n, lines.size, (i) => lineOf[i], entries.begin, orderByKey(entries.n, entries.begin, this.meta.end))];
	}

	/* Values that marks set in a thread: one lasts until the next of its type. */
	indexValues() {
		const { points, meta } = this;
		[this.valueLinesOf, this.values] = this.linesBelow(points, (i) => points.what[i], 'type');
		const { order, first } = this.values, marks = [...meta.marks || []].reverse(); /* the first of a type counts */
		for (const line of [...this.valueLinesOf.values()].flat()) {
			const numbers = Array.from(order.subarray(first[line.line], first[line.line + 1]), (i) => Number(points.values[i]));
			line.least = numbers.reduce((a, b) => Math.min(a, b));
			line.most = numbers.reduce((a, b) => Math.max(a, b));
		}
		this.titles = new Map(marks.filter(({ title }) => title).map(({ type, title }) => [type, title]));
		this.labels = new Map(marks.flatMap(({ type, labels }) => labels.map(({ value, label }) => [type + ' ' + value, label])));
	}

	/* The CPUs of the overview of ovni-report, without the places of accelerators. */
	overviewCpus() {
		const { overview, looms } = this.meta;
		return overview ? overview.cpus.filter((cpu) => !this.accelerators.has(looms.indexOf(cpu.loom))) : [];
	}

	titleOf(type) {
		return shown(this.titles.get(type) || 'mark of type ' + type);
	}

	/* The label of the value of a point; undefined: it is a number alone. */
	labelOf(i) {
		return this.labels.get(this.points.what[i] + ' ' + this.points.values[i]);
	}

	/* The values of a thread at `t`, [title, text, since], in the order of their types. */
	valuesAt(thread, t) {
		return (this.valueLinesOf.get(thread) || []).flatMap(({ line, type }) => {
			const i = this.values.order[this.values.last(line, t)], label = this.labelOf(i);
			return i === undefined ? [] : [[this.titleOf(type), label === undefined ? String(this.points.values[i]) : shown(label), this.points.begin[i]]];
		});
	}

	/* A detail of the run that ends at `t`, or the sleep that begins then; undefined: none. */
	detailOf(thread, t, kind) {
		const { details, detailsOf: { order, first }, detailsOf } = this;
		for (let at = detailsOf.place(thread, t); at < first[thread + 1] && details.begin[order[at]] === t; at++)
			if (details.what[order[at]] === kind)
				return details.more[order[at]];
		return undefined;
	}

	/* The end of the value at a place of `values`: the next value, or the end of the thread's last run. */
	valueEnd(line, place) {
		const { values, points, byThread, runs } = this, thread = points.thread[values.order[place]];
		if (place + 1 < values.first[line + 1])
			return points.begin[values.order[place + 1]];
		const last = byThread.first[thread + 1] - 1;
		const end = last >= byThread.first[thread] ? runs.end[byThread.order[last]] : 0;
		return Math.max(end, points.begin[values.order[place]]);
	}

	/* How many threads were runnable or throttled from each clock on, as {at, n}; undefined: too many to sort. */
	waits() {
		if (this.waitList || this.runs.n + this.stays.n > WAITS_MOST)
			return this.waitList;
		const steps = []; /* odd: a begin */
		this.meta.threads.forEach((thread, id) => !thread.omitted && this.eachStay(id, 0, Infinity, (use, begin, end) =>
			this.waiting[use] && steps.push(2 * begin + 1, 2 * end)));
		const sorted = Float64Array.from(steps).sort();
		let n = 0;
		this.waitList = { at: sorted.map((step) => Math.floor(step / 2)), n: Int32Array.from(sorted, (step) => n += step % 2 ? 1 : -1) };
		return this.waitList;
	}

	nameOf(actor) {
		const { threads, others } = this.meta;
		if (actor >= threads.length)
			return cut(shown(others[actor - threads.length]));
		const thread = threads[actor];
		return thread.name ? cut(shown(thread.name)) + ' (' + thread.tid + ')' : thread.tid;
	}

	/* When a waker or creator made the thread of a run runnable; undefined: not known. */
	since(place) {
		const { runs, byThread } = this, i = byThread.order[place];
		return runs.wake[i] === WAKE_CREATED ? runs.begin[i] - runs.latency[i] : this.wakeOf(place);
	}

	/* Since when the thread of a run was runnable before it, but not newborn; undefined: not known. */
	wakeOf(place) {
		const { runs, byThread } = this, i = byThread.order[place];
		if (runs.latency[i] >= 0 && runs.wake[i] !== WAKE_CREATED)
			return runs.begin[i] - runs.latency[i];
		if (runs.wake[i] !== WAKE_STAYED || place === byThread.first[runs.thread[i]])
			return undefined;
		return runs.end[byThread.order[place - 1]];
	}

	/* Calls each(use, begin, end) for the stays between the run at this place and the one before. */
	eachConcluded(place, each) {
		const { runs, byThread } = this, i = byThread.order[place];
		if (place === byThread.first[runs.thread[i]] || runs.kind[i] & KIND_STAY || runs.wake[i] === WAKE_MOVED)
			return;
		const before = byThread.order[place - 1], why = runs.kind[before] & 15, left = runs.end[before];
		if (why === END_DEAD)
			return;
		const begin = runs.begin[i], stayed = this.stayed[why];
		let wake = this.wakeOf(place);
		if (wake === undefined)
			wake = stayed === undefined ? begin : left;
		if (wake < left)
			wake = left;
		if (wake > left)
			each(this.meta.asleep + (why < this.meta.why.length ? why : 0), left, wake);
		if (begin > wake)
			each(stayed === undefined ? this.woken : stayed, wake, begin);
	}

	/* Calls each(use, begin, end, run) for the stays of a thread that overlap [t0, t1); run: its
	 * index, or -1. Runs are in order, and so are written stays, which come first. */
	eachStay(thread, t0, t1, each) {
		const { runs, stays, byThread, staysOf } = this;
		const inside = (use, begin, end) => begin < t1 && end > t0 && each(use, begin, end, -1);
		staysOf.each(thread, t0, t1, (i) => inside(stays.what[i], stays.begin[i], stays.end[i]));
		for (let at = Math.max(byThread.place(thread, t0) - 1, byThread.first[thread]); at < byThread.first[thread + 1]; at++) {
			const i = byThread.order[at];
			this.eachConcluded(at, inside);
			if (runs.begin[i] >= t1)
				break;
			if (runs.end[i] > t0)
				each(0, runs.begin[i], runs.end[i], i);
		}
	}

	/* Calls each(i) for the runs of a CPU that overlap [t0, t1). */
	eachRun(cpu, t0, t1, each) {
		const { runs, byCpu } = this;
		byCpu.each(cpu, t0, t1, (i) => runs.end[i] > t0 && each(i));
	}

	/* ns of each use of a thread in [t0, t1), exact; as `ovni-report why` names them. */
	sum(thread, t0, t1) {
		const sums = {};
		this.eachStay(thread, t0, t1, (use, begin, end) => {
			const { state, reason } = this.meta.uses[use], key = reason ? state + ': ' + reason : state;
			sums[key] = (sums[key] || 0) + Math.min(end, t1) - Math.max(begin, t0);
		});
		return sums;
	}

	busy(cpu, t0, t1) {
		let sum = 0;
		this.eachRun(cpu, t0, t1, (i) => {
			sum += Math.min(this.runs.end[i], t1) - Math.max(this.runs.begin[i], t0);
		});
		return sum;
	}

	/* The written stay that begins at `t`, or -1. */
	writtenAt(thread, t) {
		const { stays, staysOf } = this, at = staysOf.place(thread, t);
		return at < staysOf.first[thread + 1] && stays.begin[staysOf.order[at]] === t ? staysOf.order[at] : -1;
	}

	/* The system call of a sleep that begins at `t`, with a blank before it; '': it is not known. */
	callOf(thread, t) {
		const { runs, byThread } = this, at = byThread.place(thread, t) - 1, stay = this.writtenAt(thread, t);
		const run = at < byThread.first[thread] || runs.end[byThread.order[at]] !== t ? -1 : byThread.order[at];
		const call = stay >= 0 ? this.stays.more[stay] : run >= 0 ? runs.call[run] : 0;
		return call ? ' in ' + shown(this.meta.sleep_calls[call - 1]) : '';
	}

	/* The sleeps in the calls of a set of numbers + 1: each(number + 1, thread, use, begin, end). */
	eachSleep(calls, each) {
		const { runs, stays, meta } = this;
		for (let i = 0; i < stays.n; i++)
			if (calls.has(stays.more[i]))
				each(stays.more[i], stays.thread[i], stays.what[i], stays.begin[i], stays.end[i]);
		for (let i = 0; i < runs.n; i++)
			if (calls.has(runs.call[i]))
				this.eachStay(runs.thread[i], runs.end[i], runs.end[i] + 1, (use, begin, end) => {
					if (begin === runs.end[i] && use >= meta.asleep && this.writtenAt(runs.thread[i], begin) < 0)
						each(runs.call[i], runs.thread[i], use, begin, end);
				});
	}

	placeOf(i) {
		const { runs, byThread } = this, thread = runs.thread[i];
		let at = byThread.place(thread, runs.begin[i]);
		while (at < byThread.first[thread + 1] && byThread.order[at] !== i)
			at++;
		return at;
	}

	/* Runs whose thread the thread `waker` woke in [t0, t1], at most `most`. */
	wokenBy(waker, t0, t1, most) {
		const { runs } = this;
		if (!this.byWaker) {
			this.wokenAt = new Float64Array(runs.n);
			for (let i = 0; i < runs.n; i++)
				this.wokenAt[i] = runs.begin[i] - Math.max(runs.latency[i], 0);
			this.byWaker = new Index(runs.n, this.nactors + 1, (i) => runs.waker[i] < 0 ? this.nactors : runs.waker[i],
				this.wokenAt, orderByKey(runs.n, this.wokenAt, this.meta.end));
		}
		const found = [];
		this.byWaker.each(waker, t0, t1 + 1, (i) => this.wokenAt[i] >= t0 && found.push(i));
		return { found: found.slice(0, most), more: Math.max(found.length - most, 0) };
	}
}
