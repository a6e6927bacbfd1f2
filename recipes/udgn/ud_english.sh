#!/usr/bin/env bash
# Dependency parsing of a treebank of Universal Dependencies by a model of its own text.
#   recipes/udgn/ud_english.sh MODEL [TREEBANK]
# MODEL is udgn or structformer. TREEBANK is a folder of *-train.conllu, *-dev.conllu and
# *-test.conllu, such as UD_English-ParTUT; it is needed once. Trees of the test split count, of the
# epoch with the best validation perplexity. Environment: see common.sh; UPDATES is 1500.

source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

model=${1:-}
one_of "$model" udgn structformer || fail "usage: ud_english.sh udgn|structformer [TREEBANK]"
prepared=$out/ud_english/data
if [ ! -e "$prepared/manifest.json" ]; then
    [ -n "${2:-}" ] || fail "name the folder TREEBANK after the model (it is needed once)"
    files=()
    for split in train dev test; do
        found=("$2"/*-"$split".conllu)
        [ -f "${found[0]}" ] || fail "$2: no file *-$split.conllu"
        files+=("${found[0]}")
    done
    python "$root/preprocess/dependency_treebank.py" conllu "${files[@]}" "$prepared" \
        --least-count 2
fi
train_masked "$model" "ud_english/$model" "$prepared/data-bin" 1500 1024 \
    --treebank "$prepared/trees/valid.conllu" --valid-subset valid,test
score ud_english "$model" --run "$folder" --trees "$prepared/trees/test.conllu" \
    --data "Universal Dependencies, English" \
    --command "${settings}recipes/udgn/ud_english.sh $model TREEBANK"
for name in right_chain left_chain random; do
    scale=paper score ud_english "$name" --trees "$prepared/trees/test.conllu" \
        --data "Universal Dependencies, English" \
        --command "${settings}recipes/udgn/ud_english.sh $model TREEBANK"
done
