#!/usr/bin/env bash
# IWSLT 2017 German-English in the paper's setting (table 3.1): one row of table 3.2.
#   recipes/scheduled_sampling/iwslt17_de_en.sh VARIANT DATA
# DATA is the folder de-en as the organisers distribute it (train.tags.de-en.de, ….xml).
# Meant for a GPU: 300,000 updates.

experiment=iwslt17_de_en
corpus=iwslt17_de_en
source_lang=de
target_lang=en
scale=paper
description="IWSLT17 de-en, joint BPE of 32,000 merges; dev2010, tst2010-2015"
default_updates=300000
default_warmup=0
# shellcheck source=common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

setting=(--arch scheduled_sampling_transformer_iwslt_de_en "${paper_setting[@]}")

run "$@"
