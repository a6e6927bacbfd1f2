"""Learning through a discrete choice: relaxed, stochastic and pulled-back gradients.

A network scores the parts of a structure, s = f(x). A decoder reads the structure, y = g(x, z).
Only y is supervised. z = argmax <s, z> has no gradient with respect to s. This module has the
methods that replace it (Mihaylova's thesis, sections 2.3.2 and 4.3 to 4.4), for every structure
with the operations of table 2.1. A *pulled-back* gradient guesses a label mu for z with a lower
decoder loss than z. It is the gradient of a loss that pulls s towards mu.

Meaning of the step size eta. Here algorithm 1 runs for every instance b separately: steps follow
the gradient of its own loss L_b. Its pulled-back loss has the gradient mu_0 - mu_k and the same
weight as L_b when losses are summed or averaged. So results do not depend on how instances are
batched. The code of Mihaylova's thesis runs algorithm 1 for a batch of B as one: steps follow the
gradient of the mean loss, sum_b L_b / B, and the pulled-back losses are not averaged but summed.
Its eta (table A.1) is ``step_size`` = eta / B with ``pullback_weight`` = B here. (The gradient of
``ste_identity`` is eta gamma: there the two factors cancel, which leaves eta.) Without the weight,
a parser's own parameters learn as in that thesis if the optimiser ignores the scale of gradients
(Adam). Parameters that the parser shares with the decoder then follow the parser B times less.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite

import torch
from torch import Tensor

from fairseq_struct.errors import unknown_name
from fairseq_struct.structure.checks import above_zero
from fairseq_struct.structure.precision import at_least_float32
from fairseq_struct.structure.pulled_back_gradient import (
    PULLED_BACK,
    Loss,
    Structure,
    calls_decoder,
    check_steps,
    pulled_back_gradient,
)
from fairseq_struct.structure.surrogate import (
    Observed,
    Surrogate,
    Weights,
    in_same_precision,
    straight_through,
)

# How the decoder's input is read from the scores, and how its gradient reaches them.
RELAXED = ("marginals", "sparsemap", "gumbel_softmax")
METHODS = (*RELAXED, "ste_marginals", *PULLED_BACK, "perturb_and_map", "score_function")

# Other names of these methods, used for a single choice.
ALIASES = {
    "softmax": "marginals",
    "sparsemax": "sparsemap",
    "ste_softmax": "ste_marginals",
    "st_gumbel": "perturb_and_map",
    "sfe": "score_function",
}


@dataclass
class Latent:
    """What :func:`latent` returns.

    Args:
        value: the structure, or mean of structures, that the decoder read; shaped as the scores.
        losses: (batch,) losses to be summed or averaged and differentiated; None without
            ``decoder_loss``.
    """

    value: Tensor
    losses: Tensor | None


class MovingAverage:
    """Baseline of the score function estimator: the mean of past losses.

    Args:
        decay: weight of the past at each update; the first update sets the average.
    """

    def __init__(self, decay: float = 0.99):
        self.decay = decay
        self.average: float | None = None

    def __call__(self, losses: Tensor) -> float:
        """The average of earlier losses; ``losses`` (batch,) count from the next call on.

        A mean that is not finite does not count, as its update is skipped in fp16.
        """
        new = float(losses.detach().float().mean())
        before = new if self.average is None else self.average
        if isfinite(new):
            self.average = self.decay * before + (1 - self.decay) * new
        return before


def reading(
    scores: Tensor, structure: Structure, method: str, temperature: float = 1.0
) -> Tensor:
    """The decoder's input in evaluation, without noise and without a surrogate gradient.

    The relaxed methods read their mean of structures, all others the best structure.

    Args:
        scores, structure, method, temperature: as for :func:`latent`.

    Raises:
        ValueError: unknown method.
    """
    method = _own_name(method)
    if method == "gumbel_softmax":
        return structure(scores / temperature).marginals
    return getattr(structure(scores), method if method in RELAXED else "argmax")


def needs_loss(method: str, steps: int = 1, scaled: bool = False) -> bool:
    """Whether :func:`latent` needs ``decoder_loss`` while training.

    Args:
        method, steps: as for :func:`latent`.
        scaled: the caller's loss may be scaled before it is differentiated, as in half precision.
            Then ``spigot`` also needs ``decoder_loss``: without it, the scale would change the
            length of its steps.
    """
    method = ALIASES.get(method, method)
    if scaled and method == "spigot":
        return True
    return method == "score_function" or calls_decoder(method, steps)


def latent(
    scores: Tensor,
    structure: Structure,
    method: str,
    decoder_loss: Loss | None = None,
    step_size: float = 1.0,
    steps: int = 1,
    temperature: float = 1.0,
    baseline: Callable[[Tensor], Tensor | float] | None = None,
    generator: torch.Generator | None = None,
    known: Tensor | None = None,
    supervision_weight: float = 1.0,
    pullback_weight: float = 1.0,
) -> Latent:
    """A structure for the decoder; its gradient reaches the scores by ``method``.

    - ``marginals``, ``sparsemap``: the decoder reads a mean of structures (eqs. 2.6, 2.8);
      ``softmax`` and ``sparsemax`` are other names for them;
    - ``gumbel_softmax``: the marginals of (s + Gumbel noise) / temperature (Jang et al., 2017);
    - ``ste_marginals`` (``ste_softmax``): reads the best structure, differentiates the marginals;
    - ``ste_identity`` (eq. 4.7), ``spigot`` (eq. 4.1), ``spigot_ce`` (eqs. 4.8, 4.9),
      ``spigot_eg`` (eqs. 4.12, 4.14): read the best structure; :func:`pulled_back_gradient`;
    - ``perturb_and_map`` (``st_gumbel``): reads the best structure of s + Gumbel noise and
      differentiates the marginals of (s + noise) / temperature;
    - ``score_function`` (``sfe``): reads a sample; its gradient is (loss - ``baseline``) times
      the gradient of log p(z) (section 2.3.2).

    Equations and sections are of Mihaylova's thesis.

    Args:
        scores: (batch, ...) scores of parts.
        structure: makes a distribution of scores: ``Categorical``, or
            ``lambda s: DependencyTrees(s, lengths)``.
        method: one of ``METHODS`` or ``ALIASES``.
        decoder_loss: maps a value to (batch,) losses, one per instance, independent of each
            other. It is called once on the decoder's input. The backward pass calls it again for
            algorithm 1 of Mihaylova's thesis: ``steps - 1`` times for ``ste_identity`` and
            ``spigot`` (their first gradient is known), ``steps`` times for ``spigot_ce`` and
            ``spigot_eg``. These calls leave the decoder's gradients unchanged and draw new
            dropout masks. Methods that call it only once do not need it. Without it, sum the
            loss over instances: a mean would make every step smaller. Include a second loss of
            the same value in ``decoder_loss``: steps follow its gradient. It is kept until the
            backward pass is freed. Detach what it stores, or reference cycles keep it in memory.
        step_size: eta, the size of the steps towards the pulled-back label, for the loss of one
            instance (see the module).
        steps: k, the number of steps.
        temperature: of the two methods with Gumbel noise.
        baseline: control variate of ``score_function``: maps losses (batch,) to the value that is
            subtracted from them; for example :class:`MovingAverage`.
        generator: source of randomness.
        known: the known part of the latent structure, as for ``observe``. Adds -log p(known) to
            the losses. Beyond Mihaylova's thesis (future work in its section 6.2).
        supervision_weight: weight of -log p(known).
        pullback_weight: weight of the pulled-back loss relative to the decoder's loss.

    Raises:
        TypeError: ``steps`` is not an integer, or the losses are not a tensor.
        ValueError: unknown method, a missing decoder loss, or a number out of range.
    """
    method = _own_name(method)
    _check(method, decoder_loss, step_size, steps, temperature, baseline, known)
    if not 0 <= supervision_weight < float("inf"):
        raise ValueError(f"supervision_weight must be 0 or more, not {supervision_weight}")
    above_zero("pullback_weight", pullback_weight)
    missing = None if known is None else _missing(scores, structure, known)
    weights = Weights() if decoder_loss is not None else None
    distribution = structure(scores)
    if method in PULLED_BACK:
        value = _pulled_back(
            scores, structure, distribution, method, decoder_loss, step_size, steps, weights,
            pullback_weight,
        )  # fmt: skip
    else:
        value = _value(scores, structure, distribution, method, temperature, generator)
    if decoder_loss is None:
        return Latent(value, None)
    losses = Observed.apply(_losses(decoder_loss, value, len(scores)), weights)
    if method == "score_function":
        losses = losses + _score_function(scores, structure, value, losses, baseline)
    if missing is not None:
        losses = losses + supervision_weight * missing.to(losses.dtype)
    return Latent(value, losses)


def _missing(scores: Tensor, structure: Structure, known: Tensor) -> Tensor:
    """-log p(known), (batch,)."""
    exact = structure(scores.double())  # the difference of two large numbers
    return exact.log_partition - exact.observe(known).log_partition


def _value(
    scores: Tensor, structure: Structure, distribution, method: str, temperature: float,
    generator: torch.Generator | None,
) -> Tensor:  # fmt: skip
    """The decoder's input by a method that needs no loss for its gradient."""
    if method in ("marginals", "sparsemap"):
        return getattr(distribution, method)
    if method == "score_function":
        return distribution.sample(1, generator)[0]
    if method == "ste_marginals":
        return straight_through(distribution.argmax, distribution.marginals)
    noisy = distribution.perturbed(generator)
    soft = structure(noisy.scores / temperature).marginals.to(scores.dtype)
    return soft if method == "gumbel_softmax" else straight_through(noisy.argmax, soft)


def _pulled_back(
    scores: Tensor, structure: Structure, distribution, method: str, decoder_loss: Loss | None,
    step_size: float, steps: int, weights: Weights | None, pullback_weight: float,
) -> Tensor:  # fmt: skip
    """The best structure; its gradient is the one of the pulled-back loss."""
    again = decoder_loss if calls_decoder(method, steps) else None
    read = distribution.argmax

    def surrogate(gradient: Tensor) -> Tensor:
        scale = weights.of(gradient) if weights is not None else 1.0
        gradient = at_least_float32(gradient)
        first = torch.where(scale != 0, gradient / scale, 0.0) if weights else gradient
        pulled = pulled_back_gradient(
            scores.detach(), structure, method, again, step_size, steps, first, read
        )
        return pullback_weight * scale * pulled

    return Surrogate.apply(scores, read, in_same_precision(surrogate))


def _losses(decoder_loss: Loss, value: Tensor, batch: int) -> Tensor:
    """The decoder's losses (batch,)."""
    losses = decoder_loss(value)
    if not isinstance(losses, Tensor):
        raise TypeError(f"decoder_loss must return a tensor, not {type(losses).__name__}")
    if losses.shape != (batch,):
        raise ValueError(
            f"decoder_loss must return one loss per instance, {(batch,)}, "
            f"not {tuple(losses.shape)}"
        )
    return losses


def _score_function(
    scores: Tensor, structure: Structure, value: Tensor, losses: Tensor,
    baseline: Callable[[Tensor], Tensor | float] | None,
) -> Tensor:  # fmt: skip
    """Zeros (batch,) whose gradient is (loss - baseline) times the gradient of log p(value)."""
    exact = scores.double()  # sums of half-precision scores would overflow
    parts = exact.masked_fill(value == 0, 0.0).flatten(1).sum(1)
    log_prob = (parts - structure(exact).log_partition).to(losses.dtype)
    reward = losses.detach() - (baseline(losses) if baseline is not None else 0.0)
    return reward * (log_prob - log_prob.detach())


def _own_name(method: str) -> str:
    """The method's own name."""
    found = ALIASES.get(method, method)
    if found not in METHODS:
        raise ValueError(unknown_name("method", method, (*METHODS, *ALIASES)))
    return found


def _check(method, decoder_loss, step_size, steps, temperature, baseline, known):
    check_steps(step_size, steps)
    above_zero("temperature", temperature)
    if decoder_loss is None and (needs_loss(method, steps) or known is not None):
        raise ValueError(
            "known needs decoder_loss: it adds a term to the losses"
            if known is not None
            else f"{method} needs decoder_loss here: it calls the decoder itself"
        )
    if baseline is not None and method != "score_function":
        raise ValueError(f"a baseline is for score_function, not for {method}")
