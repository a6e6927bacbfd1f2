"""A discrete structure inside a network: reading it, and learning its scores."""

from torch import Tensor, nn

from fairseq_struct.errors import InputError
from fairseq_struct.modules.past_losses import PastLosses, unknown_loss
from fairseq_struct.modules.workers import own_generator
from fairseq_struct.structure.checks import refuse_fractions
from fairseq_struct.structure.pullback import ALIASES, Latent, Loss, Structure, latent, reading


class LatentStructure(nn.Module):
    """Base of all networks with a latent structure of any kind.

    The decoder's input comes from :func:`.pullback.latent` in training and from
    :func:`.pullback.reading` in evaluation. Noise comes from torch's generator on the first worker,
    and from a separate generator on each other worker.

    Args:
        method: one of ``pullback.METHODS`` or ``ALIASES``; the subclass checks it.
        step_size, steps, temperature, supervision_weight, pullback_weight: as for
            :func:`.pullback.latent`.
        averaged: subtract the mean of past losses from those of ``score_function``.

    Raises:
        InputError: a number out of range.
    """

    def __init__(
        self,
        method: str,
        step_size: float = 1.0,
        steps: int = 1,
        temperature: float = 1.0,
        supervision_weight: float = 1.0,
        pullback_weight: float = 1.0,
        averaged: bool = False,
    ):
        super().__init__()
        numbers = {
            "pullback step size": step_size, "pullback weight": pullback_weight,
            "temperature": temperature,
        }  # fmt: skip
        for name, value in numbers.items():
            if not 0 < value < float("inf"):
                raise InputError(f"the {name} must be above 0 and finite, not {value}")
        refuse_fractions(steps=steps)
        if steps < 1:
            raise InputError(f"the number of pullback steps must be 1 or more, not {steps}")
        if not 0 <= supervision_weight < float("inf"):
            raise InputError(
                f"the weight of known heads must be 0 or more and finite, not {supervision_weight}"
            )
        self.method = ALIASES.get(method, method)
        self.step_size = step_size
        self.steps = steps
        self.temperature = temperature
        self.supervision_weight = supervision_weight
        self.pullback_weight = pullback_weight
        self.past_losses = PastLosses()
        # A buffer, so that checkpoints contain it.
        self.register_buffer("average_loss", unknown_loss() if averaged else None)

    def _apply(self, fn, recurse=True):
        # In half precision, the average of many losses would no longer move.
        average = self.average_loss
        super()._apply(fn, recurse)
        if average is not None:
            moved = self.average_loss
            self.average_loss = moved.double() if average.is_meta else average.to(moved.device)
        return self

    def extra_repr(self) -> str:
        """The method and its steps."""
        return f"{self.method}, steps={self.steps}, step_size={self.step_size:g}"

    def set_num_updates(self, num_updates: int):
        """Called by fairseq's trainer with the number of finished updates."""
        self.past_losses.set_num_updates(num_updates)

    def _read(self, scores: Tensor, structure: Structure) -> Tensor:
        """The decoder's input in evaluation, shaped as ``scores`` (batch, ...)."""
        return reading(scores, structure, self.method, self.temperature)

    def _learn(
        self,
        scores: Tensor,
        structure: Structure,
        decoder_loss: Loss | None = None,
        known: Tensor | None = None,
    ) -> Latent:
        """The decoder's input in training, and losses whose gradient reaches the scores.

        Args:
            scores, structure, decoder_loss, known: as for :func:`.pullback.latent`.
        """
        average, baseline = self.average_loss, None
        if average is not None:
            baseline = self.past_losses.before(average)
        result = latent(
            scores, structure, self.method, decoder_loss, self.step_size, self.steps,
            self.temperature, baseline, own_generator(scores.device), known,
            self.supervision_weight, self.pullback_weight,
        )  # fmt: skip
        if average is not None:
            self.past_losses.count(result.losses, average)
        return result
