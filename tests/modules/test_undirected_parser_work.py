"""What the undirected parser computes only once."""

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from undirected_parsers import parser, words_and_lengths

from fairseq_struct.modules.undirected import Passes
from fairseq_struct.modules.undirected.parser import ROOT_HEADS
from fairseq_struct.structure.dependency.nonprojective import inference


@pytest.fixture
def batch():
    return words_and_lengths()


class ProductsWith(TorchDispatchMode):
    """Counts the matrix products with a weight."""

    def __init__(self, weight):
        super().__init__()
        self.place, self.count = weight.data_ptr(), 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if function is torch.ops.aten.mm.default:
            self.count += any(given.data_ptr() == self.place for given in args)
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize("root_head", ROOT_HEADS)
@pytest.mark.parametrize("order", ["sequential", "simultaneous"])
def test_h_v_and_m_v_are_computed_once_for_each_value(batch, order, root_head):
    for passes in (1, 2, 3):
        network = parser(passes, order=order, root_head=root_head)
        with torch.no_grad(), ProductsWith(network.graph.factors["arcs"].weight) as products:
            network(*batch)
        # One for the first scores. Then H needs M V^T, and M needs H V: the scores need none.
        assert products.count <= 2 * passes - 1
        assert order == "simultaneous" or products.count <= max(2 * passes - 2, 1)


@pytest.mark.parametrize("passes", [1, 2, 3])
def test_the_matrix_tree_theorem_is_used_once_a_pass(batch, passes, monkeypatch):
    original, calls = inference.log_partition_and_marginals, []

    def counted(*arguments):
        calls.append(arguments)
        return original(*arguments)

    monkeypatch.setattr(inference, "log_partition_and_marginals", counted)
    trees = parser(passes)(*batch).trees
    (-trees.log_prob(trees.heads)).sum().backward()
    assert trees.marginals.isfinite().all()
    # The last use is for the update of Y and for the likelihood.
    assert len(calls) == passes


def test_lengths_may_be_a_list_and_passes_a_number_of_numpy(batch):
    words, lengths = batch
    found, expected = (parser(2)(words, given) for given in (lengths.tolist(), lengths))
    torch.testing.assert_close(found.trees.marginals, expected.trees.marginals, rtol=0, atol=0)
    assert Passes(np.int64(2), test=np.int64(3)).test == 3
    with pytest.raises(ValueError, match="sentence 1 has length 0; allowed are 1 to 5"):
        parser()(words, [4, 0, 5, 1])
