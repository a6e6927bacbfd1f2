"""Composition of sentences along transformation lists."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Optional  # fairseq cannot read "str | None"

from fairseq.data import Dictionary
from fairseq.logging import metrics
from fairseq.tasks import register_task
from torch import Tensor

from fairseq_struct.data.datasets.transformation_lists import TransformationLists
from fairseq_struct.data.prepared.list_folder import WORDS
from fairseq_struct.data.prepared.listed_part import read_categories, read_list_settings, read_part
from fairseq_struct.data.prepared.vocabulary.dictionary_file import load_dictionary
from fairseq_struct.data.readers.transformation_lists import tag_of
from fairseq_struct.errors import InputError
from fairseq_struct.metrics.window_accuracy import SHOWN, TABLES, WINDOWS, WindowAccuracy
from fairseq_struct.tasks.shared.sentence_task import SentenceTask
from fairseq_struct.tasks.shared.strict_task import TrainedConfig


@dataclass
class GrammarInductionConfig(TrainedConfig):
    """Options of the task."""

    data: Optional[str] = field(  # noqa: UP045
        default=None,
        metadata={"help": "folder data-bin made by fairseq-struct prepare transformation_lists"},
    )


@register_task("grammar_induction", dataclass=GrammarInductionConfig)
class GrammarInductionTask(SentenceTask):
    """Learns the steps in which constituency trees are built (thesis on RIMs, section 3.2.3.2).

    The trees are given: this is supervised, whatever its name. Use the task with the criterion of
    the same name, which logs ``window_0``, ``window_1`` and ``window_2`` in validations.

    Args:
        cfg: the options.
        words: dictionary of words.
        categories: names of the categories of steps, by number.
        lower: whether words are lower-cased before they are looked up.
    """

    own_criterion = "grammar_induction"
    kind_of_models = "composers such as rim_composer"

    def __init__(
        self, cfg: GrammarInductionConfig, words: Dictionary, categories: Sequence[str], lower: bool
    ):
        super().__init__(cfg, words)
        self.categories, self.lower = categories, lower

    @classmethod
    def setup_task(cls, cfg: GrammarInductionConfig, **kwargs):
        """Read the dictionary and the categories.

        Raises:
            InputError: the folder or one of its files cannot be used.
        """
        if not cfg.data:
            raise InputError("the task needs a folder of transformation lists")
        folder = Path(cfg.data)
        lower = read_list_settings(folder).lower
        return cls(cfg, load_dictionary(folder / WORDS), read_categories(folder), lower)

    def load_dataset(self, split: str, epoch: int = 1, combine: bool = False, **kwargs):
        """Load a part of the folder.

        Raises:
            InputError: the part does not exist, or a file is damaged.
        """
        self.datasets[split] = TransformationLists(
            read_part(self.cfg.data, split), self.words.pad(), self.trains_on(split), self.cfg.seed
        )

    def reduce_metrics(self, logging_outputs: list[dict], criterion):
        """Log window accuracies of steps that occur, besides what the criterion logs."""
        super().reduce_metrics(logging_outputs, criterion)
        if "window_counts" not in logging_outputs[0]:
            return
        sums = (sum(log[name] for log in logging_outputs) for name in TABLES)
        found = self._percentages(*sums)
        for name in (name for name in SHOWN if name in found):
            metrics.log_derived(name, lambda meters, name=name: self._percentage(meters, name))

    def _percentage(self, meters, name: str) -> float:
        """A window accuracy of what was summed up."""
        return round(self._percentages(*(meters[f"_{table}"].sum for table in TABLES))[name], 2)

    def _percentages(self, counts: Tensor, sentences: Tensor) -> dict[str, float]:
        tags = [(tag_of(one, True), tag_of(one, False)) for one in self.categories]
        return WindowAccuracy(WINDOWS, counts, sentences).percentages(tags)
