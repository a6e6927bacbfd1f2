# shellcheck shell=bash
# Shared by the recipes of this folder, which source it.
#
# Environment:
#   OUT      where runs and figures go (runs/latent_clusters)
#   SEEDS    seeds of the runs behind one number ("1 2 3 4")
#   UPDATES  training updates (10000)
#   LEARNING_RATES  to choose from by validation accuracy, for each row ("0.001 0.002": of the
#            thesis's three, those that are best for any row in its table A.1)
#   JOBS     runs at a time (1)
#   THREADS  CPU threads of each run (1)
#   RECORD   0 keeps a table out of results.jsonl, 1 appends it; without it, only tables with the
#            recipe's own SEEDS, UPDATES and LEARNING_RATES are appended
# Finished runs are kept and not made again; one that was interrupted starts anew.

set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
if ! command -v fairseq-train >/dev/null && [ -x "$root/.venv/bin/fairseq-train" ]; then
    PATH="$root/.venv/bin:$PATH"
fi

# The rows of table 4.1.
variants=(
    linear gold softmax sparsemax gumbel_softmax st_gumbel sfe sfe_baseline
    ste_softmax ste_identity spigot spigot_ce spigot_eg
)
default_seeds="1 2 3 4"
default_updates=10000
default_learning_rates="0.001 0.002"

fail() {
    echo "error: $*" >&2
    exit 2
}

# number NAME VALUE: refuse what is no whole number above 0.
number() {
    [[ $2 =~ ^[1-9][0-9]*$ ]] || fail "$1 must be a whole number above 0, not '$2'"
}

out=${OUT:-$root/runs/latent_clusters}
updates=${UPDATES:-$default_updates}
jobs=${JOBS:-1}
read -ra seeds <<<"${SEEDS:-$default_seeds}"
read -ra learning_rates <<<"${LEARNING_RATES:-$default_learning_rates}"
number UPDATES "$updates"
number JOBS "$jobs"
number THREADS "${THREADS:-1}"
[ ${#seeds[@]} -gt 0 ] || fail "SEEDS names no seed"
[ ${#learning_rates[@]} -gt 0 ] || fail "LEARNING_RATES names no learning rate"
for learning_rate in "${learning_rates[@]}"; do
    [[ $learning_rate =~ ^0?\.[0-9]*[1-9][0-9]*$ ]] ||
        fail "LEARNING_RATES must be numbers between 0 and 1 such as 0.001, not '$learning_rate'"
done
for seed in "${seeds[@]}"; do
    number SEEDS "$seed"
done
[ -z "$(printf '%s\n' "${seeds[@]}" | sort | uniq -d)" ] || fail "SEEDS has a seed twice: ${seeds[*]}"
export OMP_NUM_THREADS=${THREADS:-1}
command -v fairseq-train >/dev/null || fail "fairseq-struct is not installed: make install"

settings="" # of this call, for the command in the record
for name in SEEDS UPDATES LEARNING_RATES; do
    [ -z "${!name:-}" ] || settings+="$name='${!name}' "
done
scale=paper
if [ "${seeds[*]} $updates ${learning_rates[*]}" != \
    "$default_seeds $default_updates $default_learning_rates" ]; then
    scale=reduced
fi

check_variant() {
    case " ${variants[*]} " in
        *" $1 "*) ;;
        *) fail "unknown variant '$1'; choose one of: ${variants[*]}" ;;
    esac
}

# Prints the size of the steps towards the pulled-back label: 0.1, best for all three SPIGOTs in
# table A.1, for the mean loss over the 5000 instances of the batch: 0.1/5000 in this project's
# convention (fairseq_struct/structure/pullback.py). The encoder shares nothing with the decoder, so
# that the weight of the pulled-back loss would only scale its gradient, to which Adam is
# indifferent; and so for ste_identity would the step size.
step_size_of() {
    case "$1" in
        spigot | spigot_ce | spigot_eg) echo 0.00002 ;;
        *) echo 1 ;;
    esac
}

# train CLUSTERS VARIANT SEED LEARNING_RATE [STEPS STEP_SIZE]: one run; its log goes to
# FOLDER/train.log. The test set is only looked at: what is chosen is chosen by the validation
# set, which comes first.
train() {
    local clusters=$1 variant=$2 seed=$3 learning_rate=$4 steps=${5:-1} name=$2
    local step_size=${6:-$(step_size_of "$variant")}
    [ $# -le 4 ] || name=$variant.steps_$steps.size_$step_size
    local folder=$out/clusters_$clusters/$name/rate_$learning_rate/updates_$updates/seed_$seed
    [ ! -e "$folder/finished" ] || return 0
    rm -rf "$folder"
    mkdir -p "$folder"
    # All 5000 instances make one batch. fairseq's worker process and buffer for batches would
    # cost more than an update.
    fairseq-train --user-dir "$root/user_dir" --save-dir "$folder" --seed "$seed" \
        --task latent_clusters --clusters "$clusters" \
        --arch latent_clusters --criterion latent_clusters --latent-method "$variant" \
        --pullback-steps "$steps" --pullback-step-size "$step_size" \
        --optimizer adam --weight-decay 0.01 --lr "$learning_rate" \
        --batch-size 5000 --max-update "$updates" --batches-per-epoch 100 \
        --valid-subset valid,test --num-workers 0 --data-buffer-size 0 \
        --no-epoch-checkpoints --save-interval 1000000 \
        --no-progress-bar --log-format json --log-interval 100 >"$folder/train.log" 2>&1 ||
        fail "training failed, see $folder/train.log: $(tail -n 1 "$folder/train.log")"
    touch "$folder/finished"
}

# in_parallel COMMAND...: start it beside the others, as soon as fewer than JOBS are running.
in_parallel() {
    while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do
        wait_for_one
    done
    "$@" &
}

wait_for_one() {
    wait -n || {
        wait
        exit 2
    }
}

wait_for_all() {
    while [ -n "$(jobs -p)" ]; do
        wait_for_one
    done
}
