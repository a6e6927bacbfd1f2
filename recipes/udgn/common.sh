# shellcheck shell=bash
# Shared by the recipes of this folder, which source it.
#
# Environment, beside that of ../common.sh:
#   SIZE     paper (the default; for a GPU) or cpu
#   UPDATES  of a run of size cpu, in which the learning rate falls to 0 (the recipe's own)

more_settings="UPDATES ${more_settings:-}"
# shellcheck source=../common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
size=${SIZE:-paper}
one_of "$size" paper cpu || fail "SIZE must be paper or cpu, not '$size'"
[[ ${UPDATES:-1} =~ ^[1-9][0-9]*$ ]] ||
    fail "UPDATES must be a whole number above 0, not '$UPDATES'"
if [ "$size" = cpu ]; then
    [ -z "${EPOCHS:-}" ] || fail "EPOCHS is for SIZE=paper; a run of size cpu has UPDATES"
    settings="SIZE=cpu $settings"
    scale=reduced
else
    [ -z "${UPDATES:-}" ] || fail "UPDATES is for SIZE=cpu; a run of size paper has EPOCHS"
    [ "${EPOCHS:-100}" = 100 ] && scale=paper || scale=reduced
fi

# prepare_generated : a corpus of the made-up language in $prepared, unless it is there already.
prepare_generated() {
    prepared=$out/generated/data
    [ -e "$prepared/manifest.json" ] ||
        python "$root/preprocess/dependency_treebank.py" generated "$prepared"
}

# architecture_of MODEL : $architecture, its options at $size.
architecture_of() {
    if [ "$size" = paper ]; then
        architecture=(--arch "$1$([ "$1" = masked_transformer ] || echo _ptb)")
    elif [ "$1" = udgn ]; then
        architecture=(--arch udgn --embed-dim 128 --layers 4 --channels 8 --channel-size 32
            --parser-size 128 --parser-layers 2)
    else
        architecture=(--arch "$1" --embed-dim 128 --layers 4 --heads 8 --feedforward-dim 512)
    fi
}

# train_masked MODEL NAME DATA_BIN UPDATES TOKENS OPTION… : a run of $size in $folder, which is
# that of NAME. UPDATES and TOKENS per update are those of size cpu, if there is no UPDATES.
train_masked() {
    local model=$1 name=$2 data=$3 updates=${UPDATES:-$4} tokens=$5
    shift 5
    local options=(--task structured_masked_lm --criterion structured_masked_lm --optimizer adam
        --adam-betas "(0.9, 0.999)" --clip-norm 0.25 --weight-decay 1.2e-6)
    architecture_of "$model"
    if [ "$size" = paper ]; then
        folder=$out/$name/paper/epochs_${EPOCHS:-100}/seed_$seed
        train "$folder" "$data" "${EPOCHS:-100}" "${architecture[@]}" "${options[@]}" \
            --lr 0.001 --lr-scheduler reduce_lr_on_plateau --lr-shrink 0.5 --max-tokens 4096 "$@"
        return
    fi
    folder=$out/$name/cpu/updates_$updates/seed_$seed
    train "$folder" "$data" 100000 "${architecture[@]}" "${options[@]}" --lr 0.003 \
        --lr-scheduler polynomial_decay --total-num-update "$updates" --max-update "$updates" \
        --max-tokens "$tokens" "$@"
}

# score EXPERIMENT VARIANT OPTION… : print a run's numbers and, if it is to be recorded, keep them.
score() {
    python "$here/score.py" --experiment "$1" --variant "$2" --scale "$scale" "${@:3}" \
        "${record[@]}"
}

# trained_on [DATA TREES] : $prepared and $trees, with the $name_of_data and the $arguments of a
# recipe's command: the Penn Treebank, or for SIZE=cpu a generated corpus, which asks for a still
# smaller model, with options $small and so many $channels of $channel_size.
trained_on() {
    if [ "$size" = cpu ]; then
        [ $# -eq 0 ] || fail "with SIZE=cpu there are neither DATA nor TREES"
        prepare_generated
        trees=$prepared/trees/test.conllu name_of_data="generated corpus" arguments=""
        # The warm-up is for parsers that would not get away from where they begin.
        channels=4 channel_size=32
        small=(--embed-dim 64 --layers 3 --channels 4 --warmup-updates 250)
        return
    fi
    [ $# -eq 2 ] || fail "name the folders DATA and TREES"
    [ -e "$2" ] || fail "$2: no such file or folder"
    prepare_ptb "$1"
    trees=$2 name_of_data="Penn Treebank" arguments=" DATA TREES"
    channels=8 channel_size=128 small=()
}
