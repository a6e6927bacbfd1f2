#!/usr/bin/env bash
# Tanaka corpus Japanese-English (50,000 short pairs, tokenised and lower-cased by its owners)
# with Transformer-Tiny, short enough for a CPU: one row of table 3.2.
#   recipes/scheduled_sampling/tanaka_ja_en.sh VARIANT DATA
# DATA is the folder that holds train.{ja,en} and dev.{ja,en}; the last 500 training pairs become
# the test set.

experiment=tanaka_ja_en
corpus=tanaka_ja_en
source_lang=ja
target_lang=en
scale=reduced
description="Tanaka corpus, lower-cased, joint BPE of 8,000 merges; dev, 500 pairs off train"
default_updates=4100
default_warmup=3500
default_decay_end=5500
# shellcheck source=common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

run "$@"
