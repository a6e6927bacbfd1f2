"""A layer of recurrent independent mechanisms (RIMs), after Goyal et al. (2019).

Source: sections 3.2.2.1 to 3.2.2.3 and 3.2.3.2 of Verma's thesis (2022) on RIMs. In a
step, K units read a set of elements X, to which a null vector of zeros is appended:

    scores   a_k = h_k W_k^q (X W^e)^T / sqrt(d_e)
    active   S: the top k_A units by the least softmax(a_k) on the null vector
    input    A_k = f(a_k) X W^v              f: sigmoid (section 3.2.3.2) or softmax (3.2.2.1)
    states   h_k, c_k <- LSTM_k(A_k, h_k, c_k)                              for k in S
    talk     h_k <- h_k + softmax(Q_k K^T / sqrt(d_e)) V, over all units    for k in S

where Q_k, K_k, V_k are projections of h_k by weights of unit k. A unit that is not active keeps h
and c, and gradients flow through it. A unit talks to itself, too: with one unit, top_k
1 and softmax weights over a single element this is an LSTM that may look away, and that adds V, a
linear map of h, to h. Nothing here knows the order of the elements.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from fairseq_struct.modules.recurrent_mechanisms.units import UnitLinear, UnitLSTM
from fairseq_struct.structure.checks import refuse_fractions
from fairseq_struct.structure.precision import at_least_float32

INPUT_WEIGHTS = ("sigmoid", "softmax")


class UnitStates(NamedTuple):
    """States of all units.

    Args:
        hidden, cell: (batch, units, size).
    """

    hidden: Tensor
    cell: Tensor

    def where(self, going: Tensor, before: UnitStates) -> UnitStates:
        """These states where ``going`` (batch,) is true, and those ``before`` elsewhere."""
        chosen = going[:, None, None]
        return UnitStates(*(torch.where(chosen, *pair) for pair in zip(self, before, strict=True)))


class Reading(NamedTuple):
    """What the units did in a step.

    Args:
        states: after the step.
        scores: (batch, units, n) a_k of the elements, -inf where the mask is false.
        log_attention: (batch, units, n) logarithm of softmax(a_k), the null vector left out.
        null: (batch, units) softmax(a_k) of the null vector.
        active: (batch, units) true for the units of S.
        log_shares: (batch, units) log w_k, w the softmax of 1 - null over S (section 3.2.3.2), -inf
            for other units.
    """

    states: UnitStates
    scores: Tensor
    log_attention: Tensor
    null: Tensor
    active: Tensor
    log_shares: Tensor


class RecurrentMechanisms(nn.Module):
    """A layer of units that compete to read a set of elements, step by step.

    Null vector and projections have no bias, as in the equations, so that the null vector's score
    is 0. Among units with equal weights on it, the first ones are active.

    Args:
        units: K.
        top_k: k_A.
        size: of elements.
        hidden_size: of the units' states.
        key_size: d_e, of input and of communication; the thesis does not state it.
        input_weights: f, ``sigmoid`` (the thesis) or ``softmax`` (Goyal et al.).

    Raises:
        ValueError: a number that is no integer, a size below 1, ``top_k`` not from 1 to ``units``,
            or unknown input weights.
    """

    def __init__(
        self, units: int, top_k: int, size: int, hidden_size: int, key_size: int = 64,
        input_weights: str = "sigmoid",
    ):  # fmt: skip
        super().__init__()
        refuse_fractions(
            units=units, top_k=top_k, size=size, hidden_size=hidden_size, key_size=key_size
        )
        if min(units, size, hidden_size, key_size) < 1:
            raise ValueError("units and sizes must be 1 or more")
        if not 1 <= top_k <= units:
            raise ValueError(f"top_k must be 1 to {units}, the number of units, not {top_k}")
        if input_weights not in INPUT_WEIGHTS:
            raise ValueError(
                f"input weights must be {' or '.join(INPUT_WEIGHTS)}, not {input_weights!r}"
            )
        self.units, self.top_k, self.input_weights = units, top_k, input_weights
        self.hidden_size, self.key_size = hidden_size, key_size
        self.query = UnitLinear(units, hidden_size, key_size)
        self.read = nn.Linear(size, key_size + hidden_size, bias=False)  # W^e beside W^v
        self.lstm = UnitLSTM(units, hidden_size, hidden_size)
        self.talk = UnitLinear(units, hidden_size, 2 * key_size + hidden_size)

    def extra_repr(self) -> str:
        """The units, and how many are active."""
        return f"units={self.units}, top_k={self.top_k}, input_weights={self.input_weights}"

    def begin(self, count: int) -> UnitStates:
        """States of zeros for ``count`` sequences."""
        zeros = self.read.weight.new_zeros(count, self.units, self.hidden_size)
        return UnitStates(zeros, zeros)

    def forward(
        self, inputs: Tensor, mask: Tensor | None = None, states: UnitStates | None = None
    ) -> tuple[Tensor, UnitStates]:
        """Read a sequence, a set of elements in each step.

        Args:
            inputs: (batch, T, n, size), or (batch, T, size) for one element in each step.
            mask: booleans shaped as inputs without their last dimension, or (batch, T, 1), true for
                elements; None if all are. A step without elements leaves only the null vector to
                read. What inputs hold elsewhere does not matter, NaN neither.
            states: before the first step; zeros if not given.

        Returns:
            Hidden states (batch, T, units, hidden_size), and the states after the last step.

        Raises:
            ValueError: inputs, mask or states of another shape, no step, or a mask that is not of
                booleans.
        """
        size = self.read.in_features
        if inputs.dim() not in (3, 4) or inputs.size(-1) != size or not inputs.size(1):
            raise ValueError(
                f"inputs must be (batch, T, n, {size}) or (batch, T, {size}), of a step or more, "
                f"not of the shape {tuple(inputs.shape)}"
            )
        if mask is not None and mask.shape == (*inputs.shape[:2], 1):  # of all elements of a step
            mask = mask[..., 0] if inputs.dim() == 3 else mask.expand(inputs.shape[:-1])
        if mask is None:
            mask = torch.ones(inputs.shape[:-1], dtype=torch.bool, device=inputs.device)
        elif mask.shape != inputs.shape[:-1] or mask.dtype != torch.bool:
            raise ValueError(
                f"the mask must be booleans of the shape {tuple(inputs.shape[:-1])}, as the "
                f"inputs, not {mask.dtype} of the shape {tuple(mask.shape)}"
            )
        else:
            inputs = inputs.masked_fill(~mask[..., None], 0)  # a weight of 0 leaves NaN what it is
        if inputs.dim() == 3:
            inputs, mask = inputs[:, :, None], mask[:, :, None]
        start = self.begin(len(inputs))
        states = start if states is None else states
        if len(states) != 2 or any(part.shape != start.cell.shape for part in states):
            raise ValueError(f"states must be two of the shape {tuple(start.cell.shape)}")
        states = UnitStates(*states)
        found = []
        for projected, own in zip(self.read(inputs).unbind(1), mask.unbind(1), strict=True):
            states = self.step(projected, own, states).states
            found.append(states.hidden)
        return torch.stack(found, 1), states

    def step(self, projected: Tensor, mask: Tensor, states: UnitStates) -> Reading:
        """One step over elements that :attr:`read` has projected.

        Args:
            projected: (batch, n, key_size + hidden_size), keys beside values.
            mask: (batch, n) true for elements.
            states: of the units.
        """
        keys, values = projected.split([self.key_size, self.hidden_size], -1)
        scores = torch.bmm(self.query(states.hidden), keys.transpose(1, 2))
        scores = (scores / math.sqrt(self.key_size)).masked_fill(~mask[:, None], -math.inf)
        with_null = torch.cat([scores, scores.new_zeros(*scores.shape[:2], 1)], -1)
        log_attention = at_least_float32(with_null).log_softmax(-1)
        null = log_attention[..., -1].exp()
        active, log_shares = self._selected(null)
        log_attention = log_attention[..., :-1]
        weights = log_attention.exp() if self.input_weights == "softmax" else scores.sigmoid()
        hidden, cell = self.lstm(torch.bmm(weights.to(values.dtype), values), *states)
        chosen = active[..., None]
        hidden = torch.where(chosen, hidden, states.hidden)
        hidden = torch.where(chosen, hidden + self._told(hidden), hidden)
        after = UnitStates(hidden, torch.where(chosen, cell, states.cell))
        return Reading(after, scores, log_attention, null, active, log_shares)

    def _selected(self, null: Tensor) -> tuple[Tensor, Tensor]:
        """The active units, and the logarithms of their shares."""
        first = null.detach().argsort(dim=1, stable=True)[:, : self.top_k]
        active = torch.zeros_like(null, dtype=torch.bool).scatter(1, first, True)
        return active, (1 - null).masked_fill(~active, -math.inf).log_softmax(1)

    def _told(self, hidden: Tensor) -> Tensor:
        """What every unit reads of all units."""
        sizes = [self.key_size, self.key_size, self.hidden_size]
        queries, keys, values = self.talk(hidden).split(sizes, -1)
        scores = torch.bmm(queries, keys.transpose(1, 2)) / math.sqrt(self.key_size)
        return torch.bmm(at_least_float32(scores).softmax(-1).to(values.dtype), values)
