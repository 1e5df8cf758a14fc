/*
 * panel: sentences about a run, a stay, a call or a gap; the table of a measured part of the time;
 * the list of a search. Parts that the trace does not tell are left out.
 */
const WAITS_COMPARED = 10; /* fewer say little */
const PRIORITY = ['Priority', 'Allowed CPUs']; /* titles of the marks of --why=prio */

class Panel {
	constructor(view) {
		this.view = view;
		this.model = view.model;
		this.node = document.getElementById('panel');
	}

	/* Shows the paragraphs; without any the panel gives its place to the timeline. */
	clear(...nodes) {
		this.node.replaceChildren(...nodes);
		this.node.hidden = !nodes.length;
	}

	link(text, action) {
		const link = element('a', text);
		link.tabIndex = 0;
		link.setAttribute('role', 'button');
		link.addEventListener('click', action);
		link.addEventListener('keydown', (event) => {
			if (event.key !== 'Enter')
				return;
			event.stopPropagation();
			action();
		});
		return link;
	}

	/* A paragraph of texts, and of [text, action] for links. */
	paragraph(parts) {
		const p = element('p');
		for (const part of parts)
			p.append(Array.isArray(part) ? this.link(...part) : shown(part));
		return p;
	}

	/* The name of an actor, as a link to its row, or of the action. */
	thread(actor, action = () => this.view.chooseRow('t', actor)) {
		const name = this.model.nameOf(actor);
		return actor < this.model.meta.threads.length ? [name, action] : name;
	}

	cpu(row) {
		const { cpu, loom } = this.model.meta.cpus[row];
		if (this.model.accelerators.has(loom))
			return 'the accelerator';
		const name = cpu >= 0 ? 'CPU ' + cpu : cpu === -1 ? 'the virtual CPU' : 'no CPU';
		return this.model.hosts > 1 ? name + ' of ' + shown(this.model.meta.looms[loom]) : name;
	}

	clock(t) {
		const { wall, origin } = this.model.meta;
		if (!wall)
			return '';
		const ns = BigInt(wall.ns) + BigInt(origin) - BigInt(wall.clock) + BigInt(Math.round(t));
		const local = new Date(Number(ns / 1000000n) + wall.utc_offset * 1000);
		return ' (' + local.toISOString().slice(11, 19) + '.' + String(ns % 1000000000n).padStart(9, '0') + ')';
	}

	span(begin, end) {
		return 'from ' + seconds(begin) + ' s to ' + seconds(end) + ' s' + this.clock(begin);
	}

	/* The sentence of what is under the pointer, or selected, as paragraphs: each kind has its method. */
	sentences(what) {
		return this[what.kind](what);
	}

	outside() {
		return [this.paragraph(['The page has no detail of this time: ovni-view --from and --to choose another part.'])];
	}

	run({ place }) {
		const { model } = this, { runs, byThread } = model, i = byThread.order[place];
		const wake = model.since(place), begin = [], how = runs.kind[i] & 15, woken = this.woken(place);
		if (woken.length)
			begin.push('It ', ...woken);
		else if (wake !== undefined)
			begin.push('It had stayed runnable');
		else if (runs.wake[i] === WAKE_MOVED)
			begin.push('It came from another CPU without a pause');
		if (wake !== undefined)
			begin.push(', and waited ' + duration(runs.begin[i] - wake) + ' for a CPU');
		if (begin.length)
			begin.push('. ');
		return [this.paragraph([this.thread(runs.thread[i]), ' ran on ' + this.cpu(runs.cpu[i]) + ' for '
			+ duration(runs.end[i] - runs.begin[i]) + ', ' + this.span(runs.begin[i], runs.end[i]) + '.']),
		this.paragraph([...begin, ...this.end(i, how, place)]), ...this.details(runs.thread[i], runs.end[i], runs.end[i])];
	}

	/* What --why=irq, lock, stack and prio have recorded: details at a clock (of a run: its end), and the priority before another one. */
	details(thread, at, until) {
		const { model } = this, [irq, owner, stack] = [BY_IRQ, OF_OWNER, IN_STACK].map((kind) => model.detailOf(thread, at, kind));
		const prio = model.valuesAt(thread, until - 1).filter(([title]) => PRIORITY.includes(title)).map(([title, text]) => title + ': ' + text);
		return [irq && at === until && ['Interrupts took ' + duration(irq) + ' of it.'], owner !== undefined && [this.thread(owner), ' had the lock.'],
			stack !== undefined && ['Stack: ' + shown(model.meta.stacks[stack])], prio.length && [prio.reverse().join('. ') + '.']]
			.filter((parts) => parts).map((parts) => this.paragraph(parts));
	}

	/* The runs before and after a run of the thread. */
	around({ place }) {
		const { runs, byThread } = this.model, thread = runs.thread[byThread.order[place]], parts = [];
		if (place > byThread.first[thread])
			parts.push(['previous run', () => this.go(place, 'O')], ' · ');
		if (place + 1 < byThread.first[thread + 1])
			parts.push(['next run', () => this.go(place, 'o')]);
		return this.paragraph(parts);
	}

	/* What woke the thread for the run at this place, in a sentence; empty: it was not woken, or it is not known. */
	woken(place) {
		const { model } = this, i = model.byThread.order[place], waker = model.runs.waker[i];
		if (waker >= 0)
			return [model.runs.wake[i] === WAKE_CREATED ? 'was created by ' : 'was woken by ', this.follows(waker, place, 'b'),
				this.where(waker, model.since(place))];
		return waker === BY_INTERRUPT ? ['was woken by an interrupt']
			: waker === BY_UNKNOWN ? ['was woken, the trace does not tell by which thread'] : [];
	}

	/* A use of time: "asleep (io)". */
	use(use) {
		const { state, reason } = this.model.meta.uses[use];
		return reason ? state + ' (' + reason + ')' : state;
	}

	/* The name of an actor as a link that goes to its run. */
	follows(actor, place, key) {
		return this.thread(actor, () => this.go(place, key));
	}

	go(place, key) {
		this.view.choose({ kind: 'run', place });
		this.view.follow(key);
	}

	/* The CPU on which a thread ran at `t`, in a sentence. */
	where(actor, t) {
		const { runs, byThread, meta } = this.model;
		const at = t === undefined || actor >= meta.threads.length ? -1 : this.model.byThread.last(actor, t);
		const i = at < 0 ? -1 : byThread.order[at];
		return i >= 0 && runs.end[i] >= t ? ' on ' + this.cpu(runs.cpu[i]) : '';
	}

	end(i, how, place) {
		const { model } = this, { runs } = model, next = runs.next[i], word = model.why[how];
		const taken = next >= 0 ? [' ', this.follows(next, place, 't'), ' took the CPU.']
			: next === NEXT_IDLE ? [' The CPU became idle.'] : [];
		if (how === END_CUT)
			return ['The trace ends before the run does.'];
		if (how === END_MOVES)
			return ['Then it continued on another CPU.'];
		if (how === END_DEAD)
			return ['Then it ended.', ...taken];
		if (word === 'preempted' && next >= 0)
			return ['Then it was preempted by ', this.follows(next, place, 't'), '.'];
		if (model.stayed[how] !== undefined)
			return ['Then it ' + (word === 'yielded' ? 'yielded.' : 'was ' + word + '.'), ...taken];
		if (word === 'unknown')
			return ['The trace does not tell why it left the CPU.', ...taken];
		if (word === 'lost')
			return ['The kernel did not report the switch, or its record was lost: the end is a repair.', ...taken];
		return ['Then it slept (' + word + ')' + model.callOf(runs.thread[i], runs.end[i]) + '.', ...taken];
	}

	stay({ thread, use, begin, end }) {
		const { model } = this, { state, reason } = model.meta.uses[use], { runs, byThread } = model;
		const out = [this.paragraph([this.thread(thread), ' was ' + this.use(use)
			+ (state === 'asleep' ? model.callOf(thread, begin) : '') + ' for ' + duration(end - begin) + ', ' + this.span(begin, end) + '.']),
		...this.details(thread, begin, end)];
		const next = byThread.place(thread, end);
		if (next >= byThread.first[thread + 1])
			return out;
		const woken = this.woken(next), wake = model.since(next);
		if (woken.length && (wake === begin || wake === end))
			out.push(this.paragraph([wake === end ? 'Then it ' : 'It ', ...woken, '.']));
		if (state !== 'runnable')
			return out;
		const last = next - 1, before = last < byThread.first[thread] ? -1 : byThread.order[last];
		if (reason === 'preempted' && before >= 0 && runs.end[before] === begin && runs.next[before] >= 0)
			out.push(this.paragraph([this.follows(runs.next[before], last, 't'), ' took its CPU.']));
		const cpu = runs.cpu[byThread.order[next]], sums = new Map();
		let busy = 0;
		model.eachRun(cpu, begin, end, (i) => {
			const ns = Math.min(runs.end[i], end) - Math.max(runs.begin[i], begin);
			busy += ns;
			sums.set(runs.thread[i], (sums.get(runs.thread[i]) || 0) + ns);
		});
		const parts = ['Meanwhile ' + this.cpu(cpu) + ', where it ran next, ran '];
		const list = [...sums].sort((a, b) => b[1] - a[1]);
		for (const [other, ns] of list.slice(0, 5))
			parts.push(this.thread(other), ' for ' + duration(ns) + ', ');
		if (list.length > 5)
			parts.push((list.length - 5) + (list.length === 6 ? ' other thread' : ' others') + ' for '
				+ duration(list.slice(5).reduce((sum, [, ns]) => sum + ns, 0)) + ', ');
		parts.push((list.length ? 'and for ' + duration(end - begin - busy) + ' ' : '') + 'no thread of this page'
			+ ((model.meta.overview || {}).idle_unknown ? ' (ovni-bpf -a records all threads).' : '.'));
		return [...out, this.paragraph(parts)];
	}

	call({ i }) {
		const { model } = this, { calls } = model, { label, title } = model.meta.functions[calls.what[i]];
		const sums = model.sum(calls.thread[i], calls.begin[i], calls.end[i]), parts = [];
		const length = calls.end[i] - calls.begin[i];
		for (const [use, ns] of Object.entries(sums))
			parts.push(use + ' ' + duration(ns) + ' (' + percent(ns, length) + ')');
		return [this.paragraph([shown(label) + ' (' + shown(title) + '), depth ' + Math.floor(calls.more[i] / 4) + ', in ',
			this.thread(calls.thread[i]), ': ' + duration(length) + ', ' + this.span(calls.begin[i], calls.end[i])
			+ (calls.more[i] % 2 ? '.' : ', still open at the end of the trace.')]), this.paragraph([parts.join(', ')]),
		...[calls.begin[i], calls.end[i]].map((t) => model.valuesAt(calls.thread[i], t).flatMap(([title, text, since]) => since === t ? title + ': ' + text : []))
			.filter((values) => values.length).map((values) => this.paragraph([values.join(', ')]))];
	}

	gap({ i }) {
		const { gaps } = this.model;
		return [this.paragraph([counted(gaps.more[i], 'event') + ' of '
			+ (gaps.what[i] >= 0 ? this.cpu(gaps.what[i]) : 'a CPU') + ' lost, ' + this.span(gaps.begin[i], gaps.end[i])
			+ '. States there are a guess.'])];
	}

	value({ i, begin, end }) {
		const { model } = this, { points } = model, label = model.labelOf(i);
		return [this.paragraph([model.titleOf(points.what[i]) + ' of ', this.thread(points.thread[i]), ' was '
			+ (label === undefined ? points.values[i] : shown(label) + ' (' + points.values[i] + ')') + ' for '
			+ duration(end - begin) + ', ' + this.span(begin, end) + '.'])];
	}

	/* The threads that wait for a CPU at a time. */
	count({ begin: t }) {
		const { model } = this, found = [];
		model.meta.threads.forEach((thread, id) => !thread.omitted && model.eachStay(id, t, t + 1, (use, begin, end) => {
			if (model.waiting[use] && begin <= t && end > t)
				found.push([id, t - begin]);
		}));
		found.sort((a, b) => b[1] - a[1]);
		const parts = [found.length + (found.length === 1 ? ' thread waits' : ' threads wait') + ' for a CPU at '
			+ seconds(t) + ' s' + this.clock(t) + (found.length ? ': ' : '.')];
		found.slice(0, 20).forEach(([id, since], k) => parts.push(k ? ', ' : '', this.thread(id), ' since ' + duration(Math.round(since))));
		if (found.length > 20)
			parts.push(' and ' + (found.length - 20) + ' more');
		return [this.paragraph(parts)];
	}

	idle({ cpu, begin, end }) {
		return [this.paragraph([this.cpu(cpu) + ': no thread of this page for ' + duration(end - begin) + ', '
			+ this.span(begin, end) + '.'])];
	}

	/* The wait of a run, or a wait itself, beside the others of its thread; the numbers are those of ovni-report latency. */
	compare(what) {
		const { model } = this, { runs, byThread } = model;
		const place = what.kind === 'run' ? what.place : what.kind === 'stay' ? byThread.place(what.thread, what.end) : -1;
		const waitOf = (at) => runs.begin[byThread.order[at]] - model.wakeOf(at); /* NaN: not known */
		const thread = what.kind === 'run' ? runs.thread[byThread.order[place]] : what.thread;
		if (place < 0 || place >= byThread.first[thread + 1])
			return [];
		const own = waitOf(place), first = byThread.first[thread];
		const waits = Float64Array.from({ length: byThread.size(thread) }, (_, k) => waitOf(first + k)).filter((wait) => wait >= 0).sort();
		const n = waits.length, shorter = waits.filter((wait) => wait < own).length, sum = waits.reduce((a, b) => a + b, 0);
		if (n < WAITS_COMPARED || !(what.kind === 'run' ? own >= 0 : own === what.end - what.begin))
			return [];
		return [this.paragraph(['Of the ' + n + ' waits of the thread ' + shorter + ' were shorter (' + percent(shorter, n) + '): '
			+ duration(Math.floor(sum / n)) + ' on average, ' + duration(waits[n >> 1]) + ' the median, at most ' + duration(waits[n - 1]) + '.'])];
	}

	/* Why a row is empty at a time. */
	blank({ thread, begin: t }) {
		const { byThread, runs } = this.model, first = byThread.first[thread], last = byThread.first[thread + 1] - 1;
		const name = this.model.nameOf(thread), at = seconds(t) + ' s' + this.clock(t);
		if (first > last)
			return [this.paragraph([name + ' never ran in the time that this page shows.'])];
		const begin = runs.begin[byThread.order[first]], end = runs.end[byThread.order[last]];
		return [this.paragraph([name + ' at ' + at + ': ' + (t < begin ? 'no event yet, its first run begins at ' + seconds(begin) + ' s.'
			: t >= end ? 'no more events, its last run ended at ' + seconds(end) + ' s.' : 'the trace does not tell what it did.')])];
	}

	show(what) {
		this.clear(...this.sentences(what), ...this.compare(what), ...what.kind === 'run' ? [this.around(what)] : []);
	}

	table(heads, rows) {
		const table = element('table');
		table.append(...[heads, ...rows].map((cells, k) => {
			const row = element('tr');
			for (const cell of cells) {
				const node = row.appendChild(element(k ? 'td' : 'th'));
				node.append(Array.isArray(cell) ? this.link(...cell) : shown(cell));
			}
			return row;
		}));
		return table;
	}

	/* The stays of one thread in a part of the time, by state; the numbers are those of ovni-report why. */
	states(thread, t0, t1) {
		const { model, view } = this, found = [], length = (stay) => stay.end - stay.begin;
		let last;
		model.eachStay(thread, t0, t1, (use, from, to, run) => {
			const begin = Math.max(from, t0), end = Math.min(to, t1);
			if (last && last.use === use && last.end === begin) { /* on another CPU */
				last.end = end;
				return;
			}
			last = { kind: 'stay', thread, use, begin, end, run };
			found.push(last);
		});
		const rows = [...grouped(found, ({ use }) => use)].map(([use, list]) => {
			list.sort((a, b) => length(a) - length(b));
			const sum = list.reduce((ns, stay) => ns + length(stay), 0), most = list[list.length - 1];
			const what = most.run < 0 ? most : { kind: 'run', place: model.placeOf(most.run) };
			return [sum, [this.use(use), String(list.length), duration(sum), percent(sum, t1 - t0), duration(Math.floor(sum / list.length)),
				duration(length(list[list.length >> 1])), [duration(length(most)), () => view.choose(what, true)]]];
		});
		return this.table([model.nameOf(thread), 'times', 'time', 'share', 'mean', 'median', 'longest'],
			rows.sort((a, b) => b[0] - a[0]).map(([, cells]) => cells));
	}

	/* The critical path: its sums, and its longest segments in the order of time. */
	path() {
		const { model, view } = this, { segments, thread, from, to, at } = view.path, sums = new Map(), rows = [];
		const words = ({ use }) => use === IN_WAKING ? 'wake-up' : use === NOT_RECORDED ? 'not recorded' : this.use(use);
		for (const { use, begin, end } of segments) {
			const key = use < 0 ? words({ use }) : model.meta.uses[use].state;
			sums.set(key, (sums.get(key) || 0) + end - begin);
		}
		const least = segments.map((s) => s.end - s.begin).sort((a, b) => b - a)[STEPS_SHOWN];
		segments.forEach((s, k) => {
			if (k !== at && s.end - s.begin <= least)
				return;
			rows.push([[(k === at ? '▸ ' : '') + seconds(s.begin), () => view.stepPath(k)], duration(s.end - s.begin), percent(s.end - s.begin, to - from),
				model.nameOf(s.thread), words(s) + (s.use >= model.meta.asleep ? model.callOf(s.thread, s.begin) : ''),
				s.by >= 0 ? model.nameOf(s.by) : s.by === BY_INTERRUPT ? 'interrupt' : '']);
		});
		const table = this.table(['at', 'time', 'share', 'thread', 'state', 'by'], rows);
		table.className = 'path';
		this.clear(this.paragraph(['The critical path to ', this.thread(thread), ' ' + this.span(from, to) + ', ' + duration(to - from) + ', has '
			+ counted(segments.length, 'segment') + ' and ' + counted(segments.filter((s) => s.hop).length, 'hop') + ' to a waker or creator: '
			+ [...sums].map(([key, ns]) => duration(ns) + ' ' + key).join(', ') + '.'
			+ (rows.length < segments.length ? ' The longest ' + rows.length + ':' : '')]),
		table);
	}

	/* Time by state of each thread in a part of the time, sorted by one; the numbers are those of ovni-report why. */
	measure(t0, t1, by = 'running') {
		const { model } = this, { meta } = model, length = t1 - t0, columns = new Map(), rows = [];
		meta.threads.forEach((thread, id) => {
			if (thread.omitted)
				return;
			const sums = model.sum(id, t0, t1);
			if (!Object.keys(sums).length)
				return;
			for (const use of Object.keys(sums))
				columns.set(use, (columns.get(use) || 0) + sums[use]);
			rows.push([id, sums]);
		});
		const uses = [...columns.keys()].sort((a, b) => columns.get(b) - columns.get(a));
		rows.sort((a, b) => (b[1][by] || 0) - (a[1][by] || 0));
		const time = (ns) => duration(ns) + ' ' + percent(ns, length), cell = (ns) => ns ? time(ns) : '';
		const body = rows.slice(0, 100).map(([id, sums]) =>
			[this.thread(id), ...uses.map((use) => cell(sums[use]))]);
		body.unshift(['all ' + counted(rows.length, 'thread'), ...uses.map((use) => duration(columns.get(use)))]);
		const chosen = this.view.rowOf.get(this.view.chosenRow);
		const cpus = model.cpus.map((row) => this.cpu(row) + ' busy ' + time(model.busy(row, t0, t1)));
		this.clear(this.paragraph([duration(length) + ', ' + this.span(t0, t1)
			+ (rows.length > 100 ? '; the 100 threads with most time ' + by + ' of ' + rows.length : '')]),
		this.paragraph([cpus.join(', ')]), ...chosen && chosen.kind === 'thread' ? [this.states(chosen.id, t0, t1)] : [],
		this.table(['thread', ...uses.map((use) => [use + (use === by ? ' ▾' : ''), () => this.measure(t0, t1, use)])], body));
	}

	/* Threads, functions and system calls with the text in their name, number or process. */
	search(text) {
		const { model } = this, { meta, calls } = model, wanted = text.toLowerCase(), rows = [];
		const has = (name) => name.toLowerCase().includes(wanted);
		meta.threads.forEach((thread, id) => {
			if (!thread.omitted && (has(thread.name) || thread.tid === text || thread.pid === text))
				rows.push([this.thread(id), 'thread', counted(model.byThread.size(id), 'run'), duration(model.onCpu[id])]);
		});
		const hits = new Map(); /* by the number of a call + 1, ~ the number of a function */
		const hit = (id, name, kind, noun, what, ns) => {
			const total = hits.get(id) || { name, kind, noun, n: 0, sum: 0, most: -1 };
			total.n++;
			total.sum += ns;
			hits.set(id, ns > total.most ? Object.assign(total, { what, most: ns }) : total);
		};
		const idsOf = (names, first) => new Set(names.map((name, id) => has(name) ? id + first : -1).filter((id) => id >= 0));
		const functions = idsOf(meta.functions.map(({ label }) => label), 0);
		for (let i = 0; i < calls.n && functions.size; i++)
			if (functions.has(calls.what[i])) {
				const { label, title } = meta.functions[calls.what[i]];
				hit(~calls.what[i], label, title, 'call', { kind: 'call', i }, calls.end[i] - calls.begin[i]);
			}
		model.eachSleep(idsOf(meta.sleep_calls, 1), (id, thread, use, begin, end) =>
			hit(id, meta.sleep_calls[id - 1], 'sleeps in a system call', 'sleep', { kind: 'stay', thread, use, begin, end }, end - begin));
		for (const { name, kind, noun, n, sum, what } of [...hits.values()].sort((a, b) => b.sum - a.sum))
			rows.push([[cut(shown(name)), () => this.view.choose(what, true)], cut(shown(kind)), counted(n, noun), duration(sum)]);
		this.clear(this.paragraph([rows.length + ' found for "' + cut(shown(text)) + '"'
			+ (rows.length > 200 ? '; the first 200' : '')]),
		this.table(['name', 'kind', 'number', 'time'], rows.slice(0, 200)));
		return rows.length;
	}
}
