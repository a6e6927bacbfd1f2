"""Trees in functions that ``torch.compile`` compiles: it leaves them alone, and gradients pass.

The backend ``eager`` traces, which is what fails in kernels, and needs no C compiler.
"""

import subprocess
import sys

import pytest
import torch
from tree_kinds import KINDS, random_scores

from fairseq_struct.modules.on_lstm import ONLSTM
from fairseq_struct.modules.recursive.levels import TreeLevels
from fairseq_struct.structure.dependency import DependencyTrees
from fairseq_struct.structure.pullback import latent


@pytest.fixture(autouse=True)
def compiler():
    """Tracing from nothing, in which giving up code that is met too often is an error."""
    import torch._dynamo  # tests of other files do without this large import

    torch._dynamo.reset()
    with torch._dynamo.config.patch(fail_on_recompile_limit_hit=True):
        yield
    torch._dynamo.reset()


def assert_same(function, *inputs):
    """Values and gradients of the compiled function are those of the function.

    Up to rounding: autograd adds the terms of a gradient in another order in traced code.
    """
    found = []
    for run in (function, torch.compile(function, backend="eager")):
        given = [value.clone().requires_grad_(value.is_floating_point()) for value in inputs]
        values = run(*given)
        total = sum(value.square().sum() for value in values if value.requires_grad)
        gradients = torch.autograd.grad(total, [value for value in given if value.requires_grad])
        found.append((*values, *gradients))
    torch.testing.assert_close(*found)


@pytest.mark.parametrize("kind", KINDS[::3])
def test_every_verb(kind):
    def verbs(scores, lengths):
        trees = DependencyTrees(2 * scores, lengths, **kind)
        one, known = trees.heads, torch.full_like(trees.heads, -1)
        drawn = trees.sample(2, torch.Generator().manual_seed(1))
        return (
            trees.marginals + 1, trees.log_partition, trees.entropy, trees.max, trees.argmax,
            trees.sparsemap, trees.log_prob(one), trees.score(one), trees.is_tree(one), drawn,
            trees.kl(trees.with_scores(scores)), trees.observe(known).log_partition,
            trees.sparse_distribution.sizes, trees.lengths, trees.within, one,
        )  # fmt: skip

    scores = random_scores(3, 5, 5)
    assert_same(verbs, scores, torch.tensor([5, 1, 4]))


def test_second_derivatives():
    def penalty(scores):
        entropy = DependencyTrees(scores).entropy.sum()
        (slope,) = torch.autograd.grad(entropy, scores, create_graph=True)
        return (slope.square(),)

    assert_same(penalty, random_scores(2, 4, 4))


def test_gradients_that_are_pulled_back():
    weights = random_scores(4, 4, seed=1)

    def loss(trees):
        return (trees * weights).sum((1, 2)).square()

    def learned(scores):
        found = latent(scores, DependencyTrees, "spigot_ce", loss)
        return found.value, found.losses

    assert_same(learned, random_scores(2, 4, 4))


def test_levels_of_gold_trees():
    trees = torch.tensor([[[0, 2], [0, 1], [1, 2]], [[0, 1], [-1, -1], [-1, -1]]])

    def folded(words):
        levels = TreeLevels(trees, 2)
        return (levels.fold(words.flatten(0, 1)[levels.leaves], lambda a, b: 2 * a + b),)

    assert_same(folded, torch.randn(2, 2, 3, generator=torch.Generator().manual_seed(1)))


def test_on_lstm():
    torch.manual_seed(1)
    network = ONLSTM(3, (4, 6), 2)

    def run(inputs, lengths):
        result = network.run(inputs, lengths=lengths)
        return result.output, result.distances

    assert_same(run, torch.randn(5, 2, 3), torch.tensor([5, 2]))


def test_who_compiles_nothing_does_not_wait_for_the_tracer():
    code = (
        "import sys, torch; from fairseq_struct.structure.dependency import DependencyTrees as T;"
        "T(torch.zeros(1, 2, 2)).marginals; sys.exit('torch._dynamo' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
