#!/usr/bin/env bash
# KFTT Japanese-English in the paper's setting (table 3.1): one row of table 3.2.
#   recipes/scheduled_sampling/kftt_ja_en.sh VARIANT DATA
# DATA is the folder kftt-data-1.0 as its owners distribute it.
# Meant for a GPU: 300,000 updates.

experiment=kftt_ja_en
source_lang=ja
target_lang=en
scale=paper
description="KFTT 1.0, joint BPE of 32,000 merges on the tokenised text; dev, test"
default_updates=300000
default_warmup=0
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# The paper's learning rate is 1.0 times the noam schedule, whose peak is
# 512^-0.5 * 20000^-0.5 = 3.125e-4. Adam's betas are not given; these go with noam customarily.
setting=(
    --arch scheduled_sampling_transformer_kftt_ja_en
    --optimizer adam --adam-betas "(0.9, 0.998)"
    --lr 3.125e-4 --lr-scheduler inverse_sqrt --warmup-updates 20000
    --criterion cross_entropy --batch-size 32
    --validate-interval 1000000 --validate-interval-updates 10000 --save-interval-updates 10000
)
detokenise=(--eval-bleu-detok moses --eval-bleu-remove-bpe)
undo=(--tokenizer moses --moses-no-escape --post-process subword_nmt)

prepare() {
    [ -n "$1" ] || fail "usage: recipes/scheduled_sampling/kftt_ja_en.sh VARIANT DATA"
    python "$root/preprocess/parallel.py" kftt_ja_en "$1" "$data"
}

run "$@"
