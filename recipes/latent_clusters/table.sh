#!/usr/bin/env bash
# Test accuracy and V-measure on generated data with 3 and 10 clusters (Mihaylova's thesis, table
# 4.1).
#   recipes/latent_clusters/table.sh [METHOD …]
# Without METHODs it runs all 13 rows, each with every learning rate. As in the thesis, the rate
# with the highest validation accuracy counts. Methods and environment are explained in methods.sh.

source "$(dirname "${BASH_SOURCE[0]}")/methods.sh"

usage="table.sh [METHOD …]"
[ $# -gt 0 ] || set -- "${methods[@]}"
for method in "$@"; do
    one_of method "$method" "${methods[@]}"
done
settings_of_clusters

for clusters in 3 10; do
    for method in "$@"; do
        for rate in "${rates[@]}"; do
            for seed in "${seeds[@]}"; do
                in_parallel train_clusters "$clusters" "$method" "$seed" "$rate"
            done
        done
        wait_for_all
        score "$here/summarise.py" "$method" --experiment "clusters_$clusters" \
            --variant "$method" --runs "$out" --learning-rates "${rates[@]}" \
            --seeds "${seeds[@]}" --updates "$updates"
    done
done
