#!/usr/bin/env bash
# Parsing by models that were trained with more or fewer words hidden (figure 12).
#   recipes/udgn/mask_rate.sh [DATA TREES]
# DATA and TREES as for ablation.sh. RATES ("0.1 0.3 0.5 0.7 0.9") are those to train with. The
# figure is mask_rate.png beside the recipe if the runs are recorded, else in OUT/mask_rate.
# Other environment variables: see common.sh; UPDATES is 1000.

more_settings=RATES
# shellcheck source=common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

read -ra rates <<<"${RATES:-0.1 0.3 0.5 0.7 0.9}"
for rate in "${rates[@]}"; do
    [[ $rate =~ ^0\.[0-9]*[1-9]$ ]] ||
        fail "RATES are written as 0.3, above 0 and below 1, not as '$rate'"
done
trained_on "$@"
kept=$here
[ ${#record[@]} -gt 0 ] || kept=$out/mask_rate
mkdir -p "$kept"
record=(--results "$kept/results.jsonl")
for rate in "${rates[@]}"; do
    train_masked udgn "mask_rate/$rate" "$prepared/data-bin" 1000 512 --mask-rate "$rate" \
        --valid-subset valid,test "${small[@]}"
    score mask_rate "$rate" --run "$folder" --trees "$trees" --data "$name_of_data" \
        --command "${settings}recipes/udgn/mask_rate.sh$arguments"
done
python "$here/mask_rate.py" "$kept/results.jsonl" "$kept/mask_rate.png"
