#!/usr/bin/env bash
# Entailment on SNLI with latent trees (Mihaylova's thesis, table 4.2).
#   recipes/latent_tree/snli.sh METHOD [DATA]
# DATA is a folder of snli_1.0_{train,dev,test}.jsonl; it is needed once.
# The methods and environment variables are explained in methods.sh.

source "$(dirname "${BASH_SOURCE[0]}")/methods.sh"

experiment snli latent_tree_entailment_snli 64 "$@"
