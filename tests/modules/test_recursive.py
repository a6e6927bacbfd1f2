"""Recursive networks over gold trees: against a recursive function, and their cells."""

import pytest
import torch
from small_lists import WORDS, batch_of_lists
from torch import nn
from torch.nn.functional import layer_norm

from fairseq_struct.errors import InputError
from fairseq_struct.modules.recursive.cells import CELLS
from fairseq_struct.modules.recursive.classifier import RecursiveClassifier
from fairseq_struct.modules.recursive.levels import TreeLevels
from fairseq_struct.structure.spans import left_branching, random_tree, right_branching


def network(cell, sides=1):
    torch.manual_seed(1)
    return RecursiveClassifier(nn.Embedding(len(WORDS), 5, 0), 4, 3, cell, 0.0, sides).double()


def rows(*trees):
    """(sentences, m, 2) of lists of spans, padded."""
    size = max(map(len, trees))
    return torch.tensor([[*tree, *[(-1, -1)] * (size - len(tree))] for tree in trees])


def with_leaves(spans, n):
    return [*spans, *((word, word + 1) for word in range(n))]


def state_of(span, spans, words, cell):
    """State of a node of a binary tree, by recursion."""
    inside = [own for own in spans if own != span and span[0] <= own[0] and own[1] <= span[1]]
    if not inside:
        return cell.leaf(words[span[0]])
    outer = [a for a in inside if not any(b != a and b[0] <= a[0] and a[1] <= b[1] for b in inside)]
    return cell(*(state_of(child, spans, words, cell) for child in sorted(outer)))


@pytest.mark.parametrize("cell", CELLS)
def test_levels_compute_what_recursion_computes(cell):
    generator, cell = torch.Generator().manual_seed(3), CELLS[cell](5, 4, 0.0).double()
    sizes = [1, 2, 7, 9, 9, 6, 9]
    trees = [random_tree(n, generator) for n in sizes[:4]]
    trees += [left_branching(9), right_branching(6), random_tree(9, generator)]
    trees = [with_leaves(tree, n) for tree, n in zip(trees, sizes, strict=True)]
    words = torch.randn(7, 9, 5, generator=generator, dtype=torch.float64)
    levels = TreeLevels(rows(*trees), 9)
    found = levels.fold(cell.leaf(words.flatten(0, 1)[levels.leaves]), cell)
    expected = [state_of((0, n), tree, own, cell)
                for n, tree, own in zip(sizes, trees, words, strict=True)]  # fmt: skip
    torch.testing.assert_close(found, torch.stack(expected))


def test_words_in_brackets_are_leaves_and_single_children_stand_for_their_parents():
    """( d ( and e ) ) has leaves d, and, e; ((( a ))) is a; a span may be there twice."""
    formula = [(0, 7), (1, 2), (2, 6), (3, 4), (4, 5)]
    unary = [(0, 7), (1, 6), (2, 5), (3, 4), (3, 4)]
    chains = [(0, 4), (0, 4), (0, 2), (0, 2), (0, 1), (0, 1), (1, 2), (2, 4), (3, 4), (3, 4)]
    words = torch.arange(3 * 7.0)[:, None].double()
    levels = TreeLevels(rows(formula, unary, chains), 7)
    found = levels.fold(words[levels.leaves], lambda left, right: 1000 * left + right)
    assert found[:, 0].tolist() == [1_000 * 1 + 1000 * 3 + 4, 10, 1000 * (14_000 + 15) + 17]


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("sides", [1, 2])
def test_neither_batch_nor_padding_nor_the_order_of_rows_changes_a_value(cell, sides):
    classifier, data = network(cell, sides), batch_of_lists(4, sides)
    tokens = nn.functional.pad(data.tokens, (0, 2), value=3)
    order = torch.randperm(data.gold_trees.size(2), generator=torch.Generator().manual_seed(1))
    together = classifier(tokens, data.lengths, gold_trees=data.gold_trees[:, :, order])
    for b in range(4):
        n, own = int(data.lengths[b].max()), data.gold_trees[b : b + 1]
        alone = classifier(data.tokens[b : b + 1, :, :n], data.lengths[b : b + 1], gold_trees=own)
        torch.testing.assert_close(together.logits[b], alone.logits[0])


@pytest.mark.parametrize("cell", CELLS)
def test_gradients_of_cells_and_trees(cell):
    torch.manual_seed(1)
    cell = CELLS[cell](2, 2, 0.0).double()
    levels = TreeLevels(rows(with_leaves(left_branching(3), 3), with_leaves([(0, 2)], 2)), 3)
    words = torch.randn(5, 2, dtype=torch.float64, requires_grad=True)

    def vectors(words, *weights):  # the weights are those of the cell, changed in place
        return cell.vector(levels.fold(cell.leaf(words), cell))

    assert torch.autograd.gradcheck(vectors, (words, *cell.parameters()))


def test_the_tree_lstm_follows_its_equations():
    cell = network("tree_lstm").cell
    x = torch.randn(2, 5, dtype=torch.float64)
    W, U, b = cell.input.weight, cell.recursive.weight, cell.input.bias
    (h, c) = zip(*(state.chunk(2) for state in cell.leaf(x)), strict=True)
    for k in range(2):
        i, o, u = (W @ x[k] + b).chunk(3)
        torch.testing.assert_close(c[k], i.sigmoid() * u.tanh())
        torch.testing.assert_close(h[k], o.sigmoid() * c[k].tanh())
    terms = [U[:, 4 * k : 4 * k + 4] @ h[k] for k in range(2)]
    i, o, u, *f = (terms[0] + terms[1]).chunk(5)
    b_i, b_o, b_u = b.chunk(3)
    kept = sum((f[k] + cell.forget_bias).sigmoid() * c[k] for k in range(2))
    c_j = (i + b_i).sigmoid() * (u + b_u).tanh() + kept
    h_j = (o + b_o).sigmoid() * c_j.tanh()
    torch.testing.assert_close(cell(*cell.leaf(x)), torch.cat([h_j, c_j]))


def test_the_tree_cell_is_that_of_ordered_memory_with_the_later_child_first():
    cell = network("tree_cell").cell
    x = torch.randn(2, 5, dtype=torch.float64)
    norm = cell.cell.norm
    left, right = layer_norm(cell.input(x), (4,), norm.weight, norm.bias, norm.eps)
    torch.testing.assert_close(cell(*cell.leaf(x)), cell.cell(vertical=right, horizontal=left))


def test_the_tree_rnn_follows_its_equation():
    cell = network("tree_rnn").cell
    left, right = torch.randn(2, 4, dtype=torch.float64)
    W, b = cell.recursive.weight, cell.recursive.bias
    expected = (W[:, :4] @ left + W[:, 4:] @ right + b).tanh()
    torch.testing.assert_close(cell(left, right), expected)


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ([(0, 3), (0, 1), (1, 2), (2, 3)], "a constituent of 3 parts; it must be binary"),
        ([(0, 3), (0, 2), (1, 3)], "constituents that cross"),
        ([(0, 3), (0, 1), (1, 3)], "a constituent of several words without parts"),
        ([(0, 1), (1, 2)], "a sentence has 2 gold trees; it needs one"),
        ([(-1, -1)], "a sentence has 0 gold trees; it needs one"),
        ([(0, 9), (0, 1), (8, 9)], "a constituent that is not in its sentence"),
    ],
)
def test_trees_that_cannot_be_read_are_refused(tree, message):
    good = with_leaves(right_branching(3), 3)
    with pytest.raises(InputError, match=message):
        TreeLevels(rows(good, tree), 3)
    classifier = network("tree_rnn")
    assert classifier.can_build(rows(good)[0])
    assert tree[0] == (0, 9) or not classifier.can_build(rows(tree)[0])


def test_impossible_classifiers_are_refused():
    words = nn.Embedding(5, 3)
    with pytest.raises(ValueError, match="unknown cell 'tree_lst'.*did you mean 'tree_lstm'"):
        RecursiveClassifier(words, 4, 2, "tree_lst")
    with pytest.raises(ValueError, match="reads one sentence or two, not 3"):
        RecursiveClassifier(words, 4, 2, sides=3)
    with pytest.raises(InputError, match="the batch is empty; it needs 1 tree or more"):
        TreeLevels(torch.zeros(0, 3, 2).long(), 3)
    with pytest.raises(InputError, match="there are none: --gold-trees"):
        network("tree_lstm")(torch.tensor([[[2, 3]]]), torch.tensor([[2]]))
