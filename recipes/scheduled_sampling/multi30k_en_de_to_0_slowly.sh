#!/usr/bin/env bash
# As multi30k_en_de_to_0.sh, but the decay takes 3,000 updates in place of 600. Data and warm-up are
# those of multi30k_en_de.sh.
#   recipes/scheduled_sampling/multi30k_en_de_to_0_slowly.sh VARIANT [DATA]
# Environment: see translation.sh.

source "$(dirname "${BASH_SOURCE[0]}")/translation.sh"

corpus=multi30k
languages=(--source-lang en --target-lang de)
description="Multi30k, 29,000 training pairs, joint BPE of 10,000 merges; valid, test_2016_flickr"
scale=reduced
updates=6500 warmup=3500 decay_end=6500

run "$@"
