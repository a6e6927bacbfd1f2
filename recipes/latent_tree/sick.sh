#!/usr/bin/env bash
# Entailment on SICK with latent trees (not in Mihaylova's thesis; models and rows of table 4.2).
#   recipes/latent_tree/sick.sh METHOD [DATA]
# DATA is a folder of SICK_train.txt, SICK_trial.txt, SICK_test_annotated.txt; it is needed once.
# The methods and environment variables are explained in methods.sh.

source "$(dirname "${BASH_SOURCE[0]}")/methods.sh"

experiment sick latent_tree_entailment_snli 64 "$@"
