"""SGD whose weights are averaged from some point on (the ASGD of NT-ASGD)."""

from dataclasses import dataclass, field

import torch
from fairseq.dataclass import FairseqDataclass
from fairseq.optim import FairseqOptimizer, register_optimizer
from omegaconf import II


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
class AveragedSGDConfig(FairseqDataclass):
    """Options of :class:`AveragedSGD`; ``--lr-scheduler non_monotone`` says from when on."""

    weight_decay: float = field(default=1.2e-6, metadata={"help": "weight decay"})
    lr: list[float] = II("optimization.lr")


@register_optimizer("averaged_sgd", dataclass=AveragedSGDConfig)
class FairseqAveragedSGD(FairseqOptimizer):
    """SGD without momentum, whose weights are averaged once :meth:`start_averaging` was called.

    With ``--task recurrent_language_modeling``, validation and the checkpoints after it have the
    averages, and training goes on from its own weights.
    """

    def __init__(self, cfg: AveragedSGDConfig, params):
        super().__init__(cfg)
        self._optimizer = AveragedSGD(list(params), lr=cfg.lr[0], weight_decay=cfg.weight_decay)

    @property
    def optimizer_config(self) -> dict:
        """What a resumed run may change."""
        return {"lr": self.cfg.lr[0], "weight_decay": self.cfg.weight_decay}

    def start_averaging(self):
        """Average from the next step on."""
        self._optimizer.start()

    def use_average(self, wanted: bool):
        """Exchange weights and averages."""
        self._optimizer.use_average(wanted)
