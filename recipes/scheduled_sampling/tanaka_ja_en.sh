#!/usr/bin/env bash
# Tanaka corpus Japanese-English (50,000 short pairs, tokenised and lower-cased by its owners)
# with Transformer-Tiny, short enough for a CPU: one row of table 3.2 of Mihaylova's thesis.
#   recipes/scheduled_sampling/tanaka_ja_en.sh VARIANT [DATA]
# DATA is the folder with train.{ja,en} and dev.{ja,en}, needed only for the first run. The last 500
# training pairs become the test set. Environment: see translation.sh.

source "$(dirname "${BASH_SOURCE[0]}")/translation.sh"

corpus=tanaka_ja_en
languages=(--source-lang ja --target-lang en)
description="Tanaka corpus, lower-cased, joint BPE of 8,000 merges; dev, 500 pairs off train"
scale=reduced
updates=4100 warmup=3500 decay_end=5500

run "$@"
