#!/usr/bin/env bash
# Learning curves of the runs that are there, as PNG (Shen's thesis, figures 16, 17 and 19 to 21).
#   recipes/option_controller/curves.sh FIGURE [FILE]
# FIGURE is 16_dense, 16_sparse, 17_dense or 17_sparse: return by steps of the environment, S1 and
# S2; 19: F1, alignment and NMI by updates; 20: the same, and 21: action accuracy, and returns at the
# end (of the records), by the number of options. FILE is figure_FIGURE.png beside this recipe by
# default. Runs are those of the settings in the environment, which policies.sh explains; all their
# seeds are drawn.

source "$(dirname "${BASH_SOURCE[0]}")/policies.sh"

figure=${1:-}
usage="curves.sh FIGURE [FILE]"
one_of figure "$figure" 16_dense 16_sparse 17_dense 17_sparse 19 20 21
settings_of 1 # the seeds are not used
curves=() ends=()

# curve TITLE METRIC NAME : add a curve of $parent, if it has a run.
curve() {
    [ ! -d "$parent" ] || curves+=(--curve "$1" "$2" "$3" "$parent")
}

# returns REWARD TASK… : the panels of fine-tuning.
returns() {
    local reward=$1 task variant
    shift
    for task in "$@"; do
        for variant in ocn ocn_selected moe moe_selected compile ppo; do
            fine_tuning_of "$variant" "$task" "$reward"
            curve "$task, $reward" return "$variant"
        done
    done
}

# imitations METRIC TITLE VARIANT… : a panel of imitation; a VARIANT such as k4 has 4 options.
imitations() {
    local metric=$1 title=$2 variant
    shift 2
    for variant in "$@"; do
        case "$variant" in
            k*) parent_of ocn "${variant#k}" AC,CD,DA ;;
            *) parent_of "$variant" 3 AC,CD,DA ;;
        esac
        # OMPN has no options whose NMI could be told.
        [ "$variant $metric" = "ompn nmi" ] || curve "$title" "$metric" "$variant"
    done
}

case "$figure" in
    16_*) returns "${figure#16_}" ADC CAD DCA ;;
    17_*) returns "${figure#17_}" BADC ACBD CABD ;;
    21)
        imitations action_accuracy "action accuracy" k2 k3 k4 k5
        ends=(--returns "$results" s1_options_count)
        ;;
    *)
        variants=(ocn ocn_t1 ompn)
        [ "$figure" = 19 ] || variants=(k2 k3 k4 k5)
        imitations f1_tolerance_1 "F1" "${variants[@]}"
        imitations alignment "task alignment" "${variants[@]}"
        imitations nmi "NMI" "${variants[@]}"
        ;;
esac
[ ${#curves[@]} -gt 0 ] || fail "no run of figure $figure with these settings in $out"
python "$here/curves.py" "${2:-$here/figure_$figure.png}" "${curves[@]}" "${ends[@]}"
