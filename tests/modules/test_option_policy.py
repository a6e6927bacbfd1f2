"""A controller over options says of its decisions what it said when it made them."""

import pytest
import torch

from fairseq_struct.environments.craft_rules import CraftOptions
from fairseq_struct.environments.craft_worlds import CraftWorlds
from fairseq_struct.environments.rollouts.actors import Actors
from fairseq_struct.modules.option_controller import CellSizes, OptionPool
from fairseq_struct.modules.option_controller.latent_options import LatentOptions
from fairseq_struct.modules.option_controller.options import merge
from fairseq_struct.modules.option_controller.policy import ActingPolicy, OptionPolicy

CRAFT = CraftOptions("A", size=5, kinds="AB", time_limit=6)
SIZES = CRAFT.observation_size, CRAFT.action_count


def pools(count=3):
    return {
        "cells": OptionPool.of(count, CellSizes(*SIZES, 4, 8)),
        "experts": OptionPool.of(count, CellSizes(*SIZES, 0, 8, ends=False)),
        "latents": LatentOptions(*SIZES, count, 8),
        "joined": merge([LatentOptions(*SIZES, 1, 8), LatentOptions(*SIZES, 2, 8)]),
        "actions": None,
    }


def check_rollouts(policy, tolerance=1e-6):
    """Several rollouts, between which the controller learns something."""
    acting = ActingPolicy(policy, 12)
    actors = Actors(CraftWorlds(CRAFT, 12), seed=1)
    begun = goes_on = 0
    for _ in range(4):
        before = acting.states.clone()
        rollout, _ = actors.run(acting, 3)
        seen, starts, options, logs = map(
            torch.from_numpy,
            (rollout.observations, rollout.starts, rollout.options, rollout.log_probabilities),
        )
        with torch.no_grad():
            found = policy(seen, starts, before).log_probabilities
            for parameter in policy.controller.parameters():
                parameter.add_(0.3 * torch.randn_like(parameter))
        chosen = found.gather(-1, options[..., None])[..., 0]
        torch.testing.assert_close(chosen, logs, atol=tolerance, rtol=tolerance)
        begun += starts[:, 0].sum()
        goes_on += (~starts[:, 0]).sum()
    assert begun > 12 and goes_on > 0


@pytest.mark.parametrize("name", pools())
def test_decisions_are_those_of_the_present_controller(name):
    """Also where an episode begins whose map was drawn before the controller learned."""
    torch.manual_seed(1)
    check_rollouts(OptionPolicy(pools()[name], *SIZES, 8, 8, temperature=1.0))


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", pools())
def test_acting_in_half_precision(name, kind):
    torch.manual_seed(1)
    policy = OptionPolicy(pools()[name], *SIZES, 8, 8, temperature=1.0).to(kind)
    check_rollouts(policy, tolerance=0.1)


def test_one_option_is_chosen_with_certainty():
    torch.manual_seed(1)
    policy = OptionPolicy(pools(1)["cells"], *SIZES, 8, 8)
    rollout, _ = Actors(CraftWorlds(CRAFT, 3), seed=1).run(ActingPolicy(policy, 3), 4)
    assert not rollout.log_probabilities.any() and not rollout.options.any()
