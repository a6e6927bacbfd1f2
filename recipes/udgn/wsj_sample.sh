#!/usr/bin/env bash
# Unsupervised dependency parsing of a treebank prepared as in Shen's thesis (tables 7 and 9).
#   recipes/udgn/wsj_sample.sh CHECKPOINT TREES
#   recipes/udgn/wsj_sample.sh chains TREES
# CHECKPOINT is a checkpoint of udgn or structformer, as made by ptb.sh. TREES is a folder of nltk's
# .dp files, or a CoNLL-U file. With chains, the trees are trivial and need no model. Environment:
# RECORD=1 appends the numbers, those of chains, too; see ../common.sh.

source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

[ $# -eq 2 ] || fail "usage: wsj_sample.sh CHECKPOINT|chains TREES"
about=(--experiment wsj_sample --trees "$2" --data "WSJ sample")
if [ "$1" = chains ]; then
    RECORD=${RECORD:-0}
    scale=reduced
    for name in right_chain left_chain random; do
        score "$here/score.py" "chains TREES" --variant "$name" "${about[@]}"
    done
else
    given "$1"
    scale=checkpoint # score.py determines the scale from the checkpoint
    score "$here/score.py" "CHECKPOINT TREES" --variant checkpoint --checkpoint "$1" "${about[@]}"
fi
