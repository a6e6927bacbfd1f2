#!/usr/bin/env bash
# Two layers of units (tables TC4.3 and TC4.4 of the thesis), as rows of experiment main.
#   recipes/rim/layers.sh two_layers|two_layers_20_epochs DATA
# The row to compare them with is one_layer of main.sh. DATA and the environment are explained in
# composers.sh; SEEDS are 1 2 3 for two_layers, else 1.

source "$(dirname "${BASH_SOURCE[0]}")/composers.sh"

variant=${1:-}
usage="layers.sh two_layers|two_layers_20_epochs DATA"
one_of variant "$variant" two_layers two_layers_20_epochs
case "$variant" in
    two_layers) settings_of "${2:-}" 1 2 3 ;;
    *) settings_of "${2:-}" 1 ;;
esac
score_windows main "$variant"
