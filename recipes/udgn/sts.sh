#!/usr/bin/env bash
# Semantic textual similarity by a masked language model (table 11 of Shen's thesis, chapter 4).
#   recipes/udgn/sts.sh VARIANT CHECKPOINT [STS]
# VARIANT is udgn, udgn_frozen (its parser is not trained further), structformer or
# masked_transformer. CHECKPOINT is a checkpoint of this model, with the same SIZE, trained on the
# data that ptb.sh has prepared in the same OUT. STS is a folder with STSBenchmark, SICK,
# STS12-en-test, …, needed only for the first run. The model is trained with Adam on the STS
# Benchmark for 20 epochs (5 with SIZE=cpu). The epoch with the best Spearman correlation on its
# development set counts. The thesis does not give its settings. Environment: SIZE, and OUT, SEEDS
# (default: 1), THREADS and RECORD as in ../common.sh.

source "$(dirname "${BASH_SOURCE[0]}")/sizes.sh"

variant=${1:-} checkpoint=${2:-}
usage="sts.sh udgn|udgn_frozen|structformer|masked_transformer CHECKPOINT [STS]"
one_of variant "$variant" udgn udgn_frozen structformer masked_transformer
[ -n "$checkpoint" ] || fail "usage: $usage"
given "$checkpoint"
checkpoint=$(realpath "$checkpoint")
[ -z "${EPOCHS:-}${UPDATES:-}" ] || fail "sts.sh takes neither EPOCHS nor UPDATES"
run_size
run_seeds 1
epochs=$([ "$size" = paper ] && echo 20 || echo 5)
scale=reduced # Shen's thesis pretrains on 42 million words of BLLIP

sts=$out/sts/data
dictionary=$out/ptb_lm/data/data-bin/dict.txt
[ -e "$sts/manifest.json" ] || [ -e "$dictionary" ] || fail "$dictionary: no such file; run ptb.sh first"
prepare "$sts" sentence_similarity "${3:-}" "$dictionary"
subsets=valid
for name in STS12 STS13 STS14 STS15 STS16 STS-B SICK-R; do
    [ ! -e "$sts/$name.tsv" ] || subsets+=,$name
done
preset=${variant%_frozen}_sts$([ "$size" = paper ] || echo _cpu)
frozen=()
[ "$variant" != udgn_frozen ] || frozen=(--freeze-parser)
for seed in "${seeds[@]}"; do
    # A separate folder for each checkpoint.
    folder=$out/sts/$variant/$size/seed_$seed/$(cksum <"$checkpoint" | cut -d " " -f 1)
    train "$folder" "$sts" --preset "$preset" --finetune-from-model "$checkpoint" \
        --valid-subset "$subsets" "${frozen[@]}"
    score "$here/sts.py" "$variant CHECKPOINT STS" --experiment sts --variant "$variant" \
        --run "$folder" --pretrained "$checkpoint"
done
