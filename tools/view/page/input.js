/* input: pointer and keys, from events of the browser to calls of the view. */
const KEYS = [['wheel, W S', 'zoom around the pointer; Shift and wheel, or over the names: scroll; z swaps the wheels with and without Shift'],
	['drag in the overview', 'move the frame, or one of its edges'],
	['drag, A D, ← →', 'move; ← → with a run selected: its previous and next run'],
	['↑ ↓, Enter', 'previous and next row; what is in its middle'],
	['Shift and drag, drag on the axis', 'measure: time by state of each thread'],
	['click', 'select; f shows the selection, f f or a double click the whole trace'],
	['b, t, o, O', 'go to the waker, to the next run on the CPU, to the next and previous run of the thread'],
	['c, n, N', 'the critical path: why the selection ended no sooner; its next and previous step'],
	['v', 'the part in sight as a table: time by state'],
	['m, M', 'put the first and the second mark at the pointer: measures between them'],
	['/, n, N', 'search names, tids, functions and system calls; next and previous hit in time'],
	['p, h, x, r', 'pin the row, hide it, show only its process, change the order of the rows'],
	['1 to 9, i', 'go to a finding of ovni-report; show or hide the findings and the overview'],
	['l, ?, Esc', 'legend, this list; nothing selected, hidden rows shown'],
	['Ctrl C', 'copy the sentence of the selection, and the link to it']];

function listen(view) {
	const { bars, main, overview, axisCanvas } = view;
	const hover = document.getElementById('hover');
	let drag, over;
	const place = (event, node) => {
		const box = node.getBoundingClientRect();
		return { x: event.clientX - box.left, y: event.clientY - box.top };
	};
	/* The sentences of what is under the pointer, beside it. */
	const tell = (event, what) => {
		const key = what ? JSON.stringify(what) : '';
		if (key !== over)
			hover.replaceChildren(...what ? view.panel.sentences(what) : []);
		over = key;
		hover.hidden = !what;
		if (!what)
			return;
		const { offsetWidth: width, offsetHeight: height } = hover, x = event.clientX + 14, y = event.clientY + 18;
		hover.style.left = Math.max(4, Math.min(x, innerWidth - width - 4)) + 'px';
		hover.style.top = Math.max(4, y + height > innerHeight ? event.clientY - height - 10 : y) + 'px';
	};
	for (const canvas of [bars, axisCanvas, overview])
		canvas.addEventListener('wheel', (event) => {
			const { x } = place(event, canvas);
			if (canvas === bars && (x < LEFT || !event.ctrlKey && event.shiftKey !== !!view.wheelScrolls))
				return;
			event.preventDefault();
			tell(event);
			if (!event.shiftKey && Math.abs(event.deltaX) > Math.abs(event.deltaY))
				view.pan(event.deltaX / view.width);
			else
				view.zoom(Math.pow(1.0015, Math.max(-400, Math.min(400, event.deltaY || event.deltaX))),
					canvas === overview ? LEFT + ((x - LEFT) / view.width * view.end - view.t0) * view.scale : x);
		}, { passive: false });
	for (const canvas of [bars, axisCanvas]) {
		canvas.addEventListener('pointerleave', (event) => tell(event));
		canvas.addEventListener('pointerdown', (event) => {
			const at = place(event, canvas);
			if (event.button || at.x < LEFT)
				return;
			drag = { ...at, t0: view.t0, t1: view.t1, top: main.scrollTop, measure: canvas === axisCanvas || event.shiftKey, moved: false };
			canvas.setPointerCapture(event.pointerId);
			main.focus({ preventScroll: true });
		});
		canvas.addEventListener('pointermove', (event) => {
			const at = view.pointer = place(event, canvas);
			tell(event, canvas === bars && !drag ? view.at(at.x, at.y) : undefined);
			if (!drag)
				return;
			if (Math.abs(at.x - drag.x) + Math.abs(at.y - drag.y) > 3)
				drag.moved = true;
			if (drag.measure) {
				view.marks = [view.timeAt(drag.x), view.timeAt(at.x)];
				view.redraw();
			} else if (drag.moved) {
				const by = (drag.x - at.x) / view.scale;
				view.show(drag.t0 + by, drag.t1 + by);
				main.scrollTop = drag.top + drag.y - at.y;
			}
		});
		canvas.addEventListener('pointerup', (event) => {
			const at = place(event, canvas), was = drag;
			drag = undefined;
			if (was && was.measure && was.moved)
				view.measure(view.timeAt(was.x), view.timeAt(at.x));
			else if (was && !was.moved && view.playback && !view.playback.panel.hidden)
				view.playback.go(view.timeAt(at.x));
			if (was && !was.moved && canvas === bars)
				view.choose(view.at(at.x, at.y));
		});
	}
	bars.addEventListener('dblclick', () => view.show(0, view.end));
	let fixed; /* the edge of the frame in the overview across the dragged one */
	const across = (event) => { /* of a frame that is wide enough to have a middle */
		const x = place(event, overview).x - LEFT, scale = view.width / view.end, near = (t) => Math.abs(t * scale - x) < 5;
		return (view.t1 - view.t0) * scale < 15 ? undefined : near(view.t0) ? view.t1 : near(view.t1) ? view.t0 : undefined;
	};
	const frame = (event) => {
		const t = (place(event, overview).x - LEFT) / view.width * view.end, half = (view.t1 - view.t0) / 2;
		view.show(...fixed === undefined ? [t - half, t + half] : [Math.min(t, fixed), Math.max(t, fixed)]);
	};
	overview.addEventListener('pointerdown', (event) => {
		overview.setPointerCapture(event.pointerId);
		fixed = across(event);
		frame(event);
	});
	overview.addEventListener('pointermove', (event) => {
		overview.style.cursor = (event.buttons ? fixed : across(event)) === undefined ? '' : 'ew-resize';
		if (event.buttons)
			frame(event);
	});
	main.addEventListener('scroll', () => view.redraw());
	new ResizeObserver(() => document.documentElement.classList.contains('print') || view.resize()).observe(main);
	addEventListener('beforeprint', () => view.print(true));
	addEventListener('afterprint', () => view.print(false));
	addEventListener('hashchange', () => location.hash !== view.linked && view.obey(location.hash));
	document.getElementById('side').addEventListener('click', () => view.findings.toggle());
	document.getElementById('fit').addEventListener('click', () => view.show(0, view.end));
	document.getElementById('theme').addEventListener('click', () => view.setTheme(!view.dark));
	document.getElementById('keys').addEventListener('click', () => press(view, '?'));
	const search = document.getElementById('search');
	search.addEventListener('input', () => search.value && view.panel.search(search.value));
	addEventListener('copy', (event) => {
		if (event.target === search || !view.chosen || String(getSelection()))
			return;
		const said = Array.from(view.panel.node.querySelectorAll('p'), (p) => p.textContent);
		event.clipboardData.setData('text/plain', [...said, location.href].join('\n'));
		event.preventDefault();
	});
	addEventListener('keydown', (event) => {
		if (/^(INPUT|SELECT)$/.test(event.target.tagName)) {
			if (event.key === 'Escape' || event.key === 'Enter')
				main.focus();
			return;
		}
		if (event.ctrlKey || event.metaKey || event.altKey || event.key === 'Enter' && event.target.tagName === 'BUTTON')
			return;
		if (press(view, event.key))
			event.preventDefault();
	});
	addEventListener('keyup', (event) => view.held.delete(event.key.toLowerCase()));
	addEventListener('blur', () => view.held.clear());
}

/* W, A, S and D work as long as they are held. */
function hold(view, key) {
	const step = (share) => {
		if (!view.held.has(key))
			return;
		if (key === 'w' || key === 's')
			view.zoom(key === 'w' ? 1 - share : 1 + share, view.pointer.x);
		else
			view.pan(key === 'a' ? -share : share);
		requestAnimationFrame(() => step(0.03));
	};
	if (view.held.has(key))
		return;
	view.held.add(key);
	step(0.12);
}

/* Each key with its action, for the chosen row if there is one. */
const ACTIONS = new Map([['ArrowUp', (view) => view.stepRow(-1)], ['ArrowDown', (view) => view.stepRow(1)], ['i', (view) => view.findings.toggle()], ['c', (view) => view.showPath()],
	['v', (view) => view.panel.measure(Math.max(0, Math.round(view.t0)), Math.min(view.end, Math.round(view.t1)))],
	['/', () => document.getElementById('search').focus()],
	['r', (view) => {
		view.order = (view.order + 1) % 3;
		view.buildRows();
	}],
	['l', (view) => {
		document.getElementById('legend').toggleAttribute('hidden');
		view.resize();
	}],
	['z', (view) => {
		view.wheelScrolls = !view.wheelScrolls;
		view.panel.clear(element('p', view.wheelScrolls ? 'The wheel scrolls, Shift and wheel zoom.' : 'The wheel zooms, Shift and wheel scroll.'));
	}],
	...[['ArrowLeft', 'O', -0.1], ['ArrowRight', 'o', 0.1]].map(([key, to, by]) => [key, (view) => view.chosen ? view.follow(to) : view.pan(by)]),
	...[...'wasdWASD'].map((key) => [key, (view) => hold(view, key.toLowerCase())]),
	...[...'btoO'].map((key) => [key, (view) => view.follow(key)]), ...[...'123456789'].map((key, i) => [key, (view) => view.findings.jump(i)]),
	['Enter', (view, row) => row && view.choose(view.at(LEFT + view.width / 2, row.y - view.main.scrollTop + ROW / 2))],
	['f', (view) => {
		const selection = view.chosen !== view.fitted && view.chosen;
		view.fitted = selection || undefined;
		if (!selection)
			return view.show(0, view.end);
		const { begin, end } = view.extent(selection), margin = Math.max((end - begin) * 0.2, 10);
		return view.show(begin - margin, end + margin);
	}],
	...['m', 'M'].map((key, k) => [key, (view) => {
		view.marks[k] = Math.round(view.timeAt(view.pointer.x));
		if (view.marks[0] !== undefined && view.marks[1] !== undefined)
			view.measure(...view.marks);
		view.redraw();
	}]),
	...[['n', 'o', 1], ['N', 'O', -1]].map(([key, to, by]) => [key, (view) => {
		if (view.path)
			return view.stepPath(view.path.at + by);
		if (view.chosen || !view.hit)
			return view.follow(to);
		const { byThread } = view.model, place = byThread.place(view.hit.id, view.t0);
		return place < byThread.first[view.hit.id + 1] && view.choose({ kind: 'run', place }, true);
	}]),
	['p', (view, row) => {
		if (row)
			view.pinned = view.pinned.includes(row.key) ? view.pinned.filter((k) => k !== row.key) : [...view.pinned, row.key];
		view.layout();
		view.link();
	}],
	['h', (view, row) => {
		if (!row)
			return;
		view.hidden.add(row.key);
		view.panel.clear(element('p', counted(view.hidden.size, 'hidden row') + '. Esc shows them.'));
		view.layout();
	}],
	['x', (view, row) => {
		view.only = view.only || !row ? undefined : row.process;
		view.panel.clear(...view.only ? [element('p', 'The rows of one process. x shows all.')] : []);
		view.layout();
	}],
	['?', (view) => {
		const help = document.getElementById('help');
		help.replaceChildren(view.panel.table(['keys', 'do'], KEYS));
		help.hidden = !help.hidden;
	}],
	['Escape', (view) => {
		const help = document.getElementById('help');
		if (!help.hidden) {
			help.hidden = true;
			return;
		}
		view.marks = [];
		view.path = undefined;
		view.hidden.clear();
		view.choose(undefined);
		view.layout();
	}]]);

/* Returns whether the key means something. */
function press(view, key) {
	const act = ACTIONS.get(key);
	if (act)
		act(view, view.chosenRow && view.rowOf.get(view.chosenRow));
	return !!act;
}
