/*
 * draw: rows of bars for a part of the time.
 *
 * A row is three lines of pixels (upper edge, middle, lower edge), stretched to its height: so a
 * frame costs pixels, not rectangles. Rows with many runs in sight are drawn from shares of each
 * state in LEVEL or more buckets over the whole trace, made when they are first needed, as long as a
 * pixel is wider than a bucket; otherwise from the runs. A share above 0 never becomes 0.
 */
/* Of equal shares the first one is shown. */
const BY_WEIGHT = [RUNNABLE, THROTTLED, RUNNING, UNKNOWN, REPAIRED, IO, BLOCKED, ASLEEP, STOPPED];
const IS_THIN = CLASSES.map((_, state) => THIN.includes(state));
const LEFT = 240, ROW = 18, LINE = 12, COUNT = 32, LEVEL = 8192, LEVEL_MOST = 131072, EXACT_MOST = 3000, LABEL_LEAST = 30, LABELS_MOST = 600;

class Painter {
	constructor(model) {
		this.model = model;
		this.levels = new Map();
		this.small = document.createElement('canvas');
		const same = new Map(); /* threads of one name have different colours */
		this.hues = model.meta.threads.map(({ name, tid }) => {
			same.set(name, same.has(name) ? same.get(name) + 1 : 0);
			return hueOf(name || tid, name ? same.get(name) : 0);
		});
		this.setTheme(false);
	}

	setTheme(dark) {
		const list = dark ? COLOURS.dark : COLOURS.light;
		this.colours = list;
		this.pixels = list.map((colour) => pixel(colour));
		this.paper = dark ? '#15181c' : '#ffffff';
		this.ink = dark ? '#e6e9ed' : '#1b1f24';
		this.dim = dark ? '#9aa4b0' : '#5f6873';
		this.line = dark ? '#333a43' : '#d7dce2';
		this.mark = dark ? '#6ab0ff' : '#0b63c5';
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

	/* Adds the part [x0, x1) of a state, in pixels, to the shares of the pixels. */
	addShare(state, x0, x1) {
		const { shares, width } = this, base = state * width;
		if (x0 < 0)
			x0 = 0;
		if (x1 > width)
			x1 = width;
		if (!(x1 >= x0) || x0 >= width)
			return;
		let i = x0 | 0;
		const last = x1 | 0;
		if (i === last) {
			shares[base + i] += Math.max(x1 - x0, 1e-12);
			return;
		}
		shares[base + i] += i + 1 - x0;
		for (i++; i < last; i++)
			shares[base + i] += 1;
		if (last < width && x1 > last)
			shares[base + last] += x1 - last;
	}

	addOwner(thread, x0, x1) {
		const { best, owner, total, width } = this;
		if (x0 < 0)
			x0 = 0;
		if (x1 > width)
			x1 = width;
		if (!(x1 >= x0) || x0 >= width)
			return;
		for (let i = x0 | 0; i < width; i++) {
			const share = Math.max(Math.min(x1, i + 1) - Math.max(x0, i), 1e-12);
			total[i] += share;
			if (share > best[i]) {
				best[i] = share;
				owner[i] = thread;
			}
			if (x1 <= i + 1)
				break;
		}
	}

	/* The fewest buckets that are narrower than a pixel, for a row with n runs. */
	buckets(n, scale) {
		let buckets = LEVEL;
		while (this.model.meta.end / buckets * scale >= 1 && buckets < n / 4 && buckets < LEVEL_MOST)
			buckets *= 2;
		return buckets;
	}

	/* The shares of a row over the whole trace, as bytes; a share above 0 is at least 1. */
	level(row, buckets, fill, nstates) {
		const key = row + ' ' + buckets;
		let level = this.levels.get(key);
		if (level)
			return level;
		const kept = [this.width, this.shares, this.best, this.owner, this.total];
		this.resize(buckets);
		fill(buckets / Math.max(this.model.meta.end, 1));
		const bytes = (list) => {
			const out = new Uint8Array(list.length);
			for (let i = 0; i < out.length; i++)
				out[i] = list[i] > 0 ? Math.max(1, Math.min(255, Math.round(list[i] * 255))) : 0;
			return out;
		};
		level = nstates ? { shares: bytes(this.shares) } : { owner: this.owner, total: bytes(this.total) };
		[this.width, this.shares, this.best, this.owner, this.total] = kept;
		if (this.levels.size > 1000)
			this.levels.delete(this.levels.keys().next().value);
		this.levels.set(key, level);
		return level;
	}

	/* Writes the three lines of a thread into `words`, from `at` on. */
	paintThread(thread, t0, scale, words, at) {
		const { model, width } = this, t1 = t0 + width / scale;
		const buckets = this.buckets(model.byThread.size(thread), scale), bucket = Math.max(model.meta.end, 1) / buckets;
		this.shares.fill(0);
		if (bucket * scale < 1 && model.byThread.place(thread, t1) - model.byThread.place(thread, t0) > EXACT_MOST) {
			const { shares } = this.level('t' + thread, buckets, (s) =>
				model.eachStay(thread, 0, Infinity, (use, begin, end) =>
					this.addShare(model.classOf[use], begin * s, end * s)), true);
			const first = Math.max(0, Math.floor(t0 / bucket)), last = Math.min(buckets, Math.ceil(t1 / bucket));
			for (let state = 0; state < CLASSES.length; state++)
				for (let b = first; b < last; b++) {
					const share = shares[state * buckets + b];
					const x = ((b + 0.5) * bucket - t0) * scale | 0;
					if (share && x >= 0 && x < width)
						this.shares[state * width + x] += share / 255 * bucket * scale;
				}
		} else {
			model.eachStay(thread, t0, t1, (use, begin, end) =>
				this.addShare(model.classOf[use], (begin - t0) * scale, (end - t0) * scale));
		}
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
		const { model, width } = this, { runs } = model, t1 = t0 + width / scale;
		const buckets = this.buckets(model.byCpu.size(cpu), scale), bucket = Math.max(model.meta.end, 1) / buckets;
		this.best.fill(0);
		this.total.fill(0);
		if (bucket * scale < 1 && model.byCpu.place(cpu, t1) - model.byCpu.place(cpu, t0) > EXACT_MOST) {
			const { owner, total } = this.level('c' + cpu, buckets, (s) =>
				model.eachRun(cpu, 0, Infinity, (i) => this.addOwner(runs.thread[i], runs.begin[i] * s, runs.end[i] * s)),
			false);
			const first = Math.max(0, Math.floor(t0 / bucket)), last = Math.min(buckets, Math.ceil(t1 / bucket));
			for (let b = first; b < last; b++) {
				const x = ((b + 0.5) * bucket - t0) * scale | 0;
				if (!total[b] || x < 0 || x >= width)
					continue;
				const share = total[b] / 255 * bucket * scale;
				this.total[x] += share;
				if (share > this.best[x]) {
					this.best[x] = share;
					this.owner[x] = owner[b];
				}
			}
		} else {
			model.eachRun(cpu, t0, t1, (i) => {
				const x0 = (runs.begin[i] - t0) * scale, x1 = (runs.end[i] - t0) * scale;
				this.addOwner(runs.thread[i], x0, x1);
				if (x1 - x0 >= LABEL_LEAST && labels.length < LABELS_MOST)
					labels.push([Math.max(x0, 0), Math.min(x1, width), y, runs.thread[i]]);
			});
		}
		for (let x = 0; x < width; x++) {
			const total = this.total[x];
			if (!(total > 0))
				continue;
			const lit = this.lit === undefined || this.lit === this.owner[x];
			const word = (lit ? this.huePixels : this.palePixels)[this.owner[x]];
			words[at + 2 * width + x] = word;
			if (total >= 0.2)
				words[at + width + x] = word;
			if (total >= 0.55)
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
		context.font = '11px system-ui, "DejaVu Sans", sans-serif';
		context.textBaseline = 'middle';
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
	}

	/* The calls of one depth of a thread, below its bar. */
	paintCalls(context, line, t0, scale, left, y) {
		const { model, width } = this, { calls, callLines } = model, t1 = t0 + width / scale;
		let free = -1;
		context.font = '10px system-ui, "DejaVu Sans", sans-serif';
		context.textBaseline = 'middle';
		for (let at = Math.max(callLines.place(line, t0) - 1, callLines.first[line]); at < callLines.first[line + 1]; at++) {
			const i = callLines.order[at];
			if (calls.begin[i] >= t1)
				break;
			const x0 = Math.max((calls.begin[i] - t0) * scale, free, 0), x1 = Math.min((calls.end[i] - t0) * scale, width);
			if (x1 <= x0 && x1 < free)
				continue;
			const name = shown(model.meta.functions[calls.what[i]].label), wide = Math.max(x1 - x0, 1);
			const hue = hueOf(name);
			context.fillStyle = hue;
			context.fillRect(left + x0, y, wide > 3 ? wide - 1 : wide, LINE - 2);
			free = x0 + 1;
			const most = Math.floor((wide - 6) / 6);
			if (most < 3)
				continue;
			context.fillStyle = inkOn(hue);
			context.fillText(cut(name, most), left + x0 + 3, y + LINE / 2 - 1);
		}
	}

	/* The values that a mark sets in a thread: blocks with their labels, and numbers as a line. */
	paintValues(context, { line, least, most }, t0, scale, left, y) {
		const { model, width } = this, { points, values } = model, t1 = t0 + width / scale, end = values.first[line + 1];
		context.font = '10px system-ui, "DejaVu Sans", sans-serif';
		context.textBaseline = 'middle';
		for (let at = Math.max(values.place(line, t0) - 1, values.first[line]); at < end;) {
			const i = values.order[at];
			if (points.begin[i] >= t1)
				break;
			const x0 = Math.max((points.begin[i] - t0) * scale, 0), x1 = Math.min((model.valueEnd(line, at) - t0) * scale, width);
			const label = model.labelOf(i), text = label === undefined ? String(points.values[i]) : shown(label);
			const wide = Math.max(x1 - x0, 1), letters = Math.floor((wide - 6) / 6);
			const share = label !== undefined || most <= least ? 1 : (Number(points.values[i]) - least) / (most - least);
			const height = Math.max(share * (LINE - 2), 1), hue = label === undefined ? this.dim : hueOf(text);
			const none = label === 'none';
			context.fillStyle = hue;
			if (!none)
				context.fillRect(left + x0, y + LINE - 2 - height, wide > 3 ? wide - 1 : wide, height);
			if (letters >= 3) {
				context.fillStyle = none || share < 0.8 ? this.ink : inkOn(hue);
				context.fillText(cut(text, letters), left + x0 + 3, y + LINE / 2 - 1);
			}
			/* the last value of the next pixel, at least the next value */
			at = Math.max(at + 1, values.place(line, t0 + (Math.floor(x0) + 1) / scale) - 1);
		}
	}

	/* Threads that wait for a CPU: for each pixel the mean, as a filled line. */
	paintCount(context, t0, scale, left, y, height) {
		const { model, width } = this, { meta } = model, waits = model.waits(), means = new Float64Array(width);
		const before = (list, t) => firstOf(list.length, (k) => list[k] < t);
		for (let x = 0; x < width; x++) {
			const from = t0 + x / scale, to = from + 1 / scale;
			if (to <= 0 || from >= meta.end)
				continue;
			if (!waits) {
				const { ns, width: bucket } = meta.runnable;
				means[x] = ns[Math.max(0, Math.floor((from + to) / 2 / bucket))] / bucket || 0;
				continue;
			}
			let b = before(waits.begins, from), e = before(waits.ends, from), at = from, total = 0;
			for (;;) { /* steps inside the pixel */
				const begin = b < waits.begins.length ? waits.begins[b] : Infinity, end = e < waits.ends.length ? waits.ends[e] : Infinity;
				const next = Math.min(begin, end, to);
				total += (b - e) * (next - at);
				at = next;
				if (next >= to)
					break;
				if (begin <= end)
					b++;
				else
					e++;
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

	arrow(context, x0, y0, x1, y1) {
		context.strokeStyle = context.fillStyle = this.mark;
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
		context.font = '11px system-ui, "DejaVu Sans", sans-serif';
		context.textBaseline = 'middle';
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
