# shellcheck shell=bash
# Masked language models in two sizes, for the recipes in this folder.
#
# Environment of these recipes, beside that of ../common.sh; SEEDS is 1:
#   SIZE     paper (the default; for a GPU) or cpu
#   EPOCHS   epochs of a run of size paper (default: 100)
#   UPDATES  updates of a run of size cpu; the learning rate falls to 0 over them (default: the
#            recipe's own number)

source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

# settings_of UPDATES : set $size and $seeds, and $epochs (size paper) or $updates (size cpu).
settings_of() {
    run_size
    if [ "$size" = cpu ]; then
        [ -z "${EPOCHS:-}" ] || fail "EPOCHS is for SIZE=paper; with SIZE=cpu set UPDATES"
        updates=$1 scale=reduced
        numbers UPDATES
    else
        [ -z "${UPDATES:-}" ] || fail "UPDATES is for SIZE=cpu; with SIZE=paper set EPOCHS"
        epochs=100
        numbers EPOCHS
    fi
    run_seeds 1
}

# mask_rates NAME VALUE : refuse a VALUE that has anything else than mask rates.
mask_rates() {
    local rate
    for rate in $2; do
        [[ $rate =~ ^0\.[0-9]*[1-9]$ ]] ||
            fail "$1 must be above 0 and below 1, written as 0.3, not as '$rate'"
    done
}

# preset_of MODEL : set $preset, the name of the preset of MODEL at $size.
preset_of() {
    case "$size.$1" in
        paper.masked_transformer) preset=$1 ;;
        paper.*) preset=${1}_ptb ;;
        *) preset=${1}_cpu ;;
    esac
}

# train_masked MODEL NAME DATA_BIN TOKENS OPTION… : set $folder, the folder of the run NAME, and
# train in it. TOKENS is the number of tokens per update at size cpu.
train_masked() {
    local model=$1 data=$3 tokens=$4 preset
    folder=$out/$2/$size/$([ "$size" = paper ] && echo "epochs_$epochs" || echo "updates_$updates")
    folder+=/seed_$seed
    shift 4
    preset_of "$model"
    [ "$size" = paper ] || set -- --max-tokens "$tokens" "$@"
    train "$folder" "$data" --preset "$preset" --valid-subset valid,test "$@"
}

# settings_of_small UPDATES PTB_UPDATES [DATA TREES] : the settings of a model trained_on these, at size
# cpu with UPDATES on the generated corpus or with PTB_UPDATES on the Penn Treebank.
settings_of_small() {
    settings_of "$([ $# -eq 2 ] && echo "$1" || echo "$2")"
}

# trained_on [DATA TREES] : prepare the data and set $prepared and $trees, and $name_of_data,
# $arguments and $suffix for the record. The data are the Penn Treebank, or, at size cpu without DATA,
# a generated corpus. The latter needs a still smaller model: options $small, $channels channels of
# size $channel_size, $tokens tokens per update.
# shellcheck disable=SC2034 # for the recipes
trained_on() {
    if [ "$size" = cpu ] && [ $# -eq 0 ]; then
        prepared=$out/generated/data
        prepare "$prepared" dependency_treebank generated
        trees=$prepared/trees/test.conllu name_of_data="generated corpus" arguments="" suffix=""
        # Without the warm-up some parsers stay at their initial solution.
        channels=4 channel_size=32 tokens=512
        small=(--embed-dim 64 --layers 3 --channels 4 --warmup-updates 250)
        return
    fi
    [ $# -eq 2 ] || fail "name the folders DATA and TREES"
    [ -e "$2" ] || fail "$2: no such file or folder"
    prepared=$out/ptb_lm/data
    prepare "$prepared" penn_treebank lm "$1"
    trees=$2 name_of_data="Penn Treebank" arguments=" DATA TREES" suffix=""
    channels=8 channel_size=128 tokens=1024 small=()
    [ "$size" = paper ] || channel_size=32 suffix=_ptb
}
