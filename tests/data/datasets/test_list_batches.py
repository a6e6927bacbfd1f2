"""Batches of transformation lists."""

import numpy as np
import pytest

from fairseq_struct.data.datasets.transformation_lists import TransformationLists
from fairseq_struct.data.generators.phrase_structures import generate_lists
from fairseq_struct.data.prepared.list_folder import write_list_folder
from fairseq_struct.data.prepared.listed_part import read_part
from fairseq_struct.data.readers.transformation_lists import ListOptions


@pytest.fixture(scope="module")
def part(tmp_path_factory):
    out = tmp_path_factory.mktemp("lists") / "out"
    write_list_folder(generate_lists(40, 2, ListOptions()), out, ListOptions())
    return read_part(out / "data-bin", "train")


def test_batches(part):
    dataset = TransformationLists(part, 1)
    ids = dataset.ordered_indices()[::-3]
    batch = dataset.collater(ids)
    given = batch["net_input"]
    assert batch["id"].tolist() == ids.tolist() and batch["nsentences"] == len(ids)
    assert batch["ntokens"] == int(given["step_counts"].sum())
    for row, index in enumerate(ids):
        (words, steps), (first, at) = part.sizes[index], part.sizes[:index].sum(0)
        assert [given["lengths"][row], given["step_counts"][row]] == [words, steps]
        assert dataset.num_tokens(index) == dataset.size(index) == words
        for found, values, size, padding in (
            (given["tokens"], part.words[first : first + words], words, 1),
            (given["starts"], part.spans[at : at + steps, 0], steps, 0),
            (given["ends"], part.spans[at : at + steps, 1], steps, 0),
            (batch["categories"], part.steps[at : at + steps, 2], steps, -1),
        ):
            assert found[row, :size].tolist() == values.tolist()
            assert (found[row, size:] == padding).all()
    assert given["tokens"].shape == (len(ids), part.sizes[ids, 0].max())
    assert given["starts"].shape == (len(ids), part.sizes[ids, 1].max())
    assert dataset.collater([]) == {}


def test_every_epoch_has_its_own_order_which_the_seed_decides(part):
    first, same, other = (TransformationLists(part, 1, True, seed) for seed in (1, 1, 2))
    orders = [dataset.ordered_indices().tolist() for dataset in (first, same, other)]
    assert orders[0] == orders[1] != orders[2]
    assert all((np.diff(part.sizes[order, 0]) >= 0).all() for order in orders)
    assert TransformationLists(part, 1).ordered_indices().tolist() == [*range(len(part.sizes))]
    first.set_epoch(2)
    assert first.ordered_indices().tolist() != orders[0]
    assert not first.can_reuse_epoch_itr_across_epochs
    assert TransformationLists(part, 1).can_reuse_epoch_itr_across_epochs
