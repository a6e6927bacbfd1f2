"""The gradient of a pulled-back loss: steps towards a label with a lower decoder loss."""

from collections.abc import Callable

import torch
from torch import Tensor

from fairseq_struct.structure.checks import above_zero, whole_number

PULLED_BACK = ("ste_identity", "spigot", "spigot_ce", "spigot_eg")
Structure = Callable[[Tensor], object]
Loss = Callable[[Tensor], Tensor]


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
    """Gradient of the pulled-back loss with respect to the scores, mu_0 - mu_k.

    Algorithm 1 and the equations are of Mihaylova's thesis, chapter 4. gamma(mu) is the gradient of
    the decoder's loss at mu, eta the step size. The start is mu_0 = argmax (``ste_identity``,
    ``spigot``) or mu_0 = marginals (``spigot_ce``, ``spigot_eg``):

    - ``ste_identity``: mu_t = mu_{t-1} - eta gamma(mu_{t-1})  (eq. 4.7);
    - ``spigot``, ``spigot_ce``: mu_t = SparseMAP(mu_{t-1} - eta gamma(mu_{t-1}))  (eqs. 4.3, 4.9);
    - ``spigot_eg``: s_t = s_{t-1} - eta gamma(mu_{t-1}), mu_t = marginals(s_t), s_0 = s
      (eq. 4.13, as in algorithm 1, with the new scores).

    Args:
        scores, structure, decoder_loss, step_size, steps: as for :func:`.pullback.latent`.
        method: one of ``PULLED_BACK``.
        first_gradient: gamma at the argmax, if known.
        read: the argmax, if known. With tied scores it is the one that the decoder read.

    Returns:
        Shaped as the scores, in float64; 0 outside of each structure, NaN for instances
        where the decoder's gradient is not finite.

    Raises:
        TypeError: ``steps`` is not an integer.
        ValueError: an unknown method, a missing decoder loss, or a number out of range.
    """
    if method not in PULLED_BACK:
        raise ValueError(f"method must be one of {', '.join(PULLED_BACK)}, not {method!r}")
    check_steps(step_size, steps)
    given = scores.detach()
    precision = torch.promote_types(given.dtype, torch.float32)
    scores = given.double()  # a small step is the difference of two large labels
    from_argmax = method in ("ste_identity", "spigot")
    with torch.no_grad():
        distribution = structure(scores)
        if not from_argmax:
            start = distribution.marginals
        else:
            start = distribution.argmax if read is None else read.to(scores.dtype)
        mu, moved = start, scores
        # The label must not move towards forbidden choices either.
        possible = distribution.within & (scores > -torch.inf)
        lost = torch.zeros(len(scores), dtype=torch.bool, device=scores.device)
        for step in range(steps):
            gamma = first_gradient if step == 0 and from_argmax else None
            if gamma is None:
                gamma = _gradient(decoder_loss, mu.to(given.dtype), method)
            if gamma.shape != scores.shape:
                raise ValueError(
                    f"the decoder's gradient has shape {tuple(gamma.shape)}, the scores have "
                    f"{tuple(scores.shape)}"
                )
            move = step_size * gamma.to(scores.dtype).masked_fill(~possible, 0.0)
            # The trainer must see an overflow in the decoder; the structure must not get it.
            end = (moved - move).masked_fill(~possible, 0.0).to(precision)
            lost |= ~end.flatten(1).abs().amax(1).isfinite()  # NaN is the largest
            move[lost] = 0.0
            if method == "ste_identity":
                mu = mu - move
            elif method == "spigot":
                mu = structure((mu - move).masked_fill(~possible, -torch.inf)).sparsemap
            elif method == "spigot_ce":
                mu = distribution.project(mu - move, possible)
            else:
                moved = moved - move
                mu = structure(moved).marginals
        gradient = start - mu
        gradient[lost] = torch.nan
        return gradient


def calls_decoder(method: str, steps: int) -> bool:
    """Whether the backward pass also calls the decoder."""
    return method in ("spigot_ce", "spigot_eg") or (method in PULLED_BACK and steps > 1)


def check_steps(step_size: float, steps: int):
    """Refuse a step size that is not above 0, and a number of steps below 1."""
    above_zero("step_size", step_size)
    whole_number("steps", steps, 1)


def _gradient(decoder_loss: Loss | None, mu: Tensor, method: str) -> Tensor:
    if decoder_loss is None:
        raise ValueError(f"{method} needs decoder_loss here: it calls the decoder itself")
    with torch.enable_grad():
        mu = mu.detach().requires_grad_()
        losses = decoder_loss(mu.clone())  # a copy: the decoder may change it in place
        if not isinstance(losses, Tensor):
            raise TypeError(f"decoder_loss must return a tensor, not {type(losses).__name__}")
        loss = losses.sum()
        if not loss.requires_grad:  # the decoder ignores its input
            return torch.zeros_like(mu)
        (gradient,) = torch.autograd.grad(loss, mu, allow_unused=True, materialize_grads=True)
    return gradient
