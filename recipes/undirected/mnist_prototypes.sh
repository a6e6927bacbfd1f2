#!/usr/bin/env bash
# How many of the ten prototypes of a network on MNIST a plain network of another seed recognises
# (figure 5.3 of Mihaylova's thesis), and how like they are to images of their label.
#   recipes/undirected/mnist_prototypes.sh K|plain DATA
# K (1 to 5) is for networks trained in both directions, with gamma .1; plain is the network with
# one pass and gamma 0. The judge of seed S is the plain network of seed S + 1. The numbers are
# explained in prototypes.py. DATA and the environment are explained in images.sh.

source "$(dirname "${BASH_SOURCE[0]}")/images.sh"

k=${1:-}
usage="mnist_prototypes.sh K|plain DATA"
one_of network "$k" 1 2 3 4 5 plain
settings_of "${2:-}"

own_seeds=("${seeds[@]}") seeds=()
for seed in "${own_seeds[@]}"; do
    seeds+=("$((seed + 1))")
done
train_images forward_only 1 zero
judges=("${folders[@]}") seeds=("${own_seeds[@]}")
if [ "$k" = plain ]; then
    train_images forward_only 1 zero
else
    train_images both "$k" zero
fi
score "$here/prototypes.py" "$k DATA" --experiment mnist_prototypes \
    --variant "$(variant_of "$k")" --images "$data" --runs "${folders[@]}" --judges "${judges[@]}"
