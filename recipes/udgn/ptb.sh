#!/usr/bin/env bash
# Masked language models of the Penn Treebank (table 6 of Shen's thesis, chapter 4).
#   recipes/udgn/ptb.sh MODEL [DATA]
# MODEL is udgn, structformer or masked_transformer. DATA is a folder with T. Mikolov's train.txt,
# valid.txt and test.txt, needed only for the first run. TREEBANK=… logs the parser's scores after
# every epoch. With HOURS, the record is that of a training cut short, and has the scores of the trees
# of TREEBANK. Other environment variables: see sizes.sh; UPDATES is 12000.

source "$(dirname "${BASH_SOURCE[0]}")/sizes.sh"

model=${1:-}
usage="ptb.sh udgn|structformer|masked_transformer [DATA]"
one_of model "$model" udgn structformer masked_transformer
settings_of 12000
if [ -n "${TREEBANK:-}" ]; then
    [ -e "$TREEBANK" ] || fail "$TREEBANK: no such file or folder (TREEBANK)"
    [ "$model" != masked_transformer ] || fail "TREEBANK is for models with a parser"
fi

experiment=ptb short=()
if [ -n "$hours" ]; then
    experiment=ptb_hours
    short=(${TREEBANK:+--trees "$TREEBANK"})
    settings="${TREEBANK:+TREEBANK=TREES }$settings"
fi
prepared=$out/ptb_lm/data
prepare "$prepared" penn_treebank lm "${2:-}"
for seed in "${seeds[@]}"; do
    train_masked "$model" "ptb/$model" "$prepared/data-bin" 1024 \
        ${TREEBANK:+--treebank "$(realpath "$TREEBANK")"}
    score "$here/score.py" "$model DATA" --experiment "$experiment" --variant "$model" \
        --run "$folder" --data "Penn Treebank" "${short[@]}"
    echo "$folder/checkpoint_best.pt"
done
