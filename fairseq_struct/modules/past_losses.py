"""The mean of past losses that the score function estimator compares a loss with."""

from collections.abc import Callable

import torch
from torch import Tensor

from fairseq_struct.modules.workers import sum_over_workers


def unknown_loss() -> Tensor:
    """An average before there was a loss: NaN, in float64."""
    return torch.full((), torch.nan, dtype=torch.float64)


class PastLosses:
    """A moving average of losses, update by update: b <- d b + (1 - d) (mean loss of the update).

    All batches of an update, those of other workers too, count by their instances and are compared
    with the b before it, so that it makes no difference how an update's instances are cut into
    batches and given to workers. In the first update, which has nothing before it, each batch is
    compared with its own mean.

    A loss counts when it is differentiated, and then all workers wait for one another; one whose
    gradient is 0, as that of the batches that fairseq makes up for workers without one, or that is
    not finite does not count.

    Args:
        decay: d.
    """

    def __init__(self, decay: float = 0.99):
        self.decay = decay
        self._update: int | None = None  # the present one; None where nobody counts them
        self._before: Tensor | None = None  # b before it
        self._sums = None  # of its losses, and their number
        self._losses: Tensor | None = None  # of the present batch

    def set_num_updates(self, number: int):
        """Say how many updates are finished; without it, every batch is one."""
        if number != self._update:
            self._update, self._before = number, None

    def before(self, average: Tensor) -> Callable[[Tensor], Tensor]:
        """What gives the number to compare a batch's losses (batch,) with.

        Args:
            average: b now.
        """

        def compared(losses: Tensor) -> Tensor:
            self._losses = losses.detach().double()
            return torch.where(before.isnan(), self._losses.mean(), before).to(losses.dtype)

        if self._before is None:
            self._before = average.detach().clone().double()
            self._sums = self._before.new_zeros(2)
        before = self._before
        return compared

    def count(self, differentiated: Tensor, average: Tensor):
        """Let the batch's losses count when what is made of them is differentiated.

        Args:
            differentiated: (batch,), with a gradient by each loss.
            average: b, which is changed in place.
        """
        if not differentiated.requires_grad:
            return
        losses, self._losses = self._losses, None

        @torch.no_grad()
        def take(weights: Tensor):
            counted = (weights != 0) & losses.isfinite()
            batch = torch.stack([losses.where(counted, 0.0).sum(), counted.double().sum()])
            self._sums += sum_over_workers(batch)
            total, number = self._sums
            mean = torch.where(self._before.isnan(), total / number,
                               self.decay * self._before + (1 - self.decay) * total / number)
            average.copy_(torch.where(number > 0, mean, self._before))
            if self._update is None:
                self._before = None

        differentiated.register_hook(take)
