#!/usr/bin/env bash
# How often each option alone does each subtask, after S1's imitation (table 13 of Shen's thesis).
#   recipes/option_controller/option_success.sh
# The table is that of the run with the median NMI; beside it are the successes of all seeds. The
# numbers are explained in option_success.py, the environment in policies.sh; SEEDS are 1 2 3 4 5.

source "$(dirname "${BASH_SOURCE[0]}")/policies.sh"

settings_of 1 2 3 4 5
imitate ocn 3 AC,CD,DA
score "$here/option_success.py" "" --experiment s1_option_success --variant ocn \
    --seeds "${seeds[@]}" --model "$parent" --episodes "$episodes"
