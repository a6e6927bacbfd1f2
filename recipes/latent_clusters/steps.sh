#!/usr/bin/env bash
# Accuracy and V-measure by number of pullback steps, 10 clusters (Mihaylova's thesis, figure 4.3).
#   recipes/latent_clusters/steps.sh
# It runs every number of steps with every step size (0.1, 1 and 2 in the thesis; see step_sizes_of
# in methods.sh) and with learning rate 0.001: 48 runs for each of SEEDS. If UPDATES is not 10000,
# the figure says so. The environment variables are explained in methods.sh;
# of LEARNING_RATES only the first is used.

source "$(dirname "${BASH_SOURCE[0]}")/methods.sh"

[ $# -eq 0 ] || fail "usage: steps.sh (see methods.sh for its environment)"
LEARNING_RATES=${LEARNING_RATES:-0.001}
settings_of_clusters

for method in ste_identity spigot spigot_ce spigot_eg; do
    for steps in 1 2 3 5; do
        echo "== $method, $steps steps"
        for step_size in "${sizes[@]}"; do
            for seed in "${seeds[@]}"; do
                in_parallel train_clusters 10 "$method" "$seed" "${rates[0]}" "$steps" "$step_size"
            done
        done
    done
done
wait_for_all
python "$here/figures.py" 4.3 --runs "$out" --updates "$updates" --seeds "${seeds[@]}" \
    --learning-rates "${rates[0]}" --step-sizes "${sizes[@]}" --output "$out/figure_4_3.png"
