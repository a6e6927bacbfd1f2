# shellcheck shell=bash
# Shared by the recipes of this folder, which source it, describe their experiment and end with
# `run "$@"`. A recipe sets
#   experiment, source_lang, target_lang   names
#   scale, description                     for the record: paper or reduced; the data in words
#   default_updates, default_warmup        length of training, updates of pure teacher forcing
#   default_decay_end                      update at which the linear decay reaches 0; the
#                                          training may end before (default: at its end)
#   corpus                                 layout that preprocess/parallel.py reads from DATA
# before it sources this file, and after it, where the defaults below do not serve,
#   setting                                array of fairseq-train options
#   detokenise, undo                       arrays of options that restore text: of fairseq-train
#                                          --eval-bleu, and of fairseq-generate
#   prepare DATA                           function that makes $data (text, data-bin)
#
# Environment of every recipe:
#   OUT        where data, checkpoints and translations go (runs/scheduled_sampling/EXPERIMENT)
#   SEED       seed (1)
#   UPDATES    training updates
#   WARMUP     updates of pure teacher forcing before the decay
#   DECAY_END  update at which the linear decay would reach 0
#   THREADS    CPU threads (all)
#   RECORD     0 keeps the run out of results.jsonl, 1 appends it; without it, only runs with the
#              recipe's own UPDATES, WARMUP and DECAY_END are appended
# A run that was interrupted goes on where it stopped; runs of one recipe may go side by side.

set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
if ! command -v fairseq-train >/dev/null && [ -x "$root/.venv/bin/fairseq-train" ]; then
    PATH="$root/.venv/bin:$PATH"
fi

# The rows of table 3.2.
variants=(
    teacher_forcing argmax top_k softmax softmax_10 gumbel_softmax gumbel_softmax_10 sparsemax
    softmax_grad softmax_10_grad gumbel_softmax_grad gumbel_softmax_10_grad sparsemax_grad
)

# Table 3.1. Its learning rate is 1.0 times the noam schedule, whose peak is
# 512^-0.5 * 20000^-0.5 = 3.125e-4; Adam's betas are not given, these go with noam customarily.
paper_setting=(
    --optimizer adam --adam-betas "(0.9, 0.998)"
    --lr 3.125e-4 --lr-scheduler inverse_sqrt --warmup-updates 20000
    --criterion cross_entropy --batch-size 32
    --validate-interval 1000000 --validate-interval-updates 10000 --save-interval-updates 10000
    --keep-interval-updates 1
)

# Transformer-Tiny (Wu et al., 2021) on a small corpus, short enough for a CPU.
setting=(
    --arch scheduled_sampling_transformer_tiny
    --optimizer adam --adam-betas "(0.9, 0.98)"
    --lr 3e-3 --lr-scheduler inverse_sqrt --warmup-updates 1000
    --criterion label_smoothed_cross_entropy --label-smoothing 0.1
    --max-tokens 1500
)

# Text that was split by byte pairs and, before that, tokenised by Moses' rules.
detokenise=(--eval-bleu-detok moses --eval-bleu-remove-bpe)
undo=(--tokenizer moses --moses-no-escape --post-process subword_nmt)

fail() {
    echo "error: $*" >&2
    exit 2
}

prepare() {
    [ -n "$1" ] || fail "usage: recipes/scheduled_sampling/$experiment.sh VARIANT DATA"
    python "$root/preprocess/parallel.py" "$corpus" "$1" "$data"
}

# Sets `mix`, the fairseq-train options of one row of table 3.2.
variant_options() {
    local name=$1
    case " ${variants[*]} " in
        *" $name "*) ;;
        *) fail "unknown variant '$name'; choose one of: ${variants[*]}" ;;
    esac
    if [ "$name" = teacher_forcing ]; then
        mix=(--schedule constant --schedule-k 1)
        return
    fi
    mix=(--schedule linear --schedule-end-update "$decay_end" --schedule-warmup-updates "$warmup")
    if [ "${name%_grad}" != "$name" ]; then
        name=${name%_grad}
        mix+=(--first-pass-gradient)
    fi
    if [ "${name%_10}" != "$name" ]; then
        name=${name%_10}
        mix+=(--mix-alpha 10)
    fi
    mix+=(--mix "$name")
}

# train SAVE_DIR MAX_UPDATE OPTION...: resumes what is there; the log goes to SAVE_DIR/train.log.
train() {
    local save_dir=$1 max_update=$2
    shift 2
    mkdir -p "$save_dir"
    local options="${setting[*]} $* --max-update $max_update --seed $seed"
    if [ ! -e "$save_dir/options" ]; then
        echo "$options" >"$save_dir/options"
    elif [ "$options" != "$(cat "$save_dir/options")" ]; then
        fail "$save_dir was trained with other options ($save_dir/options): choose another OUT"
    fi
    # A finished training would be loaded only to be found finished.
    [ ! -e "$save_dir/finished" ] || return 0
    echo "training in $save_dir"
    fairseq-train "$data/data-bin" --user-dir "$root/user_dir" --save-dir "$save_dir" \
        --source-lang "$source_lang" --target-lang "$target_lang" --seed "$seed" \
        --max-update "$max_update" --no-epoch-checkpoints --no-progress-bar --log-format json \
        --log-interval 100 "${setting[@]}" "$@" 2>&1 |
        tee -a "$save_dir/train.log" |
        python "$root/recipes/progress.py" --updates "$max_update" --show loss valid_bleu ||
        { tail -n 3 "$save_dir/train.log" >&2; fail "training failed, see $save_dir/train.log"; }
    touch "$save_dir/finished"
}

# translate CHECKPOINT SUBSET FILE: detokenised translations, in the order of the data. Without
# --required-batch-size-multiple 1 fairseq leaves out the last batch when it is not a full eight.
translate() {
    local checkpoint=$1 subset=$2 file=$3
    fairseq-generate "$data/data-bin" --user-dir "$root/user_dir" --path "$checkpoint" \
        --source-lang "$source_lang" --target-lang "$target_lang" --gen-subset "$subset" \
        --beam 5 --max-tokens 4000 --required-batch-size-multiple 1 "${undo[@]}" \
        >"$file.log" 2>&1 ||
        { tail -n 3 "$file.log" >&2; fail "generation failed, see $file.log"; }
    { grep '^D-' "$file.log" || fail "no translation in $file.log"; } |
        LC_ALL=C sort -t- -k2,2n | cut -f3- >"$file"
}

# number NAME VALUE: refuse what is no whole number.
number() {
    [[ $2 =~ ^[0-9]+$ ]] || fail "$1 must be a whole number, not '$2'"
}

# run VARIANT [DATA]: train one row, translate, score, print the last line, append the record.
run() {
    [ $# -ge 1 ] || fail "usage: recipes/scheduled_sampling/$experiment.sh VARIANT [DATA]"
    local variant=$1 source=${2:-}
    seed=${SEED:-1}
    updates=${UPDATES:-$default_updates}
    warmup=${WARMUP:-$default_warmup}
    default_decay_end=${default_decay_end:-$default_updates}
    decay_end=${DECAY_END:-$default_decay_end}
    [ -z "${UPDATES:-}" ] || [ -n "${DECAY_END:-}" ] || decay_end=$updates
    number SEED "$seed"
    number UPDATES "$updates"
    number WARMUP "$warmup"
    number DECAY_END "$decay_end"
    [ "$warmup" -lt "$updates" ] || fail "WARMUP=$warmup must be less than UPDATES=$updates"
    [ "$warmup" -lt "$decay_end" ] || fail "WARMUP=$warmup must be less than DECAY_END=$decay_end"
    variant_options "$variant"
    command -v fairseq-train >/dev/null || fail "fairseq-struct is not installed: make install"
    if [ -n "${THREADS:-}" ]; then
        number THREADS "$THREADS"
        export OMP_NUM_THREADS=$THREADS
    fi

    local name settings="" own=1
    for name in SEED UPDATES WARMUP DECAY_END; do
        [ -z "${!name:-}" ] || settings+="$name=${!name} "
    done
    if [ "$updates $warmup $decay_end" != "$default_updates $default_warmup $default_decay_end" ]
    then
        scale=reduced
        own=0
    fi
    local record=()
    [ "${RECORD:-$own}" = 0 ] || record=(--results "$here/results.jsonl")

    local out=${OUT:-$root/runs/scheduled_sampling/$experiment}
    data=$out/data
    mkdir -p "$out"
    local trunk=$out/seed_$seed/warmup_$warmup
    local branch=$trunk/updates_$updates.decay_$decay_end/$variant

    # Until the warm-up ends all variants are the same run, update by update; it is made once and
    # every variant goes on from it, as it would from its own. The lock is for recipes that run
    # side by side: the first one makes the data and the shared part, the others wait.
    {
        flock 9
        prepare "$source"
        if [ "$warmup" -gt 0 ] && [ ! -e "$branch/checkpoint_last.pt" ]; then
            train "$trunk" "$warmup" --schedule constant --schedule-k 1 --disable-validation
            mkdir -p "$branch"
            cp "$trunk/checkpoint_last.pt" "$branch/copied.pt"
            mv "$branch/copied.pt" "$branch/checkpoint_last.pt"
        fi
    } 9>"$out/.lock"
    train "$branch" "$updates" "${mix[@]}" --eval-bleu "${detokenise[@]}" \
        --eval-bleu-args '{"beam": 1, "max_len_a": 1.2, "max_len_b": 10}' \
        --best-checkpoint-metric bleu --maximize-best-checkpoint-metric

    local subset
    for subset in valid test; do
        translate "$branch/checkpoint_best.pt" "$subset" "$branch/$subset.$target_lang"
    done
    local logs=("$branch/train.log")
    [ "$warmup" = 0 ] || logs=("$trunk/train.log" "${logs[@]}")
    python "$here/score.py" --experiment "$experiment" --variant "$variant" --seed "$seed" \
        --updates "$updates" --scale "$scale" --data "$description" \
        --references "$data/raw" --translations "$branch" --target-lang "$target_lang" \
        --logs "${logs[@]}" "${record[@]}" \
        --command "${settings}recipes/scheduled_sampling/$experiment.sh $variant${source:+ DATA}"
}
