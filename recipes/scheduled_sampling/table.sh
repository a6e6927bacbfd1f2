#!/usr/bin/env bash
# Run several variants of one experiment, print their table, and write it between its markers.
#   recipes/scheduled_sampling/table.sh EXPERIMENT [DATA] [VARIANT …]
# EXPERIMENT is the name of a recipe in this folder, but not multi30k_en_de_base. DATA is a folder; its
# name contains a slash. Without VARIANTs all 13 rows of the paper's table are run.

source "$(dirname "${BASH_SOURCE[0]}")/translation.sh"

usage="table.sh EXPERIMENT [DATA] [VARIANT …]"
experiment=${1:-}
one_of experiment "$experiment" iwslt17_de_en kftt_ja_en multi30k_en_de multi30k_en_de_to_0 \
    multi30k_en_de_to_0_slowly multi30k_en_de_short tanaka_ja_en synthetic
shift
folder=()
if [ $# -gt 0 ] && [[ $1 = */* || -d $1 ]]; then
    [ -d "$1" ] || fail "$1: no such folder"
    folder=("$(cd "$1" && pwd)")
    shift
fi
[ $# -gt 0 ] || set -- "${variants[@]}"
for variant in "$@"; do
    one_of variant "$variant" "${variants[@]}" "${further[@]}"
done
for variant in "$@"; do
    echo "== $experiment $variant"
    bash "$here/$experiment.sh" "$variant" "${folder[@]}"
done
cd "$root"
fairseq-struct report
fairseq-struct report --show "scheduled_sampling/$experiment"
