#!/usr/bin/env bash
# A UDGN without one of its parts (table 9 of Shen's thesis, chapter 4).
#   recipes/udgn/ablation.sh ROW [DATA TREES]
# ROW is udgn, no_nonlinearity, no_gates, sigmoid, single_channel or absolute_positions. DATA is the
# Penn Treebank as for ptb.sh; TREES is as for wsj_sample.sh. With SIZE=cpu both may be left out: the
# recipe then uses a generated corpus with its trees, and a smaller model. Environment: see sizes.sh;
# UPDATES is 1000 there, and 3000 on the Penn Treebank.

source "$(dirname "${BASH_SOURCE[0]}")/sizes.sh"

row=${1:-}
usage="ablation.sh ROW [DATA TREES]"
one_of row "$row" udgn no_nonlinearity no_gates sigmoid single_channel absolute_positions
settings_of_small 1000 3000 "${@:2}"

trained_on "${@:2}"
case $row in
    udgn) part=() ;;
    no_nonlinearity) part=(--nonlinearity identity) ;;
    no_gates) part=(--no-gates) ;;
    sigmoid) part=(--competition sigmoid) ;;
    single_channel) part=(--channels 1 --channel-size $((channels * channel_size))) ;;
    absolute_positions) part=(--absolute-positions 512) ;;
esac
for seed in "${seeds[@]}"; do
    train_masked udgn "ablation$suffix/$row" "$prepared/data-bin" "$tokens" "${small[@]}" "${part[@]}"
    score "$here/score.py" "$row$arguments" --experiment "ablation$suffix" --variant "$row" \
        --run "$folder" --trees "$trees" --data "$name_of_data"
done
