#!/usr/bin/env bash
# How often composers look at the right span (tables TC4.1 and TC4.2 of the thesis).
#   recipes/rim/main.sh VARIANT DATA
# VARIANT is one_layer (5 units, 3 of them active); softmax_span, whose spans are softmax attention,
# as the equations read; positions, whose units know places counted from the right; lstm, which
# reads the current sequence; single_sentences: with SIZE=cpu, one_layer at one sentence in an update
# and the thesis's rate; or trivial, which learns nothing and makes the rows random, rightmost,
# constant_from_right and span_prior. Deeper networks are in layers.sh. The numbers are explained in
# windows.py, DATA and the environment in composers.sh; SEEDS are 1 2 3 for one_layer, else 1.

source "$(dirname "${BASH_SOURCE[0]}")/composers.sh"

variant=${1:-}
usage="main.sh VARIANT DATA"
one_of variant "$variant" one_layer softmax_span positions lstm single_sentences trivial
[ "$variant" != single_sentences ] || [ "${SIZE:-paper}" = cpu ] ||
    fail "single_sentences is for SIZE=cpu; with SIZE=paper, one_layer is the same"
case "$variant" in
    one_layer) settings_of "${2:-}" 1 2 3 ;;
    *) settings_of "${2:-}" 1 ;;
esac

if [ "$variant" = trivial ]; then
    score "$here/trivial_windows.py" "trivial DATA" --experiment main --lists "$prepared"
else
    score_windows main "$variant"
fi
