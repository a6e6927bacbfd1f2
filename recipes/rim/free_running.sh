#!/usr/bin/env bash
# Trees of composers that take their own spans, and F1 (not in the thesis).
#   recipes/rim/free_running.sh VARIANT DATA
# VARIANT is one_layer, two_layers, positions or lstm; own_spans, one layer that goes on from its own
# spans ever more often in training, up to always at the end; or trivial, which learns nothing and
# makes the rows right_branching, left_branching, balanced, random and gold_order_random_span. All
# networks also predict categories. The numbers are explained in free_running.py, DATA and the
# environment in composers.sh; SEEDS are 1 2 3.
#
# All rows that are trained have seen gold trees: never compare them with unsupervised parsers.

source "$(dirname "${BASH_SOURCE[0]}")/composers.sh"

variant=${1:-}
usage="free_running.sh VARIANT DATA"
one_of variant "$variant" one_layer two_layers positions lstm own_spans trivial
settings_of "${2:-}" 1 2 3

about=(--experiment free_running --lists "$prepared")
if [ "$variant" = trivial ]; then
    score "$here/trivial_trees.py" "trivial DATA" "${about[@]}" --seeds "${seeds[@]}"
else
    train_composers "$variant.categories" "$variant" --predict-category
    score "$here/free_running.py" "$variant DATA" "${about[@]}" --variant "$variant" \
        --runs "${folders[@]}" --embeddings "$(embeddings_in_words)"
fi
