#!/usr/bin/env bash
# Table 4.2: accuracy of every method.
#   recipes/latent_tree/table.sh EXPERIMENT [DATA]
# EXPERIMENT is sst, sick or snli; DATA as for EXPERIMENT.sh. The environment variables are
# explained in common.sh.

# shellcheck source=common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

case "${1:-}" in
    sst | sick | snli) ;;
    *) fail "usage: table.sh sst|sick|snli [DATA]" ;;
esac
for method in "${methods[@]}"; do
    "$here/$1.sh" "$method" ${2:+"$2"}
done
