# shellcheck shell=bash
# The rows of table 4.1 of Mihaylova's thesis and their training, for the recipes in this folder.
#
# Environment of these recipes, beside that of ../common.sh; SEEDS is "1 2 3 4", UPDATES is 10000.
# A record summarises the runs of all seeds, so other SEEDS count as another setting here:
#   LEARNING_RATES  learning rates from which validation accuracy chooses, for each row
#                   (default: those of table A.1, "0.0001 0.001 0.002")
#   STEP_SIZES      the same for the step sizes of the SPIGOTs (default: those of table A.1, see
#                   step_sizes_of, "0.00002 0.0002 0.0004")
#   JOBS            number of runs at the same time (default: 1)

source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

# shellcheck disable=SC2034 # for the recipes
methods=(
    linear gold softmax sparsemax gumbel_softmax st_gumbel sfe sfe_baseline
    ste_softmax ste_identity spigot spigot_ce spigot_eg
)
# The gradient of ste_softmax in the code of the thesis, which is no row of the table.
# shellcheck disable=SC2034 # for the recipes
more_methods=(ste_softmax_diagonal)

# Set $seeds, $updates, $rates, $sizes and $jobs.
# shellcheck disable=SC2034 # for the recipes
settings_of_clusters() {
    local learning_rates="0.0001 0.001 0.002" step_sizes="0.00002 0.0002 0.0004"
    updates=10000
    [ -z "$hours" ] || fail "$recipe does not take HOURS: set UPDATES"
    run_seeds 1 2 3 4
    [ "${seeds[*]}" = "1 2 3 4" ] || own=0
    numbers UPDATES
    setting LEARNING_RATES STEP_SIZES
    fractions LEARNING_RATES "$learning_rates"
    rates=("${found[@]}")
    fractions STEP_SIZES "$step_sizes"
    sizes=("${found[@]}")
    jobs=${JOBS:-1}
    number JOBS "$jobs"
}

# fractions NAME VALUE : set $found to the numbers of VALUE, all between 0 and 1.
fractions() {
    local one
    read -d '' -ra found <<<"$2" || true
    [ ${#found[@]} -gt 0 ] || fail "$1 has no number"
    for one in "${found[@]}"; do
        [[ $one =~ ^0?\.[0-9]*[1-9][0-9]*$ ]] ||
            fail "$1 must be numbers between 0 and 1 such as 0.001, not '$one'"
    done
}

# step_sizes_of METHOD : print the sizes of the steps towards the pulled-back label. Table A.1 has 0.1,
# 1 and 2 for the mean loss over the 5000 instances of the batch. In this project's convention
# (fairseq_struct/structure/pullback.py) these are divided by 5000. The weight of the pulled-back
# loss is not set: encoder and decoder share no parameters, so the weight only scales the encoder's
# gradient, and Adam is invariant to that scale. The same holds for the step size of ste_identity.
step_sizes_of() {
    case "$1" in
        spigot | spigot_ce | spigot_eg) echo "${sizes[@]}" ;;
        *) echo 1 ;;
    esac
}

# train_clusters CLUSTERS METHOD SEED RATE STEPS STEP_SIZE : train one run. The test set is only
# logged; all choices use the validation set, which comes first.
train_clusters() {
    local clusters=$1 method=$2 seed=$3 rate=$4 steps=$5 step_size=$6 name=$2
    [ "$step_size" = 1 ] || name=$method.steps_$steps.size_$step_size
    # All 5000 instances make one batch. fairseq's buffer for batches would cost more time than an
    # update; so would checkpoints.
    train "$out/clusters_$clusters/$name/rate_$rate/updates_$updates/seed_$seed" "" \
        --preset latent_clusters --clusters "$clusters" --latent-method "$method" \
        --pullback-steps "$steps" --pullback-step-size "$step_size" --lr "$rate"
}

# in_parallel COMMAND… : start COMMAND in the background, as soon as fewer than JOBS are running.
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
