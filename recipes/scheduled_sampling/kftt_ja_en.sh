#!/usr/bin/env bash
# KFTT Japanese-English in the paper's setting (table 3.1): one row of table 3.2.
#   recipes/scheduled_sampling/kftt_ja_en.sh VARIANT DATA
# DATA is the folder kftt-data-1.0 as its owners distribute it.
# Meant for a GPU: 300,000 updates.

experiment=kftt_ja_en
corpus=kftt_ja_en
source_lang=ja
target_lang=en
scale=paper
description="KFTT 1.0, joint BPE of 32,000 merges on the tokenised text; dev, test"
default_updates=300000
default_warmup=0
# shellcheck source=common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

setting=(--arch scheduled_sampling_transformer_kftt_ja_en "${paper_setting[@]}")

run "$@"
