#!/usr/bin/env bash
# Unsupervised constituency parsing with an ON-LSTM language model (table 2).
#   recipes/on_lstm/wsj_parsing.sh CHECKPOINT TREES
# CHECKPOINT is of an on_lstm_lm, such as that of ptb_lm_small.sh; TREES is a folder of .mrg files.
# All sentences are parsed with every layer's distances; beside them stand the trivial trees.
# Environment: RECORD=1 appends the numbers to results.jsonl; SECTIONS="23" evaluates on those sections only.

# shellcheck source=../common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

checkpoint=${1:-} trees=${2:-}
[ -n "$trees" ] || fail "usage: wsj_parsing.sh CHECKPOINT TREES"
[ -f "$checkpoint" ] || fail "$checkpoint: no such file"
record=()
[ "${RECORD:-0}" = 0 ] || record=(--results "$here/results.jsonl")
read -ra sections <<<"${SECTIONS:-}"
chosen=""
[ ${#sections[@]} -eq 0 ] || chosen="SECTIONS='$SECTIONS' "
python "$here/parsing.py" --checkpoint "$checkpoint" --trees "$trees" \
    ${sections[@]:+--sections "${sections[@]}"} \
    --command "${chosen}recipes/on_lstm/wsj_parsing.sh CHECKPOINT TREES" \
    "${record[@]}"
