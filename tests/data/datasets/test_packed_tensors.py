"""Tensors of varying sizes in the memory of one."""

import pickle

import pytest
import torch

from fairseq_struct.data.datasets.packed_tensors import PackedTensors, PickedTensors


@pytest.mark.parametrize(
    "shapes", [[(3,), (1,), (0,), (4,)], [(2, 3), (0, 3), (1, 3)], [(2, 5), (3, 2)], []]
)
def test_what_was_packed_comes_out(shapes):
    torch.manual_seed(0)
    rows = [torch.randint(-5, 2**31 - 1, shape) for shape in shapes]
    packed = PackedTensors(iter(rows))
    for found in (packed, pickle.loads(pickle.dumps(packed))):
        assert len(found) == len(rows) and found.sizes.tolist() == [len(row) for row in rows]
        assert all(torch.equal(*pair) for pair in zip(found, rows, strict=True))
        assert all(row.dtype == torch.int64 for row in found)


def test_numbers_that_do_not_fit_are_refused():
    with pytest.raises(OverflowError):
        PackedTensors([torch.tensor([2**31])])
    with pytest.raises(IndexError):
        PackedTensors([torch.tensor([1])])[-1]


def test_some_places_have_none():
    picked = PickedTensors(PackedTensors([torch.tensor([4]), torch.tensor([5, 6])]), [1, -1, 0, 1])
    found = [None if tree is None else tree.tolist() for tree in picked]
    assert found == [[5, 6], None, [4], [5, 6]] and len(picked) == 4
