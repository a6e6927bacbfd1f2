"""Trees with valence against the definition, applied to every tree of short sentences."""

import pytest
import torch
from tree_kinds import random_scores

from fairseq_struct.structure.dependency import DependencyTrees, ValenceTrees
from fairseq_struct.structure.dependency.enumeration import all_heads

NAMES = ("attach", "stop", "root")
LENGTHS = torch.tensor([5, 1, 4, 2, 5, 3])
N = 7  # longer than any of them


def random_model(batch, n, seed=0, scale=1.0, dtype=torch.float64):
    """Scores of attachments, stops and roots."""
    shapes = (batch, n, n, 2), (batch, n, 2, 2, 2), (batch, n)
    return tuple(
        random_scores(*shape, scale=scale, seed=3 * seed + k, dtype=dtype)
        for k, shape in enumerate(shapes)
    )


def steps_of(heads):
    """Indices of all scores of a tree, by its generation: outwards from each word, side by side."""
    n = len(heads)
    attach, stop, root = [], [], [heads.index(0)]
    for h in range(n):
        mine = [m for m in range(n) if heads[m] == h + 1]
        sides = sorted((m for m in mine if m < h), reverse=True), [m for m in mine if m > h]
        for direction, modifiers in enumerate(sides):
            valence = 0
            for m in modifiers:
                stop.append((h, direction, valence, 1))
                attach.append((h, m, valence))
                valence = 1
            stop.append((h, direction, valence, 0))
    return attach, stop, root


def enumerated(attach, stop, root, n):
    """Of one sentence: its trees, their scores, and their mean counts, all by the definition."""
    trees = all_heads(n, projective=True, single_root=True)
    steps = [steps_of(heads) for heads in trees]
    scores = torch.stack(
        [
            sum(table[place] for table, own in zip((attach, stop, root), kinds, strict=True)
                for place in own)
            for kinds in steps
        ]
    )  # fmt: skip
    counts = [torch.zeros_like(table) for table in (attach, stop, root)]
    for weight, kinds in zip(scores.softmax(0), steps, strict=True):
        for count, own in zip(counts, kinds, strict=True):
            for place in own:
                count[place] += weight
    return trees, scores, counts


@pytest.mark.parametrize("scale", [0.0, 1.0, 30.0])
@pytest.mark.parametrize("n", range(1, 6))
def test_sums_and_best_trees_against_enumeration(n, scale):
    model = random_model(2, n, seed=n, scale=scale)
    found = ValenceTrees(*model)
    for b in range(2):
        trees, scores, counts = enumerated(*(table[b] for table in model), n)
        torch.testing.assert_close(found.log_partition[b], scores.logsumexp(0))
        for own, theirs in zip(found.counts, counts, strict=True):
            torch.testing.assert_close(own[b], theirs)
        torch.testing.assert_close(found.max[b], scores.max())
        own = tuple(found.heads[b].tolist())
        torch.testing.assert_close(scores[trees.index(own)], scores.max())
        for heads, score in list(zip(trees, scores, strict=True))[::11]:
            given = torch.tensor([heads] * 2)
            torch.testing.assert_close(found.score(given)[b], score)
            torch.testing.assert_close(found.log_prob(given)[b], score - scores.logsumexp(0))


def test_without_valence_they_are_projective_trees():
    attach, stop, root = random_model(3, 9)
    attach, lengths = attach[..., 0], torch.tensor([9, 6, 8])
    found = ValenceTrees(attach, torch.zeros_like(stop), root, lengths)
    scores = attach.clone()
    scores.diagonal(0, 1, 2).copy_(root)
    trees = DependencyTrees(scores, lengths, single_root=True, backend="torch")
    torch.testing.assert_close(found.log_partition, trees.log_partition)
    torch.testing.assert_close(found.marginals, trees.marginals)
    assert found.heads.tolist() == trees.heads.tolist()
    assert torch.equal(found.argmax, trees.argmax)


def test_normalised_decisions_are_a_distribution_over_sentences():
    """Over trees of all sizes, chances of stopping sum to one; here, over those of 1 to 6 words."""
    chance, total = 0.1, 0.0
    going = torch.tensor([1 - chance, chance], dtype=torch.float64).log()
    for n in range(1, 7):
        zeros = torch.zeros(1, n, n, dtype=torch.float64), torch.zeros(1, n, dtype=torch.float64)
        own = ValenceTrees(zeros[0], going.expand(1, n, 2, 2, 2), zeros[1])
        total += float(own.log_partition.exp())
    assert 0.97 < total < 1


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_padding_and_batch_change_nothing(dtype):
    model = random_model(len(LENGTHS), N, dtype=dtype)
    words = torch.arange(N) >= LENGTHS[:, None]
    behind = words[:, :, None] | words[:, None, :]
    masks = behind[..., None], words[..., None, None, None], words
    noise = torch.tensor([float("nan"), float("inf"), 1e9], dtype=dtype)
    filled = [
        torch.where(mask, noise[k], table)
        for k, (mask, table) in enumerate(zip(masks, model, strict=True))
    ]
    together = ValenceTrees(*filled, LENGTHS)
    assert together.log_partition.dtype == together.marginals.dtype == dtype
    for b, n in enumerate(LENGTHS.tolist()):
        attach, stop, root = (table[b : b + 1] for table in model)
        alone = ValenceTrees(attach[:, :n, :n], stop[:, :n], root[:, :n])
        assert together.heads[b].tolist() == alone.heads[0].tolist() + [0] * (N - n)
        torch.testing.assert_close(together.log_partition[b], alone.log_partition[0])
        torch.testing.assert_close(together.max[b], alone.max[0])
        padded = torch.nn.functional.pad(alone.marginals[0], (0, N - n, 0, N - n))
        torch.testing.assert_close(together.marginals[b], padded)
        for own in together.counts:
            assert not own[b, n:].any()
    assert not together.counts.attach.isnan().any()


def test_gradients_of_any_order():
    model = [table.requires_grad_() for table in random_model(2, 4)]
    lengths = torch.tensor([4, 3])

    def mean(*given):
        trees = ValenceTrees(*given, lengths)
        return trees.log_partition, trees.marginals

    assert torch.autograd.gradcheck(mean, model, fast_mode=True)
    assert torch.autograd.gradgradcheck(lambda *given: mean(*given)[0], model, fast_mode=True)


def test_what_is_forbidden_has_no_chance_and_no_gradient():
    attach, stop, root = random_model(1, 5)
    stop[0, 2, 1, 1, 1] = -torch.inf  # word 2: at most one modifier on the right
    attach[0, 4, 0] = -torch.inf
    root[0, 1:4] = -torch.inf
    given = [table.requires_grad_() for table in (attach, stop, root)]
    found = ValenceTrees(*given)
    trees, scores, counts = enumerated(*(table[0].detach() for table in given), 5)
    torch.testing.assert_close(found.log_partition[0], scores.logsumexp(0))
    gradients = torch.autograd.grad(found.log_partition.sum(), given)
    for own, theirs in zip(gradients, counts, strict=True):
        torch.testing.assert_close(own[0], theirs)
    torch.testing.assert_close(found.max[0], scores.max())
    worst = torch.tensor([trees[scores.argmin()]])
    assert found.log_prob(worst).item() == found.score(worst).item() == -torch.inf


def test_a_sentence_without_trees_is_named():
    attach, stop, root = random_model(3, 4)
    stop[1, :, :, 0, 1] = -torch.inf  # no word goes on
    found = ValenceTrees(attach, stop, root)
    for verb in ("log_partition", "counts", "heads"):
        with pytest.raises(ValueError, match="sentence 1 allows"):
            getattr(found, verb)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("root", lambda table: table[0], "root scores must have shape (batch, n)"),
        ("attach", lambda table: table[:, :3], "attach scores must have shape (2, 4, 4)"),
        ("stop", lambda table: table[..., 0], "stop scores must have shape (2, 4, 2, 2, 2)"),
        ("stop", lambda table: table + torch.inf, "the score of stop 0, direction 0, valence 0"),
        ("attach", lambda table: table + torch.inf, "the score of attach 0 -> 1 in sentence 0"),
        ("root", lambda table: table * torch.nan, "the score of root 0 in sentence 0 is nan"),
        ("root", lambda table: table.long(), "scores must be floating point numbers"),
    ],
)
def test_bad_scores_are_named(name, change, message):
    model = dict(zip(NAMES, random_model(2, 4), strict=True))
    model[name] = change(model[name])
    with pytest.raises(ValueError) as error:
        ValenceTrees(**model)
    assert message in str(error.value)


def test_bad_heads_are_named():
    found = ValenceTrees(*random_model(2, 4), torch.tensor([4, 3]))
    good = [2, 0, 2, 3]
    assert found.is_tree(torch.tensor([good, [2, 0, 2, 9]])).all()  # 9 is behind the end
    for bad in ([0, 0, 2, 3], [3, 4, 0, 3], [2, 1, 0, 3]):  # two roots, crossing arcs, a cycle
        with pytest.raises(ValueError, match="heads of sentence 0 form no projective tree"):
            found.score(torch.tensor([bad, good]))
    with pytest.raises(ValueError, match="has head 9"):
        found.log_prob(torch.tensor([[2, 0, 2, 9], good]))


def test_each_use_has_a_graph_of_its_own():
    generator = torch.Generator().manual_seed(3)
    attach, stop, root = (
        torch.randn(shape, generator=generator, dtype=torch.double, requires_grad=True)
        for shape in ((2, 3, 3), (2, 3, 2, 2, 2), (2, 3))
    )
    with torch.no_grad():
        trees = ValenceTrees(attach, stop, root)
    first = torch.autograd.grad(trees.log_partition.sum(), attach)
    second = torch.autograd.grad(trees.log_partition.sum(), attach)
    assert torch.equal(*first, *second)
    assert trees.marginals.pow(2).sum().requires_grad


def test_what_is_done_to_a_result_changes_no_other():
    trees = ValenceTrees(*random_model(2, 4), torch.tensor([4, 3]))
    expected = trees.heads, trees.argmax, trees.max, trees.marginals, trees.lengths
    for result in (trees.heads, trees.lengths):
        result.zero_()
    found = trees.heads, trees.argmax, trees.max, trees.marginals, trees.lengths
    assert all(map(torch.equal, found, expected))


def test_inference_mode():
    generator = torch.Generator().manual_seed(3)
    shapes = (1, 4, 4), (1, 4, 2, 2, 2), (1, 4)
    scores = [torch.randn(shape, generator=generator) for shape in shapes]
    expected = ValenceTrees(*scores)
    with torch.inference_mode():
        inside = ValenceTrees(*scores)
        assert torch.equal(inside.marginals, expected.marginals)
    for trees in (inside, ValenceTrees(*scores)):  # made inside, used outside, and the reverse
        assert torch.equal(trees.heads, expected.heads)
        assert torch.equal(trees.marginals, expected.marginals)


def test_scores_that_would_outweigh_what_is_forbidden():
    scores = [torch.zeros(shape) for shape in ((1, 3, 3), (1, 3, 2, 2, 2), (1, 3))]
    scores[1][0, 1, 1, 1, 1] = 1e13
    with pytest.raises(ValueError, match=r"stop scores must be at most 1e\+12"):
        ValenceTrees(*scores)


def test_inference_mode_with_scores_that_are_learned():
    shapes = (1, 4, 4), (1, 4, 2, 2, 2), (1, 4)
    scores = [torch.randn(shape, requires_grad=True) for shape in shapes]
    expected = ValenceTrees(*scores)
    with torch.inference_mode():
        inside = ValenceTrees(*scores)
        assert torch.equal(inside.heads, expected.heads)
        assert torch.equal(inside.marginals, expected.marginals)
    slopes = [
        torch.autograd.grad(trees.log_partition.sum(), scores) for trees in (inside, expected)
    ]
    assert all(torch.equal(*pair) for pair in zip(*slopes, strict=True))


@pytest.mark.parametrize("verb", ["score", "log_prob", "is_tree", "counts_of"])
def test_heads_of_several_trees_of_a_sentence(verb):
    trees = ValenceTrees(torch.zeros(2, 2, 2), torch.zeros(2, 2, 2, 2, 2), torch.zeros(2, 2))
    heads = torch.tensor([[[0, 1], [2, 0]], [[2, 0], [0, 1]]])
    with pytest.raises(ValueError, match="^heads must have 2 dimensions, not 3"):
        getattr(trees, verb)(heads)
