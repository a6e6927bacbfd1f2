#!/usr/bin/env bash
# Transfer from one model (S1; section 5.3.1 of Shen's thesis, figures 16 and 19).
#   recipes/option_controller/s1.sh VARIANT [TASK REWARD]
# Without TASK, VARIANT imitates demonstrations of AC, CD and DA with 3 options: ocn; ocn_t1
# (temperature 1); moe, a mixture of experts, which chooses anew at every step; ompn; or compile.
# With TASK (ADC, CAD or DCA) and REWARD (sparse or dense), a new controller learns the task by PPO
# over the frozen options of ocn, ocn_t1, moe or compile; over those of the best of five imitations by
# validation loss, ocn_selected or moe_selected; or over none, ppo. OMPN has none to reuse. bot
# (shortest ways) and random learn nothing. The environment is explained in policies.sh.

source "$(dirname "${BASH_SOURCE[0]}")/policies.sh"

transfer s1 3 AC,CD,DA -- ADC CAD DCA -- "$@"
