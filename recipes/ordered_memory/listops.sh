#!/usr/bin/env bash
# ListOps, trained on expressions of up to 50 tokens (figure 7a of Shen's thesis, chapter 3), and
# tested on longer ones and on lists of more arguments.
#   recipes/ordered_memory/listops.sh MODEL [TEST]
# TEST is the released test_d20s.tsv, needed only for the first run. The training set is generated
# with the distribution of the released one, without the expressions of TEST. It has 72,000
# expressions, as many as the released 90,000 have of up to 50 tokens. The models and environment
# variables are explained in models.sh. With SIZE=cpu, EPOCHS is 20 and INSTANCES 40000.

source "$(dirname "${BASH_SOURCE[0]}")/models.sh"

model=${1:-}
usage="listops.sh MODEL [TEST]"
one_of model "$model" "${models[@]}"
settings_of 128 20 40000

prepared=$out/listops/data${instances:+_$instances}
lists "$prepared" "${instances:-72000}" "${2:-}"
train_rows listops listops "$prepared"
about=(--variant "$model" --kind listops --text "$prepared/text" --runs "${folders[@]}")
score "$here/score.py" "$model TEST" --experiment listops "${about[@]}"
score "$here/score.py" "$model TEST" --experiment listops_long "${about[@]}"
