# shellcheck shell=bash
# The rows of table 4.1 and their training, for the recipes beside it.
#
# Environment of these, beside that of ../common.sh; SEEDS is "1 2 3 4" and UPDATES 10000. A record
# sums up the runs of all seeds, so other SEEDS are another setting here:
#   LEARNING_RATES  to choose from by validation accuracy, for each row ("0.001 0.002": of the
#                   thesis's three, those that are best for any row in its table A.1)
#   JOBS            runs at a time (1)

source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

# shellcheck disable=SC2034 # for the recipes
methods=(
    linear gold softmax sparsemax gumbel_softmax st_gumbel sfe sfe_baseline
    ste_softmax ste_identity spigot spigot_ce spigot_eg
)

# Sets $seeds, $updates, $rates and $jobs.
settings_of_clusters() {
    local rate learning_rates="0.001 0.002"
    updates=10000
    run_seeds 1 2 3 4
    [ "${seeds[*]}" = "1 2 3 4" ] || own=0
    numbers UPDATES
    setting LEARNING_RATES
    read -ra rates <<<"$learning_rates"
    [ ${#rates[@]} -gt 0 ] || fail "LEARNING_RATES names no learning rate"
    for rate in "${rates[@]}"; do
        [[ $rate =~ ^0?\.[0-9]*[1-9][0-9]*$ ]] ||
            fail "LEARNING_RATES must be numbers between 0 and 1 such as 0.001, not '$rate'"
    done
    jobs=${JOBS:-1}
    number JOBS "$jobs"
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

# train_clusters CLUSTERS METHOD SEED RATE [STEPS STEP_SIZE] : one run. The test set is only looked
# at: what is chosen is chosen by the validation set, which comes first.
train_clusters() {
    local clusters=$1 method=$2 seed=$3 rate=$4 steps=${5:-1} name=$2
    local step_size=${6:-$(step_size_of "$method")}
    [ $# -le 4 ] || name=$method.steps_$steps.size_$step_size
    # All 5000 instances make one batch. fairseq's buffer for batches would cost more than an
    # update, and so would checkpoints.
    train "$out/clusters_$clusters/$name/rate_$rate/updates_$updates/seed_$seed" "" \
        --task latent_clusters --clusters "$clusters" \
        --arch latent_clusters --criterion latent_clusters --latent-method "$method" \
        --pullback-steps "$steps" --pullback-step-size "$step_size" \
        --optimizer adam --weight-decay 0.01 --lr "$rate" --batch-size 5000 \
        --batches-per-epoch 100 --valid-subset valid,test --data-buffer-size 0 \
        --save-interval 1000000
}

# in_parallel COMMAND… : start it beside the others, as soon as fewer than JOBS are running.
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
