"""Inference at scores of every size, in workers, and with any number of threads."""

import multiprocessing
import threading

import pytest
import torch
from tree_kinds import KINDS, random_scores

from fairseq_struct.structure.dependency import DependencyTrees
from fairseq_struct.structure.dependency.nonprojective import matrix_tree_torch
from fairseq_struct.structure.kernels import compiled

AN_HOUR = 3600  # no wait is that long, even on a busy machine


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_a_thousand_random_batches_without_a_nan(kind, scale):
    """Gaussian, Cauchy and masked scores in float32; longer sentences now and then."""
    lengths = torch.tensor([9, 4])
    # A thousand in all, over kinds and scales.
    for seed in range(84):
        n = 30 if seed % 20 == 0 else 9
        scores = random_scores(2, n, n, seed=seed)
        if seed % 3 == 1:
            scores = scores / random_scores(2, n, n, seed=-seed - 1)
        if seed % 3 == 2:
            masked = random_scores(2, n, n, seed=-seed - 1) > 1
            masked.diagonal(0, 1, 2).fill_(False)
            scores = scores.masked_fill(masked & (not kind["single_root"]), -torch.inf)
        scores = (scale * scores).float().clamp(max=1e6).requires_grad_()
        trees = DependencyTrees(scores, lengths if n == 9 else None, **kind)
        value = trees.log_partition.sum() + (trees.marginals * scores.detach().exp().clamp(max=1))
        (gradient,) = torch.autograd.grad(value.sum(), scores)
        sums = trees.marginals.sum(1)[trees.within.any(1)]
        assert value.isfinite().all() and gradient.isfinite().all(), seed
        assert (sums - 1).abs().max() < 1e-5, seed


@pytest.mark.parametrize("single_root", [False, True])
@pytest.mark.parametrize("deviation", [10.0, 20.0, 40.0, 300.0])
def test_elimination_is_exact_where_lu_is_not(deviation, single_root):
    scores = random_scores(4, 25, 25, scale=deviation)
    trees = DependencyTrees(scores, projective=False, single_root=single_root)
    in_logs = DependencyTrees(
        scores, projective=False, single_root=single_root, backend="torch"
    )
    torch.testing.assert_close(trees.log_partition, in_logs.log_partition, atol=0, rtol=1e-13)
    torch.testing.assert_close(trees.marginals, in_logs.marginals, atol=1e-11, rtol=0)
    torch.testing.assert_close(trees.entropy, in_logs.entropy, atol=1e-8, rtol=1e-9)
    if deviation >= 40.0 and not single_root:
        weights = (scores - scores.amax(1, keepdim=True)).float().exp()
        root = weights.diagonal(0, 1, 2)
        arcs = weights - torch.diag_embed(root)
        laplacian = torch.diag_embed(arcs.sum(1) + root) - arcs
        by_lu = torch.linalg.slogdet(laplacian)[1] + scores.amax(1).sum(1)
        half = DependencyTrees(scores.float(), projective=False)
        rounded = DependencyTrees(scores.float().double(), projective=False)
        assert not (by_lu - trees.log_partition).abs().max() < 1e-2
        torch.testing.assert_close(half.log_partition, rounded.log_partition.float())
        torch.testing.assert_close(half.marginals, rounded.marginals.float())


@pytest.mark.parametrize("single_root", [False, True])
@pytest.mark.parametrize("deviation", [5.0, 20.0, 100.0, 1000.0])
def test_projective_sums_hold_in_every_range(deviation, single_root):
    """From ranges where one shift suffices, or another, to ranges that need logarithms."""
    lengths = torch.tensor([40, 25, 33, 7])
    scores = random_scores(4, 40, 40, scale=deviation)
    kind = {"projective": True, "single_root": single_root}
    trees = DependencyTrees(scores, lengths, **kind)
    in_logs = DependencyTrees(scores, lengths, **kind, backend="torch")
    torch.testing.assert_close(trees.log_partition, in_logs.log_partition, atol=0, rtol=1e-12)
    torch.testing.assert_close(trees.marginals, in_logs.marginals, atol=1e-9, rtol=0)
    direction = random_scores(4, 40, 40, seed=2)
    gradients = []
    for backend in ("compiled", "torch"):
        given = scores.clone().requires_grad_()
        marginals = DependencyTrees(given, lengths, **kind, backend=backend).marginals
        gradients.append(torch.autograd.grad((marginals * direction).sum(), given)[0])
    torch.testing.assert_close(*gradients, atol=1e-8, rtol=0)
    assert trees.is_tree(trees.sample_heads(2)).all()


def test_the_log_domain_has_third_derivatives():
    scores = random_scores(1, 3, 3).requires_grad_()
    lengths = torch.tensor([3])

    def marginals(given):
        value = matrix_tree_torch.log_partition(given, lengths)
        return torch.autograd.grad(value.sum(), given, create_graph=True)[0]

    assert torch.autograd.gradgradcheck(marginals, scores)


def everything(scores):
    trees = DependencyTrees(scores)
    other = DependencyTrees(scores, projective=False, single_root=True)
    generator = torch.Generator().manual_seed(3)
    return [
        value
        for kind in (trees, other)
        for value in (kind.marginals, kind.entropy, kind.heads, kind.sparsemap)
    ] + [trees.sample_heads(2, generator), other.sample_heads(2, generator)]


def same(ours, theirs):
    return all(torch.equal(a, b) for a, b in zip(ours, theirs, strict=True))


@pytest.fixture
def threads_for_little(monkeypatch):
    """All threads are used, even for little work."""
    monkeypatch.setattr(compiled, "STEPS_WORTH_A_THREAD", 1.0)


def test_threads_are_for_work_that_is_worth_it():
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        assert compiled.threads_for(1000.0) == 1
        assert compiled.threads_for(1e9) == 2
    finally:
        torch.set_num_threads(before)


def test_the_number_of_threads_changes_nothing(threads_for_little):
    scores, before = random_scores(37, 14, 14), torch.get_num_threads()
    try:
        results = []
        for threads in (1, 2, 3, 8):
            torch.set_num_threads(threads)
            results.append(everything(scores))
        assert all(same(results[0], result) for result in results[1:])
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("backend", ["compiled", "torch"])
def test_marginals_are_probabilities(kind, backend):
    """Rounding leaves no value below 0."""
    for scale in (20.0, 100.0, 400.0):
        scores = random_scores(20, 9, 9, scale=scale)
        marginals = DependencyTrees(scores, **kind, backend=backend).marginals
        assert (marginals >= 0).all()
        torch.testing.assert_close(marginals.sum(1), torch.ones(20, 9).double())


def test_threads_may_call_at_the_same_time(threads_for_little):
    scores, before = random_scores(16, 20, 20), torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        expected, results = everything(scores), []
        threads = [
            threading.Thread(target=lambda: results.append(everything(scores))) for _ in range(6)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(results) == 6 and all(same(expected, result) for result in results)
    finally:
        torch.set_num_threads(before)


def in_worker(scores, connection):
    # As in a data loader's worker: torch's own threads do not survive a fork. Ours must.
    torch.set_num_threads(1)
    torch.get_num_threads = lambda: 2
    connection.send([value.tolist() for value in everything(scores)])


def test_forked_workers_can_call_after_the_parent_did(threads_for_little):
    scores, before = random_scores(12, 20, 20), torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        expected = [value.tolist() for value in everything(scores)]
        ours, theirs = multiprocessing.get_context("fork").Pipe()
        worker = multiprocessing.get_context("fork").Process(
            target=in_worker, args=(scores, theirs)
        )
        worker.start()
        assert ours.poll(AN_HOUR), "the worker hangs"
        assert ours.recv() == expected
        worker.join()
        assert worker.exitcode == 0
    finally:
        torch.set_num_threads(before)
