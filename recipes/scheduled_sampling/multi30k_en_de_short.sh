#!/usr/bin/env bash
# As multi30k_en_de_to_0.sh, but trained on the pairs of up to 15 symbols a side alone, to see how
# test sentences are translated that are longer than any of the training.
#   recipes/scheduled_sampling/multi30k_en_de_short.sh VARIANT [DATA]
# Environment: see translation.sh.

source "$(dirname "${BASH_SOURCE[0]}")/translation.sh"

corpus=multi30k
preparation=(--max-length 15)
languages=(--source-lang en --target-lang de)
description="Multi30k, training pairs of up to 15 symbols, joint BPE; valid, test_2016_flickr"
scale=reduced
updates=4100 warmup=3500 decay_end=4100

run "$@"
