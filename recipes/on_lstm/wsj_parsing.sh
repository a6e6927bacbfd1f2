#!/usr/bin/env bash
# Unsupervised constituency parsing with an ON-LSTM language model (ON-LSTM paper, table 2).
#   recipes/on_lstm/wsj_parsing.sh CHECKPOINT|trivial TREES
# CHECKPOINT is a checkpoint of on_lstm_lm, such as one of ptb_lm_small.sh, and all sentences are
# parsed with the distances of each layer; trivial are trees that need no model, random ones drawn
# five times. TREES is a folder of .mrg files.
# Environment: RECORD, see ../common.sh; SECTIONS="23" evaluates only on these sections.

source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

[ $# -eq 2 ] || fail "usage: wsj_parsing.sh CHECKPOINT|trivial TREES"
checkpoint=() what=trivial
if [ "$1" != trivial ]; then
    given "$1"
    checkpoint=(--checkpoint "$1") what=CHECKPOINT
fi
scale=reduced
sections=""
setting SECTIONS
read -ra chosen <<<"$sections"
[ ${#chosen[@]} -eq 0 ] || chosen=(--sections "${chosen[@]}")
score "$here/parsing.py" "$what TREES" --experiment wsj_parsing "${checkpoint[@]}" \
    --trees "$2" "${chosen[@]}"
