#!/usr/bin/env bash
# Trees of models beside those of a linguist, for sentences of our own (figure 11 of Shen's thesis,
# chapter 4, whose sentence is the Penn Treebank's, and whose models have several mask rates).
#   recipes/udgn/trees.sh PICTURE NAME=CHECKPOINT…
# PICTURE ends in .svg, .png, .tex or .html. CHECKPOINTs are of udgn or structformer, such as those of
# direction.sh; NAME is the caption of their trees. All sentences of trees.conllu are parsed; their
# arcs follow the conventions of nltk's .dp files.

source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

usage="trees.sh PICTURE NAME=CHECKPOINT…"
[ $# -gt 1 ] || fail "usage: $usage"
picture=$1
shift
for one in "$@"; do
    name=${one%%=*}
    [[ $one == ?*=* && $name != */* ]] || fail "usage: $usage"
    given "${one#*=}"
done
mkdir -p "$out/trees"
drawn=()
for one in "$@"; do
    # The caption of a picture is the name of the file.
    drawn+=("$out/trees/${one%%=*}.pt")
    ln -sfn "$(realpath "${one#*=}")" "${drawn[-1]}"
done
fairseq-struct draw "${drawn[@]}" --what trees --gold "$here/trees.conllu" --output "$picture"
