"""Batches of corpora in memory maps: those of lists of tensors, without an object per sentence."""

import pickle
import tracemalloc

import numpy as np
import pytest
import torch
from fairseq.data import data_utils
from mapped_splits import END, drawn_lines, task, write_folder

from fairseq_struct.data.datasets.labelled_sentences import LabelledSentences
from fairseq_struct.data.datasets.masked_sentences import MaskedSentences
from fairseq_struct.data.datasets.token_streams import TokenStreams
from fairseq_struct.errors import InputError

TASKS = ("recurrent_language_modeling", "structured_masked_lm", "structured_classification")
LABELLED = TASKS[2]


def make(name, folder, count=80):
    if name != LABELLED:
        return write_folder(folder, drawn_lines(count))
    pairs = list(zip(*(drawn_lines(count, seed, ended=False) for seed in (1, 2)), strict=True))
    return write_folder(folder, pairs, [4 + n % 2 for n in range(count)])


def in_lists(name, folder, words):
    """The training split as a list of tensors for each file, given to the same data sets."""
    def lines(split):
        found = data_utils.load_indexed_dataset(str(folder / split), None, "mmap")
        return [found[number].clone() for number in range(len(found))]

    if name == TASKS[0]:
        return TokenStreams(torch.cat(lines("train")).int(), words.pad(), END, 70, True, 3)
    if name == TASKS[1]:
        kept = [line[:-1] for line in lines("train")]
        mask = words.index("<mask>")
        return MaskedSentences(kept, words.pad(), words.unk(), mask, 0.3, 3)
    sides = [[line[:9] for line in lines(f"train.sentence{side}")] for side in (1, 2)]
    labels = torch.cat(lines("train.label")) - 4
    return LabelledSentences(sides, labels, words.pad(), shuffle=True, seed=3)


def batches(owner, dataset, epoch, shards=1):
    found = owner.get_batch_iterator(
        dataset, max_tokens=None if owner.own_criterion == TASKS[0] else 60, max_sentences=4,
        seed=3, epoch=epoch, num_shards=shards, shard_id=shards - 1,
    )  # fmt: skip
    return list(found.next_epoch_itr(shuffle=True))


def assert_same(own, other):
    assert type(own) is type(other)
    if isinstance(own, dict):
        assert own.keys() == other.keys()
        for key in own:
            assert_same(own[key], other[key])
    elif isinstance(own, torch.Tensor):
        assert own.dtype == other.dtype and torch.equal(own, other)
    else:
        assert own == other


@pytest.mark.parametrize("shards", [1, 2])
@pytest.mark.parametrize("name", TASKS)
def test_batches_are_those_of_lists_of_tensors(tmp_path, name, shards):
    options = {"longest_sentence": 9, "truncate": True} if name == LABELLED else {}
    owner = task(name, make(name, tmp_path / "data-bin"), **options)
    owner.load_dataset("train")
    words = owner.source_dictionary
    for epoch in (1, 2):
        found = batches(owner, owner.dataset("train"), epoch, shards)
        wanted = batches(owner, in_lists(name, tmp_path / "data-bin", words), epoch, shards)
        assert len(found) == len(wanted) > 1
        for pair in zip(found, wanted, strict=True):
            assert_same(*pair)


@pytest.mark.parametrize("name", TASKS[1:])
def test_sentences_are_ordered_by_length_and_equal_ones_by_the_seed(tmp_path, name):
    owner = task(name, make(name, tmp_path / "data-bin"))
    owner.load_dataset("train")
    data = owner.dataset("train")
    if name == LABELLED:
        with data_utils.numpy_seed(3, 1):
            drawn = np.random.permutation(80).tolist()
    else:
        drawn = np.random.default_rng((3, 1)).permutation(80).tolist()
    length = [data.num_tokens(number) for number in range(80)]
    assert data.ordered_indices().tolist() == sorted(drawn, key=length.__getitem__)
    assert data.num_tokens_vec(np.arange(80)).tolist() == length


@pytest.mark.parametrize("name", TASKS)
def test_a_sentence_costs_a_few_numbers_and_no_object(tmp_path, name):
    count = 4000
    owner = task(name, make(name, tmp_path / "data-bin", count))
    owner.load_dataset("valid")  # what is imported, and made once
    tracemalloc.start()
    try:
        owner.load_dataset("train")
        data = owner.dataset("train")
        if name != TASKS[0]:
            data.batch_by_size(data.ordered_indices(), max_sentences=500)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # An object of Python takes 56 bytes or more, a tensor several of them.
    assert most < 100 * count


@pytest.mark.parametrize("name", TASKS)
def test_worker_processes_are_given_no_sentences(tmp_path, name):
    owner = task(name, make(name, tmp_path / "data-bin", 2000))
    owner.load_dataset("train")
    data = owner.dataset("train")
    if name == TASKS[0]:
        data.arrange(4)
    places = [3] if name == TASKS[0] else [3, 1999, 7]
    wanted = data.collater([data[place] for place in places])
    pickled = pickle.dumps(data)
    assert len(pickled) < 2000
    again = pickle.loads(pickled)
    assert len(again) == len(data)
    assert_same(again.collater([again[place] for place in places]), wanted)
    if name != TASKS[0]:
        assert again.ordered_indices().tolist() == data.ordered_indices().tolist()


@pytest.mark.parametrize(
    ("name", "lines", "options", "message"),
    [
        (TASKS[1], [[4, END], [END]], {}, r"train\.bin: sentence 2 is empty"),
        (TASKS[1], [[4, END], []], {}, r"train\.bin: sentence 2 is empty"),
        (LABELLED, [([4], [5]), ([4], [])], {}, r"train\.sentence2: sentence 2 is empty"),
        (LABELLED, [([4], [5]), ([4] * 4, [5]), ([4] * 7, [5])], {"longest_sentence": 3},
         r"train\.sentence1: sentence 2 has 4 words, more than --longest-sentence 3"),
    ],
)  # fmt: skip
def test_the_first_sentence_that_cannot_be_is_named(tmp_path, name, lines, options, message):
    labels = [4] * 5 if name == LABELLED else None
    owner = task(name, write_folder(tmp_path / "data-bin", lines, labels), **options)
    with pytest.raises(InputError, match=message):
        owner.load_dataset("train")


def test_labels_are_as_many_as_sentences(tmp_path):
    folder = write_folder(tmp_path / "data-bin", [([4], [5])] * 3, [4, 4])
    with pytest.raises(InputError, match=r"train\.sentence1: 3 lines, but there are 2 labels"):
        task(LABELLED, folder).load_dataset("train")
