#!/usr/bin/env bash
# Accuracy of every method (Mihaylova's thesis, table 4.2).
#   recipes/latent_tree/table.sh EXPERIMENT [DATA]
# EXPERIMENT is sst, sick or snli; DATA as for EXPERIMENT.sh. The environment variables are
# explained in methods.sh.

source "$(dirname "${BASH_SOURCE[0]}")/methods.sh"

usage="table.sh sst|sick|snli [DATA]"
one_of experiment "${1:-}" sst sick snli
for method in "${methods[@]}"; do
    "$here/$1.sh" "$method" ${2:+"$2"}
done
