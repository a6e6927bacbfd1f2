#!/usr/bin/env bash
# Targeted syntactic evaluation of a language model (ON-LSTM paper, table 3).
#   recipes/on_lstm/syneval.sh CHECKPOINT SETS
# CHECKPOINT is a checkpoint of on_lstm_lm or awd_lstm_lm. SETS is a folder with the .pickle files
# of the test sets. Environment: RECORD, see ../common.sh.

# shellcheck source=../common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

[ $# -eq 2 ] || fail "usage: syneval.sh CHECKPOINT SETS"
given "$1"
scale=reduced
score "$here/syntax.py" "CHECKPOINT SETS" --experiment syneval --checkpoint "$1" --sets "$2"
