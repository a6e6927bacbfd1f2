#!/usr/bin/env bash
# Undirected convolutional networks on MNIST (tables 5.2, 5.3 and 5.4 of Mihaylova's thesis).
#   recipes/undirected/mnist.sh K DATA [forward_only|untied]
# Without a last word, networks are trained in both directions, with gamma .1 (experiment mnist).
# forward_only: gamma 0; its k1 is the plain network. untied: gamma 0, and own weights in each of K
# passes, 2 to 5. K, DATA and the environment are explained in images.sh.

source "$(dirname "${BASH_SOURCE[0]}")/images.sh"

k=${1:-}
kind=${3:-both}
usage="mnist.sh K DATA [forward_only|untied]"
one_of K "$k" "${ways[@]}"
one_of kind "$kind" both forward_only untied
[ "$kind" != untied ] || one_of "K of untied networks" "$k" 2 3 4 5
settings_of "${2:-}"

train_images "$kind" "$k" zero
experiment=mnist words="$k DATA"
[ "$kind" = both ] || experiment=mnist_$kind words="$k DATA $kind"
tested=()
[ "$k" != converge ] || tested=(--test-passes converge)
score "$here/images.py" "$words" --experiment "$experiment" --variant "$(variant_of "$k")" \
    --images "$data" --runs "${folders[@]}" "${tested[@]}"
