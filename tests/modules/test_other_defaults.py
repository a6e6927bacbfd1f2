"""Modules given everything on the CPU, where another default device or precision is set."""

import pytest
import torch

from fairseq_struct.modules.masked_lm.structformer import dependency_distribution
from fairseq_struct.modules.on_lstm import ONLSTM
from fairseq_struct.modules.ordered_memory import OrderedMemory
from fairseq_struct.modules.ordered_memory.growing import read_growing
from fairseq_struct.modules.recurrent.torch_lstm import has_lstm
from fairseq_struct.modules.sentence_encoder import ContextLSTM
from fairseq_struct.modules.undirected.operators import Linear
from fairseq_struct.modules.undirected.orders import RandomOrder, drawn_passes
from fairseq_struct.structure.dependency import random_trees
from fairseq_struct.structure.spans import random_tree


@pytest.fixture
def other_device():
    """Another default device, on which no numbers are."""
    torch.set_default_device("meta")
    yield
    torch.set_default_device(None)


def on_cpu(*shape):
    return torch.randn(*shape, device="cpu", generator=torch.Generator("cpu").manual_seed(1))


LENGTHS = torch.tensor([3, 2])


def read(module, *inputs, **options):
    return module.to_empty(device="cpu")(*inputs, **options)


def small_memory():
    return OrderedMemory(3, 4, 2).to_empty(device="cpu")


@pytest.mark.usefixtures("other_device")
@pytest.mark.parametrize(
    "use",
    [
        lambda: read(ContextLSTM(3, 4), on_cpu(2, 3, 3), LENGTHS),
        lambda: read(ONLSTM(3, 4, chunk_size=2), on_cpu(3, 2, 3), lengths=[3, 2])[0],
        lambda: read_growing(small_memory(), on_cpu(3, 2, 3), LENGTHS)[0],
        lambda: Linear("x", "y", lambda x: 2 * x, (3,)).message("y", {"x": on_cpu(2, 3)}),
        lambda: random_trees(LENGTHS, torch.Generator("cpu").manual_seed(1)),
    ],
)
def test_the_default_device_does_not_matter(use):
    assert use().device.type == "cpu"


@pytest.mark.usefixtures("other_device")
def test_what_is_drawn_is_drawn_on_the_cpu():
    draw = torch.Generator("cpu").manual_seed(1)
    assert sorted(RandomOrder("abc", generator=draw)(0)) == ["a", "b", "c"]
    assert drawn_passes(3, draw) in (1, 2, 3)
    assert (0, 4) in random_tree(4, draw)


def test_what_the_processor_can_is_no_matter_of_the_default_precision():
    has_lstm.cache_clear()
    known = has_lstm(torch.float16)
    has_lstm.cache_clear()
    torch.set_default_dtype(torch.float64)
    try:
        assert has_lstm(torch.float16) == known
    finally:
        torch.set_default_dtype(torch.float32)
        has_lstm.cache_clear()


def test_there_is_one_length_for_each_sentence():
    for lengths in (LENGTHS[:1], torch.tensor([4, 1])):
        with pytest.raises(ValueError, match="lengths"):
            ContextLSTM(3, 4)(on_cpu(2, 3, 3), lengths)
        with pytest.raises(ValueError, match="lengths"):
            dependency_distribution(on_cpu(2, 3), on_cpu(2, 3), lengths)
