#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Completion of the command lines of all programs, from their --help, which is printed from their
# tables of options (trace/base/cli.h).
#
#   tools/completion.sh bash|zsh PROGRAM...   prints the script for that shell
set -eu
shell=$1
shift

# The help of each program and of each of its commands, after a line "@ NAME [COMMAND]".
helps() {
	local program name command
	for program; do
		name=${program##*/}
		echo "@ $name"
		"$program" --help
		for command in $("$program" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
			echo "@ $name $command"
			"$program" "$command" --help
		done
		[ "$name" = ovni-bpf ] || continue
		echo "@ $name doctor"
		"$program" doctor --help
		for command in $("$program" session --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
			echo "@ $name session $command"
			"$program" session "$command" --help
		done
	done
}

# The names that values of options have beside those in --help.
top=$(dirname "$0")/..
apis=$(basename -a -s .json "$top"/user/apis/*.json | paste -sd '|')
counters=$(sed -n 's/^\t{"\([A-Za-z0-9-]*\)", .*, PERF_TYPE_.*/\1/p' "$top/user/config/perf_events.c" | paste -sd '|')

# One line for each command and option: NAME|command|COMMAND and NAME|option|-x|--long|ARGUMENT|HELP.
# An ARGUMENT with a comma in front is a list.
table() {
	awk -v apis="$apis" -v counters="$counters" '
	function values() {
		if (left == "--api") return apis
		if (left == "--counters") return "," counters
		if (left == "--events") return ",switch|wake|fork|exec|exit|rename|probe"
		return (left == "--why" ? "," : "") argument
	}
	function flush() { if (row != "") print row "|" help; row = "" }
	/^@ / { flush(); name = substr($0, 3); examples = list = 0; next }
	/^Examples:/ { flush(); examples = 1 }
	examples { next }
	/^(Commands|Reports):/ { list = 1; next }
	/^[^ ]|^$/ { flush(); list = 0; next }
	list && /^  [a-z]/ { print name "|command|" $1; next }
	/^  (-., |    )--/ {
		flush()
		left = $0; sub(/^ */, "", left); help = ""
		if (match(left, /  +/)) { help = substr(left, RSTART + RLENGTH); left = substr(left, 1, RSTART - 1) }
		letter = ""; argument = ""
		if (left ~ /^-., /) { letter = substr(left, 1, 2); left = substr(left, 5) }
		if (i = index(left, "=")) { argument = substr(left, i + 1); left = substr(left, 1, i - 1) }
		if (name == "ovni-bpf") argument = values()
		gsub(/\|/, " ", argument)
		row = name "|option|" letter "|" left "|" argument
		next
	}
	row != "" { sub(/^ */, ""); help = help (help == "" ? "" : " ") $0 }
	END { flush() }'
	printf '%s\n' 'ovni-bpf|command|session' 'ovni-bpf|command|doctor'
	for command in start run status save stop list; do echo "ovni-bpf session|command|$command"; done
}

bash_script() {
	cat <<'BASH'
# Completion of the programs of ovni-bpf for bash; made by tools/completion.sh.
declare -gA _ovni_commands _ovni_options _ovni_values
BASH
	awk -F'|' '
	$2 == "command" { commands[$1] = commands[$1] " " $3 }
	$2 == "option" {
		options[$1] = options[$1] " " $4 ($5 == "" ? "" : "=")
		if ($3 != "") options[$1] = options[$1] " " $3
		if ($5 ~ /^,?[a-z]/) {
			values[$1 " " $4] = $5
			if ($3 != "") values[$1 " " $3] = $5
		} else if ($5 != "") {
			values[$1 " " $4] = $5 == "PID[,PID]" ? "<pid>" : $5 ~ /^BIN(:FUNC|\[)/ ? "<function>" : "<file>"
			if ($3 != "") values[$1 " " $3] = values[$1 " " $4]
		}
	}
	function put(array, key, value) { sub(/^ /, "", value); printf "%s[\"%s\"]=\"%s\"\n", array, key, value }
	END {
		for (k in commands) put("_ovni_commands", k, commands[k])
		for (k in options) put("_ovni_options", k, options[k])
		for (k in values) put("_ovni_values", k, values[k])
	}' | LC_ALL=C sort
	cat <<'BASH'

# The name in the tables above: the program and its commands among the words before the cursor.
_ovni_name() {
	local i word name=${COMP_WORDS[0]##*/}
	for ((i = 1; i < COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		[[ $word != -* && " ${_ovni_commands[$name]-} " == *" $word "* ]] || break
		name+=" $word"
	done
	case $name in
	"ovni-bpf session start" | "ovni-bpf session run") name=ovni-bpf ;;
	ovni-report\ *) name=ovni-report ;;
	esac
	echo "$name"
}

# The functions of a binary that begin with a text, and the names of sessions, from the program.
_ovni_functions() {
	"${COMP_WORDS[0]/#\~\//$HOME/}" --list "$1:$2*" 2>/dev/null |
		awk 'NF == 5 && $1 $2 ~ /^[0-9a-f]+$/ { print $5 }'
}
_ovni_sessions() {
	"${COMP_WORDS[0]/#\~\//$HOME/}" session list 2>/dev/null | awk 'NR > 1 { print $1 }'
}

# The values of a list, as in --why=lock,stack=both. bash splits words at '=', too, and replaces the
# last one alone.
_ovni_list() { # VALUES, each with a blank in front
	local i=$COMP_CWORD text=${COMP_WORDS[COMP_CWORD]} before name names='' reply
	while ((i > 1)) && [[ ${COMP_WORDS[i]} == = || ${COMP_WORDS[i - 1]} == = ]]; do
		i=$((i - 1)) text=${COMP_WORDS[i]}$text
	done
	[[ $text != -* ]] || text=${text#*=}
	before=${text%"${text##*,}"}
	for name in $1; do
		[[ ,$before == *",$name,"* ]] || names+=" $before$name"
		[ "$name" != stack ] || names+=" ${before}stack=both ${before}stack=user"
	done
	mapfile -t COMPREPLY < <(compgen -W "$names" -- "$text")
	[[ $text != *=* ]] || COMPREPLY=("${COMPREPLY[@]#"${text%=*}="}")
	compopt -o nospace # more may follow a comma
}

_ovni() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} name values binary='' i
	name=$(_ovni_name)
	COMPREPLY=()
	# bash splits words at ':', too: OPTION [=] BINARY : FUNCTIONS
	i=$COMP_CWORD
	if [ "$cur" = : ]; then
		binary=$prev cur=''
	elif [ "$prev" = : ]; then
		i=$((i - 1)) binary=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	if [ -n "$binary" ] && ((i > 2)); then
		prev=${COMP_WORDS[i - 2]}
		[ "$prev" != = ] || prev=${COMP_WORDS[i - 3]}
	fi
	if [ "$cur" = = ]; then # bash splits words at '='
		cur=
	elif [ "$prev" = = ]; then
		prev=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	[[ $prev != stack && $prev != *,stack ]] || prev=--why
	values=${_ovni_values["$name $prev"]-}
	if [ "$values" = "<pid>" ]; then
		mapfile -t COMPREPLY < <(cd /proc && compgen -W "$(echo [0-9]*)" -- "$cur")
	elif [ "$values" = "<function>" ] && [ -n "$binary" ]; then
		local before=''
		[[ $cur != *,* ]] || before=${cur%,*},
		mapfile -t COMPREPLY < <(_ovni_functions "${binary/#\~\//$HOME/}" "${cur##*,}" | sed "s|^|$before|")
		compopt +o default -o nospace # more functions may follow a comma
	elif [ "$values" = "<file>" ] || [ "$values" = "<function>" ]; then
		: # the default: files
	elif [[ $values == ,* ]]; then
		_ovni_list "${values#,}"
	elif [ -n "$values" ]; then
		mapfile -t COMPREPLY < <(compgen -W "$values" -- "$cur")
	elif [[ $cur == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "${_ovni_options[$name]-}" -- "$cur")
		[[ ${COMPREPLY[*]} != *= ]] || compopt -o nospace
	elif [ -n "${_ovni_commands[$name]-}" ] && [[ $prev == "${name##* }" || ${prev##*/} == "$name" ]]; then
		mapfile -t COMPREPLY < <(compgen -W "${_ovni_commands[$name]}" -- "$cur")
	elif [[ $name == "ovni-bpf session "@(status|save|stop) ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(_ovni_sessions)" -- "$cur")
	fi
}
BASH
	echo "complete -o default -F _ovni $*"
}

zsh_script() {
	echo "#compdef $*"
	echo "# Completion of the programs of ovni-bpf for zsh; made by tools/completion.sh."
	cat <<'ZSH'
_ovni_functions() {
	local binary=${PREFIX%%:*}
	if compset -P 1 '*:'; then
		compset -P '*,'
		compadd -S '' -- ${(f)"$(${(Q)words[1]} --list "${(Q)binary/#\~\//$HOME/}:${(Q)PREFIX}*" 2>/dev/null |
			awk 'NF == 5 && $1 $2 ~ /^[0-9a-f]+$/ { print $5 }')"}
	else
		_files -S :
	fi
}
ZSH
	echo "local -A ovni_commands"
	echo "local -a specs"
	awk -F'|' '
	function quoted(text) { gsub(/\047/, "\047\\\047\047", text); return "\047" text "\047" }
	$2 == "command" { commands[$1] = commands[$1] " " $3 }
	$2 == "option" {
		if (!($1 in specs)) names[++n] = $1
		help = $6; gsub(/\[/, "(", help); gsub(/\]/, ")", help); gsub(/:/, "\\:", help)
		argument = tolower($5); gsub(/[^a-z]/, " ", argument)
		action = $5 == "" ? "" : ":" argument ":_files"
		if ($5 ~ /^[a-z]/) action = ":value:(" $5 ")"
		if ($5 ~ /^,/) {
			action = " " substr($5, 2) " "
			sub(/ stack /, " \"stack\\:form\\:(both user)\" ", action)
			action = ":value:_values -s , value" action
		}
		if ($4 == "--api") action = ":API:_alternative \"names\\:API\\:(" $5 ")\" \"files\\:file\\:_files\""
		if ($5 == "PID[,PID]") action = ":pid:_pids"
		if ($5 ~ /^BIN(:FUNC|\[)/) action = ":binary\\:function:_ovni_functions"
		spec = $4 ($5 == "" ? "" : "=") "[" help "]" action
		specs[$1] = specs[$1] "\n\t\t" quoted(spec)
		if ($3 != "") specs[$1] = specs[$1] "\n\t\t" quoted($3 "[" help "]" action)
	}
	END {
		print "ovni_commands=("
		for (k in commands) printf "\t%s %s\n", quoted(k), quoted(substr(commands[k], 2))
		print ")"
		print "local name=${service:t} word\nlocal -i at=2"
		print "while (( at < CURRENT )); do\n\tword=$words[at]"
		print "\t[[ \" ${ovni_commands[$name]} \" == *\" $word \"* ]] || break\n\tname+=\" $word\"\n\t(( at++ ))\ndone"
		print "if (( at == CURRENT )) && [[ -n ${ovni_commands[$name]} && $words[CURRENT] != -* ]]; then"
		print "\tcompadd -- ${=ovni_commands[$name]}\n\t[[ $name != ovni-bpf ]] && return\nfi"
		print "[[ $name == \"ovni-bpf session start\" || $name == \"ovni-bpf session run\" ]] && name=ovni-bpf"
		print "[[ $name == \"ovni-report \"* ]] && name=ovni-report"
		print "if [[ $name == \"ovni-bpf session \"(status|save|stop) && $words[CURRENT] != -* ]]; then"
		print "\tcompadd -- ${(f)\"$(${(Q)words[1]} session list 2>/dev/null | awk \047NR > 1 { print $1 }\047)\"}\n\treturn\nfi"
		print "case $name in"
		for (i = 1; i <= n; i++) printf "%s)\n\tspecs=(%s)\n\t;;\n", quoted(names[i]), specs[names[i]]
		print "esac\n_arguments -s $specs \047*:file:_files\047"
	}'
}

names=()
for program; do names+=("${program##*/}"); done
helps "$@" | table | "${shell}_script" "${names[@]}"
