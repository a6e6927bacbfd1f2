# shellcheck shell=bash
# Settings and training of undirected parsers (Mihaylova's thesis, section 5.5), for the recipes in
# this folder.
#
# Environment of these recipes, beside that of ../common.sh; SEEDS are 1 2 3:
#   SIZE     paper (the default): fine-tunes the encoder in ENCODER with the thesis's settings; or
#            cpu: a BiLSTM over word vectors from scratch, 3 to 28 points below multilingual BERT
#   ENCODER  SIZE=paper: local folder of a Hugging Face encoder, bert-base-multilingual-cased in the
#            thesis
#   EPOCHS   epochs of a run (default: 50, with SIZE=cpu 25)
#   LR       highest learning rate (default: 0.00005, for it_isdt 0.00001, with SIZE=cpu 0.005; the
#            thesis chose from 0.000001, 0.000005, 0.00001, 0.00005 and 0.0001)
#   HIDDEN   size of the vectors of heads and modifiers (default: 400)
#
# K is explained in passes.sh.
# TREEBANK is the prefix of the files of a treebank, such as af_afribooms, and DATA the folder with
# the treebanks' folders, of Universal Dependencies 2.7. All numbers are those of the epoch with the
# best validation UAS. Trees of training have one root, best trees several, as in the published
# code. The learning rate rises for 20 updates, then falls linearly to zero.

source "$(dirname "${BASH_SOURCE[0]}")/passes.sh"

# settings_of TREEBANK DATA SEED… : check the arguments, and set $folder, $size, $epochs, $lr,
# $hidden, $encoder and $seeds.
settings_of() {
    local treebank=$1 data=$2 found
    shift 2
    [ -n "$treebank" ] || fail "name a treebank"$'\n'"usage: $usage"
    [ -n "$data" ] || fail "name the folder of the treebanks"$'\n'"usage: $usage"
    [ -d "$data" ] || fail "$data: no such folder"
    found=("$data"/*/"$treebank"-ud-train.conllu)
    [ -f "${found[0]}" ] || fail "$data: no file */$treebank-ud-train.conllu"
    folder=$(dirname "${found[0]}")
    train_file=${found[0]}
    run_size
    epochs=50 lr=0.00005 hidden=400 encoder=${ENCODER:-}
    [ "$treebank" != it_isdt ] || lr=0.00001
    if [ "$size" = cpu ]; then
        epochs=25 lr=0.005 scale=reduced
        [ -z "$encoder" ] || fail "ENCODER is for SIZE=paper"
    else
        [ -d "$encoder" ] || fail "SIZE=paper needs the folder of an encoder in ENCODER"
        remember ENCODER "$encoder"
    fi
    numbers EPOCHS HIDDEN
    setting LR
    run_seeds "$@"
}

# train_parsers TREEBANK K : train with all seeds, and set $folders, the folder of each run, and
# $parent, theirs.
train_parsers() {
    local treebank=$1 k=$2 seed sentences options
    [ "$k" != converge ] || k=random_k
    parent=$out/parsing/$treebank/$(variant_of "$k").$size.epochs_$epochs.lr_$lr.hidden_$hidden
    sentences=$(grep -c $'^1\t' "$train_file")
    options=(--preset undirected_parser_ud)
    if [ "$size" = paper ]; then
        options+=(--encoder-folder "$encoder")
    else
        options=(--preset undirected_parser_ud_cpu)
    fi
    if [ "$k" = random_k ]; then
        options+=(--passes 5 --random-passes)
    else
        options+=(--passes "$k")
    fi
    folders=()
    for seed in "${seeds[@]}"; do
        train "$parent/seed_$seed" "$folder" "${options[@]}" --hidden-size "$hidden" --lr "$lr" \
            --no-max-update --total-num-update $((epochs * ((sentences + 19) / 20)))
        folders+=("$parent/seed_$seed")
    done
}
