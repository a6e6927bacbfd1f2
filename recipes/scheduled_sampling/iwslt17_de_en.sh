#!/usr/bin/env bash
# IWSLT 2017 German-English in the paper's setting (table 3.1): one row of table 3.2.
#   recipes/scheduled_sampling/iwslt17_de_en.sh VARIANT DATA
# DATA is the folder de-en as the organisers distribute it (train.tags.de-en.de, ….xml).
# Meant for a GPU: 300,000 updates.

experiment=iwslt17_de_en
source_lang=de
target_lang=en
scale=paper
description="IWSLT17 de-en, joint BPE of 32,000 merges; dev2010, tst2010-2015"
default_updates=300000
default_warmup=0
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# The paper's learning rate is 1.0 times the noam schedule, whose peak is
# 512^-0.5 * 20000^-0.5 = 3.125e-4. Adam's betas are not given; these go with noam customarily.
setting=(
    --arch scheduled_sampling_transformer_iwslt_de_en
    --optimizer adam --adam-betas "(0.9, 0.998)"
    --lr 3.125e-4 --lr-scheduler inverse_sqrt --warmup-updates 20000
    --criterion cross_entropy --batch-size 32
    --validate-interval 1000000 --validate-interval-updates 10000 --save-interval-updates 10000
)
detokenise=(--eval-bleu-detok moses --eval-bleu-remove-bpe)
undo=(--tokenizer moses --moses-no-escape --post-process subword_nmt)

prepare() {
    [ -n "$1" ] || fail "usage: recipes/scheduled_sampling/iwslt17_de_en.sh VARIANT DATA"
    python "$root/preprocess/parallel.py" iwslt17_de_en "$1" "$data"
}

run "$@"
