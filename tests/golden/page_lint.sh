#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The scripts and styles of the pages (ovni-view, ovni-report flame): node parses them; eslint looks for
# undefined and unused names and the like, if it is installed; there is no function that turns text into
# HTML or code; each name in a style sheet belongs to an element; the lines have a limit. Faults planted
# in a copy show that each rule can fail.
# long: needs node
set -eu
export NODE_PATH=/usr/share/nodejs:/usr/lib/nodejs # of Debian's eslint, for any node
cat >"$T/rules.json" <<'END'
{"root": true, "extends": "eslint:recommended", "env": {"browser": true, "es6": true},
 "parserOptions": {"ecmaVersion": 2020}, "globals": {"BigInt": "readonly", "DecompressionStream": "readonly"},
 "rules": {"no-unused-vars": "error", "eqeqeq": "error", "no-var": "error", "no-eval": "error",
  "no-implied-eval": "error", "no-new-func": "error", "no-control-regex": "off", "require-atomic-updates": "off"}}
END
cat >"$T/style.py" <<'END'
import re, sys
style, body, script = (open(name, encoding="utf-8").read() for name in sys.argv[1:4])
wrong = ["braces"] if style.count("{") != style.count("}") else []
rules = re.sub(r"@media[^{]*\{", "", re.sub(r"/\*.*?\*/", "", style, flags=re.S))
for kind, name in re.findall(r"([#.])([A-Za-z][\w-]*)", " ".join(re.findall(r"([^{}]+)\{", rules))):
    if not re.search(r"(?<![\w-])%s(?![\w-])" % re.escape(name), body + script):
        wrong.append("no element is " + kind + name)
for name in sorted(set(re.findall(r"var\((--[\w-]+)\)", style)) - set(re.findall(r"(--[\w-]+):", style))):
    wrong.append("no value for " + name)
print("".join("%s: %s\n" % (sys.argv[1], what) for what in wrong), end="")
sys.exit(bool(wrong))
END

lint_page() { # STYLE BODY SCRIPT...: prints what is wrong
	local style=$1 body=$2 found=0
	shift 2
	cat "$@" >"$T/whole.js"
	awk '{ print FILENAME ":" FNR }' "$@" >"$T/lines"
	node --check "$T/whole.js" 2>&1 || found=1
	if [ "$eslint" ]; then
		(cd "$T" && eslint --no-eslintrc -c rules.json --format unix whole.js) >"$T/said" 2>&1 || found=1
		awk -F: 'NR == FNR { at[FNR] = $0; next } $1 ~ /whole\.js$/ { print at[$2] ":" $3 ":" $4 $5; next } { print }' \
			"$T/lines" "$T/said"
	fi
	if grep -nE 'innerHTML|outerHTML|insertAdjacent|document\.write|\beval\(|new Function|setAttribute\(.(on|style|href|src)|https?:' "$@"; then
		found=1
	fi
	python3 -B "$T/style.py" "$style" "$body" "$T/whole.js" || found=1
	return $found
}

if ! command -v node >/dev/null; then
	echo "no node: the scripts of the pages are not parsed"
	exit 77
fi
eslint=$(command -v eslint || true)
[ "$eslint" ] || echo "no eslint (apt-get install eslint): undefined and unused names are not looked for"
page=$S/tools/view/page
lint_page "$page/page.css" "$page/body.html" "$page"/{names,blocks,model,path,draw,panel,findings,playback,view,input,main}.js || exit 1
lint_page "$S"/tools/report/flame/page/flame{.css,_body.html,.js} || exit 1
lines=$(cat "$page"/* | wc -l)
if [ "$lines" -ge 3000 ]; then
	echo "$page has $lines lines, the limit is 3000"
	exit 1
fi

planted() { # SED FILE WORDS: the fault is found
	cp "$page"/* "$T"
	sed -i "$1" "$T/$2"
	if cmp -s "$page/$2" "$T/$2" ||
		lint_page "$T/page.css" "$T/body.html" "$T"/{names,blocks,model,path,draw,panel,findings,playback,view,input,main}.js >"$T/found" 2>&1 ||
		! grep -q -- "$3" "$T/found"; then
		echo "not found: $1 in $2: $(cat "$T/found")"
		exit 1
	fi
}
if [ "$eslint" ]; then
	planted 's/createElement(tag)/createElement(tog)/' names.js "names.js:.*'tog' is not defined"
	eslint= # it takes seconds
fi
planted 's/^function cut(text/function cut(text(/' names.js SyntaxError
planted "s/node.textContent = shown(text);/node.innerHTML = text;/" names.js 'names.js:.*innerHTML'
planted 's/^#legend {/#lagend {/' page.css 'no element is #lagend'
planted 's/var(--mark)/var(--marks)/' page.css 'no value for --marks'
echo "the pages are clean"
