#!/usr/bin/env bash
# Logical inference (ON-LSTM paper, section 5.4): trained on formulas of up to 6 operators.
#   recipes/on_lstm/logical_inference.sh CELL [DATA]
# CELL is on_lstm or lstm. DATA is a folder of train0, …, test12; it is needed once. The paper does
# not print its training settings; here it is Adam for EPOCHS (20) passes, the epoch with the best
# validation accuracy. INSTANCES draws so many training pairs; HIDDEN is the size of the layer (400).

# shellcheck source=../common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

cell=${1:-}
one_of "$cell" on_lstm lstm || fail "usage: logical_inference.sh on_lstm|lstm [DATA]"
hidden=${HIDDEN:-400} instances=${INSTANCES:-}
for number in "$hidden" "${instances:-1}"; do
    [[ $number =~ ^[1-9][0-9]*$ ]] ||
        fail "HIDDEN and INSTANCES must be whole numbers above 0, not '$number'"
done
for name in HIDDEN INSTANCES; do
    [ -z "${!name:-}" ] || settings+="$name='${!name}' "
done
prepared=$out/logical_inference/data${instances:+_$instances}
if [ ! -e "$prepared/manifest.json" ]; then
    [ -n "${2:-}" ] || fail "usage: logical_inference.sh $cell DATA (data are prepared once)"
    python "$root/preprocess/propositional_logic.py" "$2" "$prepared" \
        ${instances:+--most-instances "$instances"}
fi
epochs=${EPOCHS:-20}
folder=$out/logical_inference/$cell/hidden_$hidden${instances:+.instances_$instances}/epochs_$epochs/seed_$seed
train "$folder" "$prepared/data-bin" "$epochs" --task structured_classification \
    --arch recurrent_classifier_proplogic --cell "$cell" --hidden-size "$hidden" \
    --criterion structured_classification --optimizer adam --lr 0.001 --clip-norm 1 \
    --lr-scheduler reduce_lr_on_plateau --lr-shrink 0.5 --lr-patience 1 --batch-size 64 \
    --best-checkpoint-metric accuracy --maximize-best-checkpoint-metric
python "$here/by_operators.py" --run "$folder" --text "$prepared/text" --variant "$cell" \
    --seed "$seed" --scale "$([ -n "$instances" ] || [ "$hidden$epochs" != 40020 ] && echo reduced || echo paper)" \
    --command "${settings}recipes/on_lstm/logical_inference.sh $cell DATA" "${record[@]}"
