# shellcheck shell=bash
# Settings and training of undirected networks of images (Mihaylova's thesis, section 5.3), for the
# recipes in this folder.
#
# Environment of these recipes, beside that of ../common.sh; SEEDS are 1 2 3:
#   SIZE      paper (the default) or cpu: the same network, trained for fewer epochs
#   EPOCHS    epochs of a run (default: 50, with SIZE=cpu 10)
#   CHANNELS  channels of the second layer (default: 64)
#
# K is explained in passes.sh.
# DATA is the folder with the four idx files of MNIST; 10,000 training images are held out. All
# numbers are those of the epoch with the best validation accuracy.

source "$(dirname "${BASH_SOURCE[0]}")/passes.sh"

# settings_of DATA : check DATA and set $data, $size, $epochs, $channels and $seeds.
settings_of() {
    run_size
    data=$1
    [ -n "$data" ] || fail "name the folder of MNIST's idx files"$'\n'"usage: $usage"
    [ -d "$data" ] || fail "$data: no such folder"
    epochs=50 channels=64
    if [ "$size" = cpu ]; then
        epochs=10 scale=reduced
    fi
    numbers EPOCHS CHANNELS
    run_seeds 1 2 3
}

# train_images KIND K INITIALISATION : train with all seeds, and set $folders, the folder of each
# run, and $parent, theirs. KIND is both (gamma .1), forward_only (gamma 0) or untied (gamma 0).
train_images() {
    local kind=$1 k=$2 initialisation=$3 seed options=()
    [ "$k" != converge ] || k=random_k
    case "$kind" in
        both) options+=(--gamma 0.1) ;;
        forward_only) options+=(--gamma 0) ;;
        untied) options+=(--gamma 0 --untied) ;;
    esac
    if [ "$k" = random_k ]; then
        options+=(--passes 5 --random-passes)
    else
        options+=(--passes "$k")
    fi
    [ "$initialisation" = zero ] || options+=(--initialisation "$initialisation")
    parent=$out/mnist/$kind/$(variant_of "$k").$initialisation.epochs_$epochs
    [ "$channels" = 64 ] || parent+=.channels_$channels
    folders=()
    for seed in "${seeds[@]}"; do
        train "$parent/seed_$seed" "$data" --preset undirected_convnet_mnist \
            --second-channels "$channels" "${options[@]}"
        folders+=("$parent/seed_$seed")
    done
}
