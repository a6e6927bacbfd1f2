"""NT-ASGD: SGD whose weights are averaged from the point on where validation gets worse."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from fairseq.dataclass import FairseqDataclass
from fairseq.optim import FairseqOptimizer, register_optimizer
from omegaconf import II

from fairseq_struct.errors import InputError


class AveragedSGD(torch.optim.SGD):
    """SGD that can keep the mean of its weights after every step (Polyak, Juditsky, 1992).

    Its own weights go on as those of SGD; :meth:`use_average` puts the mean in their place for a
    while. All of it is in ``state_dict``.
    """

    def start(self):
        """Average from the next step on; again is nothing."""
        for group in self.param_groups:
            group.setdefault("averaged", 0)

    @torch.no_grad()
    def step(self, closure=None):
        """One step of SGD, and of the averages."""
        loss = super().step(closure)
        for group in self.param_groups:
            if "averaged" not in group:
                continue
            group["averaged"] += 1
            for weight in group["params"]:
                state = self.state[weight]
                if "average" not in state:
                    state["average"] = weight.clone()
                else:
                    state["average"].lerp_(weight, 1 / group["averaged"])
        return loss

    @torch.no_grad()
    def use_average(self, wanted: bool):
        """Whether the weights shall be the averages; does nothing without any."""
        for group in self.param_groups:
            if not group.get("averaged") or group.get("swapped", False) == wanted:
                continue
            group["swapped"] = wanted
            for weight in group["params"]:
                state = self.state[weight]
                if "average" in state:
                    raw = weight.clone()
                    weight.copy_(state["average"])
                    state["average"] = raw


@dataclass
class NTASGDConfig(FairseqDataclass):
    """Options of NT-ASGD."""

    weight_decay: float = field(default=1.2e-6, metadata={"help": "weight decay"})
    non_monotone_interval: int = field(
        default=5,
        metadata={
            "help": "average weights as soon as a validation loss is above the least one of those "
            "that are more than so many validations old"
        },
    )
    lr: list[float] = II("optimization.lr")


@register_optimizer("nt_asgd", dataclass=NTASGDConfig)
class NTASGD(FairseqOptimizer):
    """SGD whose weights are averaged once validation gets worse (Merity et al., 2018, algorithm 1).

    ``--task recurrent_language_modeling`` says when (:meth:`validated`). Its validations, and the
    checkpoints that are written after one, have the averages, while training goes on from its own
    weights.

    Raises:
        InputError: the interval is below 1.
    """

    def __init__(self, cfg: NTASGDConfig, params):
        super().__init__(cfg)
        if cfg.non_monotone_interval < 1:
            raise InputError("--non-monotone-interval must be 1 or more")
        self._optimizer = AveragedSGD(list(params), lr=cfg.lr[0], weight_decay=cfg.weight_decay)

    @staticmethod
    def check_task(task, common):
        """Refuse what averages would never be made in, before training begins.

        Args:
            task: fairseq's task.
            common: fairseq's options of that group.

        Raises:
            InputError: the task does not say when to average, or training is in half precision.
        """
        if not getattr(task, "averages", False):
            raise InputError("--optimizer nt_asgd needs --task recurrent_language_modeling")
        if any(getattr(common, name, False) for name in ("fp16", "bf16", "amp")):
            raise InputError("--optimizer nt_asgd needs float32: no --fp16, --bf16 or --amp")

    @property
    def optimizer_config(self) -> dict:
        """What a resumed run may change."""
        return {"lr": self.cfg.lr[0], "weight_decay": self.cfg.weight_decay}

    def validated(self, losses: Sequence[float]):
        """Start to average if it is time.

        Args:
            losses: of all validations so far.
        """
        earlier = losses[: -self.cfg.non_monotone_interval - 1]
        if earlier and losses[-1] > min(earlier):
            self._optimizer.start()

    def use_average(self, wanted: bool):
        """Exchange weights and averages."""
        self._optimizer.use_average(wanted)
