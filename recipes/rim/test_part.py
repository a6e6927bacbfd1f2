"""The test part of prepared lists, and the numbers that the recipes in this folder report of it."""

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from fairseq_struct.data.datasets.transformation_lists import TransformationLists
from fairseq_struct.data.prepared.listed_part import ListedPart, read_part
from fairseq_struct.data.readers.bracket_trees import read_trees
from fairseq_struct.data.readers.transformation_lists import steps_of, tag_of
from fairseq_struct.files.text_files import read_lines
from fairseq_struct.metrics.window_accuracy import SHOWN, WindowAccuracy

BATCH = 64


class TestPart:
    """The test part of a folder of lists.

    Tags are those of its trees, so that a step whose category the training part lacks has one, too.

    Args:
        lists: the prepared folder.
    """

    __test__ = False  # pytest: no test

    def __init__(self, lists: Path):
        self.lists = lists
        self.trees = [tree for _, tree in read_trees(lists / "trees" / "test.txt")]

    def __str__(self) -> str:
        total = sum(len(read_lines(path)) for path in (self.lists / "trees").glob("*.txt"))
        return f"{len(self.trees)} of {total} sentences"

    @cached_property
    def part(self) -> ListedPart:
        """The steps."""
        return self.steps_of("test")

    def steps_of(self, name: str) -> ListedPart:
        """The steps of another part."""
        return read_part(self.lists / "data-bin", name)

    @cached_property
    def tags(self) -> tuple[list[str], np.ndarray]:
        """The different tags, and the number of each step's tag."""
        tags = [
            tag_of(step.category, step.end - step.start == 1)
            for tree in self.trees
            for step in steps_of(tree)
        ]
        names, numbers = np.unique(tags, return_inverse=True)
        return names.tolist(), numbers

    def batches(self, padding: int) -> Iterator[tuple[dict[str, Tensor], np.ndarray]]:
        """Input of a composer, by length, and the numbers of its sentences."""
        sentences = TransformationLists(self.part, padding)
        order = np.argsort(self.part.sizes[:, 0], kind="stable")
        for first in range(0, len(order), BATCH):
            indices = order[first : first + BATCH]
            yield sentences.collater(indices)["net_input"], indices

    def padded(self, values: np.ndarray, sentences: np.ndarray) -> Tensor:
        """Values of the steps of some sentences, (batch, most steps, …), zeros in the padding."""
        counts = self.part.sizes[:, 1]
        firsts = np.cumsum(counts) - counts
        rows = [torch.from_numpy(values[firsts[n] : firsts[n] + counts[n]]) for n in sentences]
        return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)

    def no_accuracy(self) -> WindowAccuracy:
        """Sums for this part's tags, to be filled."""
        return WindowAccuracy.empty(len(self.tags[0]))

    def accuracy_of(self, hits: np.ndarray) -> WindowAccuracy:
        """Sums for the hits (steps, windows) of one predictor."""
        accuracy, every = self.no_accuracy(), np.arange(len(self.trees))
        single = self.part.steps[:, 1] - self.part.steps[:, 0] == 1
        numbers, ones = self.tags[1], np.ones(len(hits), bool)
        accuracy.add(*(self.padded(values, every) for values in (hits, numbers, single, ones)))
        return accuracy

    def metrics_of(self, accuracy: WindowAccuracy) -> dict[str, float]:
        """Metrics of a record."""
        found = accuracy.percentages([(tag, tag) for tag in self.tags[0]])
        return {name: round(found[name], 2) for name in SHOWN if name in found}
