"""Classification of sentences or sentence pairs, by models with or without latent structure."""

from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Optional  # fairseq cannot read "str | None"

import torch
from fairseq.data import Dictionary
from fairseq.logging import metrics
from fairseq.tasks import register_task

from fairseq_struct.data.datasets.gold_trees import (
    constituents_of,
    formula_trees,
    heads_of,
    words_of_lines,
)
from fairseq_struct.data.datasets.indexed_lines import open_lines
from fairseq_struct.data.datasets.labelled_sentences import LabelledSentences
from fairseq_struct.data.datasets.mapped.lines import MappedLines
from fairseq_struct.data.datasets.mapped.shards import check_shards, shard
from fairseq_struct.data.datasets.mapped.tokens import tokens_of
from fairseq_struct.data.datasets.packed_tensors import PackedTensors
from fairseq_struct.data.prepared.labelled_folder import OPTIONS, TREES
from fairseq_struct.data.prepared.vocabulary.dictionary_file import load_dictionary
from fairseq_struct.data.readers.conllu import read_conllu
from fairseq_struct.data.readers.formulas.formula_trees import KINDS
from fairseq_struct.errors import InputError, unknown_name
from fairseq_struct.files.text_files import json_file
from fairseq_struct.option_checks import require_at_least
from fairseq_struct.structure.inferred_trees import CONSTITUENTS, DEPENDENCIES
from fairseq_struct.tasks.shared.sentence_task import SentenceTask
from fairseq_struct.tasks.shared.strict_task import TrainedConfig

DICTIONARIES = ("dict.txt", "dict.label.txt")


@dataclass
class StructuredClassificationConfig(TrainedConfig):
    """Options of the task."""

    data: Optional[str] = field(  # noqa: UP045
        default=None,
        metadata={
            "help": "folder data-bin made by fairseq-struct prepare labelled_text, or several, as "
            "in a:b:c, one per epoch"
        },
    )
    heads_path: Optional[str] = field(  # noqa: UP045
        default=None,
        metadata={
            "help": "CoNLL-U file with gold trees of some training sentences; they add to the loss "
            "of models with latent trees"
        },
    )
    gold_trees: Optional[str] = field(  # noqa: UP045
        default=None,
        metadata={
            "help": f"{' or '.join(KINDS)}: the sentences are formulas of this kind, whose own "
            "brackets are gold trees; models that read constituents get them, and validation "
            "scores models that infer constituents (f1)"
        },
    )
    longest_sentence: int = field(
        default=0, metadata={"help": "most words of a sentence, 0 for any number; see --truncate"}
    )
    truncate: bool = field(
        default=False,
        metadata={
            "help": "in training, cut sentences longer than --longest-sentence instead of refusing "
            "them, also those of validation and test; parse and classify have a --truncate of "
            "their own"
        },
    )


@register_task("structured_classification", dataclass=StructuredClassificationConfig)
class StructuredClassificationTask(SentenceTask):
    """Classification of sentences or of sentence pairs.

    Use it with the criterion of the same name, which logs ``accuracy``, ``macro_f1`` and, for
    models with latent trees, ``tree_depth`` and, with ``--gold-trees``, ``f1``. Validations also
    log the confusion table: the number of instances for each pair of true and predicted label
    (``confusion_TRUE_PREDICTED``).

    Args:
        cfg: the options.
        words: dictionary of words.
        labels: dictionary of labels.
    """

    own_criterion = "structured_classification"
    ONLY_FOR_TRAINING = ("heads_path",)
    kind_of_models = "classifiers of this package such as latent_tree_classifier"

    def __init__(
        self, cfg: StructuredClassificationConfig, words: Dictionary, labels: Dictionary
    ):
        super().__init__(cfg, words)
        require_at_least(cfg, 0, "longest_sentence")
        if cfg.truncate and not cfg.longest_sentence:
            raise InputError("--truncate needs --longest-sentence")
        self.formulas = getattr(cfg, "gold_trees", None)  # older checkpoints lack it
        if self.formulas not in (None, *KINDS):
            raise InputError(unknown_name("--gold-trees", self.formulas, KINDS))
        if self.formulas and cfg.truncate:
            raise InputError("--truncate cannot cut the trees of --gold-trees")
        self.labels = labels
        self._model = None  # gives the sentences per instance and the kind of gold trees
        options, self.lower = shard(cfg.data) / OPTIONS, False
        if options.is_file():
            with json_file(options) as content:
                self.lower = bool(content["lower"])
        if cfg.heads_path and shard(cfg.data, 1) != shard(cfg.data, 2):
            raise InputError("--heads-path is for data in one folder, which has its sentences")
        self.gold = [] if not cfg.heads_path else list(read_conllu(Path(cfg.heads_path)))
        if cfg.heads_path and not self.gold:
            raise InputError(f"{cfg.heads_path}: contains no tree")

    @classmethod
    def setup_task(cls, cfg: StructuredClassificationConfig, **kwargs):
        """Load the dictionaries.

        Raises:
            InputError: the folder or one of its dictionaries does not exist, or another shard has
                other dictionaries.
        """
        if not cfg.data:
            raise InputError("the task needs a folder made by fairseq-struct prepare labelled_text")
        folder = shard(cfg.data)
        for name in DICTIONARIES:
            if not (folder / name).is_file():
                raise InputError(
                    f"{folder / name}: no such file; "
                    "fairseq-struct prepare labelled_text makes such folders"
                )
        words, labels = (load_dictionary(folder / name) for name in DICTIONARIES)
        check_shards(cfg.data, DICTIONARIES)
        return cls(cfg, words, labels)

    @property
    def label_names(self) -> list[str]:
        """The labels, in the order of their numbers."""
        return self.labels.symbols[self.labels.nspecial :]

    def build_model(self, cfg, from_checkpoint: bool = False):
        """Build the model.

        Raises:
            InputError: the model is not a classifier of sentences, or it cannot infer one of the
                gold trees.
        """
        model = super().build_model(cfg, from_checkpoint)
        if self.gold and model.gold_kind != DEPENDENCIES:
            raise InputError("--heads-path is for models with latent dependency trees")
        for sentence in self.gold:
            if not model.can_build(torch.tensor(sentence.heads)):
                raise InputError(
                    f"{self.cfg.heads_path}:{sentence.line}: the model cannot build this tree, "
                    "which has crossing arcs (see --non-projective) or several roots (see "
                    "--single-root)"
                )
        self._model = model
        return model

    def load_dataset(self, split: str, epoch: int = 1, combine: bool = False, **kwargs):
        """Load a split of the folder; with several folders, of that of this epoch.

        Raises:
            InputError: the split does not exist, a sentence is empty or too long, or the files with
                labels or gold trees do not fit.
        """
        prefix = shard(self.cfg.data, epoch) / split
        names = [f"{prefix}.sentence{side}" for side in (1, 2)]
        names = [name for name in names if Path(f"{name}.idx").is_file()]
        if not names:
            raise InputError(f"{prefix}.sentence1.idx: no such file; there is no split {split!r}")
        if self._model is not None and self._model.sides != len(names):
            raise InputError(
                f"{prefix}: this model reads {self._model.sides} sentence(s) per instance, but "
                f"the data have {len(names)}"
            )
        sides = [self._sentences(name) for name in names]
        targets = _load(f"{prefix}.label")
        for name, lines in zip(names, sides, strict=True):
            if len(lines) != len(targets):
                raise InputError(f"{name}: {len(lines)} lines, but there are {len(targets)} labels")
        self.datasets[split] = LabelledSentences(
            sides, tokens_of(targets, self.labels.nspecial, torch.int64), self.words.pad(),
            self._gold_trees(prefix, sides), self._gold_kind is not None,
            shuffle=self.trains_on(split), seed=self.cfg.seed,
        )  # fmt: skip

    @property
    def _gold_kind(self) -> str | None:
        return getattr(self._model, "gold_kind", None)

    def _sentences(self, name: str) -> MappedLines:
        """The sentences of a side, cut under ``--truncate``."""
        lines, longest = _load(name), self.cfg.longest_sentence
        for number, size in lines.first_of_each_size():
            if not size:
                raise InputError(f"{name}: sentence {number + 1} is empty")
            if longest and size > longest and not self.cfg.truncate:
                raise InputError(
                    f"{name}: sentence {number + 1} has {size} words, more than "
                    f"--longest-sentence {longest}; --truncate cuts it"
                )
        return lines.cut(longest) if longest else lines

    def _gold_trees(self, prefix: Path, sides: list[MappedLines]):
        """Gold trees of a split that the model uses, for each side; None if there are none."""
        training = self.trains_on(prefix.name)
        reads = self._gold_kind == CONSTITUENTS
        scored = getattr(self._model, "tree_kind", None) == CONSTITUENTS and not training
        if self.formulas and (reads or scored):
            return [
                formula_trees(Path(f"{prefix}.sentence{side}"), one, self.words, self.formulas)
                for side, one in enumerate(sides, 1)
            ]
        if reads:
            paths = [Path(f"{prefix}.{TREES}{side}") for side, _ in enumerate(sides, 1)]
            return [
                self._readable(path, constituents_of(path, sentences, self.label_names))
                for path, sentences in zip(paths, sides, strict=True)
            ]
        if not self.gold or not training:
            return None
        text = prefix.parent.absolute().parent / "text"
        texts = [
            words_of_lines(text / f"{prefix.name}.sentence{side}", len(sentences))
            for side, sentences in enumerate(sides, 1)
        ]
        return heads_of(
            self.gold, self.cfg.heads_path, texts, self.lower, self.cfg.longest_sentence or None
        )

    def _readable(self, path: Path, trees: PackedTensors) -> PackedTensors:
        """The gold constituents of a file, refused if the model cannot read one of them."""
        for line, tree in enumerate(trees, 1):
            if not self._model.can_build(tree):
                raise InputError(f"{path}:{line}: the model cannot read this tree; is it binary?")
        return trees

    def reduce_metrics(self, logging_outputs: list[dict], criterion):
        """Log what the criterion logs and, while validating, the confusion table by labels."""
        super().reduce_metrics(logging_outputs, criterion)
        if criterion.training:
            return
        for (row, true), (column, predicted) in product(enumerate(self.label_names), repeat=2):
            metrics.log_derived(
                f"confusion_{true}_{predicted}",
                lambda meters, row=row, column=column: int(meters["_confusion"].sum[row, column]),
            )

    @property
    def target_dictionary(self) -> Dictionary:
        """The dictionary of labels."""
        return self.labels


def _load(prefix: str) -> MappedLines:
    found = open_lines(prefix)
    if found is None:
        raise InputError(f"{prefix}.idx: no such file")
    if not len(found):
        raise InputError(f"{prefix}.bin: empty")
    return found
