#!/usr/bin/env bash
# One broken option is retrained alone (section 5.4 of Shen's thesis, which only proposes it).
#   recipes/option_controller/retrain_option.sh
# After S1's imitation option 2 is drawn anew, and learns from a few new demonstrations while the
# other options and the controller are frozen; retrain_option.py refuses runs in which these have
# changed. The demonstrations are those of the tasks with the option's own subtask: alone, it would
# teach an option to act, but not to end. The numbers are explained in retrain_option.py, the
# environment in policies.sh; SEEDS are 1 2 3, and
#   RETRAINING_DEMONSTRATIONS  of each task (default: 500)
#   RETRAINING_UPDATES         updates (default: 500)

source "$(dirname "${BASH_SOURCE[0]}")/policies.sh"

option=2
settings_of 1 2 3
retraining_demonstrations=500 retraining_updates=500
numbers RETRAINING_DEMONSTRATIONS RETRAINING_UPDATES
imitate ocn 3 AC,CD,DA

retrained=$parent.retrained_$option.updates_$retraining_updates
retrained+=.demonstrations_$retraining_demonstrations
# retrain : retrain the option of $seed.
retrain() {
    local checkpoint=$parent/seed_$seed/checkpoint_last.pt subtask tasks updates
    subtask=$(python "$here/own_subtask.py" "$checkpoint" "$option" --episodes "$episodes")
    case "$subtask" in
        A) tasks=AC,DA ;;
        C) tasks=AC,CD ;;
        D) tasks=CD,DA ;;
    esac
    demonstrate "$tasks" "$retraining_demonstrations" 2 # not those of the imitation
    architecture_of ocn 3
    updates=$retraining_updates
    train_imitation "$retrained/seed_$seed" --batch-size 128 "${architecture[@]}" \
        --initial-model "$checkpoint" --train-options "$option" --reset-options \
        --freeze-controller
}

for seed in "${seeds[@]}"; do
    [ -e "$retrained/seed_$seed/finished" ] || retrain
done
score "$here/retrain_option.py" "" --experiment s1_retrained_option --variant ocn \
    --seeds "${seeds[@]}" --model "$parent" --retrained "$retrained" --option "$option" \
    --episodes "$episodes"
