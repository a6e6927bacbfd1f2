#!/usr/bin/env bash
# Multi30k English-German with Transformer-Tiny (Wu et al., 2021), short enough for a CPU: one
# row of table 3.2 of Mihaylova's thesis.
#   recipes/scheduled_sampling/multi30k_en_de.sh VARIANT [DATA]
# DATA is the folder with train.{en,de}, val.{en,de} and test_2016_flickr.{en,de}, needed only for
# the first run. Environment: see translation.sh.

source "$(dirname "${BASH_SOURCE[0]}")/translation.sh"

corpus=multi30k
languages=(--source-lang en --target-lang de)
description="Multi30k, 29,000 training pairs, joint BPE of 10,000 merges; valid, test_2016_flickr"
scale=reduced
updates=4100 warmup=3500 decay_end=5500

run "$@"
