#!/usr/bin/env bash
# Semantic textual similarity by a masked language model (table 11 of Shen's thesis, chapter 4).
#   recipes/udgn/sts.sh VARIANT CHECKPOINT [STS]
# VARIANT is udgn, udgn_frozen (its parser stays as it is), structformer or masked_transformer;
# CHECKPOINT is of that model, of the same SIZE and of the data that ptb.sh has prepared below the
# same OUT. STS is a folder of STSBenchmark, SICK, STS12-en-test, …; it is needed once. Trained on
# the STS Benchmark for 20 epochs of Adam (5 with SIZE=cpu), of which the best Spearman of its
# development set counts: the thesis does not print its settings. Environment: OUT, SEED, THREADS as
# in ../common.sh, SIZE as in common.sh; RECORD=1 appends the numbers to results.jsonl.

# shellcheck source=common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

variant=${1:-} checkpoint=${2:-}
usage="usage: sts.sh udgn|udgn_frozen|structformer|masked_transformer CHECKPOINT [STS]"
one_of "$variant" udgn udgn_frozen structformer masked_transformer || fail "$usage"
[ -n "$checkpoint" ] || fail "$usage"
[ -f "$checkpoint" ] || fail "$checkpoint: no such file"
[ -z "${EPOCHS:-}${UPDATES:-}" ] || fail "sts.sh has neither EPOCHS nor UPDATES"
record=()
[ "${RECORD:-0}" = 0 ] || record=(--results "$here/results.jsonl")
sts=$out/sts/data
if [ ! -e "$sts/dict.txt" ]; then
    [ -n "${3:-}" ] || fail "name the folder STS behind CHECKPOINT (it is needed once)"
    prepare_ptb ""
    python "$root/preprocess/sentence_similarity.py" "$3" "$prepared/data-bin/dict.txt" "$sts"
fi
sets=(STS12 STS13 STS14 STS15 STS16 STS-B SICK-R)
present=()
for name in "${sets[@]}"; do
    [ ! -e "$sts/$name.tsv" ] || present+=("$name")
done
subsets=$(IFS=, && echo "valid,${present[*]}")
architecture_of "${variant%_frozen}"
[ "$size" = paper ] && epochs=20 || epochs=5
frozen=()
[ "$variant" != udgn_frozen ] || frozen=(--freeze-parser)
# Of every checkpoint its own.
folder=$out/sts/$variant/$size/seed_$seed/$(cksum <"$checkpoint" | cut -d " " -f 1)
train "$folder" "$sts" "$epochs" "${architecture[@]}" --task semantic_similarity \
    --criterion semantic_similarity --finetune-from-model "$checkpoint" --optimizer adam \
    --lr 0.0003 --lr-scheduler polynomial_decay --total-num-update $((90 * epochs)) --clip-norm 0.25 \
    --batch-size 64 --valid-subset "$subsets" --best-checkpoint-metric spearman \
    --maximize-best-checkpoint-metric "${frozen[@]}"
scale=reduced # the thesis trains on 42 million words of BLLIP before
python "$here/sts.py" --run "$folder" --variant "$variant" --pretrained "$checkpoint" \
    --scale "$scale" --command "${settings}recipes/udgn/sts.sh $variant CHECKPOINT STS" \
    "${record[@]}"
