#!/usr/bin/env bash
# Completion of runs of numbers by undirected attention (section 5.4 of Mihaylova's thesis).
#   recipes/undirected/attention.sh PASSES [forward_backward|random] [random|runs]
# PASSES is 1, 2, 3, 4 or 5; random_k: 1 to 5 in training, drawn for each batch, and 3 at test; or
# self_attention, the plain network. The second argument is the order of the updates of a pass, the
# third how test examples are drawn: by example, or by whole runs, whose numbers training has not
# seen as the same run. The data are generated.
#
# Environment, beside that of ../common.sh; SEEDS is 1, with SIZE=cpu 1 2 3:
#   SIZE     paper (the default; for a GPU): all examples, size 256, 150,000 updates; or cpu: a
#            tenth of the examples, size 64, 8,000 updates
#   UPDATES  training updates
#   HIDDEN   d, size of embeddings, queries, keys, values
#   LR       learning rate; with SIZE=cpu it falls linearly to 0
#   SHARE    share of the examples
#
# The checkpoint with the best validation accuracy is tested. table.sh draws figures
# 5.5 and 5.6, by attention_figures.py.

source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

passes=${1:-} order=${2:-forward_backward} split=${3:-random}
usage="attention.sh PASSES [forward_backward|random] [random|runs]"
one_of PASSES "$passes" 1 2 3 4 5 random_k self_attention
one_of order "$order" forward_backward random
one_of split "$split" random runs
run_size
hidden=256 updates=150000 lr=0.0001 share=1 preset=undirected_attention_completion
own_seeds=(1)
if [ "$size" = cpu ]; then
    hidden=64 updates=8000 lr=0.002 share=0.1 preset+=_cpu scale=reduced
    own_seeds=(1 2 3)
fi
numbers HIDDEN UPDATES
setting LR SHARE
run_seeds "${own_seeds[@]}"

case "$passes" in
    self_attention)
        [ "$order" = forward_backward ] || fail "self_attention has no order of updates"
        variant=self_attention options=(--self-attention)
        ;;
    random_k) variant=random_k options=(--passes 5 --random-passes) ;;
    *) variant=k$passes options=(--passes "$passes") ;;
esac
if [ "$order" = random ]; then
    variant+=_random_order options+=(--order random)
fi
data=$out/attention/data_$split.share_$share
[ "$split" = random ] || variant+=_runs
prepare "$data" sequence_completion --share "$share" --split "$split"

folders=()
for seed in "${seeds[@]}"; do
    folder=$out/attention/$variant/hidden_$hidden.share_$share.updates_$updates.lr_$lr/seed_$seed
    train "$folder" "$data/data-bin" --preset "$preset" --hidden-size "$hidden" --lr "$lr" \
        "${options[@]}"
    folders+=("$folder")
done
arguments=$passes
[ "$order.$split" = forward_backward.random ] || arguments+=" $order"
[ "$split" = random ] || arguments+=" $split"
score "$here/attention_score.py" "$arguments" --experiment sequence_completion \
    --variant "$variant" --prepared "$data" --runs "${folders[@]}"
