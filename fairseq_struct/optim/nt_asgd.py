"""NT-ASGD: SGD that averages its weights once the validation loss gets worse."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from fairseq.dataclass import FairseqDataclass
from fairseq.optim import FairseqOptimizer, register_optimizer
from omegaconf import II

from fairseq_struct.errors import InputError
from fairseq_struct.option_checks import require_at_least


class AveragedSGD(torch.optim.SGD):
    """SGD that can keep the running mean of its weights (Polyak and Juditsky, 1992).

    The mean is over the weights after each step. SGD continues on the weights themselves;
    :meth:`use_average` temporarily exchanges them for the mean. ``state_dict`` holds both.
    """

    def start(self):
        """Start to average with the next step; a second call has no effect."""
        for group in self.param_groups:
            group.setdefault("averaged", 0)

    @torch.no_grad()
    def step(self, closure=None):
        """Take one step of SGD and update the averages."""
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
        """Exchange weights and averages so that the averages are in use, or not.

        Without averages it has no effect.

        Args:
            wanted: whether the averages are to be used as weights.
        """
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
            "help": "start to average the weights when a validation loss is above the smallest of "
            "the losses that are more than this many validations old"
        },
    )
    lr: list[float] = II("optimization.lr")


@register_optimizer("nt_asgd", dataclass=NTASGDConfig)
class NTASGD(FairseqOptimizer):
    """SGD that averages its weights once validation gets worse (Merity et al., 2018, algorithm 1).

    ``--task recurrent_language_modeling`` starts the averaging (:meth:`validated`). Its
    validations, and checkpoints written after a validation, use the averages. Training continues
    from the weights that are not averaged.

    Raises:
        InputError: the interval is below 1.
    """

    def __init__(self, cfg: NTASGDConfig, params):
        super().__init__(cfg)
        require_at_least(cfg, 1, "non_monotone_interval")
        self._optimizer = AveragedSGD(list(params), lr=cfg.lr[0], weight_decay=cfg.weight_decay)

    @staticmethod
    def check_task(task, cfg):
        """Refuse, before training, a task, a precision or a run without averaging.

        Args:
            task: fairseq's task.
            cfg: fairseq's configuration of a run.

        Raises:
            InputError: the task does not start the averaging, training is in half precision, or
                there is no validation, which tells when to start.
        """
        common = getattr(cfg, "common", cfg)  # Python callers may pass a namespace
        if not getattr(task, "averages", False):
            raise InputError("--optimizer nt_asgd needs --task recurrent_language_modeling")
        if any(getattr(common, name, False) for name in ("fp16", "bf16", "amp")):
            raise InputError("--optimizer nt_asgd needs float32: no --fp16, --bf16 or --amp")
        if common is not cfg and cfg.dataset.disable_validation:
            raise InputError(
                "--optimizer nt_asgd starts to average when validation gets worse: drop "
                "--disable-validation"
            )

    @property
    def optimizer_config(self) -> dict:
        """Options that a resumed run may change."""
        return {"lr": self.cfg.lr[0], "weight_decay": self.cfg.weight_decay}

    def validated(self, losses: Sequence[float]):
        """Start to average if the last validation loss meets the criterion.

        Args:
            losses: losses of all validations so far.
        """
        earlier = losses[: -self.cfg.non_monotone_interval - 1]
        if earlier and losses[-1] > min(earlier):
            self._optimizer.start()

    def use_average(self, wanted: bool):
        """Exchange weights and averages: see :meth:`AveragedSGD.use_average`."""
        self._optimizer.use_average(wanted)
