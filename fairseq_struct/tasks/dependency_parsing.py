"""Dependency parsing of treebanks."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Optional  # fairseq cannot read "str | None"

import torch
from fairseq.data import Dictionary
from fairseq.tasks import register_task

from fairseq_struct.data.datasets.packed_tensors import PackedTensors
from fairseq_struct.data.datasets.parsed_sentences import ParsedSentences
from fairseq_struct.data.prepared.vocabulary.dictionary_file import dictionary_of, load_dictionary
from fairseq_struct.data.readers.conllu import Sentence
from fairseq_struct.data.readers.dependency_treebank import read_treebank
from fairseq_struct.data.readers.treebank_files import DICTIONARY, treebank_file
from fairseq_struct.errors import InputError
from fairseq_struct.files.reserved_words import index_of, refuse_reserved
from fairseq_struct.option_checks import require_at_least
from fairseq_struct.tasks.shared.sentence_task import SentenceTask
from fairseq_struct.tasks.shared.strict_task import TrainedConfig


@dataclass
class DependencyParsingConfig(TrainedConfig):
    """Options of the task."""

    data: Optional[str] = field(  # noqa: UP045
        default=None,
        metadata={
            "help": "a treebank: a folder of *-train.conllu, *-dev.conllu and *-test.conllu; or "
            "the folder data-bin made by fairseq-struct prepare dependency_treebank"
        },
    )
    least_count: int = field(
        default=2,
        metadata={
            "help": "words that are rarer in the training split are unknown; a prepared folder has "
            "its own dictionary"
        },
    )


@register_task("dependency_parsing", dataclass=DependencyParsingConfig)
class DependencyParsingTask(SentenceTask):
    """Supervised parsing into nonprojective dependency trees (Mihaylova's thesis, section 5.5).

    Use it with the criterion of the same name, which logs ``uas``, ``modifier_list``,
    ``modifier_count`` and ``exact_match`` in validations. Words are read as they are, punctuation
    included; ranges of words and empty nodes are skipped.

    Args:
        cfg: the options.
        words: dictionary of words.
    """

    own_criterion = "dependency_parsing"
    kind_of_models = "dependency parsers such as undirected_parser"

    def __init__(self, cfg: DependencyParsingConfig, words: Dictionary):
        super().__init__(cfg, words)
        self._model = None  # reads words, and says which trees it finds

    @classmethod
    def setup_task(cls, cfg: DependencyParsingConfig, **kwargs):
        """Load the dictionary, or make that of the training split.

        Raises:
            InputError: the folder, its dictionary or its training split cannot be used, or a word
                is one of fairseq's own symbols.
        """
        if not cfg.data:
            raise InputError("the task needs the folder of a treebank")
        folder = Path(cfg.data)
        if not folder.is_dir():
            raise InputError(f"{folder}: no such folder; the task needs that of a treebank")
        if (folder / DICTIONARY).is_file():
            return cls(cfg, load_dictionary(folder / DICTIONARY))
        require_at_least(cfg, 1, "least_count")
        counts: Counter[str] = Counter()
        for tree in read_treebank(treebank_file(folder, "train")):
            refuse_reserved(tree.words, tree.place)
            counts.update(tree.words)
        return cls(cfg, dictionary_of(counts, cfg.least_count))

    def build_model(self, cfg, from_checkpoint: bool = False):
        """Build the model."""
        self._model = super().build_model(cfg, from_checkpoint)
        self.reads_dictionary = not getattr(self._model, "pretrained", False)
        return self._model

    def save_for_models(self, folder: Path):
        """Write the dictionary, which an exported model needs of the treebank."""
        self.words.save(str(folder / DICTIONARY))

    def load_dataset(self, split: str, epoch: int = 1, combine: bool = False, **kwargs):
        """Load a split of the treebank.

        Raises:
            InputError: the split does not exist, a sentence is malformed, its heads form a cycle,
                it has several roots but the model finds trees with one, or it is too long.
        """
        trees = read_treebank(treebank_file(self.cfg.data, split))
        sentences = PackedTensors(map(self._checked, trees))
        heads = PackedTensors(torch.tensor(tree.heads) for tree in trees)
        padding = getattr(self._model, "padding", self.words.pad())
        self.datasets[split] = ParsedSentences(
            sentences, heads, padding, shuffle=self.trains_on(split), seed=self.cfg.seed
        )

    def _checked(self, tree: Sentence) -> torch.Tensor:
        """What the model reads of a sentence whose tree it can find."""
        roots = tree.heads.count(0)
        if roots != 1 and getattr(self._model, "single_root", False):
            raise InputError(
                f"{tree.place}: this sentence has {roots} roots, but the model finds trees with "
                "one; --roots multiple allows several"
            )
        try:
            return self._read(tree.words)
        except InputError as error:
            raise InputError(f"{tree.place}: {error}") from None

    def _read(self, words: tuple[str, ...]) -> torch.Tensor:
        if self._model is None:
            return torch.tensor([index_of(self.words, word) for word in words])
        return self._model.read_words(words)
