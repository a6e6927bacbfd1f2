"""Orders in which the variables of an undirected network are updated."""

from collections.abc import Callable, Sequence
from numbers import Integral

import torch

# A group is updated from the old values of all its members.
Step = str | tuple[str, ...]
Order = Sequence[Step] | Callable[[int], Sequence[Step]]


def forward_backward(names: Sequence[str]) -> tuple[str, ...]:
    """The names, then all but the last one in reverse (section 5.4 of Mihaylova's thesis)."""
    return (*names, *reversed(names[:-1]))


def simultaneous(*names: str) -> tuple[str, ...]:
    """A group whose members are updated from their old values; the energy may then increase."""
    return names


class RandomOrder:
    """A new permutation of variables in each pass, then some in a fixed order.

    Args:
        names: variables to permute.
        last: variables that follow.
        generator: source of the permutations; torch's own if not given.
    """

    def __init__(
        self, names: Sequence[str], last: Sequence[str] = (),
        generator: torch.Generator | None = None,
    ):  # fmt: skip
        self.names, self.last, self.generator = tuple(names), tuple(last), generator

    def __call__(self, number: int) -> tuple[str, ...]:
        """The order of pass ``number``."""
        places = torch.randperm(len(self.names), generator=self.generator, device="cpu")
        return (*(self.names[place] for place in places.tolist()), *self.last)


def steps_of(order: Order, number: int) -> Sequence[Step]:
    """The steps of pass ``number``, counted from 0."""
    return order(number) if callable(order) else order


def names_of(steps: Sequence[Step]) -> list[str]:
    """All variables in steps."""
    return [name for step in steps for name in ((step,) if isinstance(step, str) else step)]


def drawn_passes(most: int, generator: torch.Generator | None = None) -> int:
    """A number of passes from 1 to ``most``, for training with a random number of them."""
    return 1 + int(torch.randint(most, (), generator=generator, device="cpu"))


def check_passes(passes: int) -> None:
    """Raise a ValueError unless it is a number of passes."""
    if isinstance(passes, bool) or not isinstance(passes, Integral) or passes < 1:
        raise ValueError(f"the number of passes must be a whole number, 1 or more, not {passes!r}")
