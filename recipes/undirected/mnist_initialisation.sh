#!/usr/bin/env bash
# First values of Y in undirected networks on MNIST (table 5.5 of Mihaylova's thesis): accuracy is
# that of random values, beside accuracy_zero and accuracy_uniform.
#   recipes/undirected/mnist_initialisation.sh K DATA
# K (1 to 5), DATA and the environment are explained in images.sh.

source "$(dirname "${BASH_SOURCE[0]}")/images.sh"

k=${1:-}
usage="mnist_initialisation.sh K DATA"
one_of K "$k" 1 2 3 4 5
settings_of "${2:-}"

beside=()
for initialisation in zero uniform; do
    train_images both "$k" "$initialisation"
    beside+=(--beside "$initialisation" "$parent")
done
train_images both "$k" random
score "$here/images.py" "$k DATA" --experiment mnist_initialisation --variant "$(variant_of "$k")" \
    --images "$data" --runs "${folders[@]}" "${beside[@]}"
