#!/usr/bin/env bash
# Multi30k English-German with the thesis's network, the base Transformer, and its schedule: from the
# first update to the last, the probability of the gold word falls to 0. One row of table 3.2 of
# Mihaylova's thesis in some minutes of a GPU.
#   recipes/scheduled_sampling/multi30k_en_de_base.sh VARIANT [DATA]
# DATA is as for multi30k_en_de.sh. Environment: see translation.sh.

source "$(dirname "${BASH_SOURCE[0]}")/translation.sh"

corpus=multi30k
languages=(--source-lang en --target-lang de)
description="Multi30k, 29,000 training pairs, joint BPE of 10,000 merges; valid, test_2016_flickr"
scale=reduced
preset=scheduled_sampling_transformer training=(--dropout 0.3 --warmup-updates 800)
updates=3000 warmup=0 decay_end=3000
[ -n "$every" ] || every=4

run "$@"
