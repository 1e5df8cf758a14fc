'use strict';
/*
 * names: words, colours and numbers. Times are ns since the first event, as numbers below 2^53.
 * Text from a trace goes through shown(), and only into textContent and fillText.
 */
const CLASSES = ['running', 'runnable', 'throttled', 'asleep', 'asleep: I/O', 'asleep: uninterruptible',
	'stopped', 'unknown', 'switch missing'];
const [RUNNING, RUNNABLE, THROTTLED, ASLEEP, IO, BLOCKED, STOPPED, UNKNOWN, REPAIRED] = CLASSES.keys();
const THIN = [ASLEEP, IO, BLOCKED, STOPPED];
const COLOURS = {
	light: ['#14a37f', '#f2a900', '#7a0033', '#c3cad3', '#3b8fd6', '#4b2380', '#6e6e6e', '#6e6e6e', '#6e6e6e'],
	dark: ['#2fc79a', '#ffc233', '#c2274f', '#4a525d', '#58aef0', '#7d4fd6', '#d8d8d8', '#d8d8d8', '#d8d8d8'],
};
const HUES = ['#0072b2', '#e69f00', '#56b4e9', '#cc79a7', '#d55e00', '#009e73', '#f0e442', '#332288'];

/* Control characters and marks of direction, which change what other characters look like, as U+NNNN. */
function shown(text) {
	return String(text).replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g,
		(c) => 'U+' + c.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0'));
}

/* At most `most` characters, for rows and tables. */
function cut(text, most = 64) {
	return text.length > most ? text.slice(0, most - 1) + '…' : text;
}

/* The first of `n` numbers for which `before` is false; it is true for all before that one. */
function firstOf(n, before) {
	let low = 0;
	for (let high = n; low < high;) {
		const middle = low + high >>> 1;
		if (before(middle))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The entries of a list by a key of theirs. */
function grouped(list, keyOf) {
	const groups = new Map();
	for (const entry of list) {
		const key = keyOf(entry);
		groups.set(key, groups.get(key) || []);
		groups.get(key).push(entry);
	}
	return groups;
}

function counted(n, noun) {
	return n + ' ' + noun + (n === 1 ? '' : 's');
}

function element(tag, text, className) {
	const node = document.createElement(tag);
	if (text !== undefined)
		node.textContent = shown(text);
	if (className)
		node.className = className;
	return node;
}

/* A sample of a colour, with its meaning. */
function swatch(background, text, className = '') {
	const item = element('span'), sample = element('span', '', 'swatch ' + className);
	sample.style.background = background;
	item.append(sample, text);
	return item;
}

/* 1204123 is 1.204123 ms: every digit counts. */
function duration(ns) {
	const units = [[1e9, 's', 9], [1e6, 'ms', 6], [1e3, 'us', 3]];
	for (const [unit, name, digits] of units)
		if (ns >= unit)
			return decimal(ns, unit, digits).replace(/\.?0+$/, '') + ' ' + name;
	return ns + ' ns';
}

function decimal(ns, unit, digits) {
	const whole = Math.floor(ns / unit);
	return whole + '.' + String(ns - whole * unit).padStart(digits, '0');
}

/* Seconds with 9 digits, for links and the axis; never through a fraction. */
function seconds(ns) {
	return (ns < 0 ? '-' : '') + decimal(Math.abs(Math.round(ns)), 1e9, 9);
}

/* The ns of such a text, or NaN. */
function parseSeconds(text) {
	const match = /^(-?)(\d{1,7})(?:\.(\d{1,9}))?$/.exec(text);
	if (!match)
		return NaN;
	const ns = Number(match[2]) * 1e9 + Number((match[3] || '').padEnd(9, '0'));
	return match[1] ? -ns : ns;
}

function percent(part, whole) {
	return whole > 0 ? (100 * part / whole).toFixed(1) + ' %' : '';
}

function hueOf(name, shift = 0) {
	let hash = shift;
	for (let i = 0; i < name.length; i++)
		hash = Math.imul(hash, 31) + name.charCodeAt(i) | 0;
	return HUES[(hash >>> 0) % HUES.length];
}

/* "#rrggbb" as one word of ImageData; pale: nearly the colour of the paper. */
function pixel(colour, paper = colour) {
	const [n, p] = [colour, paper].map((text) => parseInt(text.slice(1), 16));
	const [r, g, b] = [16, 8, 0].map((shift) => ((n >> shift & 255) + 3 * (p >> shift & 255)) / 4 | 0);
	return (0xff000000 | b << 16 | g << 8 | r) >>> 0;
}

/* Black or white, whichever contrasts more with a colour. */
function inkOn(colour) {
	const n = parseInt(colour.slice(1), 16);
	const [r, g, b] = [n >> 16, n >> 8 & 255, n & 255].map((v) =>
		v <= 10 ? v / 3294.6 : Math.pow((v / 255 + 0.055) / 1.055, 2.4));
	return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? '#000000' : '#ffffff';
}
