"""One minimisation of the energy of a factor graph, block by block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from fairseq_struct.modules.undirected.orders import Step

if TYPE_CHECKING:
    from fairseq_struct.modules.undirected.graph import FactorGraph


class Descent:
    """Values of the variables between updates.

    A message is computed again only if a variable it depends on has changed. So terms of observed
    variables are computed once, and added once.

    Args:
        graph: the factor graph.
        observed, start, supports, clamped, dropout: as for :meth:`.FactorGraph.minimise`.

    Attributes:
        values: by name, of all variables that have a value; the others are zero.
    """

    def __init__(
        self, graph: FactorGraph, observed: Mapping[str, Tensor], start: Mapping[str, Tensor],
        supports: Mapping, clamped: Mapping[str, Tensor], dropout: bool = True,
    ):  # fmt: skip
        self.graph, self.values, self._observed = graph, {**start, **observed}, set(observed)
        self._dropout = dropout and graph.training
        self._start, self._supports, self._clamped = dict(start), dict(supports), dict(clamped)
        self._messages: dict[tuple[str, str], tuple[tuple[Tensor, ...], Tensor]] = {}
        self._constants: dict[str, Tensor | None] = {}
        self._kept: dict[str, dict] = {key: {} for key in graph.factors}
        self._masks: dict[str, Tensor] = {}

    def run(self, steps: Sequence[Step]) -> None:
        """Update variables in turn, and the members of a group from their old values."""
        for step in steps:
            group = (step,) if isinstance(step, str) else step
            made = {name: self.update(name) for name in group}
            self.values.update(made)

    def update(self, name: str) -> Tensor:
        """argmin over x of the energy (eq. C.1); the new value is returned, not kept."""
        variable, support = self.graph.variables[name], self._supports.get(name)
        field = self.field(name)
        variable.check(name, field)
        variable.regulariser.check(name, field)
        value = variable.regulariser.gradient(field, support)
        if value.shape != field.shape:
            raise ValueError(
                f"the regulariser of variable {name} makes {tuple(value.shape)} of a "
                f"pre-activation {tuple(field.shape)}"
            )
        if variable.dropout and self._dropout:
            if name not in self._masks:
                self._masks[name] = _mask(value, 1 - variable.dropout)
            value = value * self._masks[name]
        if name in self._clamped:
            value = torch.where(self._clamped[name], self._start[name], value)
        return value

    def field(self, name: str) -> Tensor:
        """z = b + sum of messages (eq. C.2).

        Raises:
            ValueError: no factor of the variable has all the values it needs.
        """
        terms: tuple[list[Tensor], list[Tensor]] = ([], [])
        for key, factor in self.graph.factors.items():
            needed = factor.needs(name) if name in factor.names else ()
            if needed and all(other in self.values for other in needed):
                moves = not self._observed.issuperset(needed)
                terms[moves].append(self._message(key, factor, name))
        constant, moving = terms
        if not constant and not moving:
            raise ValueError(
                f"{name} is updated before its neighbours have values; give some of them a start"
            )
        first = self._constant(name, constant)
        found = sum(moving[1:], moving[0]) if first is None else sum(moving, first)
        count = len(next(iter(self.values.values())))
        if len(found) != count:
            raise ValueError(
                f"the factors of variable {name} send messages of {len(found)} instances, not of "
                f"{count}"
            )
        return found

    def _constant(self, name: str, terms: Sequence[Tensor]) -> Tensor | None:
        """b + sum of messages from observed variables, added once; None if there is neither."""
        if name not in self._constants:
            bias = self.graph.variables[name].bias
            both = [*terms] if bias is None else [bias, *terms]
            self._constants[name] = sum(both[1:], both[0]) if both else None
        return self._constants[name]

    def _message(self, key: str, factor, name: str) -> Tensor:
        inputs = tuple(self.values[other] for other in factor.needs(name))
        kept = self._messages.get((key, name))
        if kept is not None and all(a is b for a, b in zip(kept[0], inputs, strict=True)):
            return kept[1]
        made = factor.messages(name, self.values, self._kept[key])
        self._messages.update({(key, other): (inputs, one) for other, one in made.items()})
        return made[name]

    def keep(self, which: Tensor) -> None:
        """Go on with the instances marked in ``which`` (batch,) alone."""
        sizes = {name: value.dim() for name, value in self.values.items()}
        for group in (self.values, self._start, self._supports, self._clamped, self._masks):
            for name, value in group.items():
                if not isinstance(value, Tensor) or value.dim() == sizes.get(name, value.dim()):
                    group[name] = _rows(value, which)
        self._messages.clear()
        self._constants.clear()
        self._kept = {key: {} for key in self._kept}


def _mask(value: Tensor, keep: float) -> Tensor:
    """1 / keep with probability keep, else 0, like ``value``; thrice as fast as Bernoulli draws."""
    drawn = torch.empty_like(value, dtype=torch.float32).uniform_()
    return drawn.lt_(keep).to(value.dtype).div_(keep)


def _rows(value, which: Tensor):
    """The marked rows of a tensor, or of each tensor of a tuple; a row for all stays."""
    if value is None:
        return None
    if isinstance(value, tuple):
        parts = [_rows(part, which) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value[which] if len(value) == len(which) else value
