#!/usr/bin/env bash
# Logical inference, trained on formulas of up to 6 operators (ON-LSTM paper, section 5.4).
#   recipes/on_lstm/logical_inference.sh CELL [DATA]
# CELL is on_lstm or lstm. DATA is a folder of train0, …, test12, needed only for the first run. The
# paper does not give its training settings. The recipe trains with Adam and scores the epoch with
# the best validation accuracy. Environment: see ../common.sh; SEEDS is 1, EPOCHS 20. HIDDEN is the
# size of the layer (default: 400). INSTANCES is a number of training pairs to draw (default: all).

# shellcheck source=../common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

cell=${1:-}
usage="logical_inference.sh on_lstm|lstm [DATA]"
one_of cell "$cell" on_lstm lstm
epochs=20 hidden=400 instances=""
numbers EPOCHS HIDDEN INSTANCES
run_seeds 1

prepared=$out/logical_inference/data${instances:+_$instances}
prepare "$prepared" propositional_logic ${instances:+--most-instances "$instances"} "${2:-}"
for seed in "${seeds[@]}"; do
    folder=$out/logical_inference/$cell/hidden_$hidden${instances:+.instances_$instances}
    folder+=/epochs_$epochs/seed_$seed
    train "$folder" "$prepared/data-bin" --preset recurrent_classifier_proplogic --cell "$cell" \
        --hidden-size "$hidden"
    score "$here/by_operators.py" "$cell DATA" --experiment logical_inference --variant "$cell" \
        --run "$folder" --text "$prepared/text"
done
