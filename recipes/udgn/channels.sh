#!/usr/bin/env bash
# Which channels carry which types of dependencies (table 8 of Shen's thesis, chapter 4).
#   recipes/udgn/channels.sh CHECKPOINT TREEBANK
# CHECKPOINT is a checkpoint of udgn, structformer or masked_transformer, as made by ptb.sh.
# TREEBANK is a CoNLL-U file with relations. The heat map channels.png is written beside the recipe
# if the numbers are recorded, else in OUT/channels. Environment: OUT and RECORD, see ../common.sh.

source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

[ $# -eq 2 ] || fail "usage: channels.sh CHECKPOINT TREEBANK"
given "$1"
[ -f "$2" ] || fail "$2: no such file"
scale=reduced
mkdir -p "$out/channels"
folder=$(mktemp -d "$out/channels/XXXXXX") # two checkpoints may be measured at once
trap 'rm -rf "$folder"' EXIT
kept=$out/channels
! recording || kept=$here
fairseq-struct channels "$1" "$2" --table "$folder/channels.tsv" --png "$kept/channels.png"
score "$here/channels.py" "CHECKPOINT TREEBANK" --experiment channels --checkpoint "$1" \
    --table "$folder/channels.tsv" --data "$(basename "$2")"
