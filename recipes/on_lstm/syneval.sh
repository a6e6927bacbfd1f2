#!/usr/bin/env bash
# Targeted syntactic evaluation of a language model (table 3).
#   recipes/on_lstm/syneval.sh CHECKPOINT SETS
# CHECKPOINT is of an on_lstm_lm or awd_lstm_lm; SETS is a folder of the test sets' .pickle files.
# Environment: RECORD=1 appends the numbers to results.jsonl.

# shellcheck source=../common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

checkpoint=${1:-} sets=${2:-}
[ -n "$sets" ] || fail "usage: syneval.sh CHECKPOINT SETS"
[ -f "$checkpoint" ] || fail "$checkpoint: no such file"
record=()
[ "${RECORD:-0}" = 0 ] || record=(--results "$here/results.jsonl")
python "$here/syntax.py" --checkpoint "$checkpoint" --sets "$sets" \
    --command "recipes/on_lstm/syneval.sh CHECKPOINT SETS" "${record[@]}"
