# shellcheck shell=bash
# Settings and training of composers (the thesis on grammar induction with RIMs, section 4.2), for
# the recipes in this folder.
#
# Environment of these recipes, beside that of ../common.sh:
#   SIZE        paper (the default; one sentence in an update, at the thesis's rate) or cpu: 32 in
#               an update, at a larger rate for the same number of epochs, and gradients are clipped
#               at a norm of 0.25, without which this rate diverges
#   EMBEDDINGS  text file of 100-dimensional word vectors, such as glove.6B.100d.txt, which training
#               goes on from; without it, embeddings are learned
#   EPOCHS      epochs of a run (default: 11; the deeper model has a variant of 20)
#   LR          learning rate of Adam (default: 0.00002, with SIZE=cpu 0.003)
#   BATCH       sentences of an update (default: 1, with SIZE=cpu 32)
#
# DATA is a folder of bracketed trees with parts of speech, such as the sample of the Penn Treebank
# that comes with NLTK; it is needed once. A quarter of the sentences is the test part, a tenth of
# the others the validation part. The rate is halved if window_2 of the validation part does not
# rise by a thousandth for 3 epochs. The scored network is that of the last epoch: none is selected.

source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

# shellcheck disable=SC2034 # for the recipes
cells=(1_1 3_1 5_1 7_1 3_3 5_3 7_3) # units_active units

# settings_of DATA SEED… : set the settings and prepare the data; SEEDs are the recipe's own.
settings_of() {
    local data=$1
    shift
    run_size
    embeddings=${EMBEDDINGS:-}
    [ -z "$embeddings" ] || [ -f "$embeddings" ] || fail "$embeddings: no such file (EMBEDDINGS)"
    epochs=11 lr=0.00002 batch=1 clip=0
    if [ "$size" = cpu ]; then
        lr=0.003 batch=32 clip=0.25 scale=reduced
    fi
    if [ -n "$embeddings" ]; then
        remember EMBEDDINGS "$embeddings"
    else
        scale=reduced # the thesis has GloVe's
    fi
    numbers EPOCHS BATCH
    setting LR
    run_seeds "$@"
    prepared=$out/lists
    prepare "$prepared" transformation_lists "$data"
}

# architecture_of VARIANT : set $architecture, and the epochs and the batch that are the variant's.
architecture_of() {
    architecture=()
    case "$1" in
        two_layers) architecture+=(--layers 2) ;;
        two_layers_20_epochs)
            architecture+=(--layers 2)
            [ -n "${EPOCHS:-}" ] || epochs=20
            ;;
        lstm) architecture=(--arch lstm_composer) ;;
        softmax_span) architecture+=(--span-attention softmax) ;;
        positions) architecture+=(--positions from_right) ;;
        single_sentences) batch=1 lr=0.00002 clip=0 ;;
        own_spans) architecture+=(--own-spans linear --own-spans-end-update "$(all_updates)") ;;
        *_*[0-9]) architecture+=(--units "${1%_*}" --top-k "${1#*_}") ;;
    esac
    [ -z "$embeddings" ] || architecture+=(--embed-path "$(realpath "$embeddings")")
}

# all_updates : print the number of updates of all epochs.
all_updates() {
    local count
    count=$(grep -o '"train": [0-9]*' "$prepared/manifest.json" | head -n 1 | grep -o '[0-9]*$')
    echo $((epochs * ((count + batch - 1) / batch)))
}

# train_composers NAME VARIANT [OPTION…] : train with all seeds, and set $folders, the folder of
# each run. Runs of the same NAME and settings are shared by all recipes.
train_composers() {
    local name=$1 parent seed
    architecture_of "$2"
    shift 2
    parent=$out/composers/$name.epochs_$epochs.lr_$lr.batch_$batch
    [ -z "$embeddings" ] || parent+=.$(basename "$embeddings")
    folders=()
    for seed in "${seeds[@]}"; do
        train "$parent/seed_$seed" "$prepared/data-bin" --preset rim_composer_cpu \
            "${architecture[@]}" "$@" --lr "$lr" --clip-norm "$clip" --batch-size "$batch"
        folders+=("$parent/seed_$seed")
    done
}

# embeddings_in_words : print what the embeddings are, for records.
embeddings_in_words() {
    if [ -n "$embeddings" ]; then
        echo "embeddings from $(basename "$embeddings")"
    else
        echo "learned embeddings"
    fi
}

# score_windows EXPERIMENT VARIANT : train with all seeds, and score what they look at.
score_windows() {
    train_composers "$2" "$2"
    score "$here/windows.py" "$2 DATA" --experiment "$1" --variant "$2" --lists "$prepared" \
        --runs "${folders[@]}" --embeddings "$(embeddings_in_words)"
}
