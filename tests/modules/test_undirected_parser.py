"""The undirected parser: lemma 1, its updates, its energy, and what may never change a value."""

import itertools
from dataclasses import replace

import pytest
import torch
from torch import nn
from undirected_parsers import (
    Vectors,
    biaffine,
    packed,
    parser,
    unpacked,
    weights_of,
    words_and_lengths,
)

from fairseq_struct.errors import InputError
from fairseq_struct.modules.undirected import CONVERGE, Passes, TreeMarginals, TreeSupport
from fairseq_struct.modules.undirected.parser import ROOT_HEADS, UndirectedParser
from fairseq_struct.structure.dependency import DependencyTrees, heads_of, is_tree
from fairseq_struct.structure.dependency.heads import arcs_that_fit


@pytest.fixture
def batch():
    return words_and_lengths()


ROOTS = pytest.mark.parametrize("root_head", ROOT_HEADS)


@ROOTS
@pytest.mark.parametrize("order", ["sequential", "simultaneous"])
@pytest.mark.parametrize("single", [True, False])
def test_one_pass_is_the_biaffine_parser(batch, order, single, root_head):
    words, lengths = batch
    network = parser(order=order, single_root=single, root_head=root_head)
    found = network(words, lengths).trees
    expected = DependencyTrees(biaffine(network, words)[2], lengths, False, single)
    inside = found.within
    assert (found.scores - expected.scores).masked_fill(~inside, 0).abs().max() < 1e-12
    assert (found.log_partition - expected.log_partition).abs().max() < 1e-12
    assert (found.marginals - expected.marginals).abs().max() < 1e-12
    assert found.single_root is single
    gold = found.heads
    ours, theirs = (
        torch.autograd.grad(trees.log_prob(gold).sum(), weights_of(network), retain_graph=True)
        for trees in (found, expected)
    )
    for mine, other in zip(ours, theirs, strict=True):
        assert (mine - other).abs().max() < 1e-12


@ROOTS
@pytest.mark.parametrize("order", ["sequential", "simultaneous"])
def test_the_second_pass_by_hand(batch, order, root_head):
    words, lengths = batch
    network = parser(2, order=order, root_head=root_head)
    head_bias, modifier_bias, to_head, to_modifier, v, *root = weights_of(network)
    inside = (torch.arange(5) < lengths[:, None])[..., None]
    heads, modifiers, scores = biaffine(network, words)
    modifiers = modifiers * inside
    y = DependencyTrees(scores, lengths, False, True).marginals
    fixed, kept = words @ to_head.T + head_bias, inside
    if root:
        y, one = unpacked(y), torch.ones(4, 1, 1)
        fixed = torch.cat([one * root[0].T, fixed], 1)
        kept = torch.cat([one.bool(), inside], 1)
    heads = heads * kept
    new = (fixed + y @ modifiers @ v.T).relu() * kept
    used = new if order == "sequential" else heads
    modifiers = (words @ to_modifier.T + modifier_bias + y.mT @ used @ v).relu() * inside
    expected = packed(new @ v @ modifiers.mT)
    found = network(words, lengths).trees
    assert (found.scores - expected).masked_fill(~found.within, 0).abs().max() < 1e-12


@pytest.mark.parametrize("single", [True, False])
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_the_update_of_trees_against_enumeration(n, single):
    torch.manual_seed(n)
    scores = torch.randn(1, n, n, dtype=torch.float64)
    lengths = torch.tensor([n])
    total, marginals, distribution = 0.0, torch.zeros(n, n, dtype=torch.float64), []
    for heads in itertools.product(range(n + 1), repeat=n):
        if not is_tree(torch.tensor([heads]), lengths, single_root=single):
            continue
        arcs = torch.zeros(n, n, dtype=torch.float64)
        for modifier, head in enumerate(heads):
            arcs[head - 1 if head else modifier, modifier] = 1
        weight = (scores[0] * arcs).sum().exp()
        total, marginals = total + weight, marginals + weight * arcs
        distribution.append(weight)
    regulariser = TreeMarginals(projective=False, single_root=single)
    found = regulariser.gradient(scores)[0]
    assert (found - marginals / total).abs().max() < 1e-12
    probabilities = torch.stack(distribution) / total
    entropy = -(probabilities * probabilities.log()).sum()
    # Of all distributions with these marginals, that of the matrix-tree theorem has most entropy.
    assert float(regulariser.value(found[None])) == pytest.approx(-float(entropy), abs=1e-6)
    assert float(regulariser.conjugate(scores)) == pytest.approx(float(total.log()), abs=1e-12)


@ROOTS
def test_the_energy_never_increases_in_the_sequential_order(batch, root_head):
    words, lengths = batch
    network = parser(weight=0.3, root_head=root_head)
    graph, order = network.graph, network.order
    inside = (torch.arange(5) < lengths[:, None])[..., None]
    supports = {"h": inside, "m": inside, "y": TreeSupport(lengths)}

    def negative_entropy(values):  # of Y, if it has just been updated
        field = graph.field("y", values)
        conjugate = graph.variables["y"].regulariser.conjugate(field, supports["y"])
        return (values["y"] * field).sum((1, 2)) - conjugate

    descent = graph.descent(network.observed(words), order, supports=supports)
    descent.run(order)
    entropy = negative_entropy(descent.values)
    before = graph.energy(descent.values, supports, updated=("y",))
    assert (before - graph.energy(descent.values, supports)).abs().max() < 1e-6
    for name in order * 4:
        descent.run([name])
        after = graph.energy(descent.values, supports, updated=("y",))
        if name == "y":
            entropy = negative_entropy(descent.values)
        else:  # Y is the old one, and so is its entropy
            after = after - negative_entropy(descent.values) + entropy
        assert (after <= before + 1e-9 * before.abs().clamp(min=1)).all()
        assert (after < before - 1e-9).any()
        before = after


@ROOTS
@pytest.mark.parametrize("passes", [1, 3])
def test_neither_padding_nor_the_batch_changes_a_tree(batch, passes, root_head):
    words, lengths = batch
    network = parser(passes, root_head=root_head)
    together = network(words, lengths)
    wide = network(nn.functional.pad(words, (0, 0, 0, 3), value=7.0), lengths)
    assert (wide.trees.marginals[:, :5, :5] - together.trees.marginals).abs().max() < 1e-13
    for row, n in enumerate(lengths.tolist()):
        alone = network(words[row : row + 1, :n], lengths[row : row + 1])
        difference = together.trees.marginals[row, :n, :n] - alone.trees.marginals[0]
        assert difference.abs().max() < 1e-13
        difference = together.trees.log_partition[row] - alone.trees.log_partition[0]
        assert difference.abs() < 1e-12


def test_known_arcs_never_move_and_change_the_rest(batch):
    words, lengths = batch
    known = torch.full((4, 5), -1)
    known[0, :3] = torch.tensor([4, 1, 0])
    known[2, 1] = 5
    allowed = arcs_that_fit(known, lengths)
    given = known >= 0
    marginals = []
    for passes in (1, 2, 4):
        network = parser(passes)
        trees = network(words, lengths, allowed).trees
        arcs = trees.marginals
        assert (arcs[~allowed & trees.within] == 0).all()
        assert torch.equal(trees.heads[given], known[given])
        assert torch.equal(heads_of(arcs.masked_fill(arcs < 1 - 1e-9, 0))[given], known[given])
        marginals.append(arcs)
        free = network(words, lengths).trees.marginals
        # Sentences without known heads stay as they are.
        for row in (1, 3):
            assert (arcs[row] - free[row]).abs().max() < 1e-13
    # What is known about words 1 to 3 reaches word 4 by further passes: one pass has only the
    # trees that agree with it.
    one, two = parser(1), parser(2)
    scores = [network(words, lengths, allowed).trees.scores for network in (one, two)]
    free = [network(words, lengths).trees.scores for network in (one, two)]
    inside = allowed & one(words, lengths).trees.within
    assert torch.equal(scores[0][inside], free[0][inside])
    assert (scores[1][inside] - free[1][inside]).abs().max() > 1e-3


@ROOTS
def test_convergence_sentence_by_sentence(batch, root_head):
    words, lengths = batch
    network = parser(weight=0.2, root_head=root_head)
    network.passes = Passes(test=CONVERGE, tolerance=1e-7, most=200)
    found = network(words, lengths)
    assert found.passes.min() >= 2 and len(set(found.passes.tolist())) > 1
    assert found.passes.max() < 200
    for row, passes in enumerate(found.passes.tolist()):
        network.passes = Passes(test=passes)
        fixed = network(words, lengths).trees.marginals[row]
        assert (fixed - found.trees.marginals[row]).abs().max() < 1e-12
    network.passes = Passes(test=1)
    once = network(words, lengths)
    assert once.energy is None
    network.passes = Passes(test=CONVERGE, tolerance=1e9)
    loose = network(words, lengths)
    assert (loose.passes == 1).all()
    assert (loose.trees.marginals - once.trees.marginals).abs().max() < 1e-12
    assert (found.energy <= loose.energy + 1e-9).all()


@ROOTS
def test_dropout_has_one_mask_for_all_passes(batch, root_head):
    words, lengths = batch
    network = parser(3, dropout=0.5, root_head=root_head).train()
    graph, order = network.graph, network.order
    graph.factors["arcs"].weight.data *= 1e-9
    for name in "hm":  # so large that no number is 0 but by dropout
        graph.variables[name].bias.data.fill_(1e3)
    descent = graph.descent(network.observed(words), order, supports={"y": TreeSupport(lengths)})
    descent.run(order)
    first = {name: descent.values[name] == 0 for name in "hm"}
    descent.run(order)
    for name, gone in first.items():
        assert 0 < gone.sum() < gone.numel()
        assert torch.equal(gone, descent.values[name] == 0)


def test_likelihood_and_energy_of_half_precision_are_in_float32(batch):
    words, lengths = batch
    network = parser(2, weight=0.1).to(torch.bfloat16)
    found = network(words.to(torch.bfloat16), lengths)
    exact = DependencyTrees(found.trees.scores.double(), lengths, False, True)
    gold = exact.heads
    ours = found.trees.log_prob(gold)
    assert (ours - exact.log_prob(gold)).abs().max() < 1e-5
    ours.sum().backward()
    network.passes = replace(network.passes, test=CONVERGE)
    assert network(words.to(torch.bfloat16), lengths).energy.dtype is torch.float32


def test_drawn_passes_are_those_of_the_generator(batch):
    words, lengths = batch
    network = parser(5, dropout=0.0).train()
    network.passes = replace(network.passes, random=True, test=3)
    counts = {int(network(words, lengths).passes[0]) for _ in range(60)}
    assert counts == {1, 2, 3, 4, 5}
    assert (network.eval()(words, lengths).passes == 3).all()


@pytest.mark.parametrize("passes", [60, CONVERGE])
def test_an_energy_without_bound_ends_in_one_error(batch, passes):
    words, lengths = batch
    network = parser(weight=5.0)
    network.passes = Passes(test=passes, most=1000)
    with pytest.raises(InputError, match="no lower bound, and its minimisation has diverged"):
        network.float()(words.float(), lengths)


def test_training_starts_alike_for_every_number_of_passes(batch):
    words, lengths = batch
    for passes in (1, 3):
        torch.manual_seed(0)
        network = UndirectedParser(Vectors(), 5, passes=Passes(test=passes)).double().eval()
        trees = network(words, lengths).trees
        assert not trees.scores.masked_fill(~trees.within, 0).any()


def test_options_out_of_range():
    with pytest.raises(ValueError, match="unknown order 'random'; choose one of sequential"):
        UndirectedParser(Vectors(), order="random")
    with pytest.raises(ValueError, match="unknown root head 'none'; choose one of word, learned"):
        UndirectedParser(Vectors(), root_head="none")
    with pytest.raises(ValueError, match="sizes must be 1 or more"):
        UndirectedParser(Vectors(), 0)
