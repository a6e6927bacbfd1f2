"""The recursion over steps of an option-controller network, for any number of levels."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from fairseq_struct.modules.option_controller.cell import StackedCells


class State(NamedTuple):
    """States of all levels, options first; K_0 are the options, K_l the controllers of level l.

    Attributes:
        hidden: for each level l, (K_l, K_l+1, .., batch, d_hid) h_t: every controller runs options
            of its own.
        choices: for each level l above the options, (K_l-1, K_l, .., batch) p_t^c.
    """

    hidden: list[Tensor]
    choices: list[Tensor]

    def of_first(self, rows: int) -> "State":
        """Of the first rows of the batch alone."""
        if self.choices[0].size(-1) == rows:
            return self
        hidden = [part[..., :rows, :] for part in self.hidden]
        return State(hidden, [part[..., :rows] for part in self.choices])


class Begun(NamedTuple):
    """How a level starts anew: (K, .., actions) p_t'^a, and the states up to its own."""

    probabilities: Tensor
    state: State

    def widened(self, count: int) -> "Begun":
        """With ``count`` axes of length 1 before the batch, for controllers above."""
        hidden = [_widened(part, count, 2) for part in self.state.hidden]
        choices = [_widened(part, count, 1) for part in self.state.choices]
        return Begun(_widened(self.probabilities, count, 2), State(hidden, choices))


class Step(NamedTuple):
    """Step t of the network.

    Attributes:
        state: of all levels.
        actions: (batch, actions) p_t^a.
        ends: (batch,) e_t of the options, in expectation over controllers between.
        options: (batch, K) p_t^c over the options, likewise.
    """

    state: State
    actions: Tensor
    ends: Tensor
    options: Tensor


class Recursion:
    """Eqs. 5.2.8 to 5.2.17, with weights that are stacked once for all steps of a batch.

    Args:
        levels: cells of all levels, the options first; the last level has one cell.
    """

    def __init__(self, levels: Sequence[StackedCells]):
        self.levels = levels

    def prepare(
        self, observations: Tensor, rows: Sequence[int]
    ) -> list[tuple[list[Tensor], list[Begun]]]:
        """What does not depend on the past.

        Args:
            observations: (total, size), of one step after the other.
            rows: of each step.

        Returns:
            For each step, the first layers of all levels, and how each level but the last would
            start anew (eq. 5.2.15), with axes of length 1 for the levels above.
        """
        observed = [cells.observe(observations) for cells in self.levels]
        started = [cells.run(own) for cells, own in zip(self.levels[:-1], observed, strict=False)]
        layers = zip(*(own.split(rows, 1) for own in observed), strict=True)
        starts = zip(*(zip(*(part.split(rows, 1) for part in own[:2]), strict=True)
                       for own in started), strict=True)  # fmt: skip
        above = range(len(self.levels) - 1, -1, -1)
        prepared = []
        for own, fresh in zip(layers, starts, strict=True):
            begun = []
            for found in fresh:
                begun.append(_started(*found, begun[-1].widened(1) if begun else None))
            prepared.append((
                [_widened(layer, count, 2) for layer, count in zip(own, above, strict=True)],
                [start.widened(count) for start, count in zip(begun, above, strict=False)],
            ))  # fmt: skip
        return prepared

    def first(self, observed: list[Tensor], begun: list[Begun], hidden: Tensor) -> Step:
        """Step 1 (eqs. 5.2.8 to 5.2.10), where e_1 is 1 by definition.

        Args:
            observed: first layers of all levels.
            begun: how each level but the last starts.
            hidden: (1, batch, d_hid) h_0^c.
        """
        start = _started(*self.levels[-1].run(observed[-1], hidden)[:2], begun[-1])
        actions = start.probabilities[0]
        return Step(
            start.state, actions, torch.ones_like(actions[:, 0]), _over_options(start.state)
        )

    def next(
        self, observed: list[Tensor], begun: list[Begun], state: State, anew: Tensor | None = None
    ) -> Step:
        """Step t > 1 (eqs. 5.2.11 to 5.2.17), from the lowest level to the highest.

        Args:
            observed: first layers of all levels.
            begun: how each level but the last would start anew.
            state: of step t - 1; what it has of further rows is left out.
            anew: (batch,) rows whose first step this is, so that e_t is 1.
        """
        state = state.of_first(observed[0].size(-2))
        found = self.levels[0].run(observed[0], state.hidden[0])  # 5.2.11
        actions, done, now, ends = found.probabilities, found.ends, State([found.states], []), []
        for level, fresh in enumerate(begun, 1):
            last, own = state.choices[level - 1], state.hidden[level]
            end = (last * done).sum(0)  # 5.2.12
            if anew is not None and level == len(begun):
                end = end.masked_fill(anew, 1)
            new = self.levels[level].run(observed[level], own)  # 5.2.14
            start = _started(*new[:2], fresh)  # 5.2.15, 5.2.16
            kept = State([*now.hidden, own], [*now.choices, last])
            actions = _mixed(end, start.probabilities, _mixture(last, actions))  # 5.2.13, 5.2.17
            now = State(
                [_mixed(end, *both) for both in zip(start.state.hidden, kept.hidden, strict=True)],
                [torch.lerp(old, own.to(old.dtype), end.to(old.dtype))
                 for own, old in zip(start.state.choices, kept.choices, strict=True)],
            )  # fmt: skip
            ends.append(end)
            done = end if new.ends is None else end * new.ends
        ended = _expected(ends, state)
        if anew is not None:
            ended = ended.masked_fill(anew, 1)
        return Step(now, actions[0], ended, _over_options(now))


def _started(probabilities: Tensor, states: Tensor, below: Begun | None) -> Begun:
    """The start of a level, of its cells' outputs and the start of the level below."""
    if below is None:
        return Begun(probabilities, State([states], []))
    choice = probabilities.movedim(-1, 0)
    return Begun(
        _mixture(choice, below.probabilities),
        State([*below.state.hidden, states], [*below.state.choices, choice]),
    )


def _mixture(choice: Tensor, probabilities: Tensor) -> Tensor:
    """sum_i p_i^c p_i, of (K, ..) and (K, .., actions)."""
    return (choice[..., None] * probabilities).sum(0)


def _mixed(end: Tensor, new: Tensor, old: Tensor) -> Tensor:
    """e new + (1 - e) old, exactly one of them where e is 1 or 0 (eq. 5.2.17)."""
    return torch.lerp(old, new.to(old.dtype), end[..., None].to(old.dtype))


def _expected(ends: list[Tensor], state: State) -> Tensor:
    """(batch,) e_t of the options that run under all controllers of the state."""
    found = ends[0]
    for choice in state.choices[1:]:
        found = (choice * found).sum(0)
    return found[0]


def _over_options(state: State) -> Tensor:
    """(batch, K) the distribution over options of all controllers of the state."""
    found = state.choices[0]
    for choice in state.choices[1:]:
        found = (choice * found).sum(1)
    return found[:, 0].t()


def _widened(part: Tensor, count: int, last: int) -> Tensor:
    """With ``count`` axes of length 1 before the last ones."""
    split = part.dim() - last
    return part.reshape(*part.shape[:split], *[1] * count, *part.shape[split:])
