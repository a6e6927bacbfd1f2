"""The processes that read the batches of an epoch end with it."""

import argparse
import multiprocessing
import threading

import numpy as np
import pytest
import torch
from fairseq.data import Dictionary, FairseqDataset
from fairseq.data.iterators import BackgroundConsumer
from fairseq.tasks import FairseqTask

from fairseq_struct import plugin
from fairseq_struct.data.datasets.token_streams import TokenStreams
from fairseq_struct.tasks.recurrent_language_modeling import RecurrentLanguageModelingTask

BATCHES = [[0, 1], [2, 3], [4, 5], [6]]


class Numbers(FairseqDataset):
    """Seven numbers, in different batches in each epoch."""

    can_reuse_epoch_itr_across_epochs = False

    def __getitem__(self, index):
        return index

    def __len__(self):
        return 7

    def num_tokens_vec(self, indices):
        return np.ones(len(indices), dtype=np.int64)

    def ordered_indices(self):
        return np.arange(7)

    def collater(self, samples):
        return samples


class SameNumbers(Numbers):
    can_reuse_epoch_itr_across_epochs = True


@pytest.fixture
def task():
    plugin.load()
    return FairseqTask(argparse.Namespace())


def epochs_of(task, numbers):
    return task.get_batch_iterator(
        numbers, max_sentences=2, num_workers=1, data_buffer_size=2,
        required_batch_size_multiple=1,
    )  # fmt: skip


def consumers():
    return {one for one in threading.enumerate() if isinstance(one, BackgroundConsumer)}


@pytest.fixture
def join_threads():
    """Waits for the threads of this test alone: that of an epoch which was left never ends."""
    of_others = consumers()

    def join():
        for thread in consumers() - of_others:
            thread.join()

    return join


@pytest.mark.parametrize("offset", [0, 2])
def test_no_process_is_left_by_an_epoch(task, offset, join_threads):
    epochs = epochs_of(task, Numbers())
    epochs.load_state_dict({"epoch": 1, "iterations_in_epoch": offset, "shuffle": False})
    before = set(multiprocessing.active_children())
    assert list(epochs.next_epoch_itr(shuffle=False)) == BATCHES[offset:]
    join_threads()
    assert not set(multiprocessing.active_children()) - before


def test_epochs_of_the_same_batches_share_a_process(task, join_threads):
    numbers = SameNumbers()
    before, seen = set(multiprocessing.active_children()), []
    for _ in range(2):
        epochs = epochs_of(task, numbers)
        assert list(epochs.next_epoch_itr(shuffle=False)) == BATCHES
        join_threads()
        seen.append(set(multiprocessing.active_children()) - before)
    epochs.dataloader._iterator._shutdown_workers()
    assert len(seen[0]) == 1 and seen[1] == seen[0]


def test_no_process_is_left_by_windows_of_a_text(task, tmp_path, join_threads):
    dictionary = Dictionary()
    options = argparse.Namespace(data=str(tmp_path), tokens_per_sample=4, seed=1)
    owner = RecurrentLanguageModelingTask(options, dictionary)
    text = TokenStreams(torch.arange(40), 1, 2, 4, False, 1)
    epochs = owner.get_batch_iterator(text, max_sentences=2, num_workers=1, data_buffer_size=2)
    before = set(multiprocessing.active_children())
    assert len(list(epochs.next_epoch_itr(shuffle=False))) == 5  # two streams of 20 words
    join_threads()
    assert not set(multiprocessing.active_children()) - before
