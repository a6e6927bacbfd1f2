#!/usr/bin/env bash
# The Dependency Model with Valence (Klein, Manning, 2004), learnt from gold parts of speech.
#   recipes/udgn/dmv.sh TREES
#   recipes/udgn/dmv.sh TREEBANK
# TREES is a folder of nltk's .dp files: it learns from the short sentences, and scores these and all
# others. TREEBANK is a folder of *-dev.conllu, *-test.conllu and, if there is one, *-train.conllu,
# such as UD_English-ParTUT: it learns from the short sentences of the others, and scores the test
# split. Environment, beside RECORD of ../common.sh:
#   LONGEST    words of the longest sentence to learn from (default: 10 for TREES, 15 for TREEBANK)
#   SMOOTHING  what is added to every expected count (default: 0.01)

source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

usage="dmv.sh TREES|TREEBANK"
[ $# -eq 1 ] || fail "usage: $usage"
[ -d "$1" ] || fail "$1: no such folder"
scale=reduced # Klein and Manning have 7,422 sentences of up to 10 words
longest=10 smoothing=0.01
tests=("$1"/*-test.conllu)
if compgen -G "$1/*.dp" >/dev/null; then
    argument=TREES
    about=(--experiment dmv --data "WSJ sample" --trees "$1")
elif [ -f "${tests[0]}" ]; then
    argument=TREEBANK longest=15
    text=()
    for split in train dev; do
        found=("$1"/*-"$split".conllu)
        [ ! -f "${found[0]}" ] || text+=("${found[0]}")
    done
    [ ${#text[@]} -gt 0 ] || fail "$1: no file *-train.conllu or *-dev.conllu"
    name=$(basename "${tests[0]}" -ud-test.conllu)
    about=(--experiment dmv_ud --variant "$name" --data "UD treebanks, test splits")
    about+=(--trees "${tests[0]}" --text "${text[@]}")
else
    fail "$1: neither .dp files nor *-test.conllu"
fi
numbers LONGEST
setting SMOOTHING
score "$here/dmv.py" "$argument" "${about[@]}" --longest "$longest" --smoothing "$smoothing"
