"""Variables of undirected networks: their unary energies and their shapes.

Source: T. Mihaylova's thesis, section 5.2.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from fairseq_struct.errors import InputError, unknown_name
from fairseq_struct.modules.undirected.regularisers import REGULARISERS, Regulariser


class Variable(nn.Module):
    """A variable X with E_X(x) = -<b, x> + Psi(x) (eq. 5.3).

    Args:
        regulariser: Psi, or its name in ``REGULARISERS``.
        bias: shape of b, which broadcasts to (batch, ...) of x; None for no bias.
        dropout: probability with which each number of an inferred x is set to 0 in training. One
            mask serves all passes of a call.
        shape: of x without batch, None in place of a size that may differ from call to call. If it
            is not given, nothing is checked.

    Raises:
        ValueError: an unknown regulariser, a probability outside of [0, 1), or a bias that does not
            broadcast to the shape.
    """

    def __init__(
        self,
        regulariser: Regulariser | str,
        bias: Sequence[int] | None = None,
        dropout: float = 0.0,
        shape: Sequence[int | None] | None = None,
    ):
        super().__init__()
        if isinstance(regulariser, str):
            if regulariser not in REGULARISERS:
                raise ValueError(unknown_name("regulariser", regulariser, REGULARISERS))
            regulariser = REGULARISERS[regulariser]()
        if not 0 <= dropout < 1:
            raise ValueError(f"a probability of dropout must be in [0, 1), not {dropout}")
        self.shape = None if shape is None else tuple(shape)
        if bias is not None and self.shape is not None and not _broadcasts(bias, self.shape):
            raise ValueError(
                f"a bias of shape {tuple(bias)} does not fit a variable of shape {self.shape}"
            )
        self.regulariser, self.dropout = regulariser, dropout
        self.bias = None if bias is None else nn.Parameter(torch.zeros(tuple(bias)))

    def check(self, name: str, value: Tensor) -> None:
        """Raise a ValueError unless a value (or a pre-activation) has the variable's shape."""
        if self.shape is None:
            return
        found = tuple(value.shape[1:])
        if len(found) != len(self.shape) or any(
            wanted not in (None, size) for wanted, size in zip(self.shape, found, strict=True)
        ):
            sizes = ", ".join("any" if size is None else str(size) for size in self.shape)
            raise ValueError(
                f"variable {name} must have shape (batch, {sizes}), not {tuple(value.shape)}"
            )


def refuse_other_shapes(
    key: str, variables: Mapping[str, Variable], shapes: Mapping[str, Sequence]
) -> None:
    """Raise a ValueError if variables, where their shapes are known, do not fit a factor.

    Args:
        key: name of the factor.
        variables: by name.
        shapes: by name, the sizes without batch: numbers, or letters for sizes that are equal
            wherever the letter occurs. After an Ellipsis they are the last ones.
    """
    found: dict[str, int] = {}
    for name, sizes in shapes.items():
        shape = variables[name].shape
        if shape is None:
            continue
        wanted = [size for size in sizes if size is not ...]
        last = shape[-len(wanted) :] if len(wanted) < len(sizes) else shape
        fits = len(last) == len(wanted)
        for number, (size, own) in enumerate(zip(wanted, last, strict=False)):
            if own is not None:
                wanted[number] = found.setdefault(size, own) if isinstance(size, str) else size
                fits = fits and wanted[number] == own
        if not fits:
            told = ", ".join([*["..."] * (len(sizes) - len(wanted)), *map(str, wanted)])
            raise ValueError(
                f"factor {key}: variable {name} must have the shape ({told}), not {shape}"
            )


def _broadcasts(bias: Sequence[int], shape: Sequence[int | None]) -> bool:
    """Whether a bias fits; its sizes are those of the last dimensions, or 1."""
    last = list(shape)[-len(bias) :] if bias else []
    return len(bias) <= len(shape) and all(
        one == 1 or one == size for one, size in zip(bias, last, strict=True)
    )


def equal_batches(values: Mapping[str, Tensor]) -> None:
    """Raise a ValueError unless all values are of equally many instances."""
    sizes = {name: len(value) for name, value in values.items()}
    if len(set(sizes.values())) > 1:
        told = ", ".join(f"{size} of {name}" for name, size in sizes.items())
        raise ValueError(f"all variables must have values of equally many instances, not {told}")


@contextmanager
def told_of_input(*given: Mapping[str, Tensor] | None) -> Iterator[None]:
    """Where values are not finite because given ones were not, the error names those."""
    try:
        yield
    except InputError:
        for values in given:
            for name, value in (values or {}).items():
                wrong = ~value.isfinite().reshape(len(value), -1).all(1)
                if wrong.any():
                    instance = int(wrong.nonzero()[0])
                    raise InputError(
                        f"the given values of variable {name} are not finite (instance {instance})"
                    ) from None
        raise
