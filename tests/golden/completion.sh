#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Completion: bash completes options, their values, commands of programs and the options of these
# commands; every option of every --help is there. So does zsh.
set -u
failed=0
# shellcheck source=/dev/null # made by the build
. "$B/completion.bash" || exit 1

complete_words() { # WORDS...: prints what bash offers for the last one
	COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
	compopt() { :; } # only works inside of a real completion
	_ovni
	echo "${COMPREPLY[*]}"
}
offers() { # WANTED WORDS...
	local want=$1 found
	shift
	found=$(complete_words "$@")
	[ "$found" = "$want" ] || { echo "completion of '$*': '$found', expected '$want'"; failed=1; }
}

offers '--duration=' ovni-bpf --dur
offers '--sample= --sample-seed= --sample-calls=' ovni-bpf -a --sam
offers 'off summary full' ovni-bpf --mode = ''
offers 'summary' ovni-bpf --mode su
offers 'mpi-messages mpi nosv openmp pthread' ovni-bpf --api ''
offers 'page-faults' ovni-bpf --counters page
offers 'cycles,instructions' ovni-bpf --counters = cycles,ins
offers 'lock,prio lock,preempted' ovni-bpf --why = lock,p
offers 'io,irq' ovni-bpf --why io,i # io is there
offers 'stack stack=both stack=user' ovni-bpf --why = st
offers 'user' ovni-bpf --why = lock,stack = u
offers 'both user' ovni-bpf --why lock,stack =
offers 'fork,exec fork,exit' ovni-bpf --events fork,ex
offers 'session doctor' ovni-bpf ''
offers 'start run status save stop list' ovni-bpf session ''
offers 'start status stop' ovni-bpf session st
offers '--rotate=' ovni-bpf session start night --rot
offers '--json' ovni-bpf session status --j
offers '--json --job' ovni-bpf doctor --j
offers "$$" ovni-bpf -p "$$"
offers 'check dump import export record stats' ovni-loom ''
offers '--declare-kinds= --declare-cores= --declare-nodes=' ovni-loom check --declare
offers 'cycle edge span' ovni-loom stats --style ''
offers '--loops' ovni-pallas stats --lo
offers '' ovni-pallas print --lo
offers 'latency' ovni-report la
offers '--sort=' ovni-report latency --so
offers 'mcv thread cpu' build/bin/ovni-top -b ''
offers '' ovni-top -o '' # files, by default
offers '' ovni-dump tra

n=0
for program in "$B"/bin/ovni-*; do
	name=${program##*/}
	complete -p "$name" >/dev/null || { echo "$name has no completion"; failed=1; }
	for option in $("$program" --help | sed -nE '/^Examples:/,$d; s/^  (-., |    )(--[a-z0-9-]+).*/\2/p'); do
		n=$((n + 1))
		# a program with commands offers these first
		[[ " ${_ovni_options[$name]//=/} " == *" $option "* ]] || { echo "$name: no $option in bash"; failed=1; }
		grep -qE "'$option=?\\[" "$B/completion.zsh" || { echo "$name: no $option in zsh"; failed=1; }
	done
done
[ $n -gt 100 ] || { echo "only $n options were compared"; failed=1; }

# In zsh, with its helpers replaced by ones that print what they get: options that begin with $option.
cat >stubs.zsh <<'ZSH'
compadd() { shift; print -rn -- "$* " }
_arguments() { print -rn -- options ${${(M)@:#$~option*}%%\[*} }
complete_words() { words=("$@") CURRENT=$# service=$1; source $B/completion.zsh; print }
ZSH
zsh_offers() { # WANTED OPTION WORDS...
	local found
	found=$(option=$2 zsh -fc '. ./stubs.zsh; complete_words "$@"' zsh "${@:3}" 2>&1)
	[ "$found" = "$1" ] || { echo "zsh: completion of '${*:3}': '$found', expected '$1'"; failed=1; }
}
zsh_offers 'session doctor options --duration=' --dur ovni-bpf ''
zsh_offers 'start run status save stop list ' --dur ovni-bpf session ''
zsh_offers 'options --rotate=' --rot ovni-bpf session start ''
zsh_offers 'options --json' --j ovni-bpf session status --
zsh_offers 'check dump import export record stats ' -- ovni-loom ''
zsh_offers 'options --style=' --st ovni-loom stats --
zsh_offers 'latency preempt wake why blocked critical locks io stacks efficiency messages timehist timeline cpu func flame perf counters ' -- build/bin/ovni-report ''
zsh_offers 'options --sort=' --so ovni-report latency --
zsh_offers 'options --loops' --lo ovni-pallas stats --
exit $failed
