"""Networks with latent trees: compared with explicit equations, alone and in batches."""

import gc

import pytest
import torch
from tree_kinds import decoders_of_trees, random_scores

from fairseq_struct.errors import InputError
from fairseq_struct.modules.latent_tree.arc_scorer import ArcScorer
from fairseq_struct.modules.latent_tree.classifier import (
    LatentTreeClassifier,
    SummedStatesClassifier,
)
from fairseq_struct.modules.latent_tree.decomposable_attention import DecomposableAttention
from fairseq_struct.modules.latent_tree.tree import LatentTree
from fairseq_struct.modules.latent_tree.tree_context import head_vectors
from fairseq_struct.modules.sentence_encoder import SentenceEncoder
from fairseq_struct.structure.dependency import DependencyTrees
from fairseq_struct.structure.dependency.heads import depths
from fairseq_struct.structure.independent import Independent
from fairseq_struct.structure.pullback import METHODS

STOCHASTIC = ("gumbel_softmax", "perturb_and_map", "score_function")
DETERMINISTIC = [method for method in METHODS if method not in STOCHASTIC]


def classifier(method="marginals", sizes=(6, 5), **options):
    torch.manual_seed(1)
    states, hidden = sizes
    encoder = SentenceEncoder(torch.nn.Embedding(30, 8, 1), states)
    if method == "baseline":
        return SummedStatesClassifier(encoder, hidden, 3).double()
    return LatentTreeClassifier(encoder, hidden, 3, LatentTree(method, **options)).double()


def entailment(method="marginals", form="thesis"):
    torch.manual_seed(1)
    tree = None if method == "baseline" else LatentTree(method)
    return DecomposableAttention(torch.nn.Embedding(30, 8, 1), 6, 3, tree, form=form).double()


def projected(method="marginals"):
    return entailment(method, "projected")


def batch(sides, seed=0):
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.tensor([[6, 4], [3, 5], [1, 1], [4, 2]])[:, :sides]
    tokens = torch.randint(4, 30, (4, sides, 6), generator=generator)
    outside = torch.arange(6) >= lengths[..., None]
    return tokens.masked_fill(outside, 1), lengths, torch.tensor([0, 2, 1, 2])


def test_arc_scores_are_those_of_the_equation():
    scorer, words, root = ArcScorer(4, 3), torch.randn(2, 3, 4), torch.randn(4)
    scores = scorer(words, root)
    for h in range(3):
        for m in range(3):
            head = root.expand(2, 4) if h == m else words[:, h]
            inner = scorer.head(head) + scorer.modifier(words[:, m])
            expected = scorer.score(inner.tanh()).squeeze(-1)
            torch.testing.assert_close(scores[:, h, m], expected)


def test_sums_of_arc_scores_are_exact_in_half_precision():
    torch.manual_seed(1)
    scorer, words, root = ArcScorer(8, 200), torch.randn(2, 5, 8), torch.randn(8)
    with torch.autocast("cpu", torch.bfloat16):
        scores, heads = scorer(words, root), scorer.head(words).float()
        modifiers, from_root = scorer.modifier(words).float(), scorer.head(root).float()
    pairs = (heads.unsqueeze(2) + modifiers.unsqueeze(1)).tanh()
    pairs.diagonal(dim1=1, dim2=2).copy_((from_root + modifiers).tanh().mT)
    torch.testing.assert_close(scores, pairs @ scorer.score.weight[0], rtol=0, atol=1e-5)


def test_gradients_of_arc_scores(monkeypatch):
    torch.manual_seed(1)
    scorer, words, root = ArcScorer(4, 3).double(), torch.randn(3, 3, 4).double(), torch.randn(4)
    words.requires_grad_()

    def gradients():
        value = (scorer(words, root.double()) ** 2).sum()
        return torch.autograd.grad(value, [words, *scorer.parameters()])

    assert torch.autograd.gradcheck(scorer, (words, root.double().requires_grad_()))
    whole = gradients()
    monkeypatch.setattr("fairseq_struct.modules.latent_tree.arc_scorer.BLOCK_BYTES", 1)
    for first, second in zip(whole, gradients(), strict=True):
        torch.testing.assert_close(first, second)


def test_words_read_their_heads_or_the_average_of_them():
    words, root = torch.randn(2, 3, 4), torch.randn(4)
    trees = DependencyTrees(random_scores(2, 3, 3, dtype=torch.float32))
    read = head_vectors(trees.argmax, words, root)
    for b in range(2):
        for m, head in enumerate(trees.heads[b].tolist()):
            expected = words[b, head - 1] if head else root
            torch.testing.assert_close(read[b, m], expected)
    read = head_vectors(trees.marginals, words, root)
    for m in range(3):
        heads = torch.stack([root if h == m else words[1, h] for h in range(3)])
        torch.testing.assert_close(read[1, m], trees.marginals[1, :, m] @ heads)


@pytest.mark.parametrize("make", [classifier, entailment, projected])
@pytest.mark.parametrize("method", [*DETERMINISTIC, "baseline"])
def test_an_instance_depends_neither_on_its_batch_nor_on_padding(make, method):
    """Compared are prediction, tree, and the gradient of the loss by the words' embeddings."""
    network, sides = make(method), 1 if make is classifier else 2
    tokens, lengths, targets = batch(sides)
    embedding = (network.encoder if make is classifier else network).embedding
    network.train()
    for row in range(len(tokens)):
        size = int(lengths[row].max())
        seen = []
        for given in (
            (tokens, lengths, targets),
            (tokens[row : row + 1, :, :size], lengths[row : row + 1], targets[row : row + 1]),
        ):
            place = row if len(given[0]) > 1 else 0
            network.train()
            output = network(*given)
            parameters = [embedding.weight, *network.parameters()]
            gradients = torch.autograd.grad(
                output.losses[place], parameters, allow_unused=True, retain_graph=False
            )
            network.eval()
            scores = network(*given[:2]).logits[place]
            trees = []
            if method != "baseline":
                found = output.trees.heads()[place * sides : (place + 1) * sides]
                trees = [torch.tensor(heads) for heads in found]
            found = [g for g in gradients if g is not None]
            seen.append([output.losses[place], scores, *trees, *found])
        for first, second in zip(*seen, strict=True):
            torch.testing.assert_close(first, second, atol=1e-9, rtol=1e-7)


@pytest.mark.parametrize("projective", [True, False])
@pytest.mark.parametrize("method", DETERMINISTIC)
def test_nor_does_it_at_the_papers_sizes_in_single_precision(method, projective):
    """The gradient that an untrained parser receives is free of its scores' last digits."""
    torch.manual_seed(1)
    encoder = SentenceEncoder(torch.nn.Embedding(500, 300, 1), 100)
    tree = LatentTree(method, projective=projective, step_size=0.1)
    network = LatentTreeClassifier(encoder, 100, 2, tree)
    lengths = torch.tensor([[35], [20], [9]])
    tokens = torch.randint(4, 500, (3, 1, 35)).masked_fill(torch.arange(35) >= lengths[:, None], 1)
    received = []
    network.scorer.register_full_backward_hook(lambda *given: received.append(given[2][0]))
    for row, size in [(slice(0, 3), 35), (slice(1, 2), 20), (slice(2, 3), 9)]:
        output = network(tokens[row, :, :size], lengths[row], torch.zeros(3).long()[row])
        output.losses.sum().backward()
    together, *alone = received
    for row, gradient in enumerate(alone, 1):
        size = gradient.size(-1)
        difference = together[row, ..., :size, :size] - gradient[0]
        assert difference.norm() < 1e-4 * gradient.norm()


@pytest.mark.parametrize("make", [classifier, entailment, projected])
@pytest.mark.parametrize("method", METHODS)
def test_every_method_teaches_the_parser(make, method):
    network = make(method)
    output = network(*batch(1 if make is classifier else 2))
    output.losses.sum().backward()
    for parameter in network.scorer.parameters():
        assert parameter.grad.isfinite().all()
        assert parameter.grad.abs().sum() > 0


@pytest.mark.parametrize("make", [classifier, entailment])
@pytest.mark.parametrize("method", METHODS)
def test_a_step_leaves_nothing_in_memory(make, method, monkeypatch):
    network = make(method)
    decoders = decoders_of_trees(monkeypatch)
    network(*batch(1 if make is classifier else 2)).losses.sum().backward()
    gc.collect()
    assert len(decoders) == 1 and decoders[0]() is None


@pytest.mark.parametrize(("form", "expected"), [("thesis", 422_203), ("projected", 542_203)])
def test_numbers_of_parameters_at_the_thesis_s_sizes(form, expected):
    """Mihaylova's table A.1: 420K for SNLI and 180K for SST, and without trees 340K and 150K."""

    def count(network):
        return sum(p.numel() for p in network.parameters()) - embedding.weight.numel()

    embedding = torch.nn.Embedding(9, 300, 1)
    trees = DecomposableAttention(embedding, 200, 3, LatentTree(), form=form)
    assert count(trees) == expected
    assert count(DecomposableAttention(embedding, 200, 3, form=form)) == 341_603
    encoder = SentenceEncoder(embedding, 100)
    assert count(LatentTreeClassifier(encoder, 100, 2, LatentTree())) == 181_502
    assert count(SummedStatesClassifier(encoder, 100, 2)) == 151_102


def test_the_thesis_s_entailment_aligns_words_by_their_heads():
    """The equations of Mihaylova's thesis for one pair, with a tree for each sentence."""
    network = entailment("spigot").eval()
    tokens, lengths = torch.tensor([[[5, 6, 7], [8, 9, 1]]]), torch.tensor([[3, 2]])
    output = network(tokens, lengths)
    heads = output.trees.heads()
    words, joined = [], []
    for side, size in enumerate((3, 2)):
        own = network.embedding(tokens[0, side, :size])
        f = network.attend(own)
        read = torch.stack([f[h - 1] if h else network.root for h in heads[side]])
        words.append(own)
        joined.append(torch.cat([f, read], 1))
    e = joined[0] @ joined[1].T
    beta, alpha = e.softmax(1) @ words[1], e.softmax(0).T @ words[0]
    v = [network.compare(torch.cat([own, other], 1)).sum(0)
         for own, other in ((words[0], beta), (words[1], alpha))]  # fmt: skip
    torch.testing.assert_close(output.logits[0], network.aggregate(torch.cat(v)))


@pytest.mark.parametrize("method", ["marginals", "spigot", "ste_identity"])
def test_known_heads_are_learned(method):
    # Smaller networks cannot have some trees.
    network = classifier(method, sizes=(16, 16), supervision_weight=10.0)
    tokens, lengths, targets = batch(1)
    generator = torch.Generator().manual_seed(2)
    gold = DependencyTrees(random_scores(4, 6, 6), lengths.squeeze(1)).sample_heads(1, generator)
    gold = gold.transpose(0, 1).clone()
    gold[0, 0, 2] = -1  # unknown heads may have any value
    optimizer = torch.optim.Adam(network.parameters(), 0.05)
    for _ in range(120):
        optimizer.zero_grad()
        network(tokens, lengths, targets, gold).losses.sum().backward()
        optimizer.step()
    output = network.eval()(tokens, lengths)
    found = [torch.tensor(heads) for heads in output.trees.heads()]
    heads = torch.nn.utils.rnn.pad_sequence(found, batch_first=True)[:, None]
    known = (gold >= 0) & (torch.arange(6) < lengths[..., None])
    assert torch.equal(heads[known], gold[known])
    assert output.logits.argmax(1).tolist() == targets.tolist()


def test_words_alone_hang_from_the_root():
    network = classifier("spigot").eval()
    output = network(torch.tensor([[[5]]]), torch.tensor([[1]]))
    assert output.trees.heads() == [(0,)]


def test_relaxed_methods_read_means_and_others_trees():
    scores, lengths = random_scores(2, 5, 5), torch.tensor([5, 3])
    trees = DependencyTrees(scores, lengths)
    for method, name in (("marginals", "marginals"), ("sparsemap", "sparsemap"),
                         ("spigot_ce", "argmax"), ("perturb_and_map", "argmax")):  # fmt: skip
        read = LatentTree(method).read(scores, lengths)
        torch.testing.assert_close(read, getattr(trees, name))


def test_depths_of_trees():
    heads = torch.tensor([[0, 1, 2, 3], [0, 0, 0, 0], [2, 0, 2, 9], [2, 3, 4, 0]])
    assert depths(heads, torch.tensor([4, 4, 3, 4])).tolist() == [4, 1, 2, 4]
    assert depths(torch.tensor([[0]]), torch.tensor([1])).tolist() == [1]


def test_independent_structures_are_those_of_each():
    scores, lengths = random_scores(3, 2, 4, 4), torch.tensor([[4, 2], [3, 3], [1, 4]])
    both = Independent(scores, lambda flat: DependencyTrees(flat, lengths.flatten()))
    each = [DependencyTrees(scores[:, k], lengths[:, k]) for k in range(2)]
    for name in ("argmax", "marginals", "sparsemap", "within"):
        expected = torch.stack([getattr(one, name) for one in each], 1)
        torch.testing.assert_close(getattr(both, name), expected)
    for name in ("log_partition", "entropy"):
        expected = sum(getattr(one, name) for one in each)
        torch.testing.assert_close(getattr(both, name), expected)
    known = torch.full((3, 2, 4), -1)
    known[0, 1, 0] = 2
    expected = each[0].log_partition + each[1].observe(known[:, 1]).log_partition
    torch.testing.assert_close(both.observe(known).log_partition, expected)
    drawn = both.sample(2, torch.Generator().manual_seed(1))
    assert drawn.shape == (2, 3, 2, 4, 4)
    assert torch.equal(drawn.sum((3, 4)), lengths.expand(2, 3, 2).to(drawn.dtype))
    with pytest.raises(ValueError, match="must have shape"):
        both.observe(known[:2])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "spigott"}, "unknown latent method 'spigott'"),
        ({"step_size": 0.0}, "pullback step size must be above 0"),
        ({"steps": 0}, "pullback steps must be 1 or more"),
        ({"temperature": float("inf")}, "temperature must be above 0 and finite"),
        ({"pullback_weight": 0.0}, "pullback weight must be above 0"),
        ({"supervision_weight": -1.0}, "weight of known heads must be 0 or more"),
        ({"method": "spigot_ce", "sparsemap_steps": 9}, "for sparsemap and spigot, not for spigot"),
        ({"method": "spigot", "sparsemap_steps": 4}, "steps of SparseMAP must be 5 or more"),
    ],
)
def test_impossible_trees_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        LatentTree(**options)
