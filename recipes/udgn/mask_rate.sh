#!/usr/bin/env bash
# Parsing scores of models trained at several mask rates (figure 12 of Shen's thesis, chapter 4).
#   recipes/udgn/mask_rate.sh [DATA TREES]
# DATA, TREES and UPDATES are as for ablation.sh. RATES are the mask rates of the training (default:
# those of figure 12, 0.1, 0.2, …, 0.9). The figure mask_rate.png, or mask_rate_ptb.png with SIZE=cpu
# on the Penn Treebank, is written beside the recipe if the runs are recorded, else in
# OUT/mask_rate. Other environment variables: see sizes.sh.

source "$(dirname "${BASH_SOURCE[0]}")/sizes.sh"

usage="mask_rate.sh [DATA TREES]"
settings_of_small 1000 3000 "$@"
rates="0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9"
setting RATES
mask_rates RATES "$rates"
kept=$here
recording || kept=$out/mask_rate results=$out/mask_rate/results.jsonl RECORD=1

trained_on "$@"
mkdir -p "$kept"
for rate in $rates; do
    for seed in "${seeds[@]}"; do
        train_masked udgn "mask_rate$suffix/$rate" "$prepared/data-bin" "$tokens" --mask-rate "$rate" \
            "${small[@]}"
        score "$here/score.py" "${arguments# }" --experiment "mask_rate$suffix" --variant "$rate" \
            --run "$folder" --trees "$trees" --data "$name_of_data"
    done
done
python "$here/curves.py" "mask_rate$suffix" "$results" "$kept/mask_rate$suffix.png"
