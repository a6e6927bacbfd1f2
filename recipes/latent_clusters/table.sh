#!/usr/bin/env bash
# Test accuracy and V-measure on generated data with 3 and 10 clusters (Mihaylova's thesis, table
# 4.1).
#   recipes/latent_clusters/table.sh [METHOD …]
# Without METHODs it runs all 13 rows, each with every learning rate, and the SPIGOTs also with every
# step size. As in the thesis, the setting with the highest validation accuracy counts. Methods and
# environment are explained in methods.sh. CLUSTERS=3 or CLUSTERS=10 makes one half of the table. METHOD
# may also be ste_softmax_diagonal, which is no row.

source "$(dirname "${BASH_SOURCE[0]}")/methods.sh"

usage="table.sh [METHOD …]"
[ $# -gt 0 ] || set -- "${methods[@]}"
for method in "$@"; do
    one_of method "$method" "${methods[@]}" "${more_methods[@]}"
done
settings_of_clusters
read -d '' -ra halves <<<"${CLUSTERS:-3 10}" || true
for clusters in "${halves[@]}"; do
    one_of "number of clusters" "$clusters" 3 10
done

for clusters in "${halves[@]}"; do
    for method in "$@"; do
        for step_size in $(step_sizes_of "$method"); do
            for rate in "${rates[@]}"; do
                for seed in "${seeds[@]}"; do
                    in_parallel train_clusters "$clusters" "$method" "$seed" "$rate" 1 "$step_size"
                done
            done
        done
        wait_for_all
        score "$here/summarise.py" "$method" --experiment "clusters_$clusters" \
            --variant "$method" --runs "$out" --learning-rates "${rates[@]}" \
            --step-sizes "${sizes[@]}" --seeds "${seeds[@]}" --updates "$updates"
    done
done
