# shellcheck shell=bash
# Settings and training of policies in Craft (Shen's thesis, section 5.3), for the recipes in this
# folder.
#
# Environment of these recipes, beside that of ../common.sh:
#   SEEDS          1 2 3 4 5 for imitation in s1.sh, s2.sh and option_success.sh, 1 for bot and
#                  random, else 1 2 3; fine-tuning with seed S takes the options of the imitation
#                  with seed S, whatever it found
#   IMITATIONS     of ocn_selected and moe_selected: fine-tuning with any seed takes the options of
#                  the imitation with the lowest validation loss among seeds 1 to IMITATIONS
#                  (default: 5)
#   SIZE           paper (the default; for a GPU) or cpu: a smaller network, fewer updates and steps
#   DEMONSTRATIONS of each task, a fifth of them held out (default: 6000)
#   BATCH          demonstrations of an update of imitation (default: 512)
#   UPDATES        updates of imitation (default: 10000, or 3000; the thesis does not say)
#   STEPS          steps of the environment in fine-tuning (default: 5000000, or 1000000; not said)
#   HIDDEN         d_hid and d_MLP (default: 128, or 64)
#   EPISODES       episodes of a score (default: 1000)
#
# Fine-tuning makes 1024 decisions an iteration (64 actors, 16 decisions each) and learns from them
# in 16 updates (4 epochs, minibatches of 256): preset option_policy_craft. So that all policies act
# for about STEPS steps, there are
#   updates = 16 * (STEPS / (1024 * LENGTH)),
# LENGTH being the steps of a decision: 1 for moe and ppo, and taken to be 5 for options that end by
# themselves, which is not known before. The records have the number that was reached,
# environment_steps, and, to compare policies, return_halfway, when there were STEPS / 2.

source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

imitating=(ocn ocn_t1 moe ompn compile)
fine_tuned=(ocn ocn_selected ocn_t1 moe moe_selected compile ppo bot random)
iteration=1024 updates_of_iteration=16

# settings_of SEED… : set the settings; SEEDs are the recipe's own.
settings_of() {
    run_size
    demonstrations=6000 batch=512 updates=10000 steps=5000000 hidden=128 episodes=1000
    imitations=5
    if [ "$size" = cpu ]; then
        updates=3000 steps=1000000 hidden=64 scale=reduced
    fi
    numbers DEMONSTRATIONS BATCH UPDATES STEPS HIDDEN EPISODES IMITATIONS
    run_seeds "$@"
}

# demonstrate TASKS NUMBER SEED : draw demonstrations, unless they are there, and set $data_bin.
demonstrate() {
    local tasks=${1//,/_}
    local folder=$out/demonstrations/${tasks,,}.number_$2.seed_$3
    prepare "$folder" craft_demonstrations "$1" --number "$2" --seed "$3"
    data_bin=$folder/data-bin
}

# architecture_of VARIANT K : set $architecture, the options of a policy with K options. OMPN has
# none: it is a single policy with a memory.
architecture_of() {
    case "$1" in
        ocn) architecture=(--arch option_controller_craft --options "$2" --mlp-size "$hidden") ;;
        ocn_t1)
            architecture=(--arch option_controller_craft --options "$2" --mlp-size "$hidden"
                --temperature 1)
            ;;
        moe) architecture=(--arch mixture_of_experts_craft --options "$2" --mlp-size "$hidden") ;;
        ompn) architecture=(--arch ordered_memory_policy_craft --no-options) ;;
        compile) architecture=(--arch compile_policy_craft --options "$2") ;;
    esac
    architecture+=(--hidden-size "$hidden")
}

# parent_of VARIANT K TASKS : set $parent, the folder of the imitations of all seeds.
parent_of() {
    local tasks=${3//,/_}
    parent=$out/imitation/${tasks,,}/$1.k$2.updates_$updates.batch_$batch
    parent+=.demonstrations_$demonstrations
    [ "$hidden" = 128 ] || parent+=.hidden_$hidden
}

# train_imitation FOLDER OPTION… : train on $data_bin with $seed for $updates; numbers of the
# validation part are logged fifty times.
train_imitation() {
    local folder=$1 interval=$((updates < 50 ? updates : updates / 50))
    shift
    train "$folder" "$data_bin" --preset option_controller_craft "$@" \
        --save-interval-updates "$interval" --validate-interval-updates "$interval" \
        --no-best-checkpoint-metric --no-maximize-best-checkpoint-metric
}

# imitate VARIANT K TASKS : train with all seeds, and set $parent.
imitate() {
    local seed
    architecture_of "$1" "$2"
    demonstrate "$3" "$demonstrations" 1
    parent_of "$@"
    for seed in "${seeds[@]}"; do
        train_imitation "$parent/seed_$seed" --batch-size "$batch" "${architecture[@]}"
    done
}

# fine_tuning_of VARIANT TASK REWARD : set $parent, the folder of the fine-tunings of all seeds, and
# $fine_tuning_updates.
fine_tuning_of() {
    local length=1
    [[ $1 != ocn* && $1 != compile ]] || length=5
    [ "$steps" -ge "$((iteration * length))" ] ||
        fail "STEPS must be $((iteration * length)) or more, one iteration of $1; not $steps"
    local iterations=$((steps / (iteration * length)))
    fine_tuning_updates=$((iterations * updates_of_iteration))
    parent=$out/fine_tuning/${2,,}_$3/$1.steps_$steps
    [[ $1 != *_selected ]] || parent+=.of_$imitations
    [ "$1" = ppo ] || parent+=.updates_$updates.batch_$batch.demonstrations_$demonstrations
    [ "$hidden" = 128 ] || parent+=.hidden_$hidden
}

# fine_tune VARIANT TASK REWARD FOLDER… : train a new controller with all seeds over the options of
# FOLDERs, which are runs if they were selected, or have the run of the same seed (none for ppo),
# and set $parent.
fine_tune() {
    local variant=$1 task=$2 reward=$3 seed folder options
    shift 3
    fine_tuning_of "$variant" "$task" "$reward"
    local updates=$fine_tuning_updates
    # Plain PPO has actions in place of options, and no temperature, which is the controllers'.
    local without=()
    [ "$variant" != ppo ] || without=(--no-options-from --temperature 1)
    [ "$variant" != ocn_t1 ] || without=(--temperature 1)
    for seed in "${seeds[@]}"; do
        options=""
        for folder in "$@"; do
            [[ $variant = *_selected ]] || folder+=/seed_$seed
            options+=${options:+,}$folder/checkpoint_last.pt
        done
        train "$parent/seed_$seed" "" --preset option_policy_craft --subtasks "$task" \
            --reward "$reward" --hidden-size "$hidden" --mlp-size "$hidden" "${without[@]}" \
            ${options:+--options-from "$options"}
    done
}

# transfer GROUP K TASKS… -- NEW… -- VARIANT [TASK REWARD] : the experiments of a section. Models
# with K options each imitate TASKS; a controller of each NEW task chooses among all their options.
transfer() {
    local group=$1 k=$2 sets=() new=() one models=() folders=()
    shift 2
    while [ "$1" != -- ]; do sets+=("$1") && shift; done
    shift
    while [ "$1" != -- ]; do new+=("$1") && shift; done
    local variant=${2:-} task=${3:-} reward=${4:-}
    usage="$recipe VARIANT [TASK REWARD]"
    if [ -z "$task" ]; then
        one_of "variant of imitation" "$variant" "${imitating[@]}"
        settings_of 1 2 3 4 5
    else
        one_of "variant of fine-tuning" "$variant" "${fine_tuned[@]}"
        one_of task "$task" "${new[@]}"
        one_of reward "$reward" sparse dense
        case "$variant" in
            bot | random) settings_of 1 ;;
            *) settings_of 1 2 3 ;;
        esac
        [[ $variant = bot || $variant = random ]] || fine_tuning_of "$variant" "$task" "$reward"
    fi
    case "$variant" in ppo | bot | random) sets=() ;; esac
    local own=("${seeds[@]}")
    [[ $variant != *_selected ]] || read -ra seeds <<<"$(seq -s " " "$imitations")"
    for one in "${sets[@]}"; do
        imitate "${variant%_selected}" "$k" "$one"
        models+=(--model "$parent")
        [ ${#sets[@]} = 1 ] || models+=("$(tr , _ <<<"${one,,}")")
        [[ $variant != *_selected ]] ||
            parent=$(python "$here/selected.py" "$parent" --seeds "${seeds[@]}")
        folders+=("$parent")
    done
    seeds=("${own[@]}")
    if [ -z "$task" ]; then
        score "$here/imitation.py" "$variant" --experiment "${group}_imitation" \
            --variant "$variant" --seeds "${seeds[@]}" "${models[@]}" --episodes "$episodes"
        return
    fi
    local trained=()
    if [[ $variant != bot && $variant != random ]]; then
        fine_tune "$variant" "$task" "$reward" "${folders[@]}"
        trained=(--model "$parent" --halfway $((steps / 2)))
    fi
    score "$here/fine_tuning.py" "$variant $task $reward" --experiment \
        "${group}_${task,,}_$reward" --variant "$variant" --seeds "${seeds[@]}" "${trained[@]}" \
        --task "$task" --reward "$reward" --episodes "$episodes"
}
