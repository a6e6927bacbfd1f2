"""Checks of the users' inputs, done before any work."""

from numbers import Real
from operator import index

import torch
from torch import Tensor

from fairseq_struct.errors import InputError, NotFiniteScores, NoTree, unknown_name

BACKENDS = ("auto", "compiled", "torch")


def scores_as_given(scores: Tensor) -> Tensor:
    """The scores, as a tensor that autograd can use.

    Raises:
        TypeError: the scores are not a tensor.
        ValueError: they are not floating point numbers.
    """
    if not isinstance(scores, Tensor):
        raise TypeError(f"scores must be a tensor, not {type(scores).__name__}")
    if not scores.is_floating_point():
        raise ValueError(f"scores must be floating point numbers, not {scores.dtype}")
    if scores.is_inference() and not torch.is_inference_mode_enabled():
        return scores.clone()  # a clone, unlike the original, may be saved for backward
    return scores


def of_type(what: str, given: object, kind: type):
    """Refuse what is of another type.

    Raises:
        TypeError: it is.
    """
    if not isinstance(given, kind):
        raise TypeError(f"{what} needs {kind.__name__}, not {type(given).__name__}")


def of_shape(what: str, tensor: Tensor, shape: tuple[int, ...]) -> Tensor:
    """``tensor``, if it has this shape.

    Raises:
        ValueError: it has another one.
    """
    if tensor.shape != shape:
        raise ValueError(f"{what} must have shape {tuple(shape)}, not {tuple(tensor.shape)}")
    return tensor


def backend_for(scores: Tensor, name: str, projective: bool) -> str:
    """``compiled`` or ``torch``.

    Args:
        scores: arc scores.
        name: one of these, or ``auto``: the latter for projective trees that are not on a CPU,
            otherwise the former.
        projective: whether the trees are projective.

    Raises:
        TypeError: the scores are not a tensor.
        ValueError: no such backend.
    """
    if name not in BACKENDS:
        raise ValueError(unknown_name("backend", name, BACKENDS))
    on_cpu = scores_as_given(scores).device.type == "cpu"
    if name != "auto":
        return name
    # On a GPU, trees that may cross take several times as long as on the CPU beside it.
    return "compiled" if on_cpu or not projective else "torch"


def whole_number(name: str, value: int, least: int) -> int:
    """``value``, if it is an integer and ``least`` or more.

    Raises:
        TypeError: it is not an integer.
        ValueError: it is too small.
    """
    try:
        number = index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, not {value!r}") from None
    if number < least:
        raise ValueError(f"{name} must be {least} or more, not {number}")
    return number


def refuse_fractions(**numbers: int):
    """Raise an error for the first of the numbers, given by name, that is not an integer.

    Raises:
        InputError: names the number.
    """
    for name, number in numbers.items():
        try:
            index(number)
        except TypeError:
            raise InputError(f"{name} must be an integer, not {number!r}") from None


def above_zero(name: str, value: float) -> float:
    """``value``, if it is a finite number above 0.

    Raises:
        TypeError: it is not a number.
        ValueError: it is out of range.
    """
    if not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, not {value!r}")
    if not 0 < value < float("inf"):
        raise ValueError(f"{name} must be above 0 and finite, not {value}")
    return value


def sentence_lengths(
    lengths: Tensor | None, scores: Tensor, what: str = "sentence",
    device: torch.device | str | None = None,
) -> Tensor:  # fmt: skip
    """Lengths (batch,) of sentences with scores (batch, n, ...); n if not given.

    Args:
        lengths: integers, as a tensor or a list.
        scores: of all words, padding included.
        what: what a sentence is called in messages.
        device: where they are checked and given; that of the scores by default.

    Raises:
        ValueError: wrong shape, not integers, or a length below 1 or above n.
    """
    batch, n = scores.shape[:2]
    device = scores.device if device is None else device
    if lengths is None:
        with torch.inference_mode(False):  # autograd keeps no tensors of inference mode
            return torch.full((batch,), n, device=device)
    try:
        lengths = torch.as_tensor(lengths, device=device)
    except (RuntimeError, TypeError, ValueError):
        raise ValueError(f"lengths must be {batch} integers, not {lengths!r}") from None
    if lengths.shape != (batch,) or not is_integral(lengths):
        raise ValueError(f"lengths must be {batch} integers, not {lengths.tolist()}")
    with torch.inference_mode(False):  # a copy: callers may change theirs
        lengths = lengths.to(torch.int64, copy=True)  # torch compares no large unsigned integers
    wrong = (lengths < 1) | (lengths > n)
    if wrong.any():
        b = int(wrong.nonzero()[0])
        raise ValueError(f"{what} {b} has length {int(lengths[b])}; allowed are 1 to {n}")
    return lengths


def is_integral(tensor: Tensor) -> bool:
    """Whether the tensor holds integers (booleans do not count)."""
    return not (tensor.is_floating_point() or tensor.is_complex() or tensor.dtype == torch.bool)


def refuse_nan_and_infinity(scores: Tensor, what: str):
    """Raise an error for NaN or +inf in scores (batch, ...).

    Args:
        scores: -inf is allowed.
        what: name of an entry for the message, with fields for its indices, the batch index
            first: ``"choice {1} in instance {0}"``.

    Raises:
        NotFiniteScores: names the first such entry; a ``ValueError``.
    """
    if scores.sum().isfinite():  # one pass over the scores suffices
        return
    wrong = scores.isnan() | (scores == torch.inf)
    if wrong.any():
        place = wrong.nonzero()[0].tolist()
        raise NotFiniteScores(
            f"the score of {what.format(*place)} is {float(scores[tuple(place)])}: scores must be "
            "finite, or -inf for what is forbidden"
        )


def refuse_words_without_head(scores: Tensor, lengths: Tensor):
    """Raise an error if all arcs to a word are forbidden.

    Args:
        scores: (batch, n, n), -inf for arcs that are forbidden.
        lengths: (batch,).

    Raises:
        ValueError: names the first such word.
    """
    words = torch.arange(scores.size(1), device=scores.device)
    orphan = (scores.amax(1) == -torch.inf) & (words < lengths[:, None])
    if orphan.any():
        b, m = orphan.nonzero()[0].tolist()
        raise ValueError(f"all arcs to word {m} in sentence {b} are forbidden (-inf)")


def refuse_sentences_without_tree(sums: Tensor):
    """Raise an error if a sentence's sum over trees, or best score, is -inf.

    Args:
        sums: (batch,).

    Raises:
        NoTree: names the first such sentence; a ``ValueError``.
    """
    if (without := sums.detach() == -torch.inf).any():
        raise NoTree(int(without.nonzero()[0]))
