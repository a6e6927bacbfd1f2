"""A constant learning rate, and the point from which weights are averaged (NT-ASGD)."""

from dataclasses import dataclass, field

from fairseq.dataclass import FairseqDataclass
from fairseq.optim.lr_scheduler import FairseqLRScheduler, register_lr_scheduler
from omegaconf import II

from fairseq_struct.errors import InputError


@dataclass
class NonMonotoneConfig(FairseqDataclass):
    """Options of :class:`NonMonotone`."""

    non_monotone_interval: int = field(
        default=5,
        metadata={
            "help": "average weights as soon as the validation loss is above the best of those "
            "that are more than so many validations old"
        },
    )
    lr: list[float] = II("optimization.lr")


@register_lr_scheduler("non_monotone", dataclass=NonMonotoneConfig)
class NonMonotone(FairseqLRScheduler):
    """The non-monotonic trigger of NT-ASGD (Merity et al., 2018, algorithm 1), for epochs.

    Averaging begins when the validation loss is above the least one of all epochs but the last n.

    Raises:
        InputError: the optimizer keeps no averages, or the interval is below 1.
    """

    def __init__(self, cfg: NonMonotoneConfig, optimizer):
        super().__init__(cfg, optimizer)
        inner = getattr(optimizer, "fp32_optimizer", optimizer)
        if not hasattr(inner, "start_averaging"):
            raise InputError("--lr-scheduler non_monotone needs --optimizer averaged_sgd")
        if cfg.non_monotone_interval < 1:
            raise InputError("--non-monotone-interval must be 1 or more")
        self._inner = inner
        self._losses: list[float] = []
        self.optimizer.set_lr(cfg.lr[0])

    def step(self, epoch: int, val_loss: float | None = None) -> float:
        """Look at the validation loss at an epoch's end."""
        super().step(epoch, val_loss)
        if val_loss is not None:
            earlier = self._losses[: -self.cfg.non_monotone_interval]
            if earlier and val_loss > min(earlier):
                self._inner.start_averaging()
            self._losses.append(float(val_loss))
        return self.optimizer.get_lr()

    def step_update(self, num_updates: int) -> float:
        """The rate, which stays."""
        return self.optimizer.get_lr()

    def state_dict(self) -> dict:
        """The losses so far."""
        return {"best": self.best, "losses": list(self._losses)}

    def load_state_dict(self, state_dict: dict):
        """Go on from them."""
        self.best = state_dict["best"]
        self._losses = list(state_dict["losses"])
