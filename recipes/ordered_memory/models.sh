# shellcheck shell=bash
# The rows of table 5 and figure 7a of Shen's thesis (chapter 3) and their settings, for the recipes
# in this folder.
#
# Environment of these recipes, beside that of ../common.sh; SEEDS is 1:
#   SIZE      paper (the default; for a GPU) or cpu
#   EPOCHS    epochs of a run (default: 50, or the recipe's own number with SIZE=cpu)
#   HIDDEN    size of embeddings, of slots and of all layers (default: the published code's, or 64)
#   INSTANCES training and validation instances (default: all of them, for ListOps 72000; with
#             SIZE=cpu the recipe's own number)
#   LR        learning rate (default: 0.001, for Transformers 0.0003)
#
# All rows have the same data, epochs, size, optimizer and perceptron.

source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

# The first three also induce trees; the last three read the gold trees.
# shellcheck disable=SC2034 # for the recipes
models=(
    ordered_memory ordered_memory_sharp beam_tree lstm on_lstm transformer universal_transformer
    tree_lstm tree_cell tree_rnn
)

# settings_of HIDDEN EPOCHS INSTANCES : set $size, $hidden, $epochs, $instances and $seeds. HIDDEN
# is the published code's; EPOCHS and INSTANCES are for size cpu.
settings_of() {
    run_size
    hidden=$1 epochs=50 instances=""
    if [ "$size" = cpu ]; then
        hidden=64 epochs=$2 instances=$3 scale=reduced
    fi
    numbers HIDDEN EPOCHS INSTANCES
    # shellcheck disable=SC2154 # the recipe sets it
    case "$model" in
        *transformer) lr=0.0003 ;;
        *) lr=0.001 ;;
    esac
    setting LR
    run_seeds 1
}

# architecture_of KIND : set $architecture, the options of $model; KIND is proplogic or listops.
architecture_of() {
    case "$model" in
        ordered_memory)
            architecture=(--arch "ordered_memory_classifier_$1" --embed-dim "$hidden")
            ;;
        ordered_memory_sharp)
            architecture=(--arch "ordered_memory_classifier_$1" --embed-dim "$hidden"
                --sharpness-weight 0.1)
            ;;
        beam_tree)
            architecture=(--arch "beam_tree_classifier_$1" --embed-dim "$hidden")
            ;;
        lstm | on_lstm)
            architecture=(--arch "recurrent_classifier_$1" --embed-dim "$hidden" --cell "$model"
                --chunk-size 8)
            ;;
        tree_*)
            architecture=(--arch "tree_classifier_$1" --embed-dim "$hidden" --cell "$model")
            ;;
        *)
            architecture=(--arch "transformer_classifier_$1" --feedforward-size "$((4 * hidden))")
            [ "$model" = transformer ] || architecture+=(--universal)
            ;;
    esac
    architecture+=(--hidden-size "$hidden")
}

# train_rows NAME KIND DATA : train $model on the prepared DATA with all seeds; NAME is that of the
# experiment. Sets $folders, the folder of each run.
train_rows() {
    local seed folder
    architecture_of "$2"
    folders=()
    for seed in "${seeds[@]}"; do
        folder=$out/$1/$model/hidden_$hidden.epochs_$epochs.lr_$lr
        folder+=${instances:+.instances_$instances}/seed_$seed
        train "$folder" "$3/data-bin" --preset "ordered_memory_classifier_$2" \
            "${architecture[@]}" --lr "$lr"
        folders+=("$folder")
    done
}

# lists FOLDER INSTANCES TEST : generate ListOps data of up to 50 tokens, with the released TEST and
# with test sets of longer expressions and of lists with more arguments.
lists() {
    [ ! -e "$1/manifest.json" ] || return 0
    [ -n "$3" ] || fail "the data are not prepared yet: name the released test set"$'\n'"usage: $usage"
    python "$root/preprocess/listops.py" generate "$1" --instances "$2" --most-tokens 50 \
        --test "$3" --tokens 200 300 --tokens 500 600 --tokens 900 1000 --arguments 10 \
        --arguments 15
}
