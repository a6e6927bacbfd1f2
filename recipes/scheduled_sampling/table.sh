#!/usr/bin/env bash
# Run several variants of one experiment and write the table.
#   recipes/scheduled_sampling/table.sh EXPERIMENT [DATA] [VARIANT ...]
# EXPERIMENT is the name of a recipe beside this file; without VARIANTs all 13 rows are run.

set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
experiment=${1:-}
recipe=$here/$experiment.sh
if [ -z "$experiment" ] || [ "$experiment" = table ] || [ ! -f "$recipe" ]; then
    echo "usage: recipes/scheduled_sampling/table.sh EXPERIMENT [DATA] [VARIANT ...]" >&2
    exit 2
fi
shift
source=()
if [ $# -gt 0 ] && [ -d "$1" ]; then
    source=("$1")
    shift
fi
[ $# -gt 0 ] || set -- teacher_forcing argmax top_k softmax softmax_10 gumbel_softmax \
    gumbel_softmax_10 sparsemax softmax_grad softmax_10_grad gumbel_softmax_grad \
    gumbel_softmax_10_grad sparsemax_grad
for variant in "$@"; do
    echo "== $experiment $variant"
    bash "$recipe" "$variant" "${source[@]}"
done
cd "$here/../.."
fairseq-struct report
