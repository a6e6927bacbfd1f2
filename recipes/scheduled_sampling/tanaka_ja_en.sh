#!/usr/bin/env bash
# Tanaka corpus Japanese-English (50,000 short pairs, tokenised and lower-cased by its owners)
# with Transformer-Tiny, short enough for a CPU: one row of table 3.2.
#   recipes/scheduled_sampling/tanaka_ja_en.sh VARIANT DATA
# DATA is the folder that holds train.{ja,en} and dev.{ja,en}; the last 500 training pairs become
# the test set.

experiment=tanaka_ja_en
source_lang=ja
target_lang=en
scale=reduced
description="Tanaka corpus, lower-cased, joint BPE of 8,000 merges; dev, 500 pairs off train"
default_updates=4500
default_warmup=3500
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

setting=(
    --arch scheduled_sampling_transformer_tiny
    --optimizer adam --adam-betas "(0.9, 0.98)"
    --lr 3e-3 --lr-scheduler inverse_sqrt --warmup-updates 1000
    --criterion label_smoothed_cross_entropy --label-smoothing 0.1
    --max-tokens 1500
)
detokenise=(--eval-bleu-detok moses --eval-bleu-remove-bpe)
undo=(--tokenizer moses --moses-no-escape --post-process subword_nmt)

prepare() {
    [ -n "$1" ] || fail "usage: recipes/scheduled_sampling/tanaka_ja_en.sh VARIANT DATA"
    python "$root/preprocess/parallel.py" tanaka_ja_en "$1" "$data"
}

run "$@"
