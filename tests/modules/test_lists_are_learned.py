"""Ordered Memory learns to evaluate nested lists, also lists that it was not trained on."""

from random import Random

import pytest
import torch
from torch import nn

from fairseq_struct.data.generators.listops import Expressions
from fairseq_struct.data.readers.formulas.formula_trees import constituents
from fairseq_struct.data.readers.formulas.listops import value_of
from fairseq_struct.metrics.bracketing import bracket_counts, f1_of_counts
from fairseq_struct.modules.ordered_memory import OrderedMemory, OrderedMemoryClassifier

WORDS = ["<pad>", "[MIN", "[MAX", "]", *"0123456789"]
HELD_OUT = 500


def lists(count):
    """Lists of three levels of MIN and MAX, as word lists."""
    drawn = Expressions(arguments=(2, 3), depth=3, tokens=(1, 14)).draw(count, Random(1))
    rows = [one.split() for one in drawn]
    return [row for row in rows if set(row) <= set(WORDS)]


def batch(rows):
    lengths = torch.tensor([[len(row)] for row in rows])
    tokens = torch.zeros(len(rows), 1, int(lengths.max()), dtype=torch.long)
    for place, row in enumerate(rows):
        tokens[place, 0, : len(row)] = torch.tensor([WORDS.index(word) for word in row])
    return tokens, lengths, torch.tensor([int(value_of(row)) for row in rows])


@pytest.mark.slow
def test_97_percent_of_new_lists_of_depth_3_are_right():
    torch.manual_seed(1)
    rows = lists(12500)
    train, test = rows[HELD_OUT:], batch(rows[:HELD_OUT])
    memory = OrderedMemory(48, 48, 4)
    network = OrderedMemoryClassifier(nn.Embedding(len(WORDS), 48, 0), memory, 10)
    optimizer = torch.optim.Adam(network.parameters(), 0.004)
    order, right = Random(2), 0.0
    for step in range(1, 1201):
        output = network(*batch(order.sample(train, 32)))
        optimizer.zero_grad()
        output.losses.mean().backward()
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        if step % 100 == 0:
            with torch.no_grad():
                output = network(*test)
            right = (output.logits.argmax(1) == test[2]).float().mean().item()
            if right >= 0.97:
                break
    assert right >= 0.97
    gold = [[(*span, -1) for span in constituents(row, "listops")] for row in rows[:HELD_OUT]]
    most = max(map(len, gold))
    padded = torch.tensor([[*tree, *[(-1, -1, -1)] * (most - len(tree))] for tree in gold])
    trees = output.trees.spans()
    assert f1_of_counts(*bracket_counts(trees, padded)) > 50
