#!/usr/bin/env bash
# Accuracy on ListOps by the number of training expressions (figure 7b of Shen's thesis, chapter 3).
#   recipes/ordered_memory/data_size.sh MODEL [TEST]
# TEST is the released test_d20s.tsv, needed only for the first run of a size. SIZES are the numbers
# of expressions (default: "8000 24000 40000 56000 72000", with SIZE=cpu "5000 10000 20000 40000").
# All runs have as many updates as EPOCHS epochs of the largest set. For the models and the other
# environment variables see models.sh. If the numbers are recorded, the curve is drawn to data_size.png.

source "$(dirname "${BASH_SOURCE[0]}")/models.sh"

model=${1:-}
usage="data_size.sh MODEL [TEST]"
one_of model "$model" "${models[@]}"
[ -z "${INSTANCES:-}" ] || fail "data_size.sh has SIZES in place of INSTANCES"
settings_of 128 20 40000
sizes="8000 24000 40000 56000 72000"
[ "$size" = paper ] || sizes="5000 10000 20000 40000"
setting SIZES
read -d '' -ra numbers <<<"$sizes" || true
for instances in "${numbers[@]}"; do
    number SIZES "$instances"
done
most=$(printf '%s\n' "${numbers[@]}" | sort -n | tail -1) longest=$epochs

for instances in "${numbers[@]}"; do
    epochs=$((longest * most / instances))
    prepared=$out/listops/data_$instances
    lists "$prepared" "$instances" "${2:-}"
    train_rows listops listops "$prepared"
    score "$here/score.py" "$model TEST" --experiment listops_data_size \
        --variant "$model, $instances" --kind listops --text "$prepared/text" \
        --runs "${folders[@]}"
done
! recording || python "$here/data_size.py" "$results" "$here/data_size.png"
