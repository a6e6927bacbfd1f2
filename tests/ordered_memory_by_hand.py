"""Ordered Memory, number by number: loops over words, slots and elements."""

import math

import torch
from torch import nn


def dot(weights, values):
    return sum(float(w) * v for w, v in zip(weights, values, strict=True))


def linear(layer, values):
    bias = [0.0] * len(layer.weight) if layer.bias is None else layer.bias.tolist()
    return [dot(row, values) + b for row, b in zip(layer.weight.tolist(), bias, strict=True)]


def normalised(layer, values):
    if isinstance(layer, nn.Identity):
        return values
    mean = sum(values) / len(values)
    variance = sum((v - mean) ** 2 for v in values) / len(values)
    rows = zip(values, layer.weight.tolist(), layer.bias.tolist(), strict=True)
    return [(v - mean) / math.sqrt(variance + layer.eps) * w + b for v, w, b in rows]


def sigmoid(value):
    return 1 / (1 + math.exp(-value))


def composed(cell, vertical, horizontal):
    """Equations 3.5.12 and 3.5.13, number by number."""
    hidden = [max(0.0, h) for h in linear(cell.hidden, [*vertical, *horizontal])]
    gates = linear(cell.gates, hidden)
    v, h, c, u = (gates[k * cell.size : (k + 1) * cell.size] for k in range(4))
    sums = [
        sigmoid(v[j]) * vertical[j] + sigmoid(h[j]) * horizontal[j] + sigmoid(c[j]) * u[j]
        for j in range(cell.size)
    ]
    return normalised(cell.norm, sums)


def attended(attention, word, candidates, mask):
    """Equations 3.5.8 to 3.5.11, or those of the published code, number by number."""
    query = normalised(attention.query_norm, linear(attention.query, word))
    weights = []
    for candidate, reach in zip(candidates, mask, strict=True):
        key = normalised(attention.key_norm, linear(attention.key, candidate))
        hidden = [q + k for q, k in zip(query, key, strict=True)]
        if attention.form == "paper":
            hidden = [math.tanh(h) for h in hidden]
        else:
            hidden = [max(0.0, h) for h in hidden]
            reach = 0.0 if reach < 1e-5 else reach
        (score,) = linear(attention.score, hidden)
        weights.append(math.exp(score / math.sqrt(len(word))) * reach)
    return [weight / sum(weights) for weight in weights]


def read_by_hand(memory, sentence, slots):
    """Algorithm 2 for one sentence; p, M and M-hat of every word."""
    zeros = [0.0] * memory.cell.size
    stack, candidates, mass = [zeros] * slots, [zeros] * slots, [0.0] * slots
    steps = []
    for t, given in enumerate(sentence):
        word = normalised(memory.cell.norm, linear(memory.input, given))
        pointer = [0.0] * slots  # no slot exists at the first word
        if t:
            pointer = attended(memory.attention, word, candidates, [*mass[1:], 1.0])
        mass = [sum(pointer[: i + 1]) for i in range(slots)]
        reverse = [sum(pointer[i:]) for i in range(slots)]
        new, below = [], word
        for i in range(slots):
            stack[i] = [
                m * (1 - reverse[i]) + c * reverse[i]
                for m, c in zip(stack[i], candidates[i], strict=True)
            ]
            output = composed(memory.cell, below, stack[i])
            below = [
                x * (1 - mass[i]) + o * mass[i] for x, o in zip(word, output, strict=True)
            ]
            new.append(below)
        candidates = new
        steps.append((pointer, list(stack), candidates))
    return [torch.tensor(part, dtype=torch.double) for part in zip(*steps, strict=True)]


class Pointing(nn.Module):
    """In place of the attention: points at given slots, counted from 1."""

    least_mask = 1e-5

    def __init__(self, heads, slots):
        super().__init__()
        self.left = [head - 1 - slots for head in heads[1:]]

    def queries(self, words):
        return words

    def forward(self, queries, candidates, mask):
        place = self.left.pop(0)
        assert (mask[place] > 0).all()
        pointer = torch.zeros(len(candidates), queries.size(0), dtype=queries.dtype)
        pointer[place] = 1.0
        return pointer
