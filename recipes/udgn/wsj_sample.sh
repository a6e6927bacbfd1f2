#!/usr/bin/env bash
# Unsupervised dependency parsing of a treebank in the thesis's preparation (tables 7 and 9).
#   recipes/udgn/wsj_sample.sh CHECKPOINT TREES
#   recipes/udgn/wsj_sample.sh chains TREES
# CHECKPOINT is of a udgn or structformer, such as ptb.sh makes them; TREES is a folder of nltk's
# .dp files, or a CoNLL-U file. chains: trees without a model. Environment: RECORD=1 appends the
# numbers to results.jsonl.

# shellcheck source=common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

checkpoint=${1:-} trees=${2:-}
[ -n "$trees" ] || fail "usage: wsj_sample.sh CHECKPOINT|chains TREES"
record=()
[ "${RECORD:-0}" = 0 ] || record=(--results "$here/results.jsonl")
if [ "$checkpoint" = chains ]; then
    for name in right_chain left_chain random; do
        scale=reduced score wsj_sample "$name" --trees "$trees" --data "WSJ sample" \
            --command "recipes/udgn/wsj_sample.sh chains TREES"
    done
else
    [ -f "$checkpoint" ] || fail "$checkpoint: no such file"
    scale=checkpoint score wsj_sample checkpoint --checkpoint "$checkpoint" --trees "$trees" \
        --data "WSJ sample" --command "recipes/udgn/wsj_sample.sh CHECKPOINT TREES"
fi
