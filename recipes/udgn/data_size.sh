#!/usr/bin/env bash
# Parsing scores of models trained on parts of the Penn Treebank, in place of the parts of BLLIP in
# table 10 of Shen's thesis (chapter 4).
#   SIZE=cpu recipes/udgn/data_size.sh DATA TREES
# DATA and TREES are as for ablation.sh. EIGHTHS are the sizes of the parts, in eighths of the training
# text (default: "1 2 4 8"). As in table 10, all have the same words and test set; here they also have
# the same number of updates.
# The figure data_size.png is written beside the recipe if the runs are recorded, else in
# OUT/data_size. Other environment variables: see sizes.sh; UPDATES is 3000.

source "$(dirname "${BASH_SOURCE[0]}")/sizes.sh"

usage="data_size.sh DATA TREES"
[ $# -eq 2 ] || fail "usage: $usage"
[ -e "$2" ] || fail "$2: no such file or folder"
settings_of 3000
eighths="1 2 4 8"
setting EIGHTHS
for part in $eighths; do
    [[ $part =~ ^[1-8]$ ]] || fail "EIGHTHS must be numbers from 1 to 8, not '$part'"
done
[ "$size" = cpu ] || fail "parts of this text are for SIZE=cpu"
scale=reduced # the thesis has BLLIP
kept=$here
recording || kept=$out/data_size results=$out/data_size/results.jsonl RECORD=1
mkdir -p "$kept"

prepared=$out/ptb_lm/eighths
prepare "$prepared" penn_treebank lm --shards 8 "$1"
for part in $eighths; do
    # An epoch is one shard, so that with all eight the text is read in its order.
    shards=$(printf "$prepared/data-bin%d:" $(seq 0 $((part - 1))))
    share=$(LC_ALL=C awk -v part="$part" 'BEGIN { print part / 8 }')
    for seed in "${seeds[@]}"; do
        train_masked udgn "data_size/$part" "${shards%:}" 1024 --validate-interval 8
        score "$here/score.py" "DATA TREES" --experiment data_size --variant "$share" \
            --run "$folder" --trees "$2" --data "Penn Treebank"
    done
done
python "$here/curves.py" data_size "$results" "$kept/data_size.png"
