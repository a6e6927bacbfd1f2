#!/usr/bin/env bash
# Dependency parsing of a treebank of Universal Dependencies by a model of its own text.
#   recipes/udgn/ud_english.sh MODEL TREEBANK
# MODEL is udgn or structformer. TREEBANK is a folder of *-train.conllu, *-dev.conllu and
# *-test.conllu, such as UD_English-ParTUT. Trees of the test split count, of the epoch with the best
# validation perplexity. Environment: see common.sh; UPDATES is 1500.

# shellcheck source=common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

model=${1:-}
one_of "$model" udgn structformer && [ -n "${2:-}" ] ||
    fail "usage: ud_english.sh udgn|structformer TREEBANK"
[ -d "$2" ] || fail "$2: no such folder"
scale=reduced # the thesis has no such treebank
name=$(basename "$2")
prepared=$out/ud_english/$name/data
if [ ! -e "$prepared/manifest.json" ]; then
    files=()
    for split in train dev test; do
        found=("$2"/*-"$split".conllu)
        [ -f "${found[0]}" ] || fail "$2: no file *-$split.conllu"
        files+=("${found[0]}")
    done
    python "$root/preprocess/dependency_treebank.py" conllu "${files[@]}" "$prepared" \
        --least-count 2
fi
# Epochs of a small treebank are short: at size cpu every fifth one is enough to look at.
interval=()
[ "$size" = paper ] || interval=(--validate-interval 5)
train_masked "$model" "ud_english/$name/$model" "$prepared/data-bin" 1500 1024 \
    --treebank "$prepared/trees/valid.conllu" --valid-subset valid,test "${interval[@]}"
score ud_english "$model" --run "$folder" --trees "$prepared/trees/test.conllu" \
    --data "$name" \
    --command "${settings}recipes/udgn/ud_english.sh $model TREEBANK"
for trivial in right_chain left_chain random; do
    score ud_english "$trivial" --trees "$prepared/trees/test.conllu" \
        --data "$name" \
        --command "${settings}recipes/udgn/ud_english.sh $model TREEBANK"
done
