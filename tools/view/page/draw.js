/*
 * draw: rows of bars for a part of the time.
 *
 * A row is three lines of pixels (upper edge, middle, lower edge), stretched to its height: so a
 * frame costs pixels, not rectangles. Rows with many runs are drawn from the levels of the page, shares
 * of each state in pieces of the time, where a piece is narrower than PIECE_MOST pixels; otherwise from the runs.
 */
/* Of equal shares the first one is shown. */
const BY_WEIGHT = [RUNNABLE, THROTTLED, RUNNING, UNKNOWN, REPAIRED, IO, BLOCKED, ASLEEP, STOPPED];
const IS_THIN = CLASSES.map((_, state) => THIN.includes(state));
const LEFT = 240, ROW = 18, LINE = 12, COUNT = 32, PIECE_MOST = 4, LABEL_LEAST = 30, LABELS_MOST = 600;
const fontOf = (size) => size + 'px system-ui, "DejaVu Sans", sans-serif';

class Painter {
	constructor(model) {
		this.model = model;
		this.small = document.createElement('canvas');
		const same = new Map(); /* threads of one name have different colours */
		this.hues = model.meta.threads.map(({ name, tid }) => {
			same.set(name, same.has(name) ? same.get(name) + 1 : 0);
			return hueOf(name || tid, name ? same.get(name) : 0);
		});
		this.setTheme(false);
	}

	/* The page has its theme already: colours that are no states are those of the style sheet. */
	setTheme(dark) {
		const style = getComputedStyle(document.documentElement);
		this.colours = dark ? COLOURS.dark : COLOURS.light;
		this.pixels = this.colours.map((colour) => pixel(colour));
		for (const name of ['paper', 'ink', 'dim', 'line', 'head', 'mark'])
			this[name] = style.getPropertyValue('--' + name).trim();
		this.huePixels = this.hues.map((hue) => pixel(hue));
		this.palePixels = this.hues.map((hue) => pixel(hue, this.paper));
		this.hatches = { [UNKNOWN]: this.hatching(false), [REPAIRED]: this.hatching(true) };
	}

	/* A pattern of diagonal lines, up or down. */
	hatching(down) {
		const tile = document.createElement('canvas'), size = tile.width = tile.height = 6, context = tile.getContext('2d');
		context.fillStyle = this.paper;
		context.fillRect(0, 0, size, size);
		context.fillStyle = this.colours[UNKNOWN];
		for (let y = 0; y < size; y++)
			for (let x = 0; x < 2; x++)
				context.fillRect((x + (down ? y : size - y)) % size, y, 1, 1);
		return context.createPattern(tile, 'repeat');
	}

	resize(width) {
		this.width = width;
		this.shares = new Float32Array(CLASSES.length * width);
		this.best = new Float32Array(width);
		this.owner = new Int32Array(width);
		this.total = new Float32Array(width);
	}

	/* Calls add(x, what, share) for the pixels of the part [x0, x1) of a row. */
	eachPixel(what, x0, x1, add) {
		const begin = Math.max(x0, 0), end = Math.min(x1, this.width);
		for (let x = Math.floor(begin); x < this.width && begin <= end; x++) {
			add(x, what, Math.max(Math.min(end, x + 1) - Math.max(begin, x), 1e-12));
			if (end <= x + 1)
				break;
		}
	}

	/* The row from t0 on: exact(from, to) for the parts to draw from runs, piece(x, what, share) for those of levels
	 * whose pieces are narrower than PIECE_MOST pixels. */
	parts(levels = [], t0, scale, exact, piece) {
		const { width: pixels } = this, t1 = t0 + pixels / scale;
		let t = t0;
		for (let k = firstOf(levels.length, (i) => levels[i].end <= t0); k < levels.length && levels[k].from < t1; k++) {
			const { from, width, end, first, what, share } = levels[k];
			if (width * scale >= PIECE_MOST)
				continue;
			if (from > t)
				exact(t, from);
			const last = Math.min(first.length - 1, Math.ceil((t1 - from) / width)), wide = width * scale, narrow = wide < 1;
			for (let i = Math.max(0, Math.floor((t0 - from) / width)); i < last; i++) {
				const x0 = (from + i * width - t0) * scale, begin = Math.floor(narrow ? x0 + wide / 2 : x0);
				const end = Math.min(narrow ? begin + 1 : x0 + wide, pixels);
				for (let x = Math.max(0, begin); x < end; x++) {
					const part = (narrow ? wide : Math.min(x0 + wide, x + 1) - Math.max(x0, x)) / 127;
					for (let e = first[i]; e < first[i + 1]; e++)
						piece(x, what[e], share[e] * part);
				}
			}
			t = Math.max(t, end);
		}
		if (t < t1)
			exact(t, t1);
	}

	/* Writes the three lines of a thread into `words`, from `at` on. */
	paintThread(thread, t0, scale, words, at) {
		const { model, width, shares } = this;
		shares.fill(0);
		const add = (x, use, share) => {
			shares[model.classOf[use] * width + x] += share;
		};
		this.parts(model.levels.of[0][thread], t0, scale, (from, to) => model.eachStay(thread, from, to, (use, begin, end) =>
			this.eachPixel(use, (Math.max(begin, from) - t0) * scale, (Math.min(end, to) - t0) * scale, add)), add);
		this.resolve(words, at);
	}

	resolve(words, at) {
		const { shares, width, pixels } = this, middle = at + width, lower = middle + width;
		for (let x = 0; x < width; x++) {
			let most = -1, share = 0, second = -1, secondShare = 0;
			for (let k = 0; k < BY_WEIGHT.length; k++) {
				const state = BY_WEIGHT[k], v = shares[state * width + x];
				if (v > share) {
					second = most;
					secondShare = share;
					most = state;
					share = v;
				} else if (v > secondShare) {
					second = state;
					secondShare = v;
				}
			}
			if (most < 0)
				continue;
			if (most === UNKNOWN || most === REPAIRED) {
				const last = this.unknown[this.unknown.length - 1];
				if (last && last.at === at && last.end === x && last.state === most)
					last.end++;
				else
					this.unknown.push({ at, state: most, begin: x, end: x + 1 });
				continue;
			}
			if (IS_THIN[most]) { /* a run of any length shows in the middle */
				let full = RUNNABLE;
				for (let k = 1; k < 3; k++)
					if (shares[BY_WEIGHT[k] * width + x] > shares[full * width + x])
						full = BY_WEIGHT[k];
				const some = shares[full * width + x];
				words[middle + x] = pixels[some > 0 ? full : most];
				if (some > 0.2)
					words[lower + x] = pixels[full];
				continue;
			}
			words[at + x] = words[lower + x] = pixels[most];
			words[middle + x] = pixels[second >= 0 && secondShare >= 0.25 && !IS_THIN[second] ? second : most];
		}
	}

	/* A CPU: the thread with most of each pixel; the height shows how busy it was. */
	paintCpu(cpu, t0, scale, words, at, y, labels) {
		const { model, width, best, total, owner } = this, { runs } = model;
		best.fill(0);
		total.fill(0);
		const add = (x, thread, share) => {
			total[x] += share;
			if (share > best[x]) {
				best[x] = share;
				owner[x] = thread;
			}
		};
		this.parts(model.levels.of[1][cpu], t0, scale, (from, to) => model.eachRun(cpu, from, to, (i) =>
			this.eachPixel(runs.thread[i], (Math.max(runs.begin[i], from) - t0) * scale, (Math.min(runs.end[i], to) - t0) * scale, add)), add);
		for (let x = 0, first = 0; x < width; x++) {
			/* a name needs the full height */
			if (!(total[x] >= 0.55) || x && owner[x] !== owner[x - 1])
				first = total[x] >= 0.55 ? x : x + 1;
			if (x + 1 - first >= LABEL_LEAST && !(total[x + 1] >= 0.55 && owner[x + 1] === owner[x]) && labels.length < LABELS_MOST)
				labels.push([first, x + 1, y, owner[x]]);
			if (!(total[x] > 0))
				continue;
			const word = (this.lit === undefined || this.lit === owner[x] ? this.huePixels : this.palePixels)[owner[x]];
			words[at + 2 * width + x] = word;
			if (total[x] >= 0.2)
				words[at + width + x] = word;
			if (total[x] >= 0.55)
				words[at + x] = word;
		}
	}

	/* Draws the rows of bars: {kind, id, y, height}, y from the top of the canvas. CPUs show the thread `lit`, if it
	 * is given, and the others pale. */
	paint(context, rows, t0, scale, left, lit) {
		const bars = rows.filter((row) => row.kind === 'cpu' || row.kind === 'thread'), labels = [];
		const { width, small } = this;
		if (!bars.length || width < 1)
			return;
		small.width = width;
		small.height = 3 * bars.length;
		const inner = small.getContext('2d'), image = inner.createImageData(width, 3 * bars.length);
		const words = new Uint32Array(image.data.buffer);
		this.lit = lit;
		this.unknown = [];
		bars.forEach((row, k) => {
			if (row.kind === 'cpu')
				this.paintCpu(row.id, t0, scale, words, 3 * k * width, row.y, labels);
			else
				this.paintThread(row.id, t0, scale, words, 3 * k * width);
		});
		inner.putImageData(image, 0, 0);
		context.imageSmoothingEnabled = false;
		bars.forEach((row, k) =>
			context.drawImage(small, 0, 3 * k, width, 3, left, row.y + 2, width, ROW - 4));
		for (const { at, state, begin, end } of this.unknown)
			this.hatch(context, left + begin, bars[at / (3 * width)].y + 2, end - begin, ROW - 4, state);
		this.paintLabels(context, labels, left);
	}

	paintLabels(context, labels, left) {
		context.save();
		context.font = fontOf(11);
		for (const [x0, x1, y, thread] of labels) {
			const most = Math.floor((x1 - x0 - 6) / 6.5), name = shown(this.model.meta.threads[thread].name || '');
			context.fillStyle = this.paper; /* between runs of one colour */
			context.fillRect(left + x0, y + 2, x0 > 0 ? 1 : 0, ROW - 4);
			if (most < 3 || !name)
				continue;
			context.fillStyle = this.lit === undefined || this.lit === thread ? inkOn(this.hues[thread]) : this.dim;
			/* the end of a name has its number */
			context.fillText(name.length > most && most > 5 && /\d$/.test(name) ? cut(name, most - 2) + name.slice(-2) : cut(name, most), left + x0 + 3, y + ROW / 2);
		}
		context.restore();
	}

	/* The calls of one depth of a thread, below its bar. */
	paintCalls(context, line, t0, scale, left, y) {
		const { model, width } = this, { calls, callLines } = model;
		let free = -1;
		callLines.each(line, t0, t0 + width / scale, (i) => {
			const x0 = Math.max((calls.begin[i] - t0) * scale, free, 0), x1 = Math.min((calls.end[i] - t0) * scale, width);
			if (x1 <= x0 && x1 < free)
				return;
			const name = shown(model.meta.functions[calls.what[i]].label);
			this.paintBlock(context, left + x0, y, Math.max(x1 - x0, 1), hueOf(name), name);
			free = x0 + 1;
		});
	}

	/* A block of a line, with a share of its height, and its text if that has room. */
	paintBlock(context, x, y, width, hue, text, share = 1) {
		const letters = Math.floor((width - 6) / 6), height = Math.max(share * (LINE - 2), 1);
		context.fillStyle = hue;
		context.fillRect(x, y + LINE - 2 - height, width > 3 ? width - 1 : width, height);
		context.fillStyle = share < 0.8 ? this.ink : inkOn(hue);
		if (letters >= 3)
			context.fillText(cut(text, letters), x + 3, y + LINE / 2 - 1);
	}

	/* The values that a mark sets in a thread: blocks with their labels, and numbers as a line. */
	paintValues(context, { line, least, most }, t0, scale, left, y) {
		const { model, width } = this, { points, values } = model, t1 = t0 + width / scale, end = values.first[line + 1];
		for (let at = Math.max(values.place(line, t0) - 1, values.first[line]); at < end;) {
			const i = values.order[at];
			if (points.begin[i] >= t1)
				break;
			const x0 = Math.max((points.begin[i] - t0) * scale, 0), x1 = Math.min((model.valueEnd(line, at) - t0) * scale, width);
			const label = model.labelOf(i), text = label === undefined ? String(points.values[i]) : shown(label);
			const share = label !== undefined ? 1 : most > least ? (Number(points.values[i]) - least) / (most - least) : most ? 1 : 0;
			const state = points.what[i] === STATE_TYPE && model.meta.threads[points.thread[i]].accelerator ? NODE_STATES[Number(points.values[i])] : undefined;
			const hue = state ? this.colours[state[1]] || this.head : label === undefined ? this.dim : label === 'none' ? this.paper : hueOf(text);
			/* of 0, the line is enough */
			this.paintBlock(context, left + x0, y, Math.max(x1 - x0, 1), hue, label === undefined && text === '0' ? '' : text, share);
			/* the last value of the next pixel, at least the next value */
			at = Math.max(at + 1, values.place(line, t0 + (Math.floor(x0) + 1) / scale) - 1);
		}
	}

	/* Threads that wait for a CPU: for each pixel the mean, as a filled line. */
	paintCount(context, t0, scale, left, y, height) {
		const { model, width } = this, { meta } = model, waits = model.waits(), means = new Float64Array(width);
		for (let x = 0; x < width; x++) {
			const from = t0 + x / scale, to = from + 1 / scale;
			if (to <= 0 || from >= meta.end)
				continue;
			if (!waits) {
				const { ns, width: bucket } = meta.runnable;
				means[x] = ns[Math.max(0, Math.floor((from + to) / 2 / bucket))] / bucket || 0;
				continue;
			}
			let k = firstOf(waits.at.length, (i) => waits.at[i] < from), total = 0;
			for (let at = from, next; at < to; at = next, k++) { /* steps inside the pixel */
				next = k < waits.at.length ? Math.min(waits.at[k], to) : to;
				total += (k ? waits.n[k - 1] : 0) * (next - at);
			}
			means[x] = total / (to - from);
		}
		const seen = Math.max(0, ...means), most = Math.max(1, seen);
		context.fillStyle = this.colours[RUNNABLE];
		for (let x = 0; x < width; x++)
			if (means[x] > 0) {
				const h = Math.max(1, means[x] / most * (height - 4));
				context.fillRect(left + x, y + height - 2 - h, 1, h);
			}
		return seen;
	}

	hatch(context, x, y, width, height, state = UNKNOWN) {
		context.fillStyle = this.hatches[state];
		context.fillRect(x, y, width, height);
	}

	arrow(context, x0, y0, x1, y1, colour = this.mark) {
		context.strokeStyle = context.fillStyle = colour;
		context.lineWidth = 1.5;
		context.beginPath();
		context.moveTo(x0, y0);
		context.lineTo(x1, y1);
		context.stroke();
		const turn = Math.atan2(y1 - y0, x1 - x0);
		context.beginPath();
		context.moveTo(x1, y1);
		context.lineTo(x1 - 7 * Math.cos(turn - 0.4), y1 - 7 * Math.sin(turn - 0.4));
		context.lineTo(x1 - 7 * Math.cos(turn + 0.4), y1 - 7 * Math.sin(turn + 0.4));
		context.fill();
	}

	/* Ticks with round units; the steps are 1, 2, 5 times a power of ten. */
	axis(context, t0, scale, left, height) {
		const { width } = this, span = width / scale;
		let step = Math.pow(10, Math.floor(Math.log10(Math.max(span / (width / 110), 1))));
		while (step * scale < 90)
			step *= step * 2 * scale >= 90 ? 2 : step * 5 * scale >= 90 ? 5 : 10;
		step = Math.max(1, Math.round(step));
		const fixed = step < 1e6 ? Math.floor(Math.max(t0, 0) / (step < 1e3 ? 1e6 : 1e9)) * (step < 1e3 ? 1e6 : 1e9) : 0;
		context.fillStyle = this.dim;
		context.fillText(fixed ? duration(fixed) + ' +' : 'time', 8, height / 2);
		for (let t = Math.ceil(t0 / step) * step; t <= t0 + span; t += step) {
			const x = left + (t - t0) * scale;
			context.fillStyle = this.line;
			context.fillRect(x, 0, 1, height);
			const text = t < 0 ? '−' + duration(-t) : duration(t - fixed);
			context.fillStyle = this.ink;
			if (x + 4 + context.measureText(text).width <= left + width)
				context.fillText(text, x + 4, height / 2);
		}
		return step;
	}
}
