#!/usr/bin/env bash
# Passes that end by convergence, beside fixed numbers of them: UAS and time per sentence.
#   recipes/undirected/parsing_adaptive.sh TREEBANK DATA
# Rows are parsers with 1, 3 and 5 passes, and those trained with a random number of them, with 3
# passes (random_k) and until convergence (converge) at test. Times are measured in one run. The
# arguments and the environment are explained in treebanks.sh; here, SEEDS is 1. The recipe table.sh
# parsing_TREEBANK ends with this one, for it has trained these parsers by then.

source "$(dirname "${BASH_SOURCE[0]}")/treebanks.sh"

treebank=${1:-}
usage="parsing_adaptive.sh TREEBANK DATA"
settings_of "$treebank" "${2:-}" 1

runs=()
for k in 1 3 5 random_k; do
    train_parsers "$treebank" "$k"
    runs+=(--compared "$(variant_of "$k")" "$parent")
done
score "$here/parsing.py" "$treebank DATA" --experiment adaptive_passes --variant "$treebank" \
    --treebank "$folder" --encoder "$encoder" --seeds "${seeds[@]}" "${runs[@]}"
