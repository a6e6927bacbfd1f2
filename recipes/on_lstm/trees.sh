#!/usr/bin/env bash
# Trees of a language model beside those of a linguist, for sentences of our own (figures 1 and A.1 of
# the ON-LSTM paper, whose sentences are the Penn Treebank's).
#   recipes/on_lstm/trees.sh CHECKPOINT [PICTURE]
# CHECKPOINT is a checkpoint of on_lstm_lm, such as one of mixed_text.sh; all sentences of trees.txt
# are parsed with its second layer. The picture, .svg, .png, .tex or .html, is by default OUT/trees.svg.

source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

[ $# -eq 1 ] || [ $# -eq 2 ] || fail "usage: trees.sh CHECKPOINT [PICTURE]"
given "$1"
mkdir -p "$out"
# The caption of a picture is the name of the file.
ln -sfn "$(realpath "$1")" "$out/layer_2.pt"
fairseq-struct draw "$out/layer_2.pt" --layer 2 --what trees --gold "$here/trees.txt" \
    --output "${2:-$out/trees.svg}"
