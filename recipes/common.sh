# shellcheck shell=bash
# Shared by the recipes of on_lstm and udgn, which source it.
#
# Environment:
#   OUT      where prepared data and runs go (runs/ and the name of the recipe's folder)
#   SEED     of the run (1)
#   EPOCHS   passes through the training split (the recipe's own)
#   THREADS  CPU threads (1)
#   RECORD   0 keeps the numbers out of results.jsonl, 1 appends them; without it, only those of the
#            recipe's own SEED and EPOCHS are appended
# Finished runs are kept and not made again; one that was interrupted goes on.

set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[-1]}")" && pwd) # of the recipe
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
if ! command -v fairseq-train >/dev/null && [ -x "$root/.venv/bin/fairseq-train" ]; then
    PATH="$root/.venv/bin:$PATH"
fi

fail() {
    echo "error: $*" >&2
    exit 2
}

out=${OUT:-$root/runs/$(basename "$here")}
for number in "${SEED:-1}" "${EPOCHS:-1}" "${THREADS:-1}"; do
    [[ $number =~ ^[1-9][0-9]*$ ]] ||
        fail "SEED, EPOCHS and THREADS must be whole numbers above 0, not '$number'"
done
seed=${SEED:-1}
export OMP_NUM_THREADS=${THREADS:-1}
# glibc gives large blocks back to the system after every step, and zeroing them again takes time.
export MALLOC_MMAP_THRESHOLD_=${MALLOC_MMAP_THRESHOLD_:-4000000000}
export MALLOC_TRIM_THRESHOLD_=${MALLOC_TRIM_THRESHOLD_:-8000000000}
command -v fairseq-train >/dev/null || fail "fairseq-struct is not installed: make install"
own=1       # are the settings the recipe's own?
settings="" # of this call, for the command in the record
for name in SEED EPOCHS ${more_settings:-}; do
    [ -z "${!name:-}" ] || { own=0; settings+="$name='${!name}' "; }
done
record=()
[ "${RECORD:-$own}" = 0 ] || record=(--results "$here/results.jsonl")

# one_of CHOICE ALLOWED… : is CHOICE among those?
one_of() {
    local choice=$1
    shift
    case " $* " in
        *" $choice "*) [ -n "$choice" ] ;;
        *) false ;;
    esac
}

# prepare_ptb DATA : the Penn Treebank in $prepared, unless it is there already.
prepare_ptb() {
    prepared=$out/ptb_lm/data
    [ ! -e "$prepared/manifest.json" ] || return 0
    [ -n "$1" ] || fail "name the folder DATA after the model (it is needed once)"
    python "$root/preprocess/penn_treebank.py" lm "$1" "$prepared"
}

# train FOLDER DATA_BIN EPOCHS OPTION… : a run, unless it is finished.
train() {
    local folder=$1 data=$2 epochs=$3
    shift 3
    [ ! -e "$folder/finished" ] || return 0
    mkdir -p "$folder"
    fairseq-train "$data" --user-dir "$root/user_dir" --save-dir "$folder" --seed "$seed" \
        --max-epoch "$epochs" --no-epoch-checkpoints --num-workers 0 --no-progress-bar \
        --log-format json --log-interval 200 "$@" >>"$folder/train.log" 2>&1 ||
        fail "training failed, see $folder/train.log: $(tail -n 1 "$folder/train.log")"
    touch "$folder/finished"
}
