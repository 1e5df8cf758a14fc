/*
 * path: why a thread reached a moment no sooner: its critical path, which goes from each wake-up to the run
 * of the waker, from a birth to that of the creator (why.md, part D).
 *
 * In: the stays of the model; out: segments {thread, use, begin, end, by, hop}, of `ovni-report critical`:
 * adjacent, in the order of time, and with the sum of the time. by: an actor or BY_*; hop: the path comes here from it.
 */
const WAKING_MOST = 1e5; /* ns; the clock of a wake-up may be so much later than the end of the waker's run */
const STEPS_SHOWN = 100, IN_WAKING = -1, NOT_RECORDED = -2; /* the last two in place of a use */

/* The last stay of a thread that begins before `t`: {use, begin, end, run}, or undefined. */
function stayBefore(model, thread, t) {
	const { byThread, runs } = model, end = byThread.first[thread + 1];
	let last;
	const see = (use, begin, end, run) => {
		if (begin < t && end > begin && (!last || begin >= last.begin))
			last = { use, begin, end, run };
	};
	model.eachStay(thread, t - 1, t, see);
	if (!last) /* the thread was dead or not recorded then */
		model.eachStay(thread, 0, t, see);
	/* a run is in pieces where the thread moved to another CPU */
	for (let at = last && last.run >= 0 ? byThread.place(thread, last.begin) : end;
		at < end && at > byThread.first[thread] && runs.wake[byThread.order[at]] === WAKE_MOVED; at--)
		last.begin = runs.begin[byThread.order[at - 1]];
	return last;
}

/* What began a stay: {by, woken}: its waker or creator, the thread that took the CPU; of a sleep, what ended it. */
function causeOf(model, thread, { use, begin, end, run }) {
	const { runs, byThread } = model, at = run >= 0 ? begin : end, last = byThread.place(thread, at) - 1;
	let next = last; /* a run of no time begins no other run, and ends no sleep */
	do next++; while ((run >= 0 || use >= model.meta.asleep) && next < byThread.first[thread + 1] && runs.end[byThread.order[next]] === at);
	const i = next < byThread.first[thread + 1] ? byThread.order[next] : -1, since = i >= 0 ? model.since(next) : undefined;
	if (i >= 0 && since === (use >= model.meta.asleep ? end : begin) && runs.waker[i] !== BY_NONE)
		return { by: runs.waker[i], woken: use < model.meta.asleep };
	const before = last >= byThread.first[thread] ? byThread.order[last] : -1;
	if (use < model.meta.asleep && before >= 0 && runs.end[before] === begin && runs.next[before] >= 0)
		return { by: runs.next[before], woken: false };
	return { by: BY_NONE, woken: false };
}

function criticalPath(model, thread, from, to) {
	const { runs, byThread, meta } = model, visited = new Map(), path = [];
	let now = to;
	const add = (use, begin, by) => { /* what began before `from` is left out */
		path.push({ thread, use, begin: Math.max(begin, from), end: now, by: begin < from && use < meta.asleep ? BY_NONE : by, hop: false });
		now = path[path.length - 1].begin;
	};
	/* When a thread ran last, now or shortly before; undefined: it did not. */
	const ran = (other) => {
		let at = byThread.place(other, now);
		const i = byThread.order[at];
		if (at < byThread.first[other + 1] && runs.begin[i] === now && runs.end[i] > now)
			return now;
		do at--; while (at >= byThread.first[other] && runs.end[byThread.order[at]] === runs.begin[byThread.order[at]]);
		const end = at < byThread.first[other] ? -Infinity : Math.min(runs.end[byThread.order[at]], now);
		return now - end <= WAKING_MOST ? end : undefined;
	};
	while (now > from) {
		const stay = stayBefore(model, thread, now);
		visited.set(thread, now);
		if (!stay || stay.end < now) {
			add(NOT_RECORDED, stay ? stay.end : from, BY_NONE);
			continue;
		}
		const { by, woken } = causeOf(model, thread, stay);
		add(stay.use, stay.begin, by);
		const end = woken && by >= 0 && by < meta.threads.length && now > from && visited.get(by) !== now ? ran(by) : undefined;
		if (end === undefined)
			continue;
		if (end < now)
			add(IN_WAKING, end, by);
		path[path.length - 1].hop = true;
		thread = by;
	}
	return path.reverse();
}
