"""Steps of an ON-LSTM on a GPU, forward and backward, between its matrix products, in Triton.

Columns of ``gates`` are as in :class:`.on_lstm.ONLSTMCell`: D/C each for the two master gates, then
D each for f, i, o and c^, all before their activations. ``states`` and ``cells`` are (T + 1, batch,
D) and begin with h_0 and c_0. Computation, and ``cells``, are in float32 where weights have fewer
digits. One program computes one instance; its neurons are a tile (groups, C), both padded to a
power of two.
"""

import triton
import triton.language as tl


@triton.jit
def _tanh(x):
    return 2 * tl.sigmoid(2 * x) - 1


@triton.jit
def _master_gate(own, group, groups, KIND: tl.constexpr):
    """The softmax of the pre-activations, and its cumulative sum (eqs. 9, 10)."""
    scores = tl.load(own + group, mask=group < groups, other=-float("inf")).to(KIND)
    weights = tl.exp(scores - tl.max(scores, 0))
    softmax = weights / tl.sum(weights, 0)
    total = tl.cumsum(softmax, 0)
    return softmax, tl.where(total > 1.0, 1.0, total)  # a minimum would hide NaN


@triton.jit
def _behind(gradient, softmax):
    """Gradient with respect to the pre-activations, from that of the cumulative sum."""
    by_softmax = tl.cumsum(gradient, 0, reverse=True)
    return softmax * (by_softmax - tl.sum(softmax * by_softmax, 0))


@triton.jit(do_not_specialize=["step"])
def advance(
    gates, states, cells, distances, lengths, step, batch, groups,
    CHUNK: tl.constexpr, GROUPS: tl.constexpr, WIDTH: tl.constexpr, KIND: tl.constexpr,
):  # fmt: skip
    """h_t, c_t (eqs. 5, 11 to 14) and d_t (eq. 15), from ``gates`` of all T steps.

    Args:
        distances: (T, batch) the output d_t.
        lengths: (batch,) steps of each instance; after them h and c do not change and d is 0.
        step: t, from 0.
        batch, groups: number of instances, and D/C.
        CHUNK: C.
        GROUPS, WIDTH: the least powers of two that hold D/C and C.
        KIND: format of the computation.
    """
    row = tl.program_id(0).to(tl.int64)  # offsets may exceed 32 bits
    size = groups * CHUNK
    group, member = tl.arange(0, GROUPS), tl.arange(0, WIDTH)
    neuron = group[:, None] * CHUNK + member[None, :]
    exists = (group < groups)[:, None] & (member < CHUNK)[None, :]
    at = step * batch + row
    before, after = at * size + neuron, (at + batch) * size + neuron
    old = tl.load(cells + before, mask=exists, other=0.0)
    if step < tl.load(lengths + row):
        own = gates + at * (2 * groups + 4 * size)
        _, forget = _master_gate(own, group, groups, KIND)
        _, closing = _master_gate(own + groups, group, groups, KIND)
        tl.store(distances + at, groups - tl.sum(tl.where(group < groups, forget, 0.0), 0))
        forget, write = forget[:, None], 1 - closing[:, None]
        other = own + 2 * groups + neuron
        f = tl.sigmoid(tl.load(other, mask=exists, other=0.0).to(KIND))
        i = tl.sigmoid(tl.load(other + size, mask=exists, other=0.0).to(KIND))
        o = tl.sigmoid(tl.load(other + 2 * size, mask=exists, other=0.0).to(KIND))
        c = _tanh(tl.load(other + 3 * size, mask=exists, other=0.0).to(KIND))
        both = forget * write
        new = (f * both + (forget - both)) * old + (i * both + (write - both)) * c
        tl.store(cells + after, new, mask=exists)
        tl.store(states + after, o * _tanh(new), mask=exists)
    else:
        tl.store(distances + at, 0.0)
        tl.store(cells + after, old, mask=exists)
        tl.store(states + after, tl.load(states + before, mask=exists, other=0.0), mask=exists)


@triton.jit(do_not_specialize=["step"])
def retreat(
    gates, cells, lengths, by_states, passed, by_cell, by_gates, kept, step, batch, groups,
    CHUNK: tl.constexpr, GROUPS: tl.constexpr, WIDTH: tl.constexpr, KIND: tl.constexpr,
):  # fmt: skip
    """Gradients of a step with respect to its pre-activations and to c_{t-1}.

    Args:
        by_states: (T, batch, D) gradient with respect to h_t of other uses than step t + 1.
        passed: (batch, D) gradient with respect to h_t of step t + 1.
        by_cell: (batch, D) gradient with respect to c_t, without its part through h_t; replaced by
            the gradient with respect to c_{t-1}.
        by_gates: (T, batch, 2 D/C + 4 D) the output.
        kept: (batch, D) the part of the gradient with respect to h_{t-1} that does not pass
            through the gates: that of instances that have ended.
    """
    row = tl.program_id(0).to(tl.int64)  # offsets may exceed 32 bits
    size = groups * CHUNK
    group, member = tl.arange(0, GROUPS), tl.arange(0, WIDTH)
    neuron = group[:, None] * CHUNK + member[None, :]
    exists = (group < groups)[:, None] & (member < CHUNK)[None, :]
    at, here = step * batch + row, row * size + neuron
    columns = 2 * groups + 4 * size
    own, wanted = gates + at * columns, by_gates + at * columns
    other, by_other = own + 2 * groups + neuron, wanted + 2 * groups + neuron
    dh = tl.load(by_states + at * size + neuron, mask=exists, other=0.0).to(KIND)
    dh += tl.load(passed + here, mask=exists, other=0.0).to(KIND)
    if step < tl.load(lengths + row):
        softmax_forget, forget = _master_gate(own, group, groups, KIND)
        softmax_write, closing = _master_gate(own + groups, group, groups, KIND)
        forget, write = forget[:, None], 1 - closing[:, None]
        f = tl.sigmoid(tl.load(other, mask=exists, other=0.0).to(KIND))
        i = tl.sigmoid(tl.load(other + size, mask=exists, other=0.0).to(KIND))
        o = tl.sigmoid(tl.load(other + 2 * size, mask=exists, other=0.0).to(KIND))
        c = _tanh(tl.load(other + 3 * size, mask=exists, other=0.0).to(KIND))
        old = tl.load(cells + at * size + neuron, mask=exists, other=0.0)
        tanh = _tanh(tl.load(cells + (at + batch) * size + neuron, mask=exists, other=0.0))
        both = forget * write
        through = tl.load(by_cell + here, mask=exists, other=0.0) + dh * o * (1 - tanh * tanh)
        by_kept, by_new = through * old, through * c
        by_both = by_kept * (f - 1) + by_new * (i - 1)
        by_forget = tl.sum(tl.where(exists, by_kept + by_both * write, 0.0), 1)
        by_write = tl.sum(tl.where(exists, by_new + by_both * forget, 0.0), 1)
        tl.store(wanted + group, _behind(by_forget, softmax_forget), mask=group < groups)
        tl.store(wanted + groups + group, _behind(-by_write, softmax_write), mask=group < groups)
        tl.store(by_other, by_kept * both * f * (1 - f), mask=exists)
        tl.store(by_other + size, by_new * both * i * (1 - i), mask=exists)
        tl.store(by_other + 2 * size, dh * tanh * o * (1 - o), mask=exists)
        by_c = through * (i * both + (write - both)) * (1 - c * c)
        tl.store(by_other + 3 * size, by_c, mask=exists)
        tl.store(by_cell + here, through * (f * both + (forget - both)), mask=exists)
        tl.store(kept + here, tl.zeros_like(dh), mask=exists)
    else:
        tl.store(wanted + group, tl.zeros_like(group).to(KIND), mask=group < groups)
        tl.store(wanted + groups + group, tl.zeros_like(group).to(KIND), mask=group < groups)
        for part in range(4):
            tl.store(by_other + part * size, tl.zeros_like(dh), mask=exists)
        tl.store(kept + here, dh, mask=exists)
