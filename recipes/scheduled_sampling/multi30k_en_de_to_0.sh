#!/usr/bin/env bash
# As multi30k_en_de.sh, but the probability of the gold word reaches 0 with the last update, as in
# Mihaylova's thesis. Data and warm-up are those of multi30k_en_de.sh.
#   recipes/scheduled_sampling/multi30k_en_de_to_0.sh VARIANT [DATA]
# Environment: see translation.sh.

source "$(dirname "${BASH_SOURCE[0]}")/translation.sh"

corpus=multi30k
languages=(--source-lang en --target-lang de)
description="Multi30k, 29,000 training pairs, joint BPE of 10,000 merges; valid, test_2016_flickr"
scale=reduced
updates=4100 warmup=3500 decay_end=4100

run "$@"
