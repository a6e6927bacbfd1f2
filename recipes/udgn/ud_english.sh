#!/usr/bin/env bash
# Unsupervised dependency parsing of a Universal Dependencies treebank by a model of its text.
#   recipes/udgn/ud_english.sh MODEL TREEBANK
# MODEL is udgn or structformer. TREEBANK is a folder of *-train.conllu, *-dev.conllu and
# *-test.conllu, such as UD_English-ParTUT. The recipe scores trees of the test split, inferred
# after the epoch with the best validation perplexity. Environment: see sizes.sh; UPDATES is 1500.

source "$(dirname "${BASH_SOURCE[0]}")/sizes.sh"

model=${1:-}
usage="ud_english.sh udgn|structformer TREEBANK"
one_of model "$model" udgn structformer
[ $# -eq 2 ] || fail "usage: $usage"
[ -d "$2" ] || fail "$2: no such folder"
settings_of 1500
scale=reduced # Shen's thesis uses no such treebank

name=$(basename "$(realpath "$2")")
prepared=$out/ud_english/$name/data
files=()
for split in train dev test; do
    found=("$2"/*-"$split".conllu)
    [ -f "${found[0]}" ] || fail "$2: no file *-$split.conllu"
    files+=("${found[0]}")
done
prepare "$prepared" dependency_treebank conllu --least-count 2 "${files[@]}"
# Epochs of a small treebank are short: at size cpu, validate only after every fifth one.
sparse=()
[ "$size" = paper ] || sparse=(--validate-interval 5)
about=(--experiment ud_english --trees "$prepared/trees/test.conllu" --data "$name")
for seed in "${seeds[@]}"; do
    train_masked "$model" "ud_english/$name/$model" "$prepared/data-bin" 1024 \
        --treebank "$prepared/trees/valid.conllu" "${sparse[@]}"
    score "$here/score.py" "$model TREEBANK" --variant "$model" --run "$folder" "${about[@]}"
done
for trivial in right_chain left_chain random; do
    score "$here/score.py" "$model TREEBANK" --variant "$trivial" "${about[@]}"
done
