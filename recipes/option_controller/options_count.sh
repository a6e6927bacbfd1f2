#!/usr/bin/env bash
# S1's imitation with K options, 2 to 5 (figures 20 and 21 of Shen's thesis).
#   recipes/option_controller/options_count.sh K
# The tasks have three subtasks, so with K = 2 one option must do two of them. The return is that of
# the imitating network on its own tasks. The environment is explained in policies.sh; SEEDS are
# 1 2 3.

source "$(dirname "${BASH_SOURCE[0]}")/policies.sh"

k=${1:-}
usage="options_count.sh K"
one_of K "$k" 2 3 4 5
settings_of 1 2 3
imitate ocn "$k" AC,CD,DA
score "$here/imitation.py" "$k" --experiment s1_options_count --variant "k$k" \
    --seeds "${seeds[@]}" --model "$parent" --episodes "$episodes"
