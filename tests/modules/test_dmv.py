"""The Dependency Model with Valence: its counts by the definition, and what EM learns."""

import math
import random
from functools import partial

import pytest
import torch

from fairseq_struct.metrics.attachment import scores_of_readings
from fairseq_struct.modules.dmv.counting import (
    counts_of_trees,
    expected_counts,
    harmonic_counts,
    no_counts,
)
from fairseq_struct.modules.dmv.estimation import fit, from_counts
from fairseq_struct.modules.dmv.model import DMV
from fairseq_struct.structure.dependency.chains import left_chain, right_chain
from fairseq_struct.structure.dependency.enumeration import all_heads

SENTENCES = [[0, 1, 2], [2, 1, 0, 1], [1], [2, 0], [1, 2, 0], [0, 0, 1, 2, 1]]


def random_dmv(tags, seed=0, attach_valence=False):
    generator = torch.Generator().manual_seed(seed)
    return DMV(*(torch.randn(table.shape, generator=generator, dtype=torch.float64).log_softmax(-1)
                 for table in no_counts(tags, attach_valence)))  # fmt: skip


def chance_of(model, tags, heads):
    """Probability of a sentence and its tree, step by step as the model generates it."""
    attach, stop, root = (table.exp() for table in model)
    chance = root[tags[heads.index(0)]]
    for h, head in enumerate(tags):
        mine = [m for m in range(len(tags)) if heads[m] == h + 1]
        sides = sorted((m for m in mine if m < h), reverse=True), [m for m in mine if m > h]
        for direction, modifiers in enumerate(sides):
            some = 0
            for m in modifiers:
                valence = some if attach.size(2) == 2 else 0
                chance = chance * stop[head, direction, some, 1]
                chance = chance * attach[head, direction, valence, tags[m]]
                some = 1
            chance = chance * stop[head, direction, some, 0]
    return float(chance)


@pytest.mark.parametrize("attach_valence", [False, True])
def test_likelihood_and_expected_counts_against_all_trees(attach_valence):
    model = random_dmv(3, attach_valence=attach_valence)
    likelihood, wanted = 0.0, no_counts(3, attach_valence)
    for tags in SENTENCES:
        trees = [list(heads) for heads in all_heads(len(tags), projective=True, single_root=True)]
        chances = [chance_of(model, tags, heads) for heads in trees]
        total = sum(chances)
        likelihood += math.log(total)
        for heads, chance in zip(trees, chances, strict=True):
            own = counts_of_trees([tags], [heads], 3, attach_valence)
            for table, count in zip(wanted, own, strict=True):
                table += chance / total * count
        best = model.parse([tags])[0]
        assert chances[trees.index(best)] == pytest.approx(max(chances))
    found, counts = expected_counts(model, SENTENCES)
    assert found == pytest.approx(likelihood) == model.log_likelihood(SENTENCES)
    for table, count in zip(wanted, counts, strict=True):
        torch.testing.assert_close(count, table)


def test_parses_do_not_depend_on_the_batch():
    model = random_dmv(3, seed=1)
    assert model.parse(SENTENCES) == [model.parse([tags])[0] for tags in SENTENCES]


def test_estimates_from_trees_are_relative_frequencies():
    """Two sentences "determiner noun verb" and "verb": D <- N <- V."""
    model = from_counts(counts_of_trees([[0, 1, 2], [2]], [[2, 3, 0], [0]], 3))
    attach, stop, root = (table.exp() for table in model)
    assert root.tolist() == [0, 0, 1]
    assert attach[1, 0, 0].tolist() == [1, 0, 0] and attach[2, 0, 0].tolist() == [0, 1, 0]
    assert stop[2, 0, 0].tolist() == [0.5, 0.5]  # a verb has a left modifier in half the cases
    assert stop[2, 0, 1].tolist() == [1, 0]  # and never two
    assert stop[2, 1, 1].tolist() == [0.5, 0.5]  # never seen
    smoothed = from_counts(counts_of_trees([[0, 1, 2]], [[2, 3, 0]], 3), smoothing=1.0)
    torch.testing.assert_close(smoothed.root.exp(), torch.tensor([0.25, 0.25, 0.5]).double())


@pytest.mark.parametrize("over", ["heads", "modifiers"])
@pytest.mark.parametrize("attach_valence", [False, True])
def test_the_harmonic_guess(over, attach_valence):
    """Of sentences whose words all have other tags, so that counts can be read word by word."""
    n, constant = 5, 2.0
    attach, stop, root = harmonic_counts([list(range(n))], n, constant, over, attach_valence)
    torch.testing.assert_close(root, torch.full((n,), 1 / n).double())
    arcs = attach.sum((1, 2))
    assert not arcs.diagonal().any()
    sums = arcs.sum(0 if over == "heads" else 1)
    torch.testing.assert_close(sums, torch.full((n,), (n - 1) / n).double())
    row = arcs[:, 2] if over == "heads" else arcs[2]  # distances of 2 and 1
    assert float(row[1] / row[0]) == pytest.approx((2 + constant) / (1 + constant))
    # A word stops once on each side, and goes on as often as it attaches.
    torch.testing.assert_close(stop[..., 0].sum(2), torch.ones(n, 2).double())
    torch.testing.assert_close(stop[..., 1].sum(2), attach.sum((2, 3)))
    # Word 2 lacks right modifiers if it takes neither word 3 nor word 4.
    none = (1 - arcs[2, 3]) * (1 - arcs[2, 4])
    torch.testing.assert_close(stop[2, 1, 0, 0], none)
    if attach_valence:  # word 1 is its first left modifier whenever it is one; word 0 is not
        torch.testing.assert_close(attach[2, 0, 0, 1], arcs[2, 1])
        torch.testing.assert_close(attach[2, 0, 1, 0], arcs[2, 0] * arcs[2, 1])


@pytest.mark.parametrize("attach_valence", [False, True])
@pytest.mark.parametrize("smoothing", [0.0, 0.3])
def test_no_step_of_em_lowers_the_objective(smoothing, attach_valence):
    start = random_dmv(3, seed=2, attach_valence=attach_valence)
    found = fit(start, SENTENCES, smoothing, tolerance=0.0, most_steps=30)
    first, last = found.objectives[0], found.objectives[-1]
    assert last > first + 1
    steps = zip(found.objectives, found.objectives[1:], strict=False)
    assert all(new >= old - 1e-9 for old, new in steps)
    assert found.objectives == fit(start, SENTENCES, smoothing, 0.0, 30).objectives
    if not smoothing:
        assert last == pytest.approx(found.model.log_likelihood(SENTENCES))
    early = fit(start, SENTENCES, smoothing, tolerance=0.01)
    assert early.converged and len(early.objectives) < len(found.objectives)
    for table in found.model:
        torch.testing.assert_close(table.exp().sum(-1), torch.ones_like(table[..., 0]))


def grammar():
    """Determiner 0, noun 1, verb 2, preposition 3: D <- N <- V -> N, and V -> P -> N."""
    small = 1e-3
    root = torch.tensor([0, 0, 1.0, 0])
    attach = torch.zeros(4, 2, 1, 4)
    attach[1, 0, 0, 0] = attach[2, 0, 0, 1] = attach[3, 1, 0, 1] = 1.0
    attach[2, 1, 0] = torch.tensor([0, 0.6, 0, 0.4])
    go = torch.zeros(4, 2, 2)
    go[1, 0, 0] = 0.6
    go[2, 0, 0] = go[3, 1, 0] = 1.0
    go[2, 1] = torch.tensor([0.8, 0.3])
    tables = attach, torch.stack([1 - go, go], -1), root
    return from_counts(DMV(*(table.double() for table in tables)), small)


def drawn(model, dice):
    """Tags and heads of a sentence."""
    attach, stop, root = (table.exp().tolist() for table in model)

    def grow(tag):
        node = [tag, [], []]
        for direction in (0, 1):
            own = node[1 + direction]
            while dice.random() < stop[tag][direction][bool(own)][1]:
                own.append(grow(dice.choices(range(4), attach[tag][direction][0])[0]))
        return node

    def read(node, head):
        left = [word for child in reversed(node[1]) for word in read(child, node)]
        return [*left, (node, head), *(word for child in node[2] for word in read(child, node))]

    words = read(grow(dice.choices(range(4), root)[0]), None)
    places = {id(node): place for place, (node, _) in enumerate(words, 1)}
    return [node[0] for node, _ in words], [places[id(head)] if head else 0 for _, head in words]


def test_em_finds_the_grammar_that_drew_the_sentences():
    truth, dice = grammar(), random.Random(1)
    sample = [drawn(truth, dice) for _ in range(200)]
    sample = [(tags, heads) for tags, heads in sample if len(tags) <= 10]
    assert len(sample) > 150
    tags, gold = [list(own) for own in zip(*sample, strict=True)]
    found = fit(from_counts(harmonic_counts(tags, 4)), tags, tolerance=1e-4)
    assert found.converged
    assert found.objectives[-1] > truth.log_likelihood(tags)
    uas = {}
    for name, heads in {
        "truth": truth.parse(tags), "found": found.model.parse(tags),
        "left": [left_chain(len(own)) for own in tags],
        "right": [right_chain(len(own)) for own in tags],
    }.items():  # fmt: skip
        uas[name] = scores_of_readings(gold, ({"": own} for own in heads))["uas"]
    assert uas["truth"] > 90
    assert uas["found"] > max(uas["left"], uas["right"]) + 20


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: random_dmv(3).parse([[0, 3]]), "sentence 0 has a tag out of range"),
        (lambda: random_dmv(3).parse([[0], []]), "sentence 1 has no tag"),
        (lambda: random_dmv(3).parse([]), "the number of sentences must be 1 or more"),
        (lambda: counts_of_trees([[0, 1]], [[0]], 3), "sentence 0 has 2 tags, but 1 heads"),
        (lambda: counts_of_trees([[0]], [], 3), "1 sentences, but heads of 0"),
        (lambda: counts_of_trees([[0], [0, 1]], [[0], [0, 5]], 3), "1 has a head out of range: he"),
        (lambda: counts_of_trees([[0], [0, 1]], [[0], [2, 1]], 3), "heads of sentence 1 form no"),
        (lambda: harmonic_counts([[0]], 1, 0.0), "constant must be above 0"),
        (lambda: harmonic_counts([[0]], 1, over="arcs"), "over must be 'heads' or 'modifiers'"),
        (lambda: no_counts(0), "tags must be 1 or more"),
        (lambda: from_counts(no_counts(2), -1.0), "smoothing must be 0 or more"),
        (lambda: fit(random_dmv(2), [[0]], tolerance=-1.0), "tolerance must be 0 or more"),
        (lambda: fit(random_dmv(2), [[0]], most_steps=0), "most_steps must be 1 or more"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError) as error:
        call()
    assert message in str(error.value)


@pytest.mark.parametrize("sentences", [["NOUN VERB"], [["NOUN", "VERB"]], [[0.5]], [0]])
def test_sentences_that_are_no_numbers_are_named(sentences):
    with pytest.raises(TypeError, match="sentence 0 must be a list of tags, integers below 3, not"):
        random_dmv(3).parse(sentences)


def test_a_sentence_that_the_model_excludes_is_named():
    model = from_counts(counts_of_trees([[0, 1]], [[2, 0]], 2))
    with pytest.raises(ValueError, match="sentence 0 allows"):
        model.parse([[1, 0]])
    sentences = [[0, 1, 0], [0, 1], [1, 0]]  # those of two tags come first, in one batch
    for find in (model.parse, model.log_likelihood, partial(expected_counts, model)):
        with pytest.raises(ValueError, match=r"the arcs that sentence 2 allows .* form no tree"):
            find(sentences)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_where_nothing_else_is_differentiated(mode):
    heads = [left_chain(len(sentence)) for sentence in SENTENCES]

    def learned():
        counts = harmonic_counts(SENTENCES, 3), counts_of_trees(SENTENCES, heads, 3)
        start = from_counts(counts[0])
        value, expected = expected_counts(start, SENTENCES)
        model = fit(start, SENTENCES, most_steps=2).model
        tables = [table for own in (*counts, expected, model) for table in own]
        return [torch.tensor(value), *tables]

    with mode():
        found = learned()
    assert all(torch.equal(*pair) for pair in zip(found, learned(), strict=True))
