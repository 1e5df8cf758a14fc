/* main: reads the data elements as they arrive, and makes the view. */

function say(text) {
	const node = document.getElementById('state');
	node.textContent = text;
	node.classList.add('bad');
}

/* Reads the data elements in their order, as the parser makes them. The first one has the names. */
async function read() {
	let model, view, next = 0, damaged = 0;
	for (;;) {
		const complete = document.readyState !== 'loading';
		const nodes = document.querySelectorAll('script[data-kind]');
		/* the text of the last one may still grow */
		for (const most = complete ? nodes.length : nodes.length - 1; next < most; next++) {
			const bytes = inflate(nodes[next].textContent), { kind } = nodes[next].dataset;
			nodes[next].textContent = ''; /* the text is no longer needed */
			if (model) {
				await bytes.then((data) => model[kind].read(kind, data)).catch(() => damaged++);
				continue;
			}
			model = new Model(JSON.parse(new TextDecoder().decode(await bytes)));
			view = window.view = new View(model);
			performance.mark('overview');
		}
		if (complete)
			break;
		await new Promise((resolve) => setTimeout(resolve, 10));
	}
	if (!view)
		throw new Error('the page has no data');
	const { counts } = model.meta;
	if (!damaged && ENTRIES.some((kind) => model[kind].n !== counts[kind]) || model.runs.n !== counts.runs)
		damaged = damaged || 1;
	view.damaged = damaged;
	model.index();
	view.buildRows();
	view.findings = new Findings(view);
	if (model.meta.threads.some(({ node }) => node !== undefined))
		view.playback = new Playback(view);
	view.ready = true;
	listen(view);
	view.status();
	view.resize();
	view.draw();
	view.panel.clear(element('p', 'Click a run or a wait to see why it began and ended; the wheel zooms, a drag moves, Shift and a drag measures; ? lists the keys.'));
	if (location.hash)
		view.obey(location.hash);
	performance.mark('ready');
}

if (typeof DecompressionStream === 'undefined')
	say('This browser is too old for the page: Chromium 103, Firefox 113 or Safari 16.4 are needed (DecompressionStream).');
else
	read().catch((error) => say('The page is damaged and cannot be read: ' + error.message));
