#!/usr/bin/env bash
# Passes that end by convergence, beside fixed numbers of them: accuracy and time per image.
#   recipes/undirected/adaptive_passes.sh mnist DATA
# Rows are networks with 1, 3 and 5 passes, and those trained with a random number of them, with 3
# passes (random_k) and until convergence (converge) at test. Times are measured in one run. DATA
# and the environment are explained in images.sh.

source "$(dirname "${BASH_SOURCE[0]}")/images.sh"

usage="adaptive_passes.sh mnist DATA"
one_of data "${1:-}" mnist
settings_of "${2:-}"

runs=()
for k in 1 3 5 random_k; do
    train_images both "$k" zero
    runs+=(--runs "$(variant_of "$k")" "$parent")
done
score "$here/adaptive_passes.py" "mnist DATA" --experiment adaptive_passes --images "$data" \
    --seeds "${seeds[@]}" "${runs[@]}"
