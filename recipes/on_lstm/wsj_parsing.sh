#!/usr/bin/env bash
# Unsupervised constituency parsing with an ON-LSTM language model (ON-LSTM paper, table 2).
#   recipes/on_lstm/wsj_parsing.sh CHECKPOINT TREES
# CHECKPOINT is a checkpoint of on_lstm_lm, such as one of ptb_lm_small.sh. TREES is a folder of
# .mrg files. All sentences are parsed with the distances of each layer; trivial trees are scored,
# too.
# Environment: RECORD, see ../common.sh; SECTIONS="23" evaluates only on these sections.

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
