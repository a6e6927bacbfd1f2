"""Clipped objective of PPO for controllers of options."""

from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from fairseq import utils
from fairseq.criterions import FairseqCriterion, register_criterion
from fairseq.dataclass import FairseqDataclass
from fairseq.logging import metrics
from torch import Tensor

from fairseq_struct.criterions.shared.strict_criterion import StrictCriterion
from fairseq_struct.criterions.shared.sums import log_mean, total
from fairseq_struct.errors import InputError
from fairseq_struct.option_checks import values_at_least

# Shown as means over decisions.
OF_DECISIONS = ("policy_loss", "value_loss", "entropy", "clipped", "divergence", "option_length")
# Shown as means over episodes.
OF_EPISODES = ("return", "success", "steps")


class ClippedLosses(NamedTuple):
    """Sums over decisions, in nats or squared returns; the last two tell how far the policy moved.

    Args:
        policy: -sum_k min(r_k A_k, clip(r_k, 1 - c, 1 + c) A_k), r_k the ratio of probabilities.
        value: sum_k (V_k - R_k)^2.
        entropy: sum_k H(p^c_k).
        clipped: number of decisions with r_k outside [1 - c, 1 + c].
        divergence: sum_k r_k - 1 - log r_k, which estimates KL(old || new) (Schulman 2020).
    """

    policy: Tensor
    value: Tensor
    entropy: Tensor
    clipped: Tensor
    divergence: Tensor


def clipped_losses(
    log_probabilities: Tensor, values: Tensor, options: Tensor, old_log_probabilities: Tensor,
    advantages: Tensor, returns: Tensor, clip: float,
) -> ClippedLosses:  # fmt: skip
    """Parts of the objective of PPO.

    Source: Schulman et al. 2017 (Proximal Policy Optimization Algorithms), equations 7 and 9.

    Args:
        log_probabilities: (..., options) log p^c of the present controller.
        values: (...) its estimated returns.
        options: (...) the options that were chosen.
        old_log_probabilities: (...) their log-probabilities then.
        advantages, returns: (...).
        clip: c.
    """
    chosen = log_probabilities.gather(-1, options.unsqueeze(-1)).squeeze(-1)
    moved = chosen - old_log_probabilities
    ratio = moved.exp()
    bounded = ratio.clamp(1 - clip, 1 + clip)
    entropy = -(log_probabilities.exp() * log_probabilities).sum(-1)
    return ClippedLosses(
        policy=-torch.minimum(ratio * advantages, bounded * advantages).sum(),
        value=(values - returns).square().sum(),
        entropy=entropy.sum(),
        clipped=((ratio - 1).abs() > clip).sum(),
        divergence=(ratio - 1 - moved).sum(),
    )


@dataclass
class CraftReinforcementConfig(FairseqDataclass):
    """Options of the criterion; Shen's thesis states none of them."""

    clip: float = field(
        default=0.2,
        metadata={"help": "c: ratios of probabilities beyond 1 - c and 1 + c have no gradient"},
    )
    value_weight: float = field(
        default=0.5, metadata={"help": "weight of the squared error of estimated returns"}
    )
    entropy_weight: float = field(
        default=0.01, metadata={"help": "weight of the entropy of the controller's choices"}
    )


@register_criterion("craft_reinforcement", dataclass=CraftReinforcementConfig)
class CraftReinforcementCriterion(StrictCriterion, FairseqCriterion):
    """PPO's loss of decisions: policy + w_v value - w_e entropy, summed; fairseq takes the mean.

    Source: algorithm 4, line 12 (Shen's thesis, chapter 5), and :func:`clipped_losses`. Logged
    while training are the parts, per decision: ``policy_loss``, ``value_loss``, ``entropy`` (nats),
    ``clipped`` (%), ``divergence`` (nats), ``option_length`` (steps of the environment). With the
    first minibatch of every rollout there are also, of the episodes that ended in it, ``return``
    (as paid), ``success`` (%) and ``steps``, and ``environment_steps``, of all workers since
    training began. In validation there are those of its episodes; its ``loss`` is minus the return.

    Args:
        task: the task.
        clip, value_weight, entropy_weight: see the options.

    Raises:
        InputError: an option is out of range.
    """

    own_task = "craft_reinforcement"

    def __init__(self, task, clip: float, value_weight: float, entropy_weight: float):
        super().__init__(task)
        if not 0 < clip < 1:
            raise InputError(f"--clip must be between 0 and 1, not {clip}")
        values_at_least(0, value_weight=value_weight, entropy_weight=entropy_weight)
        self.clip, self.value_weight, self.entropy_weight = clip, value_weight, entropy_weight

    def forward(self, model, sample: dict, reduce: bool = True):
        """Loss, number of decisions, and logged values of one minibatch."""
        output = model(**sample["net_input"])
        parts = clipped_losses(output.log_probabilities, output.values, **sample["decisions"],
                               clip=self.clip)  # fmt: skip
        loss = parts.policy + self.value_weight * parts.value - self.entropy_weight * parts.entropy
        count = sample["ntokens"]
        logged = {
            "loss": loss.detach(),
            "policy_loss": parts.policy.detach(),
            "value_loss": parts.value.detach(),
            "entropy": parts.entropy.detach(),
            "clipped": 100 * parts.clipped,
            "divergence": parts.divergence.detach(),
            "option_length": sample["option_length"],
            "ntokens": count,
            "nsentences": sample["nsentences"],
            "sample_size": count,
        }
        return loss, count, logged | sample["episodes"]

    @classmethod
    def reduce_metrics(cls, logging_outputs: list[dict]):
        """Log means over all decisions, and over all episodes."""
        names = "sample_size", "episodes", "rollouts"
        count, episodes, rollouts = (utils.item(total(logging_outputs, name)) for name in names)
        for name in ("loss", *OF_DECISIONS):
            log_mean(logging_outputs, name, count)
        if episodes:
            for name in OF_EPISODES:
                log_mean(logging_outputs, name, episodes)
        if rollouts:  # all workers know the same number
            steps = utils.item(total(logging_outputs, "environment_steps")) / rollouts
            metrics.log_scalar("environment_steps", steps, weight=0, round=0)
