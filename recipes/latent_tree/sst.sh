#!/usr/bin/env bash
# Sentiment on SST, two labels, with latent trees (Mihaylova's thesis, table 4.2).
#   recipes/latent_tree/sst.sh METHOD [DATA]
# DATA is a folder of train.tsv, dev.tsv, test.tsv (sentence TAB label); it is needed once.
# The methods and environment variables are explained in methods.sh.

source "$(dirname "${BASH_SOURCE[0]}")/methods.sh"

experiment sst latent_tree_classifier_sst 32 "$@"
