#!/usr/bin/env bash
# Which channels carry which types of dependencies (table 8 of Shen's thesis, chapter 4).
#   recipes/udgn/channels.sh CHECKPOINT TREEBANK
# CHECKPOINT is of a udgn, structformer or masked_transformer, such as ptb.sh makes them; TREEBANK is
# a CoNLL-U file with relations. The heat map is channels.png beside the recipe if the numbers are
# recorded, else in OUT/channels. Environment: OUT; RECORD=1 appends the numbers to results.jsonl.

# shellcheck source=common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

checkpoint=${1:-} trees=${2:-}
[ -n "$trees" ] || fail "usage: channels.sh CHECKPOINT TREEBANK"
[ -f "$checkpoint" ] || fail "$checkpoint: no such file"
[ -f "$trees" ] || fail "$trees: no such file"
folder=$out/channels
mkdir -p "$folder"
kept=$folder record=()
[ "${RECORD:-0}" = 0 ] || kept=$here record=(--results "$here/results.jsonl")
fairseq-struct channels "$checkpoint" "$trees" --table "$folder/channels.tsv" \
    --png "$kept/channels.png"
python "$here/channels.py" "$folder/channels.tsv" --checkpoint "$checkpoint" \
    --treebank "$(basename "$trees")" --command "recipes/udgn/channels.sh CHECKPOINT TREEBANK" \
    "${record[@]}"
