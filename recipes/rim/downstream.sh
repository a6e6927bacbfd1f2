#!/usr/bin/env bash
# Sentiment by the sentence vectors of a frozen composer (proposed in section 3.2.4 of the thesis).
#   recipes/rim/downstream.sh VARIANT DATA SST
# VARIANT is root_vector: the last symbol of the composer one_layer of main.sh, which takes its own
# spans; or mean_of_words: the mean of the word vectors of EMBEDDINGS, which the composer started
# from. Without EMBEDDINGS these are random, and the mean is that of the composer's trained vectors.
# The composer of a seed is that of the same seed. SST is a folder of train.tsv, dev.tsv, test.tsv
# (sentence TAB label), needed once; DATA and the environment are explained in composers.sh; SEEDS
# are 1 2 3. Further environment:
#   CLASSIFIER_EPOCHS  epochs of a classifier (default: 20)
# Numbers are those of the epoch with the best validation accuracy.

source "$(dirname "${BASH_SOURCE[0]}")/composers.sh"

variant=${1:-}
usage="downstream.sh VARIANT DATA SST"
one_of variant "$variant" root_vector mean_of_words
classifier_epochs=20
numbers CLASSIFIER_EPOCHS
settings_of "${2:-}" 1 2 3
prepare "$out/sst" labelled_text sst --lower "${3:-}"

train_composers one_layer one_layer
composers=("${folders[@]}") parent=${folders[0]%/*} folders=()
epochs=$classifier_epochs
for number in "${!seeds[@]}"; do
    # train asks for the seed by this name.
    seed=${seeds[$number]}
    if [ "$variant" = root_vector ]; then
        vectors=(--composer-from "${composers[$number]}/checkpoint_last.pt")
    elif [ -n "$embeddings" ]; then
        vectors=(--sentence-vector mean_of_words --embed-path "$(realpath "$embeddings")")
    else
        vectors=(--sentence-vector mean_of_words
            --composer-from "${composers[$number]}/checkpoint_last.pt")
    fi
    folder=$out/sentiment/$variant.epochs_$epochs/$(basename "$parent")/seed_$seed
    train "$folder" "$out/sst/data-bin" --task structured_classification \
        --arch composed_classifier "${vectors[@]}" --criterion structured_classification \
        --optimizer adam --lr 0.001 --batch-size 32 --valid-subset valid,test \
        --best-checkpoint-metric accuracy --maximize-best-checkpoint-metric
    folders+=("$folder")
done
score "$here/downstream.py" "$variant DATA SST" --experiment downstream_sst --variant "$variant" \
    --runs "${folders[@]}" --data "SST, two labels; frozen vectors of a composer with \
$(embeddings_in_words); test set, epoch of the best validation accuracy"
