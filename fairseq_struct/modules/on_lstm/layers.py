"""ON-LSTM: an LSTM whose neurons are ordered by how long they keep information.

Source: Y. Shen, S. Tan, A. Sordoni, A. Courville, "Ordered Neurons" (2019), equations 1 to 15.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple

import torch
from torch import Tensor, nn

from fairseq_struct.modules.dropouts import DropConnect, unit_dropout
from fairseq_struct.modules.on_lstm.whole_sequence import whole_sequence
from fairseq_struct.structure.checks import is_integral, refuse_fractions
from fairseq_struct.structure.precision import at_least_float32

State = tuple[Tensor, Tensor] | tuple[tuple[Tensor, ...], tuple[Tensor, ...]]


def cumax(scores: Tensor, dim: int = -1) -> Tensor:
    """cumsum(softmax(scores)): the expectation of a gate (0, .., 0, 1, .., 1) (eq. 6).

    Values rise from above 0 to 1 along ``dim``. Computed at least in float32.

    Args:
        scores: of any shape.
        dim: dimension of the sum.
    """
    scores = at_least_float32(scores)
    return scores.softmax(dim).cumsum(dim).clamp(max=1.0)


class Step(NamedTuple):
    """Result of a cell for one word.

    Args:
        hidden, cell: (batch, D) h_t and c_t.
        distance: (batch,) d_t, without a gradient.
    """

    hidden: Tensor
    cell: Tensor
    distance: Tensor


class ONLSTMCell(nn.Module):
    """One step of an ON-LSTM, in plain torch.

    f, i, o and c^ are as in an LSTM (eqs. 1 to 4); f~ = cumax(..) (eq. 9), i~ = 1 - cumax(..)
    (eq. 10) and w = f~ i~ (eq. 11). Then c_t = (f w + f~ - w) c_{t-1} + (i w + i~ - w) c^
    (eqs. 12 to 14) and h_t = o tanh(c_t) (eq. 5). C consecutive neurons share an element of f~ and
    of i~. The distance is d_t = D/C - sum_k f~_k (eq. 15).

    Args:
        input_size: size of x_t.
        hidden_size: D.
        chunk_size: C.
        bias: whether the gates have a bias b.

    Raises:
        ValueError: a size is below 1, or C does not divide D.
    """

    def __init__(self, input_size: int, hidden_size: int, chunk_size: int = 1, bias: bool = True):
        super().__init__()
        refuse_fractions(
            input_size=input_size, hidden_size=hidden_size, chunk_size=chunk_size
        )
        if min(input_size, hidden_size, chunk_size) < 1:
            raise ValueError("input size, hidden size and chunk size must be 1 or more")
        if hidden_size % chunk_size:
            raise ValueError(f"the chunk size {chunk_size} must divide the size {hidden_size}")
        self.input_size, self.hidden_size, self.chunk_size = input_size, hidden_size, chunk_size
        gates = 4 * hidden_size + 2 * hidden_size // chunk_size
        self.weight_ih = nn.Parameter(torch.empty(gates, input_size))
        self.weight_hh = nn.Parameter(torch.empty(gates, hidden_size))
        self.register_parameter("bias", nn.Parameter(torch.empty(gates)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self):
        """Draw all weights as ``nn.LSTM`` does, uniformly from +-1 / sqrt(D)."""
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -(self.hidden_size**-0.5), self.hidden_size**-0.5)

    def extra_repr(self) -> str:
        """The sizes."""
        return f"{self.input_size}, {self.hidden_size}, chunk_size={self.chunk_size}"

    def start(self, batch: int) -> tuple[Tensor, Tensor]:
        """h_0 = c_0 = 0, (batch, D) each."""
        zeros = self.weight_hh.new_zeros(batch, self.hidden_size)
        return zeros, zeros

    def forward(self, inputs: Tensor, state: tuple[Tensor, Tensor] | None = None) -> Step:
        """h_t, c_t and d_t of x_t.

        Args:
            inputs: (batch, input_size) x_t.
            state: h_{t-1} and c_{t-1}, (batch, D) each; zeros if not given.
        """
        state = self.start(len(inputs)) if state is None else state
        given = nn.functional.linear(inputs, self.weight_ih, self.bias)
        return self.step(given, *state, self.weight_hh)

    def step(self, given: Tensor, hidden: Tensor, cell: Tensor, weight: Tensor) -> Step:
        """As :meth:`forward`, but from W x_t + b, and with a given U.

        Args:
            given: (batch, 2 D/C + 4 D), the columns in the order f~, i~, f, i, o, c^.
            hidden, cell: (batch, D) h_{t-1} and c_{t-1}.
            weight: (2 D/C + 4 D, D) U, in place of the cell's own.
        """
        size, groups = self.hidden_size, self.hidden_size // self.chunk_size
        gates = given + nn.functional.linear(hidden, weight)
        forget, write, *others = gates.split([groups, groups, *[size] * 4], 1)
        forget, write = cumax(forget), 1 - cumax(write)
        distance = groups - forget.detach().sum(1)
        forget, write = (
            gate.to(gates.dtype).repeat_interleave(self.chunk_size, 1) for gate in (forget, write)
        )
        f, i, o = (gate.sigmoid() for gate in others[:3])
        both = forget * write
        cell = (f * both + (forget - both)) * cell + (i * both + (write - both)) * others[3].tanh()
        return Step(o * cell.tanh(), cell, distance)


class ONLSTMOutput(NamedTuple):
    """Result of :class:`ONLSTM` for a batch.

    Args:
        output: (T, batch, D) or (batch, T, D) h_t of the last layer, 0 beyond each sequence's end.
        state: h and c of every layer at each sequence's end.
        layers: h_t of every layer, shaped as ``output``.
        distances: d_t of every layer, (layers, T, batch) or (layers, batch, T).
    """

    output: Tensor
    state: State
    layers: tuple[Tensor, ...]
    distances: Tensor


class ONLSTM(nn.Module):
    """Layers of :class:`ONLSTMCell` over sequences, with the interface of ``nn.LSTM``.

    ``output, (h_n, c_n) = module(input, (h_0, c_0))``. With one ``hidden_size``, h_n and c_n are
    (layers, batch, D), as in ``nn.LSTM``. With a size for every layer they are tuples. :meth:`run`
    also returns the distances.

    In float32 and float64 on a CPU, and on a GPU with Triton, a hand-written backward pass is used,
    without gradients of second order (:func:`.whole_sequence`). Elsewhere, and with
    ``fused=False``, layers call the cell step by step.

    Args:
        input_size: size of x_t.
        hidden_size: D of all layers, or a list with one D per layer.
        num_layers: number of layers, if there is one ``hidden_size``.
        chunk_size: C.
        batch_first: sequences are (batch, T, ..) in place of (T, batch, ..).
        dropout: dropout between layers, unit by unit.
        weight_dropout: dropout of the recurrent weights (:class:`.DropConnect`), one mask for each
            call. It includes the weights of the master gates, as in the published code.
        between: module applied between layers, in place of ``dropout``.
        fused: use :func:`.whole_sequence` where possible.

    Raises:
        ValueError: a size is below 1 or no integer, C does not divide a D, or a dropout is out of
            range.
    """

    def __init__(
        self, input_size: int, hidden_size: int | Sequence[int], num_layers: int = 1,
        chunk_size: int = 1, batch_first: bool = False, dropout: float = 0.0,
        weight_dropout: float = 0.0, between: nn.Module | None = None, fused: bool = True,
    ):  # fmt: skip
        super().__init__()
        refuse_fractions(num_layers=num_layers)
        self.equal = not isinstance(hidden_size, Iterable)
        sizes = [hidden_size] * num_layers if self.equal else list(hidden_size)
        if not self.equal and num_layers not in (1, len(sizes)):
            raise ValueError(f"{len(sizes)} layer sizes, but {num_layers} layers")
        if not sizes:
            raise ValueError("there must be at least one layer")
        self.cells = nn.ModuleList(
            ONLSTMCell(given, size, chunk_size)
            for given, size in zip([input_size, *sizes], sizes, strict=False)
        )
        self.batch_first = batch_first
        self.between = unit_dropout(dropout) if between is None else between
        self.drop_connect = DropConnect(weight_dropout)
        self.fused = fused

    def forward(
        self, inputs: Tensor, state: State | None = None, lengths: Tensor | None = None
    ) -> tuple[Tensor, State]:
        """h_t of the last layer, and the state at each end; see :meth:`run`."""
        result = self.run(inputs, state, lengths)
        return result.output, result.state

    def run(
        self, inputs: Tensor, state: State | None = None, lengths: Tensor | None = None
    ) -> ONLSTMOutput:
        """Read sequences.

        Args:
            inputs: (T, batch, input_size), or (batch, T, input_size).
            state: h_0 and c_0, as returned by an earlier call; zeros if not given.
            lengths: (batch,) steps of each sequence, 0 to T, a tensor or a list; T if not given.
                A sequence's state does not change beyond its end.

        Raises:
            ValueError: wrong shapes, lengths or precision, or packed sequences.
        """
        if not isinstance(inputs, Tensor):
            raise ValueError(f"inputs must be a padded tensor, not a {type(inputs).__name__}")
        if inputs.dim() != 3 or inputs.size(2) != self.cells[0].input_size:
            raise ValueError(
                f"inputs must have three dimensions, the last of {self.cells[0].input_size}, "
                f"not the shape {tuple(inputs.shape)}"
            )
        dtype = self.cells[0].weight_ih.dtype
        if inputs.dtype != dtype and not torch.is_autocast_enabled(inputs.device.type):
            raise ValueError(f"inputs must be {dtype}, like the weights, not {inputs.dtype}")
        given = inputs.transpose(0, 1) if self.batch_first else inputs
        steps, batch, _ = given.shape
        if not steps or not batch:
            raise ValueError("the input is empty: no step or no sequence")
        starts = self._starts(state, batch)
        inside = None
        if lengths is not None:
            if not isinstance(lengths, Tensor):
                lengths = torch.tensor(lengths, device="cpu")
            whole, lengths = is_integral(lengths), lengths.long()  # torch compares no uint16
            if not whole or lengths.shape != (batch,) or lengths.min() < 0 or lengths.max() > steps:
                raise ValueError(f"lengths must be {batch} integers between 0 and {steps}")
            inside = torch.arange(steps, device=given.device)[:, None] < lengths.to(given.device)
            given = given.masked_fill(~inside[..., None], 0.0)  # weights' gradients would read it
        outputs, hidden, cells, distances = [], [], [], []
        for number, (cell, start) in enumerate(zip(self.cells, starts, strict=True)):
            if number:
                given = self.between(given)
            made, last, distance = self._layer(cell, given, start, lengths, inside)
            hidden.append(made[-1].clone())  # a view would keep all steps in memory
            cells.append(last)
            distances.append(distance)
            given = made if inside is None else made.masked_fill(~inside[..., None], 0.0)
            outputs.append(given)
        layers = [output.transpose(0, 1) if self.batch_first else output for output in outputs]
        together = torch.stack(distances)
        ends = (torch.stack(hidden), torch.stack(cells)) if self.equal else (
            tuple(hidden), tuple(cells))  # fmt: skip
        if self.batch_first:
            together = together.transpose(1, 2)
        return ONLSTMOutput(layers[-1], ends, tuple(layers), together)

    def _starts(self, state: State | None, batch: int) -> list[tuple[Tensor, Tensor]]:
        if state is None:
            return [cell.start(batch) for cell in self.cells]
        starts = []
        with suppress(TypeError, ValueError):
            starts = list(zip(*state, strict=True))
        fits = len(starts) == len(self.cells) and all(
            len(start) == 2 and part.shape == (batch, cell.hidden_size)
            for cell, start in zip(self.cells, starts, strict=True) for part in start
        )  # fmt: skip
        if not fits:
            raise ValueError(f"the state does not fit {len(self.cells)} layers, batch {batch}")
        weight = self.cells[0].weight_ih
        same = all(part.dtype == weight.dtype for start in starts for part in start)
        if not same and not torch.is_autocast_enabled(weight.device.type):
            raise ValueError(f"the state must be {weight.dtype}, like the weights")
        return starts

    def _layer(self, cell: ONLSTMCell, given: Tensor, start, lengths, inside):
        weight = self.drop_connect(cell.weight_hh)
        if self.fused and cell.bias is not None:
            done = whole_sequence(cell, weight, given, start, lengths)
            if done is not None:
                return done
        projected = nn.functional.linear(given, cell.weight_ih, cell.bias)
        hidden, last = start
        made, distances = [], []
        for t, one in enumerate(projected):
            step = cell.step(one, hidden, last, weight)
            if inside is None:
                hidden, last, distance = step
            else:
                still = inside[t][:, None]
                hidden = torch.where(still, step.hidden, hidden)
                last = torch.where(still, step.cell, last)
                distance = step.distance.masked_fill(~inside[t], 0.0)
            made.append(hidden)
            distances.append(distance)
        return torch.stack(made), last, torch.stack(distances)


def compile_kernels():
    """Call the CPU's kernels of :func:`.whole_sequence` once, so that they are compiled."""
    ONLSTM(2, 2)(torch.zeros(2, 1, 2, requires_grad=True))[0].sum().backward()
