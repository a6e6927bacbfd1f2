#!/usr/bin/env bash
# Language models of the Penn Treebank at a size for a CPU: layers of 400, 400 and 200.
#   recipes/on_lstm/ptb_lm_small.sh MODEL [DATA]
# MODEL is on_lstm_lm or awd_lstm_lm. DATA is a folder with T. Mikolov's train.txt, valid.txt and
# test.txt, needed only for the first run. The optimiser is not the ON-LSTM paper's: Adam reaches a
# lower loss in few epochs. Dropout is lower, too, as such a small model needs. Environment: see
# ../common.sh; SEEDS is 1, EPOCHS 15.

# shellcheck source=../common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

model=${1:-}
usage="ptb_lm_small.sh on_lstm_lm|awd_lstm_lm [DATA]"
one_of model "$model" on_lstm_lm awd_lstm_lm
scale=reduced
epochs=15
numbers EPOCHS
run_seeds 1

prepared=$out/ptb_lm/data
prepare "$prepared" penn_treebank lm "${2:-}"
for seed in "${seeds[@]}"; do
    folder=$out/ptb_lm_small/$model/epochs_$epochs/seed_$seed
    train "$folder" "$prepared/data-bin" --preset "${model}_cpu" --valid-subset valid,test
    score "$here/perplexity.py" "$model DATA" --experiment ptb_lm_small --variant "$model" \
        --run "$folder"
done
