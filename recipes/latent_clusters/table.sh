#!/usr/bin/env bash
# Table 4.1: test accuracy and V-measure on generated data with 3 and with 10 clusters.
#   recipes/latent_clusters/table.sh [VARIANT ...]
# Without VARIANTs all 13 rows are run, each with every learning rate; as in the thesis, the one
# with the highest validation accuracy counts. The environment variables are explained in common.sh.

# shellcheck source=common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

[ $# -gt 0 ] || set -- "${variants[@]}"
for variant in "$@"; do
    check_variant "$variant"
done
record=()
if [ "${RECORD:-$([ "$scale" = paper ] && echo 1 || echo 0)}" != 0 ]; then
    record=(--results "$here/results.jsonl")
fi

for clusters in 3 10; do
    for variant in "$@"; do
        for learning_rate in "${learning_rates[@]}"; do
            for seed in "${seeds[@]}"; do
                in_parallel train "$clusters" "$variant" "$seed" "$learning_rate"
            done
        done
        wait_for_all
        python "$here/summarise.py" --runs "$out" --learning-rates "${learning_rates[@]}" \
            --experiment "clusters_$clusters" --variant "$variant" --seeds "${seeds[@]}" \
            --updates "$updates" --scale "$scale" "${record[@]}" \
            --command "${settings}recipes/latent_clusters/table.sh $variant"
    done
done
