"""The mean of past losses: the baseline of the score function estimator."""

from collections.abc import Callable

import torch
from torch import Tensor

from fairseq_struct.modules.workers import sum_over_workers


def unknown_loss() -> Tensor:
    """The average before the first loss: NaN, in float64."""
    return torch.full((), torch.nan, dtype=torch.float64)


class PastLosses:
    """A moving average of losses, update by update: b <- d b + (1 - d) (mean loss of the update).

    Every instance of an update has the same weight, on all workers, and is compared with the b from
    before the update. So it does not matter how instances are divided into batches and workers. The
    first update has no earlier b: each batch is compared with its own mean.

    A loss counts when it is differentiated; at that point all workers wait for each other. A loss
    does not count if it is not finite, or if its gradient is 0, as in the dummy batches that
    fairseq gives to workers without a batch.

    Args:
        decay: d.
    """

    def __init__(self, decay: float = 0.99):
        self.decay = decay
        self._update: int | None = None  # the current one; None if updates are not counted
        self._before: Tensor | None = None  # b before this update
        self._sums = None  # sum and number of its losses
        self._losses: Tensor | None = None  # of the current batch

    def set_num_updates(self, number: int):
        """Set the number of finished updates; without it, every batch is an update."""
        if number != self._update:
            self._update, self._before = number, None

    def before(self, average: Tensor) -> Callable[[Tensor], Tensor]:
        """A function from a batch's losses (batch,) to their baseline.

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
        """Let the batch's losses count once ``differentiated`` is differentiated.

        Args:
            differentiated: (batch,), a function of the batch's losses, one entry each.
            average: b, changed in place.
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
