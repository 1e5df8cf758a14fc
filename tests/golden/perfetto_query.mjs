// SPDX-License-Identifier: MIT
// perfetto_query FOLDER FILE SQL...: what the real trace_processor answers, as lines of words parted by tabs, with a line
// "--" behind each answer. FOLDER has the engine (perfetto.md 14). Status 1 if it refuses the file or a statement.
import { readFileSync } from 'node:fs';
import vm from 'node:vm';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const [folder, file, ...statements] = process.argv.slice(2);
const fail = (why) => { console.error(`perfetto_query: ${why}`); process.exit(1); };
process.on('uncaughtException', (error) => fail(error.message ?? error));

// The engine is made for a worker of a browser, and loads its WebAssembly from there.
const url = pathToFileURL(resolve(folder)).href + '/';
const { EngineBase } = await import(url + 'engine.mjs');
Object.defineProperty(globalThis, 'self', { value: globalThis });
Object.defineProperty(globalThis, 'location', { value: { href: url } });
globalThis.WorkerGlobalScope = function () {};
globalThis.perfettoWasm = new Uint8Array(readFileSync(folder + '/trace_processor.wasm'));
let engineText = readFileSync(folder + '/engine_bundle.node.js', 'utf8');
for (const [old, replacement] of [
	['this.useMemory64 = hasMemory64Support();', 'this.useMemory64 = false;'],
	['locateFile: (s) => s,', 'locateFile: (s) => s, wasmBinary: globalThis.perfettoWasm,'],
	['const wasmBridge = new wasm_bridge_1.WasmBridge();', '$& globalThis.perfettoBridge = wasmBridge;'],
]) {
	if (!engineText.includes(old)) fail(`another engine: ${old}`);
	engineText = engineText.replace(old, replacement);
}
vm.runInThisContext(engineText);

class Engine extends EngineBase {
	mode = 'WASM';
	id = 'tests';
	constructor(port) {
		super();
		this.port = port;
		port.onmessage = ({ data }) => { if (data instanceof Uint8Array) this.onRpcResponseBytes(data); };
	}
	rpcSendRequestBytes(bytes) { this.port.postMessage(bytes); }
	dispose() { this.port.close(); }
	[Symbol.dispose]() { this.dispose(); }
}
const { port1, port2 } = new MessageChannel();
globalThis.perfettoBridge.initialize(port1);
const engine = new Engine(port2);
await new Promise((done) => setTimeout(done, 1500));
const trace = readFileSync(file);
for (let at = 0; at < trace.length; at += 1 << 25) await engine.parse(new Uint8Array(trace.subarray(at, at + (1 << 25))));
await engine.notifyEof();
for (const sql of statements) {
	const answer = await engine.query(sql).catch((error) => fail(`${sql}: ${error.message ?? error}`));
	const columns = answer.columns();
	for (const row = answer.iter({}); row.valid(); row.next()) console.log('=' + columns.map((name) => String(row.get(name))).join('\t'));
	console.log('--');
}
process.exit(0);
