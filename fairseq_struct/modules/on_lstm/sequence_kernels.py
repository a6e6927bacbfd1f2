"""Compiled steps of an ON-LSTM, forward and backward, between its matrix products.

Columns of ``gates`` are as in :class:`.on_lstm.ONLSTMCell`: D/C each for the two master gates, then
D each for f, i, o and c^. :func:`advance` reads pre-activations of the master gates and activations
of the others. It replaces the pre-activations by the softmaxes of the master gates, for
:func:`retreat`.
"""

import numpy as np

from fairseq_struct.structure.kernels.compiled import compiled, inner


@inner
def _master_gates(gates, groups, chunk, forget, write):
    """Write f~ and i~ of every neuron (eqs. 9, 10); return the sum of f~ over groups.

    The first columns of ``gates`` are the two softmaxes.
    """
    forgetting, closing, total = 0.0, 0.0, 0.0
    for k in range(groups):
        forgetting = min(forgetting + gates[k], 1.0)
        closing = min(closing + gates[groups + k], 1.0)
        total += forgetting
        for j in range(k * chunk, (k + 1) * chunk):
            forget[j], write[j] = forgetting, 1.0 - closing
    return total


@compiled
def advance(first, last, step, lengths, chunk, gates, before, after, distances):
    """c_t (eqs. 11 to 14) and d_t (eq. 15) of instances ``first`` .. ``last - 1``.

    Args:
        step: t, from 0.
        lengths: (batch,) steps of each instance; after them c does not change and d is 0.
        chunk: C, neurons that share a master gate.
        gates: (batch, 2 D/C + 4 D), see the module.
        before, after: (batch, D) c_{t-1}, and the output c_t.
        distances: (batch,) the output d_t.
    """
    size = before.shape[1]
    groups = size // chunk
    forget, write = np.empty(size, gates.dtype), np.empty(size, gates.dtype)
    for b in range(first, last):
        if step >= lengths[b]:
            for j in range(size):
                after[b, j] = before[b, j]
            distances[b] = 0.0
            continue
        own = gates[b]
        for start in (0, groups):
            highest = own[start]
            for k in range(start, start + groups):
                highest = max(highest, own[k])
            total = 0.0
            for k in range(start, start + groups):
                own[k] = np.exp(own[k] - highest)
                total += own[k]
            for k in range(start, start + groups):
                own[k] /= total
        distances[b] = groups - _master_gates(own, groups, chunk, forget, write)
        f, i, c = own[2 * groups :], own[2 * groups + size :], own[2 * groups + 3 * size :]
        old, new = before[b], after[b]
        for j in range(size):
            both = forget[j] * write[j]
            kept = f[j] * both + (forget[j] - both)
            new[j] = kept * old[j] + (i[j] * both + (write[j] - both)) * c[j]


@compiled
def retreat(
    first, last, step, lengths, chunk, gates, before, squashed, by_hidden, by_cell, by_gates
):
    """Gradients of a step with respect to its pre-activations and to c_{t-1}.

    Args:
        first, last, step, lengths, chunk, gates, before: as after a call of :func:`advance`.
        squashed: (batch, D) tanh(c_t).
        by_hidden: (batch, D) gradient with respect to h_t.
        by_cell: (batch, D) gradient with respect to c_t, without its part through h_t; replaced by
            the gradient with respect to c_{t-1}.
        by_gates: (batch, 2 D/C + 4 D) the output.
    """
    size = before.shape[1]
    groups = size // chunk
    forget, write = np.empty(size, gates.dtype), np.empty(size, gates.dtype)
    by_forget, by_write = np.empty(size, gates.dtype), np.empty(size, gates.dtype)
    for b in range(first, last):
        own, wanted = gates[b], by_gates[b]
        if step >= lengths[b]:
            for j in range(len(wanted)):
                wanted[j] = 0.0
            continue
        _master_gates(own, groups, chunk, forget, write)
        f, i = own[2 * groups :], own[2 * groups + size :]
        o, c = own[2 * groups + 2 * size :], own[2 * groups + 3 * size :]
        by_f, by_i = wanted[2 * groups :], wanted[2 * groups + size :]
        by_o, by_c = wanted[2 * groups + 2 * size :], wanted[2 * groups + 3 * size :]
        old, tanh, dh, dc = before[b], squashed[b], by_hidden[b], by_cell[b]
        for j in range(size):
            both = forget[j] * write[j]
            through = dc[j] + dh[j] * o[j] * (1 - tanh[j] * tanh[j])
            by_kept, by_new = through * old[j], through * c[j]
            by_both = by_kept * (f[j] - 1) + by_new * (i[j] - 1)
            by_forget[j] = by_kept + by_both * write[j]
            by_write[j] = by_new + by_both * forget[j]
            by_f[j] = by_kept * both * f[j] * (1 - f[j])
            by_i[j] = by_new * both * i[j] * (1 - i[j])
            by_o[j] = dh[j] * tanh[j] * o[j] * (1 - o[j])
            by_c[j] = through * (i[j] * both + (write[j] - both)) * (1 - c[j] * c[j])
            dc[j] = through * (f[j] * both + (forget[j] - both))
        # Back through the sums over chunks, the cumulative sums and the softmaxes.
        so_far_forget, so_far_write, mean_forget, mean_write = 0.0, 0.0, 0.0, 0.0
        for k in range(groups - 1, -1, -1):
            for j in range(k * chunk, (k + 1) * chunk):
                so_far_forget += by_forget[j]
                so_far_write -= by_write[j]
            wanted[k], wanted[groups + k] = so_far_forget, so_far_write
            mean_forget += own[k] * so_far_forget
            mean_write += own[groups + k] * so_far_write
        for k in range(groups):
            wanted[k] = own[k] * (wanted[k] - mean_forget)
            wanted[groups + k] = own[groups + k] * (wanted[groups + k] - mean_write)
