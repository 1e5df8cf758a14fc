/*
 * playback: the nodes of accelerators as cells at their places, in the states of one moment: that of the playhead, which
 * goes through the time (loom.md 9.3 and 9.6). Only pages with such nodes have it, as `view.playback`.
 *
 * In: the marks "node state" and "route" of the nodes, their places and inputs; out: a panel beside the timeline.
 */
const STATE_TYPE = 93, ROUTE_TYPE = 94, NO_ROUTE = 65536, SPEEDS = [0.125, 0.25, 0.5, 1, 2, 4, 8];
const PLAY_TIME = 10, CELL_MOST = 64; /* s of the part in sight; pixels */
/* The states by their values, with their colours; those without one are pale. */
const NODE_STATES = [['not known'], ['outside invocation'], ['idle', ASLEEP], ['fire', RUNNING], ['route', IO],
	['stalled on input', BLOCKED], ['stalled on output', RUNNABLE], ['error', THROTTLED]];

class Playback {
	constructor(view) {
		const { model, meta: { threads } } = this.view = view, { values: { first, order }, points } = model;
		this.nodes = threads.map((thread, id) => ({ ...thread, id, lines: new Map((model.valueLinesOf.get(id) || []).map(({ line, type }) => [type, line])) }))
			.filter(({ node, lane, omitted }) => node !== undefined && lane === undefined && !omitted).sort((a, b) => a.node - b.node);
		const lines = this.nodes.map((node) => node.lines.get(STATE_TYPE)).filter((line) => line !== undefined);
		this.begin = lines.reduce((t, line) => Math.min(t, points.begin[order[first[line]]]), view.end);
		this.end = lines.reduce((t, line) => Math.max(t, model.valueEnd(line, first[line + 1] - 1)), this.begin);
		this.at = this.begin;
		this.build();
	}

	build() {
		const make = (tag, text, more) => Object.assign(element(tag, text), more), button = (text, title, onclick) => make('button', text, { title, onclick });
		const keys = { g: () => this.toggle(), ' ': () => this.play(), ',': () => this.step(-1), '.': () => this.step(1) };
		this.panel = make('aside', '', { id: 'playback', hidden: true });
		this.player = button('▶', 'play or pause (Space)', keys[' ']);
		this.speed = make('select', '', { title: 'speed: × 1 plays the part in sight in ' + PLAY_TIME + ' s' });
		this.speed.append(...SPEEDS.map((speed) => new Option('× ' + speed, speed, speed === 1, speed === 1)));
		this.slider = make('input', '', { type: 'range', min: this.begin, max: this.end, step: 'any', value: this.begin, title: 'time', oninput: () => this.go(Number(this.slider.value)) });
		this.clock = element('p');
		this.legend = element('p');
		this.cores = [...grouped(this.nodes, ({ loom, core }) => loom + ' ' + core).values()].map((nodes) => this.layOut(nodes));
		this.panel.append(this.player, button('◂', 'previous change of a node (,)', keys[',']), button('▸', 'next change of a node (.)', keys['.']),
			this.speed, this.slider, this.clock, this.legend, ...this.cores.flatMap(({ parts }) => parts));
		document.getElementById('findings').before(this.panel);
		document.getElementById('side').before(button('accelerator', 'the nodes of the accelerator, played back (g)', keys.g), ' ');
		KEYS.push(['g, Space', 'the nodes of the accelerator at the playhead; play or pause'], [', .', 'previous and next change of a node']);
		Object.entries(keys).forEach((entry) => ACTIONS.set(...entry));
	}

	/* The cells of a core at the places of the mapping; nodes without one follow below, by number. */
	layOut(nodes) {
		const free = nodes.filter(({ x }) => x === undefined), given = nodes.filter(({ x }) => x !== undefined).sort((a, b) => a.x - b.x);
		let step = Infinity, bottom = -Infinity; /* the smallest distance of two places; of many, those at the left tell it */
		given.forEach(({ x, y }, i) => {
			for (let k = i + 1; i < 1000 && k < given.length && given[k].x - x < step; k++)
				step = Math.min(step, Math.max(given[k].x - x, Math.abs(given[k].y - y)) || step);
			bottom = Math.max(bottom, y);
		});
		step = step < Infinity ? step : 1;
		const columns = Math.ceil(Math.sqrt(free.length)), [left, top] = given.length ? [given[0].x, bottom + step] : [0, 0];
		free.forEach((node, i) => Object.assign(node, { x: left + i % columns * step, y: top + Math.floor(i / columns) * step }));
		const [x0, y0, x1, y1] = nodes.reduce((box, { x, y }) => [Math.min(box[0], x), Math.min(box[1], y), Math.max(box[2], x + step), Math.max(box[3], y + step)],
			[Infinity, Infinity, -Infinity, -Infinity]);
		const grid = element('div', '', 'grid'), arrows = grid.appendChild(element('canvas')), percents = (part, whole) => 100 * part / whole + '%';
		Object.assign(grid.style, { aspectRatio: (x1 - x0) / (y1 - y0), maxWidth: (x1 - x0) / step * CELL_MOST + 'px' });
		for (const list of grouped(nodes, ({ x, y }) => x + ' ' + y).values()) /* nodes of one place share it */
			list.forEach((node, i) => {
				node.cell = grid.appendChild(element('button', (x1 - x0) / step > 16 ? '' : String(node.node)));
				node.cell.addEventListener('click', () => this.view.chooseRow('t', node.id));
				Object.assign(node.cell.style, { left: percents(node.x - x0 + i * step / list.length, x1 - x0), top: percents(node.y - y0, y1 - y0),
					width: percents(0.94 * step / list.length, x1 - x0), height: percents(0.94 * step, y1 - y0) });
			});
		const note = !given.length ? 'no mapping: the nodes by number' : 'places of the mapping' + (free.length ? '; below them ' + counted(free.length, 'node') + ' without one' : '');
		return { nodes, arrows, byNumber: new Map(nodes.map((node) => [node.node, node])),
			parts: [element('h2', this.view.accelerator({ threads: [nodes[0].id], pid: nodes[0].pid })), element('p', note), grid] };
	}

	/* Shows or hides the panel, which takes the place of the findings. */
	toggle() {
		this.panel.hidden = !this.panel.hidden;
		document.getElementById('findings').hidden = true;
		this.play(false);
		this.view.resize();
		this.view.link();
	}

	/* Moves the playhead to a time, and the part in sight so that it has it. */
	go(t) {
		const { view } = this, span = view.t1 - view.t0;
		if (this.panel.hidden)
			this.toggle();
		this.at = this.slider.value = Math.min(Math.max(t, this.begin), this.end);
		if (this.at < view.t0 || this.at > view.t1)
			view.show(this.at - span * 0.1, this.at + span * 0.9);
		view.redraw();
		view.link();
	}

	/* Goes to the next or the previous change of a node. */
	step(by) {
		const { values, points } = this.view.model, t = Math.floor(this.at), next = by > 0;
		let to = next ? this.end : this.begin;
		for (const line of this.nodes.flatMap(({ lines }) => [...lines.values()])) {
			const place = next ? values.place(line, t + 1) : values.place(line, t) - 1;
			if (place >= values.first[line] && place < values.first[line + 1])
				to = (next ? Math.min : Math.max)(to, points.begin[values.order[place]]);
		}
		this.play(false);
		this.go(to);
	}

	play(on = !this.playing) {
		let last;
		if (on && this.panel.hidden)
			this.toggle();
		const frame = (now) => {
			this.go(this.at + (now - (last || now)) * (this.view.t1 - this.view.t0) / PLAY_TIME / 1000 * this.speed.value);
			last = now;
			if (this.at >= this.end)
				this.play(false);
			else
				this.frame = requestAnimationFrame(frame);
		};
		this.playing = on;
		this.player.textContent = on ? '❚❚' : '▶';
		cancelAnimationFrame(this.frame);
		if (on && this.at >= this.end)
			this.at = this.begin;
		this.frame = on && requestAnimationFrame(frame);
	}

	/* The value of a mark of a node at the playhead; undefined: none yet, or none any more. */
	valueOf({ lines }, type) {
		const found = lines.has(type) ? this.view.valueAt(lines.get(type), Math.floor(this.at)) : undefined;
		return found && Number(this.view.model.points.values[found.i]);
	}

	/* Draws the playhead and the cells. */
	draw() {
		const { view, at, nodes } = this, { painter, model, chosenRow } = view, chosen = view.rowOf.get(chosenRow), x = view.xOf(at), t = Math.floor(at);
		if (this.panel.hidden)
			return;
		for (const [canvas, left] of [[view.bars, x], [view.axisCanvas, x], [view.overview, LEFT + at / view.end * view.width]]) {
			const context = canvas.getContext('2d');
			context.fillStyle = painter.ink;
			context.fillRect(left - 0.5, 0, left >= LEFT ? 1.5 : 0, view.height + 54);
		}
		this.cores.forEach((core) => this.drawRoutes(core)); /* first, as long as the layout is valid */
		for (const node of nodes) {
			const value = this.valueOf(node, STATE_TYPE), [name, colour] = NODE_STATES[node.state = NODE_STATES[value] ? value : 0];
			const background = painter.colours[colour] || painter.head, looks = name + background + (chosen && chosen.kind === 'thread' && chosen.id === node.id);
			if (node.looks === looks) /* most cells stay as they are */
				continue;
			Object.assign(node.cell.style, { background, color: inkOn(background) });
			node.cell.title = model.nameOf(node.id) + ': ' + name;
			node.cell.classList.toggle('chosen', looks.endsWith('true'));
			node.looks = looks;
		}
		this.clock.textContent = 'at ' + seconds(t) + ' s' + view.panel.clock(t);
		this.legend.replaceChildren(...NODE_STATES.flatMap(([name, colour], state) => {
			const n = nodes.filter((node) => node.state === state).length;
			return n ? [swatch(painter.colours[colour] || painter.head, n + ' ' + name)] : [];
		}));
	}

	/* Arrows from the drivers of the inputs that the nodes route. */
	drawRoutes({ nodes, arrows, byNumber }) {
		const context = arrows.getContext('2d'), ratio = devicePixelRatio || 1;
		arrows.width = arrows.clientWidth * ratio;
		arrows.height = arrows.clientHeight * ratio;
		context.scale(ratio, ratio);
		for (const node of nodes) {
			const value = this.valueOf(node, ROUTE_TYPE), routed = value === NO_ROUTE ? undefined : value - (value > NO_ROUTE ? 2 : 1);
			const from = byNumber.get(((node.inputs || []).find(({ input }) => input === routed) || {}).from);
			if (!from || from === node)
				continue;
			const [ax, ay, bx, by] = [from, node].flatMap(({ cell }) => [cell.offsetLeft + cell.offsetWidth / 2, cell.offsetTop + cell.offsetHeight / 2]);
			this.view.painter.arrow(context, ax + (bx - ax) / 4, ay + (by - ay) / 4, bx - (bx - ax) / 4, by - (by - ay) / 4, this.view.painter.ink);
		}
	}
}
