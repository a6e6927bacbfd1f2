#!/usr/bin/env bash
# All rows of an experiment, one after the other.
#   recipes/option_controller/table.sh EXPERIMENT
# EXPERIMENT is s1_imitation, s1_options_count, s1_option_success, s1_retrained_option or
# s2_imitation; s1_TASK_REWARD with the TASKs adc, cad and dca; or s2_TASK_REWARD with badc, acbd
# and cabd; REWARD is sparse or dense. The environment is that of the recipe of the experiment. OMPN
# is not in S2, as in the thesis; ocn_t1 is in s1_imitation alone.

source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

experiment=${1:-}
usage="table.sh EXPERIMENT"
one_of experiment "$experiment" s1_{imitation,options_count,option_success,retrained_option} \
    s1_{adc,cad,dca}_{sparse,dense} s2_imitation s2_{badc,acbd,cabd}_{sparse,dense}

case "$experiment" in
    s1_imitation)
        for variant in ocn ocn_t1 moe ompn compile; do "$here/s1.sh" "$variant"; done
        ;;
    s2_imitation) for variant in ocn moe compile; do "$here/s2.sh" "$variant"; done ;;
    s1_options_count) for k in 2 3 4 5; do "$here/options_count.sh" "$k"; done ;;
    s1_option_success) "$here/option_success.sh" ;;
    s1_retrained_option) "$here/retrain_option.sh" ;;
    *)
        IFS=_ read -r group task reward <<<"$experiment"
        for variant in ocn ocn_selected moe moe_selected compile ppo bot random; do
            # The seeds are those of trained policies.
            if [[ $variant = bot || $variant = random ]]; then unset SEEDS SEED; fi
            "$here/$group.sh" "$variant" "${task^^}" "$reward"
        done
        ;;
esac
