#!/usr/bin/env bash
# F1 of left-branching, right-branching and random trees of formulas; needs no model.
#   recipes/ordered_memory/trivial_trees.sh logical_inference|listops|listops_long [DATA] [SPLIT]
# DATA and SPLIT are as in the recipe of the experiment, DATA needed only for the first run.

source "$(dirname "${BASH_SOURCE[0]}")/models.sh"

experiment=${1:-} split=${3:-}
usage="trivial_trees.sh logical_inference|listops|listops_long [DATA] [a|b|c]"
one_of experiment "$experiment" logical_inference listops listops_long
if [ -n "$split" ]; then
    [ "$experiment" = logical_inference ] || fail "ListOps has no splits"
    one_of split "$split" a b c
fi
model=lstm # none, but settings_of asks for one
settings_of 64 10 40000
experiment+=${split:+_$split}
prepared=$out/${experiment%_long}/data${instances:+_$instances}
if [ "${experiment%_long}" = listops ]; then
    kind=listops
    lists "$prepared" "${instances:-72000}" "${2:-}"
else
    kind=proplogic
    prepare "$prepared" propositional_logic ${instances:+--most-instances "$instances"} \
        ${split:+--split "$split"} "${2:-}"
fi
score "$here/trivial_trees.py" "$1 DATA${split:+ $split}" --experiment "$experiment" --kind "$kind" \
    --text "$prepared/text"
