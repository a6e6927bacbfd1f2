# shellcheck shell=bash
# Shared by the recipes of this folder, which source it.
#
# Environment:
#   OUT      where prepared data and runs go (runs/latent_tree)
#   GLOVE    text file of 300-dimensional word vectors, such as glove.840B.300d.txt; with it the
#            recipe has the thesis's learning rates and 40 epochs, without it embeddings are learned
#   SEEDS    seeds of the runs, a record each ("1 2 3")
#   EPOCHS   passes through the training split (40 with GLOVE, else 20 for sick and 8)
#   LR       learning rate (the thesis's for the method with GLOVE, else 0.001)
#   STEP_SIZE  eta of the pulled-back methods, for the gradient of a sentence's own loss (that of
#            table A.1 divided by the size of the batch: see step_size_of)
#   THREADS  CPU threads of each run (1)
#   RECORD   0 keeps the numbers out of results.jsonl, 1 appends them; without it, only those of the
#            recipe's own SEEDS, EPOCHS, LR and STEP_SIZE are appended
# Finished runs are kept and not made again; one that was interrupted starts anew.

set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
if ! command -v fairseq-train >/dev/null && [ -x "$root/.venv/bin/fairseq-train" ]; then
    PATH="$root/.venv/bin:$PATH"
fi

methods=(
    baseline marginals sparsemap perturb_and_map
    ste_marginals ste_identity spigot spigot_ce spigot_eg
)

fail() {
    echo "error: $*" >&2
    exit 2
}

out=${OUT:-$root/runs/latent_tree}
glove=${GLOVE:-}
[ -z "$glove" ] || [ -f "$glove" ] || fail "GLOVE: no such file: $glove"
read -ra seeds <<<"${SEEDS:-1 2 3}"
for number in "${EPOCHS:-1}" "${THREADS:-1}" "${seeds[@]}"; do
    [[ $number =~ ^[1-9][0-9]*$ ]] ||
        fail "EPOCHS, THREADS and SEEDS must be whole numbers above 0, not '$number'"
done
export OMP_NUM_THREADS=${THREADS:-1}
command -v fairseq-train >/dev/null || fail "fairseq-struct is not installed: make install"
own=1       # are the settings the recipe's own?
settings="" # of this call, for the command in the record
for name in GLOVE SEEDS EPOCHS LR STEP_SIZE; do
    [ -z "${!name:-}" ] || settings+="$name='${!name}' "
    [ -z "${!name:-}" ] || [ "$name" = GLOVE ] || own=0
done

# experiment NAME LAYOUT ARCH BATCH METHOD [DATA] : everything from raw data to the final number.
experiment() {
    local name=$1 layout=$2 arch=$3 batch=$4 method=${5:-} data=${6:-}
    case " ${methods[*]} " in
        *" $method "*) [ -n "$method" ] || fail "usage: $name.sh METHOD [DATA]" ;;
        *) fail "unknown method '$method'; choose one of: ${methods[*]}" ;;
    esac
    local prepared=$out/$name/data${glove:+.words_of_all_splits}
    if [ ! -e "$prepared/manifest.json" ]; then
        [ -n "$data" ] || fail "usage: $name.sh METHOD DATA (data are prepared once)"
        python "$root/preprocess/labelled_text.py" "$layout" "$data" "$prepared" --lower ${glove:+--words-of-all-splits}
    fi
    local epochs=40
    [ -n "$glove" ] || epochs=$([ "$name" = sick ] && echo 20 || echo 8)
    epochs=${EPOCHS:-$epochs}
    local options=() lr=${LR:-0.001} step_size=${STEP_SIZE:-$(step_size_of "$name" "$method" "$batch")}
    if [ -n "$glove" ]; then
        options=(--embed-path "$glove")
        lr=${LR:-$(learning_rate_of "$name" "$method")}
    fi
    local steps=eta_$step_size folders=()
    case "$method" in
        ste_identity | spigot*) steps+=.weight_$batch ;;
    esac
    for seed in "${seeds[@]}"; do
        local folder=$out/$name/$method/epochs_$epochs.lr_$lr.$steps${glove:+.$(basename "$glove")}/seed_$seed
        folders+=("$folder")
        [ ! -e "$folder/finished" ] || continue
        rm -rf "$folder"
        mkdir -p "$folder"
        fairseq-train "$prepared/data-bin" --user-dir "$root/user_dir" --save-dir "$folder" \
            --seed "$seed" --task structured_classification --arch "$arch" \
            --criterion structured_classification --latent-method "$method" \
            --pullback-step-size "$step_size" --pullback-weight "$batch" "${options[@]}" \
            --optimizer adam --weight-decay 0.01 --lr "$lr" \
            --batch-size "$batch" --max-epoch "$epochs" \
            --valid-subset valid,test --best-checkpoint-metric accuracy \
            --maximize-best-checkpoint-metric --no-epoch-checkpoints --no-last-checkpoints \
            --num-workers 0 --no-progress-bar --log-format json --log-interval 100 \
            >"$folder/train.log" 2>&1 ||
            fail "training failed, see $folder/train.log: $(tail -n 1 "$folder/train.log")"
        touch "$folder/finished"
    done
    local record=()
    [ "${RECORD:-$own}" = 0 ] || record=(--results "$here/results.jsonl")
    python "$here/summarise.py" --experiment "$name" --method "$method" \
        --runs "${folders[@]}" --embeddings "${glove:+GloVe}" --learning-rate "$lr" \
        --scale "$([ -n "$glove" ] && [ $own = 1 ] && echo paper || echo reduced)" \
        --command "${settings}recipes/latent_tree/$name.sh $method DATA" "${record[@]}"
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
