#!/usr/bin/env bash
# Parsing by models that were trained with more or fewer words hidden (figure 12).
#   recipes/udgn/mask_rate.sh [DATA TREES]
# DATA and TREES as for ablation.sh. RATES ("0.1 0.3 0.5 0.7 0.9") are those to train with. The
# figure is mask_rate.png beside the recipe if the runs are recorded, else in OUT/mask_rate.
# Other environment variables: see sizes.sh; UPDATES is 1000.

source "$(dirname "${BASH_SOURCE[0]}")/sizes.sh"

usage="mask_rate.sh [DATA TREES]"
settings_of 1000
rates="0.1 0.3 0.5 0.7 0.9"
setting RATES
for rate in $rates; do
    [[ $rate =~ ^0\.[0-9]*[1-9]$ ]] ||
        fail "RATES are written as 0.3, above 0 and below 1, not as '$rate'"
done
kept=$here
recording || kept=$out/mask_rate results=$out/mask_rate/results.jsonl RECORD=1

trained_on "$@"
mkdir -p "$kept"
for rate in $rates; do
    for seed in "${seeds[@]}"; do
        train_masked udgn "mask_rate/$rate" "$prepared/data-bin" 512 --mask-rate "$rate" \
            "${small[@]}"
        score "$here/score.py" "${arguments# }" --experiment mask_rate --variant "$rate" \
            --run "$folder" --trees "$trees" --data "$name_of_data"
    done
done
python "$here/mask_rate.py" "$results" "$kept/mask_rate.png"
