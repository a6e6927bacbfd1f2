"""PPO's objective against a loop over decisions, and stored values of stable-baselines3 2.9.2."""

import math

import numpy as np
import pytest
import torch

from fairseq_struct.criterions.craft_reinforcement import clipped_losses

CLIP = 0.2
# Probabilities of three options in four decisions, the options chosen, and their log-probabilities
# when they were chosen; ratios are within the bounds and beyond both, at advantages of both signs.
CHANCES = np.array([[0.5, 0.3, 0.2], [0.1, 0.6, 0.3], [0.25, 0.25, 0.5], [0.7, 0.2, 0.1]])
OPTIONS = np.array([0, 1, 2, 1])
OLD = np.log([0.45, 0.3, 0.8, 0.4])
ADVANTAGES = np.array([0.5, 1.5, 2.0, -1.0])
VALUES, RETURNS = np.array([0.1, 0.7, -0.4, 0.9]), np.array([0.0, 1.0, 0.5, 0.2])
# Logged by its PPO.train: means over decisions, of the policy's gradient loss, the value's loss,
# the share of clipped ratios, and the approximate divergence.
STORED = {"policy": -0.7013889, "value": 0.3500000, "clipped": 0.75, "divergence": 0.1501886}


def losses(**changed) -> dict[str, float]:
    given = {
        "log_probabilities": np.log(CHANCES), "values": VALUES, "options": OPTIONS,
        "old_log_probabilities": OLD, "advantages": ADVANTAGES, "returns": RETURNS,
    } | changed  # fmt: skip
    tensors = {name: torch.tensor(value) for name, value in given.items()}
    found = clipped_losses(**tensors, clip=CLIP)
    return {name: value.item() for name, value in found._asdict().items()}


def test_parts_are_those_of_the_library():
    found = losses()
    for name, value in STORED.items():
        assert found[name] / 4 == pytest.approx(value, abs=1e-6), name


def test_parts_are_those_of_a_loop():
    expected = dict.fromkeys(("policy", "value", "entropy", "clipped", "divergence"), 0.0)
    for k in range(4):
        ratio = CHANCES[k, OPTIONS[k]] / math.exp(OLD[k])
        bounded = min(max(ratio, 1 - CLIP), 1 + CLIP)
        expected["policy"] -= min(ratio * ADVANTAGES[k], bounded * ADVANTAGES[k])
        expected["value"] += (VALUES[k] - RETURNS[k]) ** 2
        expected["entropy"] -= sum(p * math.log(p) for p in CHANCES[k])
        expected["clipped"] += abs(ratio - 1) > CLIP
        expected["divergence"] += ratio - 1 - math.log(ratio)
    found = losses()
    assert found == pytest.approx(expected)


def test_an_unmoved_policy_has_the_gradient_of_the_plain_objective():
    """At ratios of 1, d policy / d log p of the chosen option is -A."""
    logs = torch.tensor(np.log(CHANCES), requires_grad=True)
    old = logs.detach().gather(1, torch.tensor(OPTIONS)[:, None])[:, 0]
    parts = clipped_losses(
        logs, torch.tensor(VALUES), torch.tensor(OPTIONS), old, torch.tensor(ADVANTAGES),
        torch.tensor(RETURNS), CLIP,
    )  # fmt: skip
    parts.policy.backward()
    expected = np.zeros_like(CHANCES)
    expected[np.arange(4), OPTIONS] = -ADVANTAGES
    np.testing.assert_allclose(logs.grad.numpy(), expected)
    assert parts.clipped == 0 and parts.divergence.abs() < 1e-12


def test_the_library_itself_agrees():
    library = pytest.importorskip("stable_baselines3")
    from stable_baselines3.common.logger import Logger

    model = library.PPO(
        "MlpPolicy", "CartPole-v1", n_steps=4, batch_size=4, n_epochs=1, clip_range=CLIP,
        normalize_advantage=False, device="cpu",
    )  # fmt: skip
    buffer = model.rollout_buffer
    buffer.reset()
    for k in range(4):
        buffer.add(
            np.zeros((1, 4)), OPTIONS[k : k + 1, None], np.zeros(1), np.zeros(1),
            torch.tensor(VALUES[k : k + 1]), torch.tensor(OLD[k : k + 1]),
        )  # fmt: skip
    buffer.advantages, buffer.returns = ADVANTAGES[:, None], RETURNS[:, None]

    def evaluate(observations, actions):
        places = torch.tensor([np.argmin(abs(OLD - one)) for one in order[-1].numpy()])
        chances, values = torch.tensor(CHANCES)[places], torch.tensor(VALUES)[places]
        logs = chances.log().gather(1, actions.view(-1, 1).long())[:, 0].requires_grad_()
        return values[:, None].requires_grad_(), logs, None

    order = []
    get = buffer._get_samples

    def remembered(*arguments):
        found = get(*arguments)
        order.append(found.old_log_prob)
        return found

    buffer._get_samples, model.policy.evaluate_actions = remembered, evaluate
    model._logger = Logger(None, [])
    model.train()
    logged = model.logger.name_to_value
    names = {"policy": "policy_gradient_loss", "value": "value_loss", "clipped": "clip_fraction",
             "divergence": "approx_kl"}  # fmt: skip
    for name, theirs in names.items():
        assert logged[f"train/{theirs}"] == pytest.approx(STORED[name], abs=1e-6), name
