"""Learning through a discrete choice: relaxed, stochastic and pulled-back gradients.

A network scores the parts of a structure, s = f(x), a decoder reads the structure,
y = g(x, z), and only y is supervised. z = argmax <s, z> has no gradient by s; the ways around it
are written once here for every structure with the verbs of table 2.1 (Mihaylova's thesis,
sections 2.3.2 and 4.3 to 4.4). A *pulled-back* gradient guesses a label mu for z that the decoder
would have liked better than z, and is the gradient of a loss that pulls s towards it.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from fairseq_struct.structure.checks import above_zero, whole_number
from fairseq_struct.structure.interior_projection import project_near_marginals
from fairseq_struct.structure.surrogate import (
    Observed,
    Surrogate,
    Weights,
    at_least_float32,
    in_same_precision,
    straight_through,
)

# What the decoder reads, and what carries its gradient to the scores.
RELAXED = ("marginals", "sparsemap", "gumbel_softmax")
PULLED_BACK = ("ste_identity", "spigot", "spigot_ce", "spigot_eg")
METHODS = (*RELAXED, "ste_marginals", *PULLED_BACK, "perturb_and_map", "score_function")

# The same by the names they have for a single choice.
ALIASES = {
    "softmax": "marginals",
    "sparsemax": "sparsemap",
    "ste_softmax": "ste_marginals",
    "st_gumbel": "perturb_and_map",
    "sfe": "score_function",
}

Structure = Callable[[Tensor], object]
Loss = Callable[[Tensor], Tensor]


@dataclass
class Latent:
    """What :func:`latent` returns.

    Args:
        value: the structure, or mean of structures, that the decoder read; as the scores.
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
        """The average before these losses; they count from the next call on."""
        new = float(losses.detach().float().mean())
        before = new if self.average is None else self.average
        self.average = self.decay * before + (1 - self.decay) * new
        return before


def latent(
    scores: Tensor,
    structure: Structure,
    method: str,
    decoder_loss: Loss | None = None,
    step_size: float = 1.0,
    steps: int = 1,
    temperature: float = 1.0,
    baseline: MovingAverage | None = None,
    generator: torch.Generator | None = None,
    known: Tensor | None = None,
    supervision_weight: float = 1.0,
) -> Latent:
    """A structure for the decoder to read, whose gradient reaches the scores by ``method``.

    - ``marginals``, ``sparsemap``: the decoder reads a mean of structures (eqs. 2.6, 2.8);
      ``softmax`` and ``sparsemax`` are other names for them;
    - ``gumbel_softmax``: the marginals of (s + Gumbel noise) / temperature (Jang et al., 2017);
    - ``ste_marginals`` (``ste_softmax``): reads the best structure, differentiates the marginals;
    - ``ste_identity`` (eq. 4.7), ``spigot`` (eq. 4.1), ``spigot_ce`` (eqs. 4.8, 4.9),
      ``spigot_eg`` (eqs. 4.12, 4.14): read the best structure; :func:`pulled_back_gradient`;
    - ``perturb_and_map`` (``st_gumbel``): reads the best structure of s + Gumbel noise and
      differentiates the marginals of (s + noise) / temperature;
    - ``score_function`` (``sfe``): reads a sample; its gradient is the loss, less ``baseline``,
      times that of log p(z) (section 2.3.2).

    Args:
        scores: (batch, ...) scores of parts.
        structure: makes a distribution of scores: ``Categorical``, or
            ``lambda s: DependencyTrees(s, lengths)``.
        method: one of ``METHODS`` or ``ALIASES``.
        decoder_loss: (batch,) losses of a value, one per instance, independent of each other.
            It is called once on what the decoder reads and, in the backward pass, as often as
            algorithm 1 of the thesis has it: ``steps - 1`` times for ``ste_identity`` and
            ``spigot``, whose first gradient is at hand, ``steps`` times for the other two.
            Those calls do not touch the decoder's gradients; they draw dropout of their own.
            Not needed for methods that call it once; then whoever computes the loss must sum
            it over instances, because a mean over instances would make every step smaller. A
            second loss of the same value belongs into it, too: steps are taken by its gradient.
            It lives until the backward pass is forgotten: what it keeps of a call it should
            detach, or the two keep each other in memory for ever.
        step_size: eta, the size of the steps towards the pulled-back label.
        steps: k, their number.
        temperature: of the two methods with Gumbel noise.
        baseline: control variate of ``score_function``.
        generator: source of randomness.
        known: what is known of the latent structure, as ``observe`` takes it. Beyond the paper
            (proposed in its section 6.2): -log p(known) joins the losses.
        supervision_weight: weight of that term.

    Raises:
        TypeError: ``steps`` is no integer, or the losses are no tensor.
        ValueError: unknown method, a missing decoder loss, or a number out of range.
    """
    method = ALIASES.get(method, method)
    _check(method, decoder_loss, step_size, steps, temperature, baseline, known)
    if not 0 <= supervision_weight < float("inf"):
        raise ValueError(f"supervision_weight must be 0 or more, not {supervision_weight}")
    weights = Weights() if decoder_loss is not None else None
    missing = None
    if known is not None:
        exact = structure(scores.double())  # the difference of two large numbers
        missing = exact.log_partition - exact.observe(known).log_partition
    distribution = structure(scores)
    if method == "marginals":
        value = distribution.marginals
    elif method == "sparsemap":
        value = distribution.sparsemap
    elif method in ("gumbel_softmax", "perturb_and_map"):
        noisy = distribution.perturbed(generator)
        soft = structure(noisy.scores / temperature).marginals.to(scores.dtype)
        value = soft if method == "gumbel_softmax" else straight_through(noisy.argmax, soft)
    elif method == "ste_marginals":
        value = straight_through(distribution.argmax, distribution.marginals)
    elif method == "score_function":
        value = distribution.sample(1, generator)[0]
    else:

        def surrogate(gradient: Tensor) -> Tensor:
            scale = weights.of(gradient) if weights is not None else 1.0
            gradient = at_least_float32(gradient)
            first = torch.where(scale != 0, gradient / scale, 0.0) if weights else gradient
            return scale * pulled_back_gradient(
                scores.detach(), structure, method, again, step_size, steps, first, read
            )

        again = decoder_loss if _calls_decoder(method, steps) else None
        read = distribution.argmax
        value = Surrogate.apply(scores, read, in_same_precision(surrogate))
    if decoder_loss is None:
        return Latent(value, None)
    losses = decoder_loss(value)
    if not isinstance(losses, Tensor):
        raise TypeError(f"decoder_loss must return a tensor, not {type(losses).__name__}")
    if losses.shape != scores.shape[:1]:
        raise ValueError(
            f"decoder_loss must return one loss per instance, {tuple(scores.shape[:1])}, "
            f"not {tuple(losses.shape)}"
        )
    losses = Observed.apply(losses, weights)
    if method == "score_function":
        exact = scores.double()  # sums of half-precision scores would overflow
        parts = exact.masked_fill(value == 0, 0.0).flatten(1).sum(1)
        log_prob = (parts - structure(exact).log_partition).to(losses.dtype)
        reward = losses.detach() - (baseline(losses) if baseline is not None else 0.0)
        losses = losses + reward * (log_prob - log_prob.detach())
    if missing is not None:
        losses = losses + supervision_weight * missing.to(losses.dtype)
    return Latent(value, losses)


def pulled_back_gradient(
    scores: Tensor,
    structure: Structure,
    method: str,
    decoder_loss: Loss | None,
    step_size: float = 1.0,
    steps: int = 1,
    first_gradient: Tensor | None = None,
    read: Tensor | None = None,
) -> Tensor:
    """Gradient of the pulled-back loss by the scores, mu_0 - mu_k (algorithm 1).

    With gamma(mu) the gradient of the decoder's loss at mu, eta the step size, and from
    mu_0 = argmax (``ste_identity``, ``spigot``) or mu_0 = marginals (``spigot_ce``, ``spigot_eg``),

    - ``ste_identity``: mu_t = mu_{t-1} - eta gamma(mu_{t-1})  (eq. 4.7);
    - ``spigot``, ``spigot_ce``: mu_t = SparseMAP(mu_{t-1} - eta gamma(mu_{t-1}))  (eqs. 4.3, 4.9);
    - ``spigot_eg``: s_t = s_{t-1} - eta gamma(mu_{t-1}), mu_t = marginals(s_t), s_0 = s
      (eq. 4.13, as in algorithm 1, with the new scores).

    Args:
        scores, structure, decoder_loss, step_size, steps: as for :func:`latent`.
        method: one of ``PULLED_BACK``.
        first_gradient: gamma at the argmax, where it is at hand.
        read: the argmax, where it is at hand; of tied scores the one that was read.

    Returns:
        As the scores, but in float64; 0 outside of each structure, NaN for instances
        where the decoder's gradient is not finite.

    Raises:
        TypeError: ``steps`` is no integer.
        ValueError: not such a method, a missing decoder loss, or a number out of range.
    """
    if method not in PULLED_BACK:
        raise ValueError(f"method must be one of {', '.join(PULLED_BACK)}, not {method!r}")
    _check_steps(step_size, steps)
    given = scores.detach()
    precision = torch.promote_types(given.dtype, torch.float32)
    scores = given.double()  # a small step is the difference of two large labels
    with torch.no_grad():
        distribution = structure(scores)
        from_argmax = method in ("ste_identity", "spigot")
        if not from_argmax:
            start = distribution.marginals
        else:
            start = distribution.argmax if read is None else read.to(scores.dtype)
        mu, moved = start, scores
        # Where a choice is forbidden, the label must not go either.
        possible = distribution.within & (scores > -torch.inf)
        lost = torch.zeros(len(scores), dtype=torch.bool, device=scores.device)
        for step in range(steps):
            if step == 0 and from_argmax and first_gradient is not None:
                gamma = first_gradient
            elif decoder_loss is None:
                raise ValueError(f"{method} needs decoder_loss here: it calls the decoder itself")
            else:
                gamma = _gradient(decoder_loss, mu.to(given.dtype))
            if gamma.shape != scores.shape:
                raise ValueError(
                    f"the decoder's gradient has shape {tuple(gamma.shape)}, the scores have "
                    f"{tuple(scores.shape)}"
                )
            move = step_size * gamma.to(scores.dtype).masked_fill(~possible, 0.0)
            # An overflow in the decoder is for the trainer to see, not for the structure.
            end = (moved - move).masked_fill(~possible, 0.0).to(precision)
            lost |= ~end.flatten(1).isfinite().all(1)
            move[lost] = 0.0
            if method == "ste_identity":
                mu = mu - move
            elif method == "spigot_eg":
                moved = moved - move
                mu = structure(moved).marginals
            else:
                target = mu - move
                if method == "spigot_ce" and hasattr(distribution, "single_root"):
                    mu = project_near_marginals(structure, scores, target, possible)
                else:
                    mu = structure(target.masked_fill(~possible, -torch.inf)).sparsemap
        gradient = start - mu
        gradient[lost] = torch.nan
        return gradient


def _check(method, decoder_loss, step_size, steps, temperature, baseline, known):
    if method not in METHODS:
        names = ", ".join((*METHODS, *ALIASES))
        raise ValueError(f"unknown method {method!r}; choose one of {names}")
    _check_steps(step_size, steps)
    above_zero("temperature", temperature)
    needed = _calls_decoder(method, steps) or method == "score_function" or known is not None
    if decoder_loss is None and needed:
        raise ValueError(
            "known needs decoder_loss: it is a further term of the losses"
            if known is not None
            else f"{method} needs decoder_loss here: it calls the decoder itself"
        )
    if baseline is not None and method != "score_function":
        raise ValueError(f"a baseline belongs to score_function, not to {method}")


def _calls_decoder(method: str, steps: int) -> bool:
    """Whether the backward pass calls the decoder, too."""
    return method in ("spigot_ce", "spigot_eg") or (method in PULLED_BACK and steps > 1)


def _check_steps(step_size: float, steps: int):
    above_zero("step_size", step_size)
    whole_number("steps", steps, 1)


def _gradient(decoder_loss: Loss, mu: Tensor) -> Tensor:
    with torch.enable_grad():
        mu = mu.detach().requires_grad_()
        losses = decoder_loss(mu.clone())  # which it may work on in place
        if not isinstance(losses, Tensor):
            raise TypeError(f"decoder_loss must return a tensor, not {type(losses).__name__}")
        loss = losses.sum()
        if not loss.requires_grad:  # the decoder does not read it
            return torch.zeros_like(mu)
        (gradient,) = torch.autograd.grad(loss, mu, allow_unused=True, materialize_grads=True)
    return gradient
