#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Rooms: who includes whom. Every #include of every source file must be in the table
# below, which is the one of docs/architecture.md: data flows one way. A second run over
# files that break each rule shows that the check can see it.
set -u

# folder         our headers it may include     libraries it may use (beside libc)
rules='
trace/pallas     ^trace/                        ^(cjson/cJSON|zstd)\.h$
trace            ^trace/                        ^cjson/cJSON\.h$
bpf              ^(bpf|vmlinux)/                ^bpf/
user             ^(user|trace)/|^bpf/(record\.h|state\.h|ovni\.skel\.h)$  ^(bpf/|libelf|gelf|elfutils/|dwarf|cap-ng|libiberty/|lzma|capstone/|zlib)
emu              ^(emu|trace)/                  ^zlib\.h$
tools/sync       ^(tools|trace|emu)/            ^mpi\.h$
tools            ^(tools|trace|emu)/            ^$
'
# Not libc's, whoever includes them.
libraries='^(bpf/|cjson/|zstd|zlib|lzma|libelf|gelf|elfutils/|dwarf|cap-ng|libiberty/|capstone/|mpi|cmocka|vmlinux)'

includes() { # FILE: its includes as <name> or as "path below the top"
	local line name
	sed -nE 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*([<"][^>"]*)[>"].*/\1/p' "$1" |
		while IFS= read -r line; do
			name=${line#?}
			case $line in
			'<'*) echo "<$name" ;;
			*) # beside the file, else below the top; the skeleton is generated
				if [ -e "$(dirname "$1")/$name" ]; then
					name=$(realpath -m --relative-to=. "$(dirname "$1")/$name")
				fi
				echo "\"$name"
				;;
			esac
		done
}

rule_of() { # FILE: "ours<tab>libraries" of the first rule whose folder it is in
	local folder ours theirs
	while read -r folder ours theirs; do
		case $1 in "${folder:-none}"/* | "${folder:-none}".*)
			printf '%s\t%s\n' "$ours" "$theirs"
			return
			;;
		esac
	done <<<"$rules"
}

check() { # in the current folder: prints what breaks a rule
	local file rule ours theirs include name
	find trace bpf user emu tools -name '*.[ch]' 2>/dev/null | sort | while IFS= read -r file; do
		rule=$(rule_of "$file")
		ours=${rule%%	*}
		theirs=${rule##*	}
		includes "$file" | while IFS= read -r include; do
			name=${include#?}
			case $include in
			'<'*)
				[[ $name =~ $libraries && ! $name =~ $theirs ]] &&
					echo "$file: may not use <$name>"
				;;
			*)
				[ "$name" = vmlinux.h ] && name=vmlinux/vmlinux.h
				[[ $name =~ $ours ]] || echo "$file: may not include \"$name\""
				;;
			esac
		done
	done
}

cd "$S" || exit 1
found=$(check)
[ -z "$found" ] || { echo "$found"; exit 1; }

# Each of these lines breaks one rule.
mkdir -p "$T/bad" && cd "$T/bad" || exit 1
mkdir -p trace bpf user emu tools
plant() { echo "#include $2" >>"$1"; }
plant trace/a.c '"user/timeline.h"'
plant trace/b.c '<bpf/libbpf.h>'
plant trace/c.c '<zstd.h>'
plant bpf/a.bpf.c '"trace/event.h"'
plant user/a.c '"emu/model.h"'
plant user/b.c '"bpf/emit.bpf.h"'
plant emu/a.c '"bpf/record.h"'
plant emu/b.c '"../user/threads.h"'
plant emu/c.h '<cjson/cJSON.h>'
plant tools/a.c '"user/options.h"'
plant tools/b.c '<mpi.h>'
seen=$(check | wc -l)
[ "$seen" = 11 ] || { echo "the check saw $seen of 11 broken rules:"; check; exit 1; }

# And these break none.
rm -rf "$T/good" && mkdir -p "$T/good" && cd "$T/good" || exit 1
mkdir -p trace/pallas bpf user emu tools
touch trace/event.h
plant trace/a.c '"event.h"'
plant trace/a.c '"trace/json.h"'
plant trace/pallas/a.c '<zstd.h>'
plant bpf/a.bpf.c '"vmlinux.h"'
plant bpf/a.bpf.c '<bpf/bpf_helpers.h>'
plant user/a.c '"bpf/record.h"'
plant user/a.c '"bpf/ovni.skel.h"'
plant user/a.c '<bpf/libbpf.h>'
plant user/a.c '<stdio.h>'
plant emu/a.c '<zlib.h>'
plant tools/sync.c '<mpi.h>'
found=$(check)
[ -z "$found" ] || { echo "the check refuses what is allowed:"; echo "$found"; exit 1; }
