#!/usr/bin/env bash
# Language models whose vocabulary has the words of the sets of targeted syntactic evaluation, and
# their scores on these sets (ON-LSTM paper, table 3).
#   recipes/on_lstm/mixed_text.sh MODEL DATA SETS
# MODEL is on_lstm_lm or awd_lstm_lm. DATA is a folder with the corpora that mixed_text.py mixes. SETS
# are as for syneval.sh. The size is that of ptb_lm_small.sh; the learning rate halves after each of
# the first two epochs. Environment: see ../common.sh; SEEDS is 1, EPOCHS 3.

# shellcheck source=../common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

model=${1:-}
usage="mixed_text.sh on_lstm_lm|awd_lstm_lm DATA SETS"
one_of model "$model" on_lstm_lm awd_lstm_lm
[ $# -eq 3 ] || fail "usage: $usage"
[ -e "$3" ] || fail "$3: no such file or folder"
scale=reduced
epochs=3
numbers EPOCHS
run_seeds 1

prepared=$out/mixed_text/data
if [ ! -e "$prepared/manifest.json" ]; then
    text=$out/mixed_text/text
    python "$here/mixed_text.py" "$2" "$text"
    prepare "$prepared" plain_text "$text/train.txt" "$text/valid.txt" "$text/test.txt"
fi
for seed in "${seeds[@]}"; do
    folder=$out/mixed_text/$model/epochs_$epochs/seed_$seed
    train "$folder" "$prepared/data-bin" --preset "${model}_cpu" --valid-subset valid,test \
        --lr-scheduler fixed --lr 0.002,0.001,0.0005
    score "$here/perplexity.py" "$model DATA SETS" --experiment mixed_text --variant "$model" \
        --run "$folder" --data "mixed text"
    score "$here/syntax.py" "MODEL DATA SETS" --experiment mixed_text_syneval \
        --checkpoint "$folder/checkpoint_best.pt" --sets "$3" --data "mixed text"
done
