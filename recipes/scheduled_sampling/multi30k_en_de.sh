#!/usr/bin/env bash
# Multi30k English-German with Transformer-Tiny (Wu et al., 2021), short enough for a CPU: one
# row of table 3.2.
#   recipes/scheduled_sampling/multi30k_en_de.sh VARIANT DATA
# DATA is the folder that holds train.{en,de}, val.{en,de} and test_2016_flickr.{en,de}.

experiment=multi30k_en_de
corpus=multi30k
source_lang=en
target_lang=de
scale=reduced
description="Multi30k, 29,000 training pairs, joint BPE of 10,000 merges; valid, test_2016_flickr"
default_updates=4100
default_warmup=3500
default_decay_end=5500
# shellcheck source=common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

run "$@"
