# shellcheck shell=bash
# The rows of table 4.2 and their settings (table A.1), for the recipes beside it.
#
# Environment of these, beside that of ../common.sh; SEEDS is "1 2 3":
#   GLOVE    text file of 300-dimensional word vectors, such as glove.840B.300d.txt; with it the
#            recipe has the thesis's learning rates and 40 epochs, without it embeddings are learned
#   EPOCHS   40 with GLOVE, else 20 for sick and 8
#   LR       learning rate (the thesis's for the method with GLOVE, else 0.001)
#   STEP_SIZE  eta of the pulled-back methods, for the gradient of a sentence's own loss (that of
#            table A.1 divided by the size of the batch: see step_size_of)

source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

methods=(
    baseline marginals sparsemap perturb_and_map
    ste_marginals ste_identity spigot spigot_ce spigot_eg
)

# experiment NAME ARCH BATCH METHOD [DATA] : all of it; NAME is that of the data's layout, too.
experiment() {
    local name=$1 arch=$2 batch=$3 method=${4:-} data=${5:-}
    usage="$name.sh METHOD [DATA]"
    one_of method "$method" "${methods[@]}"
    local glove=${GLOVE:-} embeddings=learned options=() folder folders=()
    local lr=0.001 step_size
    step_size=$(step_size_of "$name" "$method" "$batch")
    epochs=$([ "$name" = sick ] && echo 20 || echo 8)
    scale=reduced
    if [ -n "$glove" ]; then
        [ -f "$glove" ] || fail "GLOVE: no such file: $glove"
        remember GLOVE "$glove"
        embeddings=GloVe options=(--embed-path "$(realpath "$glove")")
        lr=$(learning_rate_of "$name" "$method") epochs=40 scale=paper
    fi
    numbers EPOCHS
    setting LR STEP_SIZE
    run_seeds 1 2 3

    local prepared=$out/$name/data${glove:+.words_of_all_splits}
    prepare "$prepared" labelled_text "$name" --lower ${glove:+--words-of-all-splits} "$data"
    local steps=eta_$step_size
    case "$method" in
        ste_identity | spigot*) steps+=.weight_$batch ;;
    esac
    for seed in "${seeds[@]}"; do
        folder=$out/$name/$method/epochs_$epochs.lr_$lr.$steps${glove:+.$(basename "$glove")}
        folder+=/seed_$seed
        folders+=("$folder")
        train "$folder" "$prepared/data-bin" --task structured_classification --arch "$arch" \
            --criterion structured_classification --latent-method "$method" \
            --pullback-step-size "$step_size" --pullback-weight "$batch" "${options[@]}" \
            --optimizer adam --weight-decay 0.01 --lr "$lr" --batch-size "$batch" \
            --valid-subset valid,test --best-checkpoint-metric accuracy \
            --maximize-best-checkpoint-metric
    done
    score "$here/summarise.py" "$method DATA" --experiment "$name" --variant "$method" \
        --runs "${folders[@]}" --data "$name, $embeddings embeddings, AdamW, learning rate $lr; \
test set, epoch of the best validation accuracy"
}

# Table A.1.
learning_rate_of() {
    case "$1 $2" in
        "sst baseline") echo 0.00002 ;;
        "sst marginals" | "sst ste_identity" | "sst spigot") echo 0.0001 ;;
        sst*) echo 0.00005 ;;
        *" sparsemap" | *" ste_marginals" | *" spigot") echo 0.0003 ;;
        *) echo 0.0001 ;;
    esac
}

# step_size_of EXPERIMENT METHOD BATCH : the eta of table A.1, which is for the mean loss of a batch
# of that size, in this project's convention; with it goes --pullback-weight BATCH (what both mean:
# fairseq_struct/structure/pullback.py). Of ste_identity the table has none, and 1 is plain.
step_size_of() {
    local eta=1
    case "$1 $2" in
        "sst spigot"*) eta=0.1 ;;
        *" spigot_ce") eta=0.1 ;;
        *" spigot_eg") eta=0.001 ;;
    esac
    awk -v eta="$eta" -v batch="$3" 'BEGIN { printf "%.10g\n", eta / batch }'
}
