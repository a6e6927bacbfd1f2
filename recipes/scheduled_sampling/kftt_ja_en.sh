#!/usr/bin/env bash
# KFTT Japanese-English in the setting of Mihaylova's thesis (table 3.1): one row of table 3.2.
#   recipes/scheduled_sampling/kftt_ja_en.sh VARIANT [DATA]
# DATA is the folder kftt-data-1.0 as its owners distribute it, needed only for the first run.
# Needs a GPU: 300,000 updates. Environment: see translation.sh.

source "$(dirname "${BASH_SOURCE[0]}")/translation.sh"

corpus=kftt_ja_en
languages=(--source-lang ja --target-lang en)
description="KFTT 1.0, joint BPE of 32,000 merges on the tokenised text; dev, test"
preset=scheduled_sampling_transformer_kftt_ja_en
updates=300000 warmup=0 decay_end=300000

run "$@"
