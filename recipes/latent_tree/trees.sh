#!/usr/bin/env bash
# How deep the latent trees of each method are, and trees of six sentences by all of them (appendix B
# of Mihaylova's thesis).
#   recipes/latent_tree/trees.sh DATA [METHOD …]
# DATA is that of sst.sh, whose runs these are; those that do not exist yet are made. Without METHODs
# all that have trees are taken; with METHODs nothing is recorded, unless RECORD=1. The pictures
# depths.png and trees.svg are written beside the recipe if the numbers are recorded, else in OUT/trees.
# The environment is explained in methods.sh.

source "$(dirname "${BASH_SOURCE[0]}")/methods.sh"

usage="trees.sh DATA [METHOD …]"
[ $# -gt 0 ] || fail "usage: $usage"
data=$1
shift
[ $# -eq 0 ] || own=0 # the pictures are of all methods
[ $# -gt 0 ] || set -- "${methods[@]:1}"
for method in "$@"; do
    one_of method "$method" "${methods[@]:1}"
done
settings_of sst
folder=$out/trees
mkdir -p "$folder"
runs=() drawn=()
for method in "$@"; do
    train_method sst latent_tree_classifier_sst 32 "$method" "$data"
    for run in "${folders[@]}"; do
        runs+=("$method=$run")
    done
    # The caption of a picture is the name of the file.
    ln -sfn "${folders[0]}/checkpoint_best.pt" "$folder/$method.pt"
    drawn+=("$folder/$method.pt")
done
kept=$folder
! recording || kept=$here
score "$here/depths.py" "DATA" --experiment sst_trees --runs "${runs[@]}" \
    --text "$prepared/text/test.sentence1" --png "$kept/depths.png" --data "SST, two labels; best \
trees of the test set, $embeddings embeddings, epoch of the best validation accuracy"
fairseq-struct draw "${drawn[@]}" --what trees --output "$kept/trees.svg" <<'EOF'
a funny film .
the plot is dull , but the cast is good .
it is not a bad film at all .
you will laugh , and then you will cry .
a story that nobody would believe , told with great care .
the film never decides what it wants to be .
EOF
