#!/usr/bin/env bash
# Undirected dependency parsers (table 5.6 of Mihaylova's thesis, and experiment parsing_partial).
#   recipes/undirected/parsing.sh TREEBANK K DATA
# Parsers of 1 to 3 passes are also scored when 25 and 50 % of the heads are given, on the others.
# TREEBANK is one of the thesis's ten; af_afribooms, en_partut, hu_szeged and te_mtg are recorded.
# The arguments and the environment are explained in treebanks.sh.

source "$(dirname "${BASH_SOURCE[0]}")/treebanks.sh"

treebank=${1:-} k=${2:-}
usage="parsing.sh TREEBANK K DATA"
one_of K "$k" "${ways[@]}"
settings_of "$treebank" "${3:-}" 1 2 3

train_parsers "$treebank" "$k"
variant=$(variant_of "$k")
tested=()
[ "$k" != converge ] || tested=(--test-passes converge)
about=(--treebank "$folder" --encoder "$encoder" --runs "${folders[@]}")
score "$here/parsing.py" "$treebank $k DATA" --experiment "parsing_$treebank" \
    --variant "$variant" "${about[@]}" "${tested[@]}"
case "$k" in
    [1-3])
        score "$here/parsing.py" "$treebank $k DATA" --experiment parsing_partial \
            --variant "$treebank, $variant" --known 25 50 "${about[@]}"
        ;;
esac
