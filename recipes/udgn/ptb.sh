#!/usr/bin/env bash
# Masked language models of the Penn Treebank (table 6 of Shen's thesis, chapter 4).
#   recipes/udgn/ptb.sh MODEL [DATA]
# MODEL is udgn, structformer or masked_transformer. DATA is a folder of T. Mikolov's train.txt,
# valid.txt and test.txt; it is needed once. TREEBANK=… logs how well the parser does after every
# epoch. Other environment variables: see common.sh; UPDATES is 12000.

# shellcheck source=common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

model=${1:-}
one_of "$model" udgn structformer masked_transformer ||
    fail "usage: ptb.sh udgn|structformer|masked_transformer [DATA]"
if [ -n "${TREEBANK:-}" ]; then
    [ -e "$TREEBANK" ] || fail "TREEBANK: no such file or folder: $TREEBANK"
    [ "$model" != masked_transformer ] || fail "TREEBANK is for models with a parser"
fi
prepare_ptb "${2:-}"
train_masked "$model" "ptb/$model" "$prepared/data-bin" 12000 1024 --valid-subset valid,test \
    ${TREEBANK:+--treebank "$TREEBANK"}
score ptb "$model" --run "$folder" --data "Penn Treebank" \
    --command "${settings}recipes/udgn/ptb.sh $model DATA"
echo "$folder/checkpoint_best.pt"
