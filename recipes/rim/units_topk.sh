#!/usr/bin/env bash
# One layer of N units, k of them active (figure FC4.1 of the thesis).
#   recipes/rim/units_topk.sh N_K DATA
# N_K is 1_1, 3_1, 5_1, 7_1, 3_3, 5_3 or 7_3. DATA and the environment are explained in
# composers.sh; SEEDS are 1. table.sh draws the figure.

source "$(dirname "${BASH_SOURCE[0]}")/composers.sh"

cell=${1:-}
usage="units_topk.sh N_K DATA"
one_of N_K "$cell" "${cells[@]}"
settings_of "${2:-}" 1
score_windows units_topk "$cell"
