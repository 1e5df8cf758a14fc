/*
 * findings: the overview of ovni-report beside the timeline: its findings, CPUs and busiest threads, as
 * the writer computed them. A finding jumps to its row and to the longest of its waits or sleeps.
 */
const FINDINGS_SHOWN = 6; /* until a click */

class Findings {
	constructor(view) {
		this.view = view;
		this.node = document.getElementById('findings');
		this.list = view.meta.findings || [];
		this.button = document.getElementById('side');
		this.items = [];
		if (!view.meta.overview)
			return;
		this.button.hidden = false;
		this.button.textContent = counted(this.list.length, 'finding');
		this.node.replaceChildren(...this.findings(), ...this.overview());
		this.node.hidden = innerWidth < 900;
	}

	toggle() {
		if (this.view.meta.overview)
			this.node.hidden = !this.node.hidden;
		this.view.resize();
	}

	findings() {
		const { meta: { overview }, panel } = this.view, list = element('ol');
		this.items = this.list.map((finding, i) => {
			const item = element('li');
			item.title = shown(finding.command);
			item.append(panel.link(finding.text, () => this.jump(i)));
			item.hidden = i >= FINDINGS_SHOWN;
			list.append(item);
			return item;
		});
		if (!this.items.length)
			return [element('h2', 'No finding'), element('p', 'No wait, lock, imbalance or delay cost 1 % of the recording.')];
		const title = element('h2', 'Findings ');
		title.append(element('small', 'click one to see its place'));
		const out = [title, list];
		if (overview.findings > FINDINGS_SHOWN) {
			const more = element('p');
			more.append(panel.link('and ' + (overview.findings - FINDINGS_SHOWN) + ' more, of less cost', () => {
				this.items.forEach((item) => item.hidden = false);
				more.textContent = overview.findings > this.items.length ? 'and ' + (overview.findings - this.items.length) + ' more' : '';
			}));
			out.push(more);
		}
		return out;
	}

	overview() {
		const { meta, model, panel } = this.view, { overview } = meta, several = model.hosts > 1, list = model.overviewCpus();
		const used = overview.idle_unknown ? ['recorded', 'other or idle'] : ['busy', 'idle'];
		const steal = list.some((cpu) => cpu.steal !== undefined);
		const cpus = list.map((cpu) => [cpu.cpu + (several ? ' of ' + cut(shown(cpu.loom)) : ''),
			percent(cpu.used, cpu.window), percent(cpu.rest, cpu.window), percent(cpu.unknown, cpu.window),
			...steal ? [cpu.steal === undefined ? '' : percent(cpu.steal, cpu.window)] : []]);
		const threads = overview.threads.map((use) => [panel.thread(use.thread),
			percent(use.run, use.life), percent(use.waited, use.life), String(use.runs)]);
		const table = panel.table(['CPU', ...used, 'unknown', ...steal ? ['steal'] : []], cpus);
		table.className = 'cpus';
		const out = [element('h2', 'CPUs'), table,
			element('h2', 'Threads'), panel.table(['thread', 'run', 'waited', 'runs'], threads)];
		for (const [title, text] of [['Efficiency', overview.efficiency], ['Recorded by', overview.command], ['Unknown', overview.notes]])
			out.push(...text ? [element('h2', title), element('p', text)] : []);
		return out;
	}

	/* Shows the place of a finding, selects it, and says what it is. */
	jump(i) {
		const finding = this.list[i], { view } = this, { model } = view;
		if (!finding)
			return;
		const { begin, end, thread, cpu, exact } = finding;
		this.items.forEach((item, k) => item.classList.toggle('chosen', k === i));
		this.items[i].hidden = false;
		this.items[i].scrollIntoView({ block: 'nearest' });
		const margin = Math.max((end - begin) * (exact ? 0.5 : 0.02), 10);
		view.show(begin - margin, end + margin);
		let what;
		if (exact && thread !== undefined)
			model.eachStay(thread, begin, end, (use, from, to, run) => {
				const longer = !what || to - from > what.end - what.begin;
				if (run < 0 && from < end && to > begin && longer)
					what = { kind: 'stay', thread, use, begin: from, end: to };
			});
		view.choose(what);
		view.chooseRow(thread === undefined ? 'c' : 't', thread === undefined ? cpu : thread);
		view.panel.clear(view.panel.paragraph([finding.text + '.']), view.panel.paragraph(['More: ' + finding.command]),
			...what ? [...view.panel.sentences(what), ...view.panel.compare(what)] : []);
	}
}
