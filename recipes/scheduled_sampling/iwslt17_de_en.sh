#!/usr/bin/env bash
# IWSLT 2017 German-English in the setting of Mihaylova's thesis (table 3.1): one row of table 3.2.
#   recipes/scheduled_sampling/iwslt17_de_en.sh VARIANT [DATA]
# DATA is the folder de-en as the organisers distribute it (train.tags.de-en.de, ….xml), needed only
# for the first run. Needs a GPU: 300,000 updates. Environment: see translation.sh.

source "$(dirname "${BASH_SOURCE[0]}")/translation.sh"

corpus=iwslt17_de_en
languages=(--source-lang de --target-lang en)
description="IWSLT17 de-en, joint BPE of 32,000 merges; dev2010, tst2010-2015"
preset=scheduled_sampling_transformer_iwslt_de_en
updates=300000 warmup=0 decay_end=300000

run "$@"
