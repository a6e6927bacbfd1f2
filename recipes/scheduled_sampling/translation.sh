# shellcheck shell=bash
# From a parallel corpus to BLEU, for one row of table 3.2 of Mihaylova's thesis. A recipe in this
# folder sources this file, sets corpus, languages and description (and preset, training and undo, if
# the defaults below do not fit), and ends with `run "$@"`.
#
# Environment of every recipe, beside that of ../common.sh; SEEDS is 1:
#   UPDATES    training updates
#   WARMUP     updates of pure teacher forcing before the decay; may be 0
#   DECAY_END  update at which the linear decay of the gold words' probability reaches 0, and by
#              which the inverse sigmoid has fallen for as long after as before the middle; the
#              training may end before (default: the recipe's own; of other UPDATES, UPDATES)
# Runs of one recipe can run at the same time.

source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

experiment=${recipe%.sh}
corpus=""      # layout in which preprocess/parallel.py reads DATA
description="" # description of the data, for the record
warmup=0
decay_end=0
# Recipes that differ by the end of the decay share the data and the warm-up.
[ -n "${OUT:-}" ] || out+=/${experiment%_to_0*}
data=$out/data
preparation=() # options of preprocess/parallel.py
shown=(loss valid_bleu)

# The rows of table 3.2.
variants=(
    teacher_forcing argmax top_k softmax softmax_10 gumbel_softmax gumbel_softmax_10 sparsemax
    softmax_grad softmax_10_grad gumbel_softmax_grad gumbel_softmax_10_grad sparsemax_grad
)

# Further ones, all with the mix of top_k but confidence, whose predictions are the most probable
# words: the inverse sigmoid of section 3.3.3, replacement by confidence (Liu et al., 2021), and
# parallel scheduled sampling with three passes (Duckworth et al., 2019).
further=(inverse_sigmoid confidence three_passes)

# Transformer-Tiny (Wu et al., 2021) on a small corpus, short enough for a CPU.
preset=scheduled_sampling_transformer_cpu
training=() # options of fairseq-train that replace those of the preset in all rows

# Options of fairseq-generate that restore text tokenised by Moses' rules and then split by byte
# pairs.
undo=(--tokenizer moses --moses-no-escape --post-process subword_nmt)

# In place of the schedule of the presets: gold words only.
gold_words=(
    --no-mix --schedule constant --schedule-k 1 --no-schedule-end-update
    --no-schedule-warmup-updates
)

# prepare_corpus [DATA] : prepare the corpus in $data, unless it exists.
prepare_corpus() {
    prepare "$data" parallel "$corpus" "${1:-}" "${preparation[@]}"
    ! grep '"corpus": ' "$data/manifest.json" | grep -qv "\"$corpus\"" ||
        fail "$data holds another corpus: choose another OUT"
}

# mix_of VARIANT : set $mix, the options of one row that replace those of the preset.
mix_of() {
    local name=$1
    mix=(--schedule-end-update "$decay_end" --schedule-warmup-updates "$warmup")
    case $name in
        teacher_forcing) mix=("${gold_words[@]}") ;;
        inverse_sigmoid)
            mix=(--mix top_k --schedule inverse_sigmoid --no-schedule-end-update --schedule-k
                "$(half_at $(((decay_end - warmup) / 2)))" --schedule-warmup-updates "$warmup")
            ;;
        confidence)
            mix=(--mix argmax --replacement confidence --criterion scheduled_sampling_cross_entropy
                --no-schedule-end-update --schedule-warmup-updates "$warmup")
            ;;
        three_passes) mix+=(--mix top_k --decoder-passes 3) ;;
        *) mix_of_table "$name" ;;
    esac
}

# half_at UPDATE : print the k of the inverse sigmoid k / (k + exp(i / k)) that is 1/2 there.
half_at() {
    LC_ALL=C awk -v update="$1" 'BEGIN {
        low = 1; high = update + 3
        for (i = 0; i < 60; i++) {
            k = (low + high) / 2
            if (k * log(k) < update) low = k; else high = k
        }
        printf "%.3f\n", low
    }'
}

# mix_of_table NAME : the same for a row of table 3.2, beside what $mix has.
mix_of_table() {
    local name=$1
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

# name_criterion CHECKPOINT : let it go on with the criterion of confidence. fairseq goes on with the same
# criterion only, by its name in the checkpoint; neither has anything to restore.
name_criterion() {
    python -c '
import sys, torch
from fairseq_struct.compat import load_state
checkpoint = load_state(sys.argv[1])
checkpoint["optimizer_history"][-1]["criterion_name"] = "ScheduledSamplingCrossEntropyCriterion"
torch.save(checkpoint, sys.argv[1])
' "$1"
}

# run VARIANT [DATA] : train one row, translate, score, print the scores, append the record.
run() {
    local variant=${1:-} source=${2:-}
    usage="$recipe VARIANT [DATA]"
    one_of variant "$variant" "${variants[@]}" "${further[@]}"
    # A warm-up that HOURS has cut would be taken for the whole one.
    [ -z "$hours" ] || fail "$recipe does not take HOURS: set UPDATES"
    # Data that are prepared in another way have another place.
    if [ -n "${OUT:-}" ] && [ ${#preparation[@]} -gt 0 ]; then
        out+=/$experiment
        data=$out/data
    fi
    run_seeds 1
    # Only in the recipe's own settings may the decay end after the training.
    [ -z "${UPDATES:-}" ] || [ "$UPDATES" = "$updates" ] || DECAY_END=${DECAY_END:-$UPDATES}
    [[ ${WARMUP:-0} =~ ^(0|[1-9][0-9]*)$ ]] || fail "WARMUP must be a whole number, not '$WARMUP'"
    numbers UPDATES DECAY_END
    setting WARMUP
    [ "$warmup" -lt "$updates" ] || fail "WARMUP=$warmup must be less than UPDATES=$updates"
    [ "$warmup" -lt "$decay_end" ] || fail "WARMUP=$warmup must be less than DECAY_END=$decay_end"
    mix_of "$variant"
    mkdir -p "$out"
    for seed in "${seeds[@]}"; do
        train_translate_score
    done
}

# Train, translate and score $variant with $seed. Until the warm-up ends, all variants are the same
# run, update by update. This shared part is trained once, and every variant continues from it. The
# lock is for recipes that run at the same time: the first one makes the data and the shared part,
# the others wait.
train_translate_score() {
    local trunk=$out/seed_$seed/warmup_$warmup
    local branch=$trunk/updates_$updates.decay_$decay_end/$variant logs=() subset
    {
        flock 9
        prepare_corpus "$source"
        if [ "$warmup" -gt 0 ] && [ ! -e "$branch/checkpoint_last.pt" ]; then
            updates=$warmup train "$trunk" "$data/data-bin" --preset "$preset" \
                "${training[@]}" "${gold_words[@]}" --disable-validation --no-eval-bleu
            mkdir -p "$branch"
            cp "$trunk/checkpoint_last.pt" "$branch/copied.pt"
            [ "$variant" != confidence ] || name_criterion "$branch/copied.pt"
            mv "$branch/copied.pt" "$branch/checkpoint_last.pt"
        fi
    } 9>"$out/.lock"
    train "$branch" "$data/data-bin" --preset "$preset" "${training[@]}" "${mix[@]}"
    for subset in valid test; do
        translate "$data/data-bin" "$branch/checkpoint_best.pt" "$subset" \
            "$branch/$subset.${languages[3]}" "${undo[@]}"
    done
    mkdir -p "$branch/greedy"
    translate "$data/data-bin" "$branch/checkpoint_best.pt" test \
        "$branch/greedy/test.${languages[3]}" "${undo[@]}" --beam 1
    [ "$warmup" = 0 ] || logs=("$trunk/train.log")
    score "$here/score.py" "$variant${source:+ DATA}" --experiment "$experiment" \
        --variant "$variant" --data "$description" --seed "$seed" --updates "$updates" \
        --references "$data/raw" --translations "$branch" --greedy "$branch/greedy" \
        --target-lang "${languages[3]}" \
        --logs "${logs[@]}" "$branch/train.log"
}
