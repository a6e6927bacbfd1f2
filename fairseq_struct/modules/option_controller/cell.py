"""The cell network of options and controllers, one by one and many at once."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

import torch
from torch import Tensor, nn

from fairseq_struct.structure.checks import is_integral, refuse_fractions


@dataclass(frozen=True)
class CellSizes:
    """Sizes of a cell.

    Attributes:
        observation: of x_t.
        outputs: actions of an option, or options of a controller.
        hidden: d_hid of h_t; 0 for a cell without memory.
        mlp: d_MLP. The thesis does not give it; the default is that of d_hid.
        depth: l_MLP, the layers of the MLP.
        ends: whether the cell has e_t.

    Raises:
        ValueError: a size out of range.
    """

    observation: int
    outputs: int
    hidden: int = 128
    mlp: int = 128
    depth: int = 2
    ends: bool = True

    def __post_init__(self):
        refuse_fractions(**{field.name: getattr(self, field.name) for field in fields(self)})
        for name in ("observation", "outputs", "mlp", "depth"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} of a cell must be 1 or more, not {getattr(self, name)}")
        if self.hidden < 0:
            raise ValueError(f"hidden of a cell must be 0 or more, not {self.hidden}")


def check_chosen(chosen: Tensor, rows: int, count: int):
    """Refuse numbers of options that there are not.

    Args:
        chosen: the option of each row.
        rows: how many there are.
        count: K, number of options.

    Raises:
        ValueError: they are no integers, more or fewer than rows, or one is out of range.
    """
    if chosen.shape != (rows,) or not is_integral(chosen):
        raise ValueError(
            f"chosen options must be {rows} integers, not {chosen.dtype} of shape "
            f"{tuple(chosen.shape)}"
        )
    wrong = (chosen < 0) | (chosen >= count)
    if wrong.any():
        raise ValueError(
            f"chosen options must be from 0 to {count - 1}, not {int(chosen[wrong][0])}"
        )


class CellOutput(NamedTuple):
    """Outputs of K cells.

    Attributes:
        probabilities: (K, .., outputs) p_t, in float32 or more.
        states: (K, .., d_hid) h_t.
        ends: (K, ..) e_t, in float32 or more; None for cells without it.
    """

    probabilities: Tensor
    states: Tensor
    ends: Tensor | None


class Cell(nn.Module):
    """p_t, h_t, e_t from x_t and h_{t-1} (Shen's thesis, eqs. 5.2.3 to 5.2.6).

    h^_t = MLP([x_t, h_{t-1}]), p_t = softmax(W_act h^_t + b_act), h_t = tanh(W_hid h^_t + b_hid),
    e_t = sigmoid(w_end h^_t + b_end). Every layer of the MLP ends in tanh, the last one, too: the
    thesis does not say so, but without it the last layer and W_act would be one.

    The first layer is kept in two parts, ``observed`` of x_t and ``recurrent`` of h_{t-1}, because
    the first part can be computed for all steps at once. Layers are read, not called: hooks of
    theirs, such as those of pruning, have no effect (parametrisations have).

    Args:
        sizes: of the cell.
        end_bias: added to b_end when it is drawn. With a high one, options end at most steps before
            they have learned to go on.
    """

    def __init__(self, sizes: CellSizes, end_bias: float = 0.0):
        super().__init__()
        self.sizes, self.end_bias = sizes, end_bias
        self.observed = nn.Linear(sizes.observation, sizes.mlp)
        self.layers = nn.ModuleList(nn.Linear(sizes.mlp, sizes.mlp) for _ in range(sizes.depth - 1))
        self.act = nn.Linear(sizes.mlp, sizes.outputs)
        if sizes.hidden:
            self.recurrent = nn.Linear(sizes.hidden, sizes.mlp, bias=False)
            self.hid = nn.Linear(sizes.mlp, sizes.hidden)
        if sizes.ends:
            self.end = nn.Linear(sizes.mlp, 1)
        self.reset_parameters()

    def reset_parameters(self):
        """Draw all parameters anew, the two parts of the first layer as torch draws one layer."""
        for layer in self.children():
            for each in layer if isinstance(layer, nn.ModuleList) else [layer]:
                each.reset_parameters()
        bound = 1 / math.sqrt(self.sizes.observation + self.sizes.hidden)
        parts = [self.observed.weight, self.observed.bias]
        for part in [*parts, self.recurrent.weight] if self.sizes.hidden else parts:
            nn.init.uniform_(part, -bound, bound)
        if self.sizes.ends:
            with torch.no_grad():
                self.end.bias.add_(self.end_bias)

    def forward(self, observations: Tensor, states: Tensor | None = None) -> CellOutput:
        """One step of this cell alone; the outputs have no axis K.

        Args:
            observations: (.., observation).
            states: (.., d_hid) h_{t-1}; None is 0.
        """
        alone = StackedCells([self])
        found = alone.run(alone.observe(observations), None if states is None else states[None])
        return CellOutput(*(None if each is None else each[0] for each in found))


class StackedCells:
    """K cells of equal sizes, computed in one batched product each layer.

    Their weights are stacked here, so make it once for all steps of a batch. Gradients reach the
    parameters of each cell.

    Args:
        cells: the cells.
        temperature: T of eq. 5.2.7, by which the scores of p_t are divided.
    """

    def __init__(self, cells: Sequence[Cell], temperature: float = 1.0):
        self.sizes, self.temperature = cells[0].sizes, temperature
        self.observed = _affine([cell.observed for cell in cells])
        self.layers = [
            _affine(layers) for layers in zip(*(cell.layers for cell in cells), strict=True)
        ]
        if self.sizes.hidden:
            self.recurrent = _stack([cell.recurrent.weight.t() for cell in cells])
        heads = ["act"] + ["hid"] * (self.sizes.hidden > 0) + ["end"] * self.sizes.ends
        parts = [_affine([getattr(cell, name) for cell in cells]) for name in heads]
        self.heads = tuple(torch.cat(both, -1) for both in zip(*parts, strict=True))
        self.widths = [self.sizes.outputs, self.sizes.hidden, int(self.sizes.ends)]

    def observe(self, observations: Tensor) -> Tensor:
        """The part (K, .., d_MLP) of the first layer that depends on observations (.., size).

        Raises:
            ValueError: observations of another size.
        """
        weight, bias = self.observed
        if observations.size(-1) != self.sizes.observation:
            raise ValueError(
                f"observations have {observations.size(-1)} numbers; the cells read "
                f"{self.sizes.observation}"
            )
        rows = observations.to(weight.dtype).flatten(0, -2)
        found = torch.baddbmm(bias, rows.expand(len(weight), -1, -1), weight)
        return found.unflatten(1, observations.shape[:-1])

    def run(self, observed: Tensor, states: Tensor | None = None) -> CellOutput:
        """One step of all cells.

        Args:
            observed: (K, .., d_MLP) from :meth:`observe`.
            states: (K, .., d_hid) h_{t-1}; None is 0. Axes of length 1 are broadcast.
        """
        if states is None or not self.sizes.hidden:
            shape, first = observed.shape[1:-1], observed.flatten(1, -2)
        else:
            shape = torch.broadcast_shapes(observed.shape[:-1], states.shape[:-1])[1:]
            first, states = (
                part.expand(-1, *shape, -1).flatten(1, -2) for part in (observed, states)
            )
            first = torch.baddbmm(first, states.to(first.dtype), self.recurrent)
        hidden = first.tanh()
        for weight, bias in self.layers:
            hidden = torch.baddbmm(bias, hidden, weight).tanh()
        weight, bias = self.heads
        heads = torch.baddbmm(bias, hidden, weight).unflatten(1, shape)
        scores, states, ends = heads.split(self.widths, -1)
        # Mixtures of probabilities are never computed in half precision.
        exact = torch.promote_types(scores.dtype, torch.float32)
        return CellOutput(
            (scores.to(exact) / self.temperature).softmax(-1), states.tanh(),
            ends.to(exact).sigmoid().squeeze(-1) if self.sizes.ends else None,
        )  # fmt: skip


def _affine(layers: Sequence[nn.Linear]) -> tuple[Tensor, Tensor]:
    """Weights (K, in, out) and biases (K, 1, out) of K layers."""
    weights = _stack([layer.weight.t() for layer in layers])
    return weights, _stack([layer.bias[None] for layer in layers])


def _stack(parts: Sequence[Tensor]) -> Tensor:
    return parts[0][None] if len(parts) == 1 else torch.stack(list(parts))
