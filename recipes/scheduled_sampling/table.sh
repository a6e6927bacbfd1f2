#!/usr/bin/env bash
# Run several variants of one experiment, print their table, and write it where it is marked.
#   recipes/scheduled_sampling/table.sh EXPERIMENT [DATA] [VARIANT ...]
# EXPERIMENT is the name of a recipe beside this file; DATA is a folder and holds a slash; without
# VARIANTs all 13 rows are run.

# shellcheck source=common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

experiment=${1:-}
recipe=$here/$experiment.sh
case "$experiment" in
    "" | common | table | */*) recipe="" ;;
esac
[ -n "$recipe" ] && [ -f "$recipe" ] ||
    fail "usage: recipes/scheduled_sampling/table.sh EXPERIMENT [DATA] [VARIANT ...]"
shift
folder=()
if [ $# -gt 0 ] && [[ $1 = */* || -d $1 ]]; then
    [ -d "$1" ] || fail "$1: no such folder"
    folder=("$(cd "$1" && pwd)")
    shift
fi
[ $# -gt 0 ] || set -- "${variants[@]}"
for variant in "$@"; do
    updates=1 warmup=0 decay_end=1 variant_options "$variant" # refuses an unknown one now
done
for variant in "$@"; do
    echo "== $experiment $variant"
    bash "$recipe" "$variant" "${folder[@]}"
done
cd "$root"
fairseq-struct report
fairseq-struct report --show "scheduled_sampling/$experiment"
