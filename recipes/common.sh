# shellcheck shell=bash
# Functions of all recipes. A recipe sources this file, sets its own settings, and then prepares
# data, trains and scores. Environment variables change the settings that the recipe names.
#
#   OUT      folder of prepared data and runs (default: runs/SYSTEM; for a translation corpus
#            runs/SYSTEM/EXPERIMENT)
#   SEEDS    seeds of the runs, with one record each; SEED=2 is short for SEEDS=2
#   EPOCHS   passes through the training split
#   UPDATES  training updates
#   SIZE     paper (for a GPU) or cpu, if a recipe has both
#   HOURS    a training ends after so many hours, such as 0.1, with what it has reached
#   EVERY    validate and store a checkpoint every so many epochs (default: 1, or the recipe's own)
#   PRECISION  bf16 or fp16 on a GPU (default: float32)
#   THREADS  CPU threads of each process (default: 1)
#            (EPOCHS, UPDATES or SIZE in front of a recipe that does not take them is an error)
#   RECORD   1 appends the numbers to results.jsonl beside the recipe, 0 does not. By default they
#            are appended if all settings except SEEDS, SIZE, OUT, THREADS and names of files are the
#            recipe's own, unless its head says otherwise. A recipe that takes a CHECKPOINT cannot
#            know its settings and needs RECORD=1.
#
# Each recipe explains its further variables in its head. A finished run is kept and not repeated.
# An interrupted run continues from its last checkpoint, or starts again if there is none.

set -euo pipefail
unset CDPATH # with it, cd prints
# fairseq's programs may be installed only in the checkout's .venv.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
if ! command -v fairseq-train >/dev/null && [ -x "$root/.venv/bin/fairseq-train" ]; then
    PATH="$root/.venv/bin:$PATH"
fi

here=$(cd "$(dirname "${BASH_SOURCE[-1]}")" && pwd) # folder of the recipe
system=$(basename "$here")
recipe=$(basename "${BASH_SOURCE[-1]}")
out=$(realpath -m "${OUT:-$root/runs/$system}")
results=$here/results.jsonl
usage=""     # name and arguments of the recipe
scale=paper  # scale of the recipe's own settings: paper or reduced
settings=""  # settings changed by the environment, as written before the command in a record
own=1        # 1 if all settings are the recipe's own
taken=" "    # names of the variables that the recipe takes
epochs=""    # number of epochs of a training, if not empty
updates=""   # number of updates of a training, if not empty
hours=""     # hours of a training, if not empty
every=""     # epochs between two validations, if not empty
precision="" # of a training, if not float32
languages=() # options that name source and target language, for translation
shown=()     # names of the numbers to show while training

fail() {
    echo "error: $*" >&2
    exit 2
}

# one_of WHAT CHOICE ALLOWED… : refuse a CHOICE that is not ALLOWED.
one_of() {
    local what=$1 choice=$2
    shift 2
    [ -n "$choice" ] || fail "usage: $usage"
    [[ " $* " == *" $choice "* ]] ||
        fail "unknown $what '$choice'; choose one of: $*"$'\n'"usage: $usage"
}

# number NAME VALUE : refuse a VALUE that is not a whole number above 0.
number() {
    [[ $2 =~ ^[1-9][0-9]*$ ]] || fail "$1 must be a whole number above 0, not '$2'"
}

# setting NAME… : if the environment has NAME, it replaces the recipe's own $name.
setting() {
    local name value
    for name in "$@"; do
        taken+="$name "
        value=${!name:-}
        [ -n "$value" ] || continue
        local -n mine=${name,,}
        [ "$value" = "$mine" ] || own=0
        mine=$value
        remember "$name" "$value"
    done
}

# numbers NAME… : the same as setting, for whole numbers above 0.
numbers() {
    local name
    for name in "$@"; do
        [ -z "${!name:-}" ] || number "$name" "${!name}"
    done
    setting "$@"
}

remember() {
    [[ " $settings" != *" $1="* ]] || return 0
    [[ $2 =~ ^[[:alnum:]./_-]+$ ]] && settings+="$1=$2 " || settings+="$1='$2' "
}

# run_size : set $size, paper or cpu, from the environment's SIZE.
run_size() {
    taken+="SIZE "
    size=${SIZE:-paper}
    [ "$size" = paper ] || [ "$size" = cpu ] || fail "SIZE must be paper or cpu, not '$size'"
    [ "$size" = paper ] || remember SIZE cpu
}

# Refuse settings that are usual, but not in this recipe, before it works for hours without them.
refuse_untaken() {
    local name
    for name in EPOCHS UPDATES SIZE; do
        [ -z "${!name:-}" ] || [[ "$taken" == *" $name "* ]] ||
            fail "$recipe does not take $name (see its head)"
    done
}

# run_seeds SEED… : set $seeds, to the recipe's own SEEDs or to those of the environment.
run_seeds() {
    [ -z "${SEED:-}" ] || [ -z "${SEEDS:-}" ] || fail "SEED is short for SEEDS: set one of them"
    local chosen=${SEEDS:-${SEED:-}} seed
    read -d '' -ra seeds <<<"${chosen:-$*}" || true # they may stand in lines
    [ ${#seeds[@]} -gt 0 ] || fail "SEEDS names no seed"
    for seed in "${seeds[@]}"; do
        number SEEDS "$seed"
    done
    [ -z "$(printf '%s\n' "${seeds[@]}" | sort | uniq -d)" ] ||
        fail "SEEDS has a seed twice: ${seeds[*]}"
    [ -z "$chosen" ] || remember SEEDS "${seeds[*]}"
}

# prepare FOLDER KIND ARGUMENT… : prepare data with preprocess/KIND.py, unless FOLDER has them. If the
# ARGUMENTs name files, data of others in FOLDER are refused.
prepare() {
    local folder=$1 kind=$2 argument whole=1 files=0
    shift 2
    refuse_untaken
    for argument in "$@"; do
        [ -n "$argument" ] || whole=0
        [ ! -e "$argument" ] || files=1
    done
    if [ -e "$folder/manifest.json" ]; then
        [ "$whole" = 0 ] || [ "$files" = 0 ] || python "$root/preprocess/$kind.py" "$@" "$folder" >/dev/null
        return 0
    fi
    [ "$whole" = 1 ] ||
        fail "the data are not prepared yet: name their folder"$'\n'"usage: $usage"
    python "$root/preprocess/$kind.py" "$@" "$folder"
}

# train FOLDER DATA_BIN [--preset NAME] OPTION… : train with $seed for $epochs or $updates, unless
# the run is finished. DATA_BIN is empty for a task that generates its data. OPTIONs replace those of
# the preset.
train() {
    local folder=$1 data=$2 log=$1/train.log options status=0 signal lock
    shift 2
    refuse_untaken
    set -- "$@" ${epochs:+--max-epoch "$epochs"} ${updates:+--max-update "$updates"} --seed "$seed" \
        ${hours:+--stop-time-hours "$hours"} ${precision:+"--$precision"} \
        ${every:+--validate-interval "$every" --save-interval "$every"}
    if [ "${1:-}" = --preset ]; then
        options=$(PYTHONPATH=$root${PYTHONPATH:+:$PYTHONPATH} \
            fairseq-struct presets "$2" --arguments "${@:3}") || exit 2
        mapfile -t <<<"$options"
        set -- "${MAPFILE[@]}"
    fi
    options=${*//"$out/"/} # the folder may move
    mkdir -p "$folder"
    # fairseq-train holds the lock, too, if this recipe is killed.
    exec {lock}>"$folder/.lock"
    flock -n "$lock" || fail "another training runs in $folder"
    # Older runs have no file of options.
    [ -e "$folder/options" ] || [ -e "$folder/finished" ] || echo "$options" >"$folder/options"
    [ ! -e "$folder/options" ] ||
        [ "$(by_name "$options")" = "$(by_name "$(cat "$folder/options")")" ] ||
        fail "$folder was trained with other options ($folder/options): choose another OUT"
    if [ -e "$folder/finished" ]; then
        exec {lock}>&-
        return 0
    fi
    [ -e "$folder/checkpoint_last.pt" ] || rm -f "$log"
    [ ${#shown[@]} -eq 0 ] || echo "training in $folder"
    fairseq-train ${data:+"$data"} --user-dir "$root/user_dir" --save-dir "$folder" "${languages[@]}" \
        --no-epoch-checkpoints --num-workers 0 --no-progress-bar --log-format json \
        --log-interval 100 "$@" 2>&1 | tee -a "$log" | show_progress || status=$?
    # The last line of a process that was killed says nothing of why.
    if [ "$status" -gt 128 ] && signal=$(kill -l "$status" 2>/dev/null); then
        fail "training was stopped by signal $signal, see $log;" \
            "the same command goes on from its last checkpoint, if it has one"
    fi
    [ "$status" = 0 ] || fail "training failed, see $log: $(tail -n 1 "$log")"
    touch "$folder/finished"
    exec {lock}>&-
}

# by_name OPTIONS : print the options that count, one in a line: of those of one name the last. Their
# order does not matter.
by_name() {
    awk '{ last[$1] = $0 } END { for (name in last) print last[name] }' <<<"${1// --/$'\n'--}" |
        LC_ALL=C sort
}

show_progress() {
    if [ ${#shown[@]} -gt 0 ]; then
        python "$root/recipes/progress.py" --updates "$updates" --show "${shown[@]}"
    else
        cat >/dev/null
    fi
}

# translate DATA_BIN CHECKPOINT SUBSET FILE OPTION… : write detokenised translations to FILE, in the
# order of the data. Without --required-batch-size-multiple 1 fairseq drops a last batch whose size
# is not a multiple of eight.
translate() {
    local data=$1 checkpoint=$2 subset=$3 file=$4
    shift 4
    fairseq-generate "$data" --user-dir "$root/user_dir" --path "$checkpoint" "${languages[@]}" \
        --gen-subset "$subset" --beam 5 --max-tokens 4000 --required-batch-size-multiple 1 "$@" \
        >"$file.log" 2>&1 || fail "translation failed, see $file.log: $(tail -n 1 "$file.log")"
    { grep '^D-' "$file.log" || fail "no translation in $file.log"; } |
        LC_ALL=C sort -t- -k2,2n | cut -f3- >"$file"
}

# given CHECKPOINT : refuse a CHECKPOINT that does not exist. Its settings are unknown, so that
# numbers are not recorded by default.
given() {
    [ -f "$1" ] || fail "$1: no such file"
    RECORD=${RECORD:-0}
}

# Whether the numbers are to be appended to $results.
recording() {
    [ "${RECORD:-$own}" != 0 ]
}

# score SCRIPT ARGUMENTS OPTION… : print a run's numbers with SCRIPT. If they are to be recorded,
# append a record, whose command is the recipe with these ARGUMENTS. (OPTIONs: see SCRIPT --help.)
score() {
    local script=$1 arguments=$2 record=()
    shift 2
    ! recording || record=(--results "$results")
    [ "$own" = 1 ] || scale=reduced
    python "$script" --scale "$scale" --command \
        "${settings}recipes/$system/$recipe${arguments:+ $arguments}" "${record[@]}" "$@"
}

[[ ${HOURS:-1} =~ ^[0-9]*\.?[0-9]+$ && ${HOURS:-1} =~ [1-9] ]] ||
    fail "HOURS must be a number above 0, not '$HOURS'"
[[ ${RECORD:-0} =~ ^[01]$ ]] || fail "RECORD must be 0 or 1, not '$RECORD'"
[[ ${PRECISION:-fp16} =~ ^(bf16|fp16)$ ]] || fail "PRECISION must be bf16 or fp16, not '$PRECISION'"
setting HOURS PRECISION
numbers EVERY
number THREADS "${THREADS:-1}"
export OMP_NUM_THREADS=${THREADS:-1}
# By default glibc returns large blocks to the system after every step; zeroing them takes time.
export MALLOC_MMAP_THRESHOLD_=${MALLOC_MMAP_THRESHOLD_:-4000000000}
export MALLOC_TRIM_THRESHOLD_=${MALLOC_TRIM_THRESHOLD_:-8000000000}
command -v fairseq-train >/dev/null || fail "fairseq-struct is not installed: make install"
