/*
 * view: rows, the part of the time in sight, selection, the link. `window.view` is for tests and for the console:
 *
 *   view.ready            all data are read and drawn
 *   view.state()          {t0, t1, rows, chosen, chosenRow, marks, damaged, runs, frames}
 *   view.sum(row, t0, t1) ns of each use of a thread row ("t4713"), busy ns of a CPU row ("c0")
 *   view.show(t0, t1)     shows a part of the time, in ns
 */
const DEPTHS_SHOWN = 40; /* of nested calls */
const VALUES_SHOWN = 8; /* more are those of calls (--api mpi-messages), whose sentences have them */
const CPUS_OPEN = 32; /* with more CPUs, the threads stand first in sight */

class View {
	constructor(model) {
		this.model = model;
		this.meta = model.meta;
		this.painter = new Painter(model);
		this.panel = new Panel(this);
		for (const [name, id] of Object.entries({ main: 'main', names: 'rows', bars: 'bars', axisCanvas: 'axis', overview: 'overview' }))
			this[name] = document.getElementById(id);
		this.end = Math.max(this.meta.end, 1);
		this.t0 = 0;
		this.t1 = this.end;
		this.marks = [];
		this.hidden = new Set();
		this.pinned = [];
		this.closed = new Set();
		this.order = 0;
		this.frames = [];
		this.ready = false;
		this.damaged = 0;
		this.pointer = { x: 400, y: 40 };
		this.held = new Set();
		this.setTheme(matchMedia('(prefers-color-scheme: dark)').matches);
		const name = document.getElementById('name');
		name.textContent = cut(shown(this.meta.name));
		name.title = shown(this.meta.name);
		document.title = name.textContent + ' — ovni trace';
		this.facts();
	}

	facts() {
		const { meta } = this, parts = [], { looms } = meta;
		const used = this.model.cpus.length, all = this.model.overviewCpus().length;
		parts.push(looms.length > 3 ? looms.length + ' looms' : looms.map((loom) => cut(shown(loom), 32)).join(', '));
		if (meta.wall)
			parts.push(new Date(Number(BigInt(meta.wall.ns) / 1000000n) + meta.wall.utc_offset * 1000).toISOString()
				.replace('T', ' ').slice(0, 19));
		parts.push(duration(meta.end), all > used ? used + ' of ' + counted(all, 'CPU') + ' used' : counted(used, 'CPU'),
			counted(meta.threads.length, 'thread'), counted(meta.counts.runs, 'run'));
		if (meta.detail.first > 0 || meta.detail.last < meta.end)
			parts.push('detail ' + seconds(meta.detail.first) + ' to ' + seconds(meta.detail.last) + ' s');
		document.getElementById('facts').textContent = parts.filter((part) => part).join(' · ');
	}

	/* What is missing, in the header; repairs are not missing. */
	status() {
		const { meta } = this, node = document.getElementById('state');
		const parts = [meta.damaged && 'THE TRACE IS DAMAGED: the page ends where the damage begins',
			this.damaged && counted(this.damaged, 'block') + ' of the page damaged',
			meta.incomplete && 'INCOMPLETE: ' + meta.incomplete, /* names the number of lost events */
			meta.detail.full && 'the detail ends at ' + seconds(meta.detail.last) + ' s (--limit)'].filter((part) => part);
		node.classList.toggle('bad', parts.length > 0);
		if (!parts.length)
			parts.push('complete');
		if (meta.repairs !== '0')
			parts.push(counted(Number(meta.repairs), 'repair') + ' of switches that the kernel did not report'
				+ (meta.lost === '0' ? '' : ', or whose records were lost'));
		node.textContent = '· ' + parts.join(' · ');
	}

	setTheme(dark) {
		this.dark = dark;
		document.documentElement.classList.toggle('dark', dark);
		this.painter.setTheme(dark);
		this.legend();
		this.redraw();
	}

	legend() {
		const node = document.getElementById('legend');
		node.replaceChildren(...CLASSES.map((name, state) => {
			const colour = this.painter.colours[state], hatch = { [UNKNOWN]: -45, [REPAIRED]: 45 }[state];
			return swatch(hatch ? 'repeating-linear-gradient(' + hatch + 'deg, ' + colour + ' 0 2px, transparent 2px 5px)' : colour,
				name + ({ [RUNNABLE]: ': waits for a CPU', [UNKNOWN]: ' or lost' }[state] || ''), THIN.includes(state) ? 'thin' : '');
		}));
		node.append('CPU rows: colour by thread, height by use');
	}

	/* ---- rows ---- */

	buildRows() {
		const { meta, model } = this;
		this.all = [];
		this.rowOf = new Map();
		const several = meta.looms.length > 1, seen = new Map(), anyRank = meta.threads.some((thread) => thread.rank !== undefined);
		const key = (loom, name) => several ? 'n' + loom + '/' + name : name;
		const byTime = (a, b) => model.onCpu[b] - model.onCpu[a] || a - b;
		const byName = (a, b) => meta.threads[a].name < meta.threads[b].name ? -1 : meta.threads[a].name > meta.threads[b].name ? 1 : a - b;
		const byTid = (a, b) => Number(meta.threads[a].tid) - Number(meta.threads[b].tid) || a - b;
		const compare = [byTime, byName, byTid][this.order];
		const { cpus } = model;
		this.all.push({ kind: 'head', id: 'cpus', label: cpus.length > CPUS_OPEN ? cpus.length + ' CPUs' : 'CPUs' });
		if (cpus.length > CPUS_OPEN && !this.names.style.height)
			this.closed.add('cpus');
		for (const id of cpus)
			this.all.push({ kind: 'cpu', id, group: 'cpus', label: this.panel.cpu(id),
				key: key(meta.cpus[id].loom, 'c' + meta.cpus[id].cpu) });
		this.all.push({ kind: 'count', id: 'runnable', group: 'cpus', key: 'runnable', label: 'threads that wait for a CPU' });
		const processes = grouped(meta.threads.map((thread, id) => ({ ...thread, id })).filter(({ omitted }) => !omitted), ({ loom, pid }) => loom + ' ' + pid);
		const groups = [...processes].map(([id, list]) => ({ id, name: (list.find(({ tid, pid }) => tid === pid) || list[0]).name, pid: list[0].pid,
			rank: (list.find(({ rank }) => rank !== undefined) || {}).rank, last: model.accelerators.has(list[0].loom) ? 1 : 0,
			threads: list.map((thread) => thread.id).sort(compare), sum: list.reduce((sum, thread) => sum + model.onCpu[thread.id], 0) }));
		const rankOf = (group) => group.rank === undefined ? Infinity : Number(group.rank);
		groups.sort((a, b) => a.last !== b.last ? a.last - b.last : this.order ? compare(a.threads[0], b.threads[0])
			: anyRank && rankOf(a) !== rankOf(b) ? rankOf(a) - rankOf(b) : b.sum - a.sum || a.threads[0] - b.threads[0]);
		for (const group of groups) {
			const many = group.threads.length > 1;
			if (many)
				this.all.push({ kind: 'head', id: group.id, label: (group.last ? this.accelerator(group) : group.rank === undefined ? cut(shown(group.name)) + ' (' + group.pid + ')'
					: 'rank ' + group.rank + ' · ' + cut(shown(group.name))) + ' · ' + counted(group.threads.length, group.last ? 'part' : 'thread'),
				title: shown(group.name) + ' (' + group.pid + ')' });
			for (const id of group.threads) {
				const calls = model.linesOf.get(id) || [];
				const values = (model.valueLinesOf.get(id) || []).filter(({ type, least, most }) => least < most || !PRIORITY.includes(model.titleOf(type)));
				const thread = meta.threads[id], name = key(thread.loom, 't' + thread.tid), n = (seen.get(name) || 0) + 1;
				seen.set(name, n);
				this.all.push({ kind: 'thread', id, group: many ? group.id : '', process: group.id, key: n > 1 ? name + '.' + n : name,
					label: (many || thread.rank === undefined ? '' : 'rank ' + thread.rank + ' · ') + model.nameOf(id),
					title: thread.name ? shown(thread.name) + ' (' + thread.tid + ')' : thread.tid,
					deeper: Math.max(0, calls.length - DEPTHS_SHOWN),
					lines: [...calls.slice(0, DEPTHS_SHOWN), ...values.filter(({ type }) => values.length <= VALUES_SHOWN || PRIORITY.includes(model.titleOf(type)))] });
			}
		}
		for (const row of this.all)
			if (row.key)
				this.rowOf.set(row.key, row);
		this.layout();
	}

	/* "accelerator NAME, core 1": a process is a core (loom.md 9.1). */
	accelerator({ threads: [id], pid }) {
		const { loom, name } = this.meta.threads[id], core = /^core \d+/.exec(name);
		return 'accelerator ' + cut(shown(this.meta.looms[loom].replace(/^loomsim\./, '')), 24) + ', ' + (core ? core[0] : pid);
	}

	layout() {
		let y = 0;
		const put = (row) => {
			row.y = y;
			row.height = row.kind === 'count' ? COUNT : ROW + (row.lines && row.lines.length ? row.lines.length * LINE + 2 : 0);
			y += row.height;
			return row;
		};
		const pinned = this.pinned.map((key) => this.rowOf.get(key)).filter((row) => row);
		const rest = this.all.filter((row) => !pinned.includes(row) && (this.path && (row.kind === 'thread' || row.kind === 'head' && row.id !== 'cpus')
			? this.path.rows.has(row) : !this.hidden.has(row.key) && !this.closed.has(row.group) && (!this.only || row.kind === 'cpu' || row.id === 'cpus' || row.id === this.only || row.process === this.only)));
		this.rows = [...pinned, ...rest].map(put);
		this.rowAs = new Map(this.rows.map((row) => [row.kind + row.id, row]));
		this.names.style.height = y + 'px';
		this.redraw();
	}

	visible() {
		const { rows } = this, top = this.main.scrollTop, bottom = top + this.height;
		return rows.slice(firstOf(rows.length, (k) => rows[k].y + rows[k].height <= top), firstOf(rows.length, (k) => rows[k].y < bottom));
	}

	chooseRow(kind, id) {
		this.takeRow(this.all.find((r) => r.kind === (kind === 't' ? 'thread' : 'cpu') && r.id === id));
	}

	takeRow(row) {
		if (!row)
			return;
		this.reveal(row);
		this.chosenRow = row.key;
		if (row.kind === 'thread')
			this.hit = { kind: 'thread', id: row.id };
		this.redraw();
		this.link();
	}

	/* Selects the row above or below. */
	stepRow(by) {
		const rows = this.rows.filter((row) => row.key), at = rows.findIndex((row) => row.key === this.chosenRow);
		this.choose(undefined);
		this.takeRow(rows[at < 0 ? 0 : Math.min(Math.max(at + by, 0), rows.length - 1)]);
	}

	reveal(row) {
		if (!this.rows.includes(row)) {
			this.hidden.delete(row.key);
			this.closed.delete(row.group);
			this.only = undefined;
			this.layout();
		}
		const height = this.main.clientHeight; /* the panel may just have taken some of it */
		if (row.y < this.main.scrollTop || row.y + row.height > this.main.scrollTop + height)
			this.main.scrollTop = Math.max(0, row.y - height / 2);
	}

	/* Shows the critical path of a thread, without the rows of other threads: of the selected thread between the
	 * marks, to the end of the selection, or to that of its life. */
	showPath(given) {
		const { chosen, model, marks, meta } = this, row = given ? given.row : this.rowOf.get(this.chosenRow);
		if (!row || row.kind !== 'thread') {
			this.panel.clear(element('p', 'Select a thread, or a run or a wait of it: c shows why it came to its end no sooner.'));
			return;
		}
		const life = stayBefore(model, row.id, Infinity), span = chosen && chosen.kind !== 'blank' && chosen.kind !== 'outside' && this.extent(chosen);
		let [from, to] = given ? given.times : marks.length === 2 ? [Math.min(...marks), Math.max(...marks)]
			: [meta.detail.first, span ? span.end : Infinity];
		to = Math.min(to, life ? life.end : 0);
		if (!(to > from)) {
			this.panel.clear(element('p', 'This thread has no time there.'));
			return;
		}
		const segments = criticalPath(model, row.id, from, to), threads = new Set(segments.map((s) => s.thread));
		const rows = new Set(this.all.filter((r) => r.kind === 'thread' && threads.has(r.id)));
		const processes = new Set(Array.from(rows, (r) => r.group));
		this.all.forEach((r) => r.kind === 'head' && processes.has(r.id) && rows.add(r));
		this.path = { thread: row.id, key: row.key, from, to, segments, rows, at: segments.length - 1 };
		this.layout();
		this.reveal(row);
		this.panel.path();
		this.link();
	}

	/* Goes to a segment of the path. */
	stepPath(k) {
		const { path } = this, { thread, begin, end } = path.segments[path.at = Math.min(Math.max(k, 0), path.segments.length - 1)];
		this.chooseRow('t', thread);
		if (begin > this.t1 || end < this.t0)
			this.show(begin - (this.t1 - this.t0) / 2, begin + (this.t1 - this.t0) / 2);
		this.panel.path();
	}

	/* ---- time ---- */

	get scale() {
		return this.width / (this.t1 - this.t0);
	}

	timeAt(x) {
		return this.t0 + (x - LEFT) / this.scale;
	}

	xOf(t) {
		return LEFT + (t - this.t0) * this.scale;
	}

	show(t0, t1) {
		const least = 20, span = Math.min(Math.max(t1 - t0, least), this.end * 1.1 + least);
		const middle = (t0 + t1) / 2;
		this.t0 = Math.min(Math.max(middle - span / 2, -this.end * 0.05), this.end * 1.05 - span * 0.5);
		this.t1 = this.t0 + span;
		this.redraw();
		this.link();
	}

	zoom(factor, x) {
		const t = this.timeAt(Math.max(x, LEFT));
		this.show(t - (t - this.t0) * factor, t + (this.t1 - t) * factor);
	}

	pan(share) {
		const by = (this.t1 - this.t0) * share;
		this.show(this.t0 + by, this.t1 + by);
	}

	/* ---- drawing ---- */

	resize(ratio = devicePixelRatio || 1) {
		const total = this.main.clientWidth;
		this.height = this.main.clientHeight;
		this.width = Math.max(total - LEFT, 10);
		for (const [canvas, height, size] of [[this.bars, this.height, 10], [this.axisCanvas, 26, 11], [this.overview, 54, 11]]) {
			canvas.width = Math.round(total * ratio);
			canvas.height = Math.round(height * ratio);
			canvas.style.width = total + 'px';
			canvas.style.height = height + 'px';
			const context = canvas.getContext('2d');
			context.setTransform(ratio, 0, 0, ratio, 0, 0);
			Object.assign(context, { font: fontOf(size), textBaseline: 'middle' });
		}
		this.painter.resize(Math.floor(this.width));
		this.redraw();
	}

	/* Paper is light, and as high as the rows in sight need; or back to the window. */
	print(paper) {
		const timeline = document.getElementById('timeline'), last = this.rows[this.rows.length - 1];
		if (paper)
			this.onScreen = this.dark;
		document.documentElement.classList.toggle('print', paper);
		timeline.style.height = paper ? Math.min(last.y + last.height + 84, 880) + 'px' : '';
		this.setTheme(paper ? false : this.onScreen);
		this.resize(paper ? 2 : undefined);
		this.draw();
	}

	redraw() {
		if (this.pending || !this.ready)
			return;
		this.pending = true;
		requestAnimationFrame(() => {
			this.pending = false;
			const begin = performance.now();
			this.draw();
			this.frames.push(performance.now() - begin);
			if (this.frames.length > 200)
				this.frames.shift();
		});
	}

	draw() {
		const { painter } = this, context = this.bars.getContext('2d'), scale = this.scale, top = this.main.scrollTop;
		const total = LEFT + this.width, rows = this.visible().map((row) => ({ ...row, y: row.y - top }));
		context.fillStyle = painter.paper;
		context.fillRect(0, 0, total, this.height);
		context.fillStyle = painter.line;
		for (const [from, to] of [[0, this.meta.detail.first], [this.meta.detail.last, this.meta.end]]) /* without detail */
			context.fillRect(LEFT + (from - this.t0) * scale, 0, (to - from) * scale, this.height);
		for (const row of rows)
			context.fillRect(0, row.y + row.height - 1, total, 0.5);
		const chosen = this.rowOf.get(this.chosenRow);
		painter.paint(context, rows, this.t0, scale, LEFT, chosen && chosen.kind === 'thread' ? chosen.id : undefined);
		for (const row of rows)
			(row.lines || []).forEach((line, k) => line.type === undefined
				? painter.paintCalls(context, line.line, this.t0, scale, LEFT, row.y + ROW + k * LINE)
				: painter.paintValues(context, line, this.t0, scale, LEFT, row.y + ROW + k * LINE));
		for (const row of rows)
			if (row.kind === 'count')
				this.most = painter.paintCount(context, this.t0, scale, LEFT, row.y, row.height);
		this.drawGaps(context, rows);
		this.drawMarks(context);
		if (this.path)
			this.drawPath(context, rows);
		this.drawChosen(context);
		this.drawNames(context, rows);
		for (const row of rows)
			if (row.key !== undefined && row.key === this.chosenRow) {
				context.fillStyle = painter.mark;
				context.fillRect(0, row.y, total, 1);
				context.fillRect(0, row.y + row.height - 1, total, 1);
			}
		const axis = this.axisCanvas.getContext('2d');
		axis.fillStyle = painter.paper;
		axis.fillRect(0, 0, total, 26);
		this.step = painter.axis(axis, this.t0, scale, LEFT, 26);
		this.drawOverview();
		if (this.playback)
			this.playback.draw();
	}

	drawNames(context, rows) {
		const { painter } = this;
		context.fillStyle = painter.paper;
		context.fillRect(0, 0, LEFT, this.height);
		context.fillStyle = painter.dim;
		for (const row of rows) {
			if (row.kind === 'count')
				context.fillText('at most ' + this.most.toFixed(1) + ' in sight', 10, row.y + ROW + 5);
			if (row.deeper)
				context.fillText('and ' + row.deeper + ' deeper', 22, row.y + ROW + DEPTHS_SHOWN * LINE - LINE / 2 - 1);
			(row.lines || []).forEach((line, k) => line.type !== undefined
				&& context.fillText(cut(this.model.titleOf(line.type), 36), 22, row.y + ROW + k * LINE + LINE / 2 - 1, LEFT - 30));
		}
		/* real text, to be selected, copied and read aloud, above the canvas */
		const before = this.labels || new Map();
		this.labels = new Map();
		for (const row of rows) {
			const key = row.kind + ' ' + row.id, node = before.get(key) || this.names.appendChild(this.nameOf(row));
			this.labels.set(key, node);
			node.style.top = row.y + this.main.scrollTop + 'px';
			node.classList.toggle('chosen', row.key !== undefined && row.key === this.chosenRow);
			const text = row.kind === 'head' ? (this.closed.has(row.id) ? '▸ ' : '▾ ') + row.label : row.label;
			if (node.textContent !== text)
				node.textContent = text;
		}
		before.forEach((node, key) => this.labels.has(key) || node.remove());
	}

	nameOf({ kind, id, label, title }) {
		const node = element('div', label, 'row ' + kind);
		node.title = title || label;
		node.addEventListener('click', () => kind === 'head' ? this.toggle(id) : this.takeRow(this.all.find((row) => row.kind === kind && row.id === id)));
		return node;
	}

	toggle(group) {
		if (!this.closed.delete(group))
			this.closed.add(group);
		this.layout();
	}

	drawGaps(context, rows) {
		const { gaps } = this.model, at = new Map(rows.map((row) => [row.kind + row.id, row]));
		for (let i = 0; i < gaps.n; i++) {
			if (gaps.end[i] < this.t0 || gaps.begin[i] > this.t1)
				continue;
			const x0 = Math.max(LEFT, this.xOf(gaps.begin[i]));
			const x1 = Math.min(LEFT + this.width, Math.max(this.xOf(gaps.end[i]), x0 + 2));
			for (const row of [at.get('cpu' + gaps.what[i]), at.get('thread' + gaps.thread[i])])
				if (row)
					this.painter.hatch(context, x0, row.y + 1, x1 - x0, ROW - 2);
		}
	}

	drawMarks(context) {
		const xs = this.marks.map((t) => this.xOf(t));
		context.fillStyle = this.painter.mark;
		xs.forEach((x) => context.fillRect(x, 0, 1, this.height));
		context.globalAlpha = 0.12;
		if (xs.length === 2)
			context.fillRect(xs[0], 0, xs[1] - xs[0], this.height);
		context.globalAlpha = 1;
	}

	/* Pales all of the threads but the critical path, and joins its segments. */
	drawPath(context, rows) {
		const { segments, at } = this.path, yOf = new Map(), painted = new Map(), hops = [];
		const xOf = (t) => Math.min(Math.max(this.xOf(t), LEFT), LEFT + this.width);
		context.beginPath();
		for (const row of rows)
			if (row.kind === 'thread') {
				context.rect(LEFT, row.y, this.width, row.height);
				yOf.set(row.id, row.y);
			}
		for (let k = firstOf(segments.length, (s) => segments[s].end <= this.t0); k < segments.length && segments[k].begin < this.t1; k++) {
			const { thread, begin, end } = segments[k], y = yOf.get(thread), x0 = Math.max(xOf(begin), painted.get(thread) || 0);
			const x1 = Math.max(xOf(end), x0 + 0.5), before = k ? yOf.get(segments[k - 1].thread) : y;
			if (y === undefined)
				continue;
			if (before !== undefined && before !== y && hops.length < 2000)
				hops.push([xOf(begin), before, y]);
			if (xOf(end) <= x0)
				continue;
			context.rect(x0, y, x1 - x0, ROW);
			painted.set(thread, x1);
		}
		context.globalAlpha = 0.75;
		context.fillStyle = this.painter.paper;
		context.fill('evenodd');
		context.globalAlpha = 1;
		context.fillStyle = context.strokeStyle = this.painter.mark;
		for (const [x, y0, y1] of hops)
			context.fillRect(x - 0.5, Math.min(y0, y1) + ROW / 2, 1.5, Math.abs(y1 - y0));
		const { thread, begin, end } = segments[at], y = yOf.get(thread);
		if (y === undefined || begin > this.t1 || end < this.t0)
			return;
		context.lineWidth = 2;
		context.strokeRect(xOf(begin) - 1, y, Math.max(xOf(end) - xOf(begin), 1) + 2, ROW);
	}

	/* The outline of the selection, and the wake-ups of a selected run. */
	drawChosen(context) {
		const what = this.chosen, { model } = this, { runs } = model;
		if (!what)
			return;
		const top = this.main.scrollTop, yOf = (kind, id) => {
			const row = this.rowAs.get(kind + id);
			return row && row.y - top;
		};
		const outline = (y, begin, end, height) => {
			if (y === undefined)
				return;
			const x0 = Math.max(LEFT - 3, this.xOf(begin)), x1 = Math.min(LEFT + this.width + 3, this.xOf(end));
			if (x1 < LEFT || x0 > LEFT + this.width)
				return;
			context.strokeStyle = this.painter.ink;
			context.lineWidth = 2;
			context.strokeRect(x0 - 1, y, Math.max(x1 - x0, 1) + 2, height);
		};
		if (['call', 'value', 'count', 'blank', 'outside'].includes(what.kind))
			return;
		const { begin, end, thread, cpu } = this.extent(what);
		outline(yOf('thread', thread), begin, end, ROW);
		outline(yOf('cpu', cpu), begin, end, ROW);
		const owner = what.kind === 'stay' ? model.detailOf(thread, begin, OF_OWNER) : undefined;
		if (what.kind !== 'run' && owner === undefined)
			return;
		context.save();
		context.beginPath();
		context.rect(LEFT, 0, this.width, this.height);
		context.clip();
		context.font = fontOf(11);
		/* of a row that is out of sight or hidden, the name */
		const arrow = (from, to, t) => {
			const [y0, y1] = [from, to].map((actor) => yOf('thread', actor)), x = this.xOf(t), near = y0 === undefined ? y1 : y0;
			if (near === undefined)
				return;
			this.painter.arrow(context, x, y0 === undefined ? y1 - ROW : y0 + ROW / 2, x, y1 === undefined ? y0 - ROW : y1 + ROW / 2);
			for (const [actor, own] of [[from, y0], [to, y1]])
				if (own === undefined || own < -ROW || own > this.height)
					context.fillText(model.nameOf(actor), x + 5, own === undefined ? near - ROW / 2 : own < 0 ? 8 : this.height - 8);
		};
		if (owner !== undefined) { /* it had the lock */
			arrow(owner, thread, begin);
			context.restore();
			return;
		}
		const i = model.byThread.order[what.place], wake = model.since(what.place), y = yOf('thread', thread);
		if (runs.waker[i] >= 0 && wake !== undefined)
			arrow(runs.waker[i], thread, wake);
		const { found, more } = model.wokenBy(runs.thread[i], runs.begin[i], runs.end[i], 200);
		for (const k of found)
			arrow(runs.thread[i], runs.thread[k], model.wokenAt[k]);
		if (more) {
			context.fillStyle = this.painter.mark;
			context.fillText('+ ' + more + ' more', this.xOf(runs.end[i]) + 6, (y || 0) + 9);
		}
		context.restore();
	}

	/* Busy CPUs (filled), runnable threads (line), losses (hatched), and the part in sight. */
	drawOverview() {
		const context = this.overview.getContext('2d'), { meta, painter } = this, height = 54, bottom = height - 3;
		const ncpus = Math.max(1, this.model.cpus.length), { busy, runnable } = meta;
		context.fillStyle = painter.paper;
		context.fillRect(0, 0, LEFT + this.width, height);
		context.fillStyle = painter.dim;
		context.fillText('busy CPUs of ' + ncpus + ' (filled)', 8, 14);
		const seen = Math.max(0, ...runnable.ns) / (runnable.width || 1), most = Math.max(1, seen); /* no width: no thread waited */
		this.mostRunnable = seen;
		context.fillText('runnable threads (line), at most ' + seen.toFixed(1), 8, 34);
		const xOf = (t) => LEFT + t / this.end * this.width;
		context.fillStyle = painter.colours[RUNNING];
		for (let i = 0; i < busy.ns.length && i * busy.width < this.end; i++) {
			const h = busy.ns[i] / busy.width / ncpus * (height - 8);
			const x0 = Math.floor(xOf(i * busy.width)), x1 = Math.ceil(xOf((i + 1) * busy.width));
			context.fillRect(x0, bottom - h, Math.max(x1 - x0, 1), h);
		}
		context.strokeStyle = painter.ink;
		context.lineWidth = 1;
		context.beginPath();
		for (let i = 0; i < runnable.ns.length && i * runnable.width < this.end; i++)
			context.lineTo(xOf((i + 0.5) * runnable.width), bottom - runnable.ns[i] / runnable.width / most * (height - 8));
		context.stroke();
		const { gaps } = this.model;
		for (let i = 0; i < gaps.n && i < 2000; i++)
			painter.hatch(context, xOf(gaps.begin[i]), 2, Math.max(xOf(gaps.end[i]) - xOf(gaps.begin[i]), 2), 10);
		context.strokeStyle = painter.mark;
		context.lineWidth = 2;
		const x0 = Math.max(LEFT, xOf(this.t0)), x1 = Math.min(LEFT + this.width, xOf(this.t1));
		context.strokeRect(x0, 1, Math.max(x1 - x0, 2), height - 3);
	}

	/* ---- under the pointer ---- */

	/* What is at a point of the canvas: {kind: run, stay, call, value, count, gap, idle, blank or outside}, or undefined. */
	at(x, y) {
		const down = y + this.main.scrollTop, row = this.visible().find((r) => down >= r.y && down < r.y + r.height);
		const { model } = this, { gaps } = model, t = this.timeAt(x), reach = 2 / this.scale;
		if (!row || x < LEFT || row.kind === 'head')
			return undefined;
		if (t >= 0 && t < this.meta.detail.first || t > this.meta.detail.last && t <= this.meta.end)
			return { kind: 'outside', [row.kind]: row.id, begin: t, end: t };
		for (let i = 0; i < gaps.n; i++)
			if (t >= gaps.begin[i] - reach && t < gaps.end[i] + reach && (row.kind === 'cpu' ? gaps.what[i] : gaps.thread[i]) === row.id)
				return { kind: 'gap', i };
		if (row.kind === 'thread' && down >= row.y + ROW) {
			const line = row.lines[Math.floor((down - row.y - ROW) / LINE)];
			return line && (line.type === undefined ? this.callAt(line.line, t, reach) : this.valueAt(line.line, t));
		}
		if (row.kind === 'count')
			return { kind: 'count', begin: t, end: t };
		if (row.kind === 'cpu')
			return this.cpuAt(row.id, t, reach);
		let found, best = Infinity;
		model.eachStay(row.id, t - reach, t + reach, (use, begin, end, i) => {
			const far = Math.max(begin - t, t - end, 0);
			if (far < best || far === best && i >= 0) {
				best = far;
				found = i >= 0 ? { kind: 'run', place: model.placeOf(i) } : { kind: 'stay', thread: row.id, use, begin, end };
			}
		});
		return found || (t >= 0 && t <= this.end ? { kind: 'blank', thread: row.id, begin: t, end: t } : undefined);
	}

	callAt(line, t, reach) {
		const { calls, callLines } = this.model, i = callLines.order[callLines.last(line, t + reach - 1)];
		return calls.end[i] >= t - reach ? { kind: 'call', i } : undefined;
	}

	valueAt(line, t) {
		const { model: { points, values }, model } = this, place = values.last(line, t), i = values.order[place];
		const end = place < 0 ? -Infinity : model.valueEnd(line, place);
		return t <= end ? { kind: 'value', i, begin: points.begin[i], end, thread: points.thread[i] } : undefined;
	}

	cpuAt(cpu, t, reach) {
		const { model } = this, { runs, byCpu } = model;
		let found, best = Infinity;
		model.eachRun(cpu, t - reach, t + reach, (i) => {
			const far = Math.max(runs.begin[i] - t, t - runs.end[i], 0);
			found = far < best ? i : found;
			best = Math.min(far, best);
		});
		if (found !== undefined)
			return { kind: 'run', place: model.placeOf(found) };
		const at = byCpu.place(cpu, t);
		const begin = at > byCpu.first[cpu] ? runs.end[byCpu.order[at - 1]] : 0;
		const end = at < byCpu.first[cpu + 1] ? runs.begin[byCpu.order[at]] : this.end;
		return { kind: 'idle', cpu, begin, end };
	}

	extent(what) {
		const { model } = this, { runs, calls, gaps } = model;
		if (what.kind === 'run') {
			const i = model.byThread.order[what.place];
			return { begin: runs.begin[i], end: runs.end[i], thread: runs.thread[i], cpu: runs.cpu[i] };
		}
		if (what.kind === 'call')
			return { begin: calls.begin[what.i], end: calls.end[what.i], thread: calls.thread[what.i] };
		if (what.kind === 'gap')
			return { begin: gaps.begin[what.i], end: gaps.end[what.i], thread: gaps.thread[what.i], cpu: gaps.what[what.i] };
		return what;
	}

	/* Selects it; `go`: brings its row and its time into sight. */
	choose(what, go) {
		this.chosen = what;
		if (!what) {
			this.panel.clear();
			this.redraw();
			return;
		}
		const { begin, end, thread, cpu } = this.extent(what);
		const [kind, id] = what.kind === 'count' ? ['count', 'runnable'] : thread !== undefined ? ['thread', thread] : ['cpu', cpu];
		const row = this.all.find((r) => r.kind === kind && r.id === id);
		this.chosenRow = row && row.key;
		this.panel.show(what);
		if (row)
			this.reveal(row);
		if (go && (begin > this.t1 || end < this.t0 || end - begin > 2 * (this.t1 - this.t0)))
			this.show(begin - (this.t1 - this.t0) / 2, begin + (this.t1 - this.t0) / 2);
		this.redraw();
		this.link();
	}

	/* Goes from the selected run: b waker, t next run on the CPU, o and O next and previous run. */
	follow(key) {
		const { model } = this, { runs, byThread, byCpu } = model, what = this.chosen;
		if (!what || what.kind !== 'run' && what.kind !== 'stay')
			return;
		const { thread, end } = this.extent(what), first = byThread.first[thread], last = byThread.first[thread + 1] - 1;
		/* of a stay: the run after it, or the last one */
		const place = what.kind === 'run' ? what.place : Math.min(byThread.place(thread, end), last), i = byThread.order[place];
		let to = -1;
		if (last < first)
			return;
		if (key === 'o')
			to = what.kind === 'run' ? place + 1 : place;
		else if (key === 'O')
			to = what.kind === 'run' ? place - 1 : byThread.place(thread, what.begin) - 1;
		else if (key === 'b' && runs.waker[i] >= 0 && runs.waker[i] < this.meta.threads.length)
			to = model.byThread.last(runs.waker[i], model.since(place));
		else if (key === 't' && byCpu.place(runs.cpu[i], runs.end[i]) < byCpu.first[runs.cpu[i] + 1])
			to = model.placeOf(byCpu.order[byCpu.place(runs.cpu[i], runs.end[i])]);
		if (to >= 0 && (key === 'b' || key === 't' || to >= first && to <= last))
			this.choose({ kind: 'run', place: to }, true);
	}

	measure(t0, t1) {
		const round = (t) => Math.min(Math.max(Math.round(t), 0), this.end);
		this.marks = [round(Math.min(t0, t1)), round(Math.max(t0, t1))];
		this.panel.measure(...this.marks);
		this.redraw();
		this.link();
	}

	/* ---- the link ---- */

	link() {
		clearTimeout(this.linking);
		this.linking = setTimeout(() => {
			const parts = ['t=' + seconds(this.t0) + ',' + seconds(this.t1)];
			if (this.chosenRow)
				parts.push('row=' + this.chosenRow);
			if (this.chosen)
				parts.push('sel=' + seconds(this.extent(this.chosen).begin));
			if (this.marks.length)
				parts.push('m=' + this.marks.map(seconds).join(','));
			if (this.path)
				parts.push('path=' + [this.path.key, seconds(this.path.from), seconds(this.path.to)].join(','));
			if (this.pinned.length)
				parts.push('pin=' + this.pinned.join(','));
			if (this.playback && !this.playback.panel.hidden)
				parts.push('play=' + seconds(Math.floor(this.playback.at)));
			this.linked = '#' + parts.join('&');
			history.replaceState(null, '', this.linked);
		}, 300);
	}

	/* Obeys a link; unknown keys are ignored, bad values are said. */
	obey(hash) {
		const wrong = [];
		const keys = new Map(hash.replace(/^#/, '').split('&').filter((part) => part).map((part) => {
			const at = part.indexOf('=');
			return at < 0 ? [part, ''] : [part.slice(0, at), decodeURIComponent(part.slice(at + 1))];
		}));
		const times = (key, n) => {
			const list = keys.has(key) ? keys.get(key).split(',').map(parseSeconds) : [];
			if (list.length && (list.length > n || list.some(Number.isNaN)))
				wrong.push(key + '=' + shown(keys.get(key)));
			else
				return list;
			return [];
		};
		const t = times('t', 2), marks = times('m', 2), sel = times('sel', 1), [play] = times('play', 1), row = this.rowOf.get(keys.get('row'));
		if (keys.has('row') && !row)
			wrong.push('row=' + shown(keys.get('row')));
		if (keys.has('pin')) {
			this.pinned = keys.get('pin').split(',').filter((key) => this.rowOf.has(key));
			this.layout();
		}
		if (t.length === 2 && t[1] > t[0])
			this.show(t[0], t[1]);
		if (row) {
			this.reveal(row);
			this.chosenRow = row.key;
			this.redraw();
		}
		if (marks.length === 2)
			this.measure(...marks);
		if (row && sel.length) {
			const place = row.kind === 'thread' ? this.model.byThread.last(row.id, sel[0]) : -1;
			const i = place < 0 ? -1 : this.model.byThread.order[place];
			if (i >= 0 && this.model.runs.end[i] > sel[0])
				this.choose({ kind: 'run', place });
			else if (row.kind === 'thread')
				this.model.eachStay(row.id, sel[0], sel[0] + 1, (use, begin, end) =>
					this.choose({ kind: 'stay', thread: row.id, use, begin, end }));
		}
		if (keys.has('path')) {
			const [key, ...ends] = keys.get('path').split(','), given = { row: this.rowOf.get(key), times: ends.map(parseSeconds) };
			if (given.row && given.times.length === 2 && !given.times.some(Number.isNaN))
				this.showPath(given);
			else
				wrong.push('path=' + shown(keys.get('path')));
		}
		if (this.playback && play !== undefined)
			this.playback.go(play);
		if (wrong.length)
			this.panel.clear(element('p', 'The link has values that this page does not have: ' + wrong.join(', ')));
	}

	/* ---- for tests and the console ---- */

	state() {
		return { t0: this.t0, t1: this.t1, rows: this.rows.length, chosen: this.chosen, chosenRow: this.chosenRow, marks: this.marks,
			damaged: this.damaged, runs: this.model.runs.n, frames: this.frames.slice(), left: LEFT };
	}

	sum(key, t0, t1) {
		const row = this.rowOf.get(key);
		if (!row)
			throw new RangeError('no row ' + key);
		if (row.kind === 'count') {
			let waiting = 0;
			this.meta.threads.forEach((thread, id) => this.model.eachStay(id, t0, t1, (use, begin, end) => {
				if (this.model.waiting[use])
					waiting += Math.min(end, t1) - Math.max(begin, t0);
			}));
			return { waiting };
		}
		return row.kind === 'cpu' ? { busy: this.model.busy(row.id, t0, t1) } : this.model.sum(row.id, t0, t1);
	}
}
