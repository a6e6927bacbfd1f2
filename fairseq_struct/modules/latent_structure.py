"""A discrete structure inside a network: how it is read, and how its scores are learned."""

from torch import Tensor, nn

from fairseq_struct.errors import InputError
from fairseq_struct.modules.past_losses import PastLosses, unknown_loss
from fairseq_struct.modules.workers import own_generator
from fairseq_struct.structure.pullback import ALIASES, Latent, Loss, Structure, latent, reading


class LatentStructure(nn.Module):
    """What all networks with a latent structure share, whatever structure it is.

    While training :func:`.pullback.latent` makes what the decoder reads, while evaluating
    :func:`.pullback.reading`. Noise comes from torch's generator, on workers behind the first from
    one of their own.

    Args:
        method: one of ``pullback.METHODS`` or ``ALIASES``, which the subclass checks.
        step_size, steps, temperature, supervision_weight, pullback_weight: as for
            :func:`.pullback.latent`.
        averaged: compare the losses of ``score_function`` with the mean of past ones.

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
        # A buffer, so that checkpoints carry it.
        self.register_buffer("average_loss", unknown_loss() if averaged else None)

    def set_num_updates(self, num_updates: int):
        """Take the number of finished updates from fairseq's trainer."""
        self.past_losses.set_num_updates(num_updates)

    def _read(self, scores: Tensor, structure: Structure) -> Tensor:
        """What the decoder reads while evaluating, shaped as ``scores`` (batch, ...)."""
        return reading(scores, structure, self.method, self.temperature)

    def _learn(
        self,
        scores: Tensor,
        structure: Structure,
        decoder_loss: Loss | None = None,
        known: Tensor | None = None,
    ) -> Latent:
        """What the decoder reads while training, and losses whose gradient reaches the scores.

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
