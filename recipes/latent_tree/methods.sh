# shellcheck shell=bash
# The rows of table 4.2 of Mihaylova's thesis and their settings (table A.1), for the recipes in
# this folder.
#
# Environment of these recipes, beside that of ../common.sh; SEEDS is "1 2 3":
#   GLOVE    text file of 300-dimensional word vectors, such as glove.840B.300d.txt. With it, the
#            recipe uses the thesis's learning rates and 40 epochs; without it, embeddings are
#            learned
#   EPOCHS   40 with GLOVE; otherwise 20 for sick and 8 for the others
#   LR       learning rate (the thesis's for the method with GLOVE, else 0.001)
#   STEP_SIZE  eta of the pulled-back methods, for the gradient of one sentence's loss (eta of
#            table A.1 divided by the batch size: see step_size_of)

source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

trees="" # name of the trees that a training is given, if it is
methods=(
    baseline marginals sparsemap perturb_and_map
    ste_marginals ste_identity spigot spigot_ce spigot_eg
)

# experiment NAME PRESET BATCH METHOD [DATA] : prepare, train and score. NAME is also the name of the
# data's layout, PRESET that of the thesis's setting.
experiment() {
    local name=$1 method=${4:-}
    usage="$name.sh METHOD [DATA]"
    one_of method "$method" "${methods[@]}"
    settings_of "$name"
    train_method "$@"
    score "$here/summarise.py" "$method DATA" --experiment "$name" --variant "$method" \
        --runs "${folders[@]}" --data "$name, $embeddings embeddings, AdamW, learning rate $lr; \
test set, epoch of the best validation accuracy"
}

# settings_of NAME : set $glove, $embeddings, $epochs and $seeds, which the methods share.
settings_of() {
    glove=${GLOVE:-} embeddings=learned scale=reduced
    epochs=$([ "$1" = sick ] && echo 20 || echo 8)
    if [ -n "$glove" ]; then
        [ -f "$glove" ] || fail "$glove: no such file (GLOVE)"
        remember GLOVE "$glove"
        embeddings=GloVe epochs=40 scale=paper
    fi
    numbers EPOCHS
    run_seeds 1 2 3
}

# prepare_data NAME [DATA] : prepare the data, and set $prepared, their folder.
prepare_data() {
    prepared=$out/$1/data${glove:+.words_of_all_splits}
    prepare "$prepared" labelled_text "$1" --lower ${glove:+--words-of-all-splits} "$2"
}

# train_method NAME PRESET BATCH METHOD [DATA] [OPTION…] : prepare and train, after settings_of. Set
# $folders, the runs of the seeds, and $lr. With OPTIONs, $trees has to tell the runs from those
# without.
train_method() {
    local name=$1 preset=$2 batch=$3 method=$4 options=("${@:6}") folder
    local step_size steps
    step_size=$(step_size_of "$name" "$method" "$batch")
    lr=0.001
    if [ -n "$glove" ]; then
        options+=(--embed-path "$(realpath "$glove")")
        lr=$(learning_rate_of "$name" "$method")
    else
        preset+=_cpu
    fi
    setting LR STEP_SIZE
    prepare_data "$name" "${5:-}"
    steps=eta_$step_size
    case "$method" in
        ste_identity | spigot*) steps+=.weight_$batch ;;
    esac
    folders=()
    for seed in "${seeds[@]}"; do
        folder=$out/$name/$method/epochs_$epochs.lr_$lr.$steps${glove:+.$(basename "$glove")}
        folder+=${trees:+.$trees}/seed_$seed
        folders+=("$folder")
        train "$folder" "$prepared/data-bin" --preset "$preset" --latent-method "$method" \
            --pullback-step-size "$step_size" --pullback-weight "$batch" "${options[@]}" \
            --lr "$lr" --valid-subset valid,test
    done
}

# learning_rate_of EXPERIMENT METHOD : print the learning rate of table A.1.
learning_rate_of() {
    case "$1 $2" in
        "sst baseline") echo 0.00002 ;;
        "sst marginals" | "sst ste_identity" | "sst spigot") echo 0.0001 ;;
        sst*) echo 0.00005 ;;
        *" sparsemap" | *" ste_marginals" | *" spigot") echo 0.0003 ;;
        *) echo 0.0001 ;;
    esac
}

# step_size_of EXPERIMENT METHOD BATCH : print eta of table A.1 in this project's convention. The
# table's eta is for the mean loss of a batch of size BATCH, and needs --pullback-weight BATCH (both
# are explained in fairseq_struct/structure/pullback.py). The table has no eta for ste_identity; 1
# is the plain straight-through gradient.
step_size_of() {
    local eta=1
    case "$1 $2" in
        "sst spigot"*) eta=0.1 ;;
        *" spigot_ce") eta=0.1 ;;
        *" spigot_eg") eta=0.001 ;;
    esac
    LC_ALL=C awk -v eta="$eta" -v batch="$3" 'BEGIN { printf "%.10g\n", eta / batch }'
}
