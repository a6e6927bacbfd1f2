#!/usr/bin/env bash
# Transfer from two models, whose options are merged (S2; section 5.3.2 and figure 17 of Shen's
# thesis).
#   recipes/option_controller/s2.sh VARIANT [TASK REWARD]
# Without TASK, two models with 2 options each imitate demonstrations of AB and BA, and of CD and
# DC. With TASK (BADC, ACBD or CABD) and REWARD (sparse or dense), a new controller learns the task
# over the four frozen options of both. VARIANTs are those of s1.sh; the environment is explained in
# policies.sh.

source "$(dirname "${BASH_SOURCE[0]}")/policies.sh"

transfer s2 2 AB,BA CD,DC -- BADC ACBD CABD -- "$@"
