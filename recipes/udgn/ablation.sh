#!/usr/bin/env bash
# A UDGN without one of its parts (table 9 of Shen's thesis, chapter 4).
#   recipes/udgn/ablation.sh ROW [DATA TREES]
# ROW is udgn, no_nonlinearity, no_gates, sigmoid, single_channel or absolute_positions. DATA is the
# Penn Treebank as for ptb.sh and TREES as for wsj_sample.sh; with SIZE=cpu there are neither, but a
# generated corpus with its trees. Environment: see common.sh; UPDATES is 1000.

# shellcheck source=common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

row=${1:-}
usage="usage: ablation.sh ROW [DATA TREES]; ROW is udgn, no_nonlinearity, no_gates, sigmoid, \
single_channel or absolute_positions"
one_of "$row" udgn no_nonlinearity no_gates sigmoid single_channel absolute_positions ||
    fail "$usage"
trained_on "${@:2}"
case $row in
    udgn) part=() ;;
    no_nonlinearity) part=(--nonlinearity identity) ;;
    no_gates) part=(--no-gates) ;;
    sigmoid) part=(--competition sigmoid) ;;
    single_channel) part=(--channels 1 --channel-size $((channels * channel_size))) ;;
    absolute_positions) part=(--absolute-positions 512) ;;
esac
train_masked udgn "ablation/$row" "$prepared/data-bin" 1000 512 --valid-subset valid,test \
    "${small[@]}" "${part[@]}"
score ablation "$row" --run "$folder" --trees "$trees" --data "$name_of_data" \
    --command "${settings}recipes/udgn/ablation.sh $row$arguments"
