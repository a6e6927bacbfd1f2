#!/usr/bin/env bash
# Unsupervised constituency parsing with an ON-LSTM language model (table 2).
#   recipes/on_lstm/wsj_parsing.sh CHECKPOINT TREES
# CHECKPOINT is of an on_lstm_lm, such as that of ptb_lm_small.sh; TREES is a folder of .mrg files.
# All sentences are parsed with every layer's distances; beside them stand the trivial trees.
# Environment: RECORD, see ../common.sh; SECTIONS="23" evaluates on those sections only.

source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

[ $# -eq 2 ] || fail "usage: wsj_parsing.sh CHECKPOINT TREES"
given "$1"
scale=reduced
sections=""
setting SECTIONS
read -ra chosen <<<"$sections"
[ ${#chosen[@]} -eq 0 ] || chosen=(--sections "${chosen[@]}")
score "$here/parsing.py" "CHECKPOINT TREES" --experiment wsj_parsing --checkpoint "$1" \
    --trees "$2" "${chosen[@]}"
