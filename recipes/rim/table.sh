#!/usr/bin/env bash
# All rows of an experiment, one after the other.
#   recipes/rim/table.sh EXPERIMENT DATA [SST]
# EXPERIMENT is main, units_topk, free_running or downstream_sst, which needs SST. DATA, SST and the
# environment are those of the recipe of the experiment. If the numbers of units_topk are recorded,
# they are drawn to figure_FC4_1.png. single_sentences, which takes long, is not among the rows.

source "$(dirname "${BASH_SOURCE[0]}")/composers.sh"

experiment=${1:-}
usage="table.sh EXPERIMENT DATA [SST]"
one_of experiment "$experiment" main units_topk free_running downstream_sst

case "$experiment" in
    main)
        for variant in trivial one_layer lstm softmax_span positions; do
            "$here/main.sh" "$variant" "${2:-}"
        done
        for variant in two_layers two_layers_20_epochs; do "$here/layers.sh" "$variant" "${2:-}"; done
        ;;
    units_topk)
        for cell in "${cells[@]}"; do "$here/units_topk.sh" "$cell" "${2:-}"; done
        settings_of "${2:-}" 1
        ! recording || python "$here/units_topk.py" "$results" "$here/figure_FC4_1.png"
        ;;
    free_running)
        for variant in trivial one_layer two_layers positions lstm own_spans; do
            "$here/free_running.sh" "$variant" "${2:-}"
        done
        ;;
    downstream_sst)
        for variant in root_vector mean_of_words; do
            "$here/downstream.sh" "$variant" "${2:-}" "${3:-}"
        done
        ;;
esac
