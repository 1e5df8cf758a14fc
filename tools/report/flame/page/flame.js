'use strict';
/* The page of ovni-report flame: enlarges the frame that is clicked, and marks the frames whose
 * names contain the text searched for. The picture follows this script. */
addEventListener('DOMContentLoaded', () => {
	const WIDTH = 1200, LETTER = 7.25;
	const get = (id) => document.getElementById(id);
	const frames = Array.from(document.querySelectorAll('g[data-ns]'), (node) => {
		const text = node.querySelector('text'), from = Number(node.dataset.from);
		return { node, text, from, end: from + Number(node.dataset.ns), depth: Number(node.dataset.depth),
			rect: node.querySelector('rect'), name: text.dataset.name,
			about: node.querySelector('title').textContent };
	});
	const whole = frames[0];

	function zoom(to) {
		const span = to.end - to.from || 1;
		for (const f of frames) {
			const above = f.depth < to.depth && f.from <= to.from && f.end >= to.end;
			const shown = above || (f.depth >= to.depth && f.from >= to.from && f.end <= to.end);
			const from = above ? 0 : (f.from - to.from) / span * WIDTH;
			const width = above || f === to ? WIDTH : (f.end - f.from) / span * WIDTH;
			const room = Math.max(0, Math.floor((width - 6) / LETTER)), letters = [...f.name];
			f.node.setAttribute('display', shown ? 'inline' : 'none');
			f.node.classList.toggle('above', above);
			f.rect.setAttribute('x', from);
			f.rect.setAttribute('width', width);
			f.text.setAttribute('x', from + 3);
			f.text.textContent = letters.length <= room ? f.name :
				room < 3 ? '' : letters.slice(0, room - 1).join('') + '…';
		}
	}

	/* The share of the time in which such a frame is on the stack: each part of it counts once. */
	function search() {
		const wanted = get('search').value.toLowerCase();
		let ns = 0, end = -1;
		const hits = frames.filter((f) => wanted && f.name.toLowerCase().includes(wanted));
		for (const f of frames)
			f.node.classList.remove('hit');
		hits.sort((a, b) => a.from - b.from || b.end - a.end);
		for (const f of hits) {
			f.node.classList.add('hit');
			if (f.from >= end) {
				ns += f.end - f.from;
				end = f.end;
			}
		}
		get('found').textContent = wanted ? hits.length + (hits.length === 1 ? ' frame, ' : ' frames, ') +
			(100 * ns / (whole.end - whole.from || 1)).toFixed(2) + ' % of the time' : '';
	}

	for (const f of frames) {
		f.node.addEventListener('click', () => zoom(f));
		f.node.addEventListener('mouseenter', () => { get('about').textContent = f.about; });
	}
	get('search').addEventListener('input', search);
	get('all').addEventListener('click', () => zoom(whole));
	addEventListener('keydown', (event) => {
		if (event.key === 'Escape')
			zoom(whole);
	});
});
