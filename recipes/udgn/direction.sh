#!/usr/bin/env bash
# What UDGN needs to learn which of two words is the head: networks of several sizes, all trained as the
# published one is, for fewer epochs.
#   recipes/udgn/direction.sh ROW DATA TREES
# ROW is small (the network of SIZE=cpu), large_parser, large_network (its parser or all else at the
# published size) or published; small takes an hour of a CPU, the others want a GPU. DATA is as for ptb.sh,
# TREES as for wsj_sample.sh; their scores are logged after every epoch. Environment: see ../common.sh;
# SEEDS is 1, EPOCHS 10. MASK_RATE is the share of the words that are hidden (default: 0.3).

source "$(dirname "${BASH_SOURCE[0]}")/sizes.sh"

row=${1:-}
usage="direction.sh ROW DATA TREES"
one_of row "$row" small large_parser large_network published
[ $# -eq 3 ] || fail "usage: $usage"
[ -e "$3" ] || fail "$3: no such file or folder"
run_size
[ "$size" = paper ] || fail "all rows have the training of SIZE=paper; the row small is for a CPU"
epochs=10 mask_rate=0.3 scale=reduced
numbers EPOCHS
setting MASK_RATE
run_seeds 1
mask_rates MASK_RATE "$mask_rate"

small_parser=(--parser-size 128 --parser-layers 2)
small_rest=(--embed-dim 128 --layers 4 --channel-size 32)
case $row in
    small) part=("${small_rest[@]}" "${small_parser[@]}") ;;
    large_parser) part=("${small_rest[@]}") ;;
    large_network) part=("${small_parser[@]}") ;;
    published) part=() ;;
esac
prepared=$out/ptb_lm/data
prepare "$prepared" penn_treebank lm "$2"
variant=$row
[ "$epochs" = 10 ] || variant+=", $epochs epochs"
name=direction/$row
if [ "$mask_rate" != 0.3 ]; then
    variant+=", mask rate $mask_rate" name+=.mask_rate_$mask_rate
    part+=(--mask-rate "$mask_rate")
fi
for seed in "${seeds[@]}"; do
    train_masked udgn "$name" "$prepared/data-bin" 4096 "${part[@]}" \
        --treebank "$(realpath "$3")"
    score "$here/score.py" "$row DATA TREES" --experiment direction --variant "$variant" \
        --run "$folder" --trees "$3" --data "Penn Treebank"
done
