#!/usr/bin/env bash
# Language models of the Penn Treebank in the paper's setting (table 1); needs a GPU or weeks. AR is
# of the activations after dropout, as in AWD-LSTM, which the paper says it follows.
#   recipes/on_lstm/ptb_lm.sh MODEL [DATA]
# MODEL is on_lstm_lm or awd_lstm_lm. DATA is a folder of T. Mikolov's train.txt, valid.txt and
# test.txt; it is needed once. Environment variables: see ../common.sh.

# shellcheck source=../common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

model=${1:-}
one_of "$model" on_lstm_lm awd_lstm_lm || fail "usage: ptb_lm.sh on_lstm_lm|awd_lstm_lm [DATA]"
prepare_ptb "${2:-}"
epochs=${EPOCHS:-1000}
folder=$out/ptb_lm/$model/epochs_$epochs/seed_$seed
train "$folder" "$prepared/data-bin" "$epochs" --task recurrent_language_modeling \
    --arch "${model}_ptb" --criterion recurrent_language_modeling --optimizer nt_asgd --lr 30 \
    --clip-norm 0.25 --batch-size 20 --batch-size-valid 10 --required-batch-size-multiple 1 \
    --valid-subset valid,test
python "$here/perplexity.py" --experiment ptb_lm --variant "$model" --run "$folder" \
    --scale "$([ "$epochs" = 1000 ] && echo paper || echo reduced)" --seed "$seed" \
    --command "${settings}recipes/on_lstm/ptb_lm.sh $model DATA" "${record[@]}"
