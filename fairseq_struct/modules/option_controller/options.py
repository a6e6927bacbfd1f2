"""A pool of options, which a controller chooses among."""

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from fairseq_struct.modules.option_controller.cell import (
    Cell,
    CellOutput,
    CellSizes,
    StackedCells,
    check_chosen,
)
from fairseq_struct.modules.option_controller.latent_options import JoinedOptions, LatentOptions


class OptionPool(nn.ModuleList):
    """Options o_1 … o_K, each a cell with parameters of its own (Shen's thesis, eq. 5.2.1).

    An option acts by itself, whatever the task: it can be frozen, saved, replaced or moved to
    another pool alone. All options are computed in one batched product.

    The initial state h_{i,0} is 0, because the biases of an option already learn where it begins;
    the thesis does not say what it is.

    Args:
        cells: the options.

    Raises:
        ValueError: there is no option, or their sizes differ.
    """

    def __init__(self, cells: Iterable[Cell]):
        super().__init__(cells)
        if not len(self):
            raise ValueError("a pool needs an option")
        for number, cell in enumerate(self):
            if cell.sizes != self[0].sizes:
                ours, others = vars(self[0].sizes), vars(cell.sizes)
                told = [f"{name} {others[name]}, not {ours[name]}"
                        for name in ours if ours[name] != others[name]]  # fmt: skip
                raise ValueError(
                    "options of one pool have equal sizes and the same kind; option "
                    f"{number} has {'; '.join(told)} as option 0"
                )

    @classmethod
    def of(cls, count: int, sizes: CellSizes, end_bias: float = 0.0) -> "OptionPool":
        """A pool of ``count`` new options; ``end_bias`` as for :class:`.Cell`.

        Raises:
            ValueError: the count is below 1.
        """
        return cls(Cell(sizes, end_bias) for _ in range(count))

    @property
    def sizes(self) -> CellSizes:
        """Sizes of each option."""
        return self[0].sizes

    def start(self, observations: Tensor, chosen: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The first step of options, from their initial states (eq. 5.2.15).

        Args:
            observations: (count, size).
            chosen: (count,) the option that each row runs; None runs all of them.

        Returns:
            Probabilities (count, K, actions) and states (count, K, d_hid); without axis K if
            options are chosen.

        Raises:
            ValueError: there is no such option.
        """
        found = self._run(observations, None, chosen)
        return found.probabilities, found.states

    def go_on(
        self, observations: Tensor, states: Tensor, chosen: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """A later step of options (eq. 5.2.11).

        Args:
            observations: (count, size).
            states: (count, K, d_hid); (count, d_hid) if options are chosen.
            chosen: as for :meth:`start`.

        Returns:
            Probabilities, states, and ends (count, K): e_t, the probability that the subtask was
            done before this step, so that these probabilities do not apply. Options without an end,
            those of a mixture of experts, are always done: 1. Without axis K if options are chosen.

        Raises:
            ValueError: there is no such option.
        """
        found = self._run(observations, states, chosen)
        return tuple(found)

    def _run(
        self, observations: Tensor, states: Tensor | None, chosen: Tensor | None
    ) -> CellOutput:
        if chosen is None:
            cells = StackedCells(self)
            if states is not None:
                states = states.movedim(1, 0)
            found = _with_ends(cells.run(cells.observe(observations), states))
            return CellOutput(*(part.movedim(0, 1) for part in found))
        check_chosen(chosen, len(observations), len(self))
        # Each option runs its own rows; then the rows are put back into their order.
        order = chosen.argsort(stable=True)
        rows = order.split(chosen.bincount(minlength=len(self)).tolist())
        found = [
            _with_ends(cell(observations[own], None if states is None else states[own]))
            for cell, own in zip(self, rows, strict=True)
            if len(own) or not len(chosen)
        ]
        back = order.argsort()
        return CellOutput(*(torch.cat(parts)[back] for parts in zip(*found, strict=True)))


def _with_ends(found: CellOutput) -> CellOutput:
    if found.ends is not None:
        return found
    return found._replace(ends=torch.ones_like(found.probabilities[..., 0]))


Pool = OptionPool | LatentOptions | JoinedOptions


def merge(pools: Iterable[Pool]) -> Pool:
    """One pool of the options of several, in their order, which share their parameters.

    Args:
        pools: of trained models, as ``[model.options for model in models]``; either all of cells,
            or all of latents of compILE.

    Raises:
        ValueError: there is none, or kinds, sizes, observations or actions differ.
        TypeError: something else than a pool is among them.
    """
    pools = list(pools)
    for pool in pools:
        if not isinstance(pool, Pool):
            raise TypeError(
                f"pools of options are joined, such as model.options; not {type(pool).__name__}"
            )
    latent = [not isinstance(pool, OptionPool) for pool in pools]
    if not any(latent):
        return OptionPool(option for pool in pools for option in pool)
    if not all(latent):
        raise ValueError("latents of compILE and options of other networks are not of one pool")
    parts = [part for pool in pools for part in getattr(pool, "parts", [pool])]
    return parts[0] if len(parts) == 1 else JoinedOptions(parts)
