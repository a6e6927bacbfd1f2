#!/usr/bin/env bash
# Table 4.1: test accuracy and V-measure on generated data with 3 and with 10 clusters.
#   recipes/latent_clusters/table.sh [METHOD …]
# Without METHODs all 13 rows are run, each with every learning rate; as in the thesis, the one
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
