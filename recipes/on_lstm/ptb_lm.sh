#!/usr/bin/env bash
# Language models of the Penn Treebank in the setting of the ON-LSTM paper (table 1). Needs a GPU,
# or weeks on a CPU. AR uses the activations after dropout, as in AWD-LSTM; the paper says that it
# follows AWD-LSTM.
#   recipes/on_lstm/ptb_lm.sh MODEL [DATA]
# MODEL is on_lstm_lm or awd_lstm_lm. DATA is a folder with T. Mikolov's train.txt, valid.txt and
# test.txt, needed only for the first run. Environment: see ../common.sh; SEEDS is 1, EPOCHS 1000. With
# HOURS, the record is that of a training cut short.

# shellcheck source=../common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

model=${1:-}
usage="ptb_lm.sh on_lstm_lm|awd_lstm_lm [DATA]"
one_of model "$model" on_lstm_lm awd_lstm_lm
epochs=1000
numbers EPOCHS
run_seeds 1

prepared=$out/ptb_lm/data
prepare "$prepared" penn_treebank lm "${2:-}"
for seed in "${seeds[@]}"; do
    folder=$out/ptb_lm/$model/epochs_$epochs/seed_$seed
    train "$folder" "$prepared/data-bin" --preset "${model}_ptb" --valid-subset valid,test
    score "$here/perplexity.py" "$model DATA" --experiment "ptb_lm${hours:+_hours}" --variant "$model" --run "$folder"
done
