"""Rollouts and their minibatches, without a trainer."""

import numpy as np
import pytest
import torch
from torch import nn

from fairseq_struct.environments.craft_rules import CraftOptions
from fairseq_struct.environments.craft_worlds import CraftWorlds
from fairseq_struct.environments.rollouts.actors import Actors
from fairseq_struct.modules.option_controller.policy import ActingPolicy, OptionPolicy
from fairseq_struct.tasks.shared.practice import Practice

CRAFT = CraftOptions("A", size=5, kinds="A", time_limit=7)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.policy = OptionPolicy(None, CRAFT.observation_size, CRAFT.action_count, 4, 6)

    def acting(self, count):
        return ActingPolicy(self.policy, count)


@pytest.fixture
def model():
    return Model()


def practice_of(model, actors=4, decisions=5):
    settings = {"actors": actors, "decisions": decisions}
    worlds = CraftWorlds(CRAFT, actors)
    return Practice(Actors(worlds, seed=1), model, decisions, 2, minibatches=2, settings=settings)


def maps_of(practice):
    """Observations with which episodes began in the rollout."""
    rollout = practice.rollout
    return {seen.tobytes() for seen in rollout["observations"][rollout["starts"]]}


def test_every_use_of_a_rollout_takes_each_actor_once(model):
    practice = practice_of(model)
    batches = [practice.minibatch(model) for _ in range(8)]
    assert [batch["episodes"]["rollouts"] for batch in batches] == [1, 0, 0, 0] * 2
    uses = [np.concatenate([batch["decisions"]["returns"] for batch in batches[k : k + 2]])
            for k in range(0, 8, 2)]  # fmt: skip
    in_order = [sorted(map(tuple, use.tolist())) for use in uses]
    assert in_order[0] == in_order[1] != in_order[2] == in_order[3]
    both = torch.cat([batch["decisions"]["advantages"] for batch in batches[:2]])
    assert both.mean() == pytest.approx(0, abs=1e-6)
    assert both.std(correction=0) == pytest.approx(1, abs=1e-5)


def test_another_number_of_workers_begins_episodes_that_were_not_there(model):
    whole, known = practice_of(model), set()
    for _ in range(8):
        whole.minibatch(model)
        known |= maps_of(whole)
    state = whole.state()
    other = practice_of(model)
    other.load_state(state | {"workers": state["workers"] * 2})
    assert other.minibatch(model)["episodes"]["environment_steps"] == state["steps"] + 20
    assert other.rollout["starts"][:, 0].all() and maps_of(other).isdisjoint(known)
    assert other.actors.rollouts == 3


@pytest.mark.parametrize("changed", [{"actors": 6}, {"decisions": 3}])
def test_a_rollout_of_other_settings_is_not_used(model, changed, caplog):
    whole = practice_of(model)
    whole.minibatch(model)
    known, state = maps_of(whole), whole.state()
    other = practice_of(model, **changed)
    other.load_state(state)
    batch = other.minibatch(model)
    (name,) = changed
    assert f"the checkpoint is of --{name} {state['settings'][name]}: new" in caplog.text
    assert batch["net_input"]["observations"].shape[:2] == (
        other.actors.count // 2,
        other.decisions,
    )
    assert batch["episodes"]["environment_steps"] > state["steps"]
    assert maps_of(other).isdisjoint(known)
