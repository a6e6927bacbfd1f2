"""Masked language modelling over words, with evaluation of the trees that models infer."""

import copy
from dataclasses import dataclass, field
from typing import Optional  # fairseq cannot read "str | None"

import torch
from fairseq.data import Dictionary
from fairseq.logging import metrics
from fairseq.tasks import register_task

from fairseq_struct.data.datasets.indexed_lines import load_lines
from fairseq_struct.data.datasets.mapped.shards import check_shards, shard
from fairseq_struct.data.datasets.masked_sentences import MaskedSentences
from fairseq_struct.data.prepared.vocabulary.dictionary_file import load_dictionary
from fairseq_struct.data.readers.dependency_treebank import (
    as_language_model_text,
    read_treebank,
    without_punctuation,
)
from fairseq_struct.errors import InputError
from fairseq_struct.evaluation.dependencies import score_parser
from fairseq_struct.files.reserved_words import MASK, index_of
from fairseq_struct.option_checks import require_at_least
from fairseq_struct.tasks.shared.sentence_task import SentenceTask
from fairseq_struct.tasks.shared.strict_task import TrainedConfig


@dataclass
class StructuredMaskedLMConfig(TrainedConfig):
    """Options of the task."""

    data: Optional[str] = field(  # noqa: UP045
        default=None,
        metadata={
            "help": "folder data-bin of a language model, or several, as in a:b:c, one per epoch"
        },
    )
    mask_rate: float = field(
        default=0.3, metadata={"help": "probability that a known word is hidden"}
    )
    valid_draws: int = field(
        default=5, metadata={"help": "draws of hidden words that a validation averages over"}
    )
    treebank: Optional[str] = field(  # noqa: UP045
        default=None,
        metadata={
            "help": "gold trees that score the model's trees in each validation: a CoNLL-U file or "
            "a folder of .dp files; logged are uas and uuas of trees, uas_argmax and uuas_argmax "
            "of each word's best head, and both with _root, where the root is a candidate, too"
        },
    )
    keep_punctuation: bool = field(
        default=False,
        metadata={"help": "keep punctuation in the treebank's sentences; by default it is removed, "
                  "and its dependents attach to its head"},
    )  # fmt: skip
    keep_case: bool = field(
        default=False,
        metadata={"help": "keep the treebank's words as they are; by default they are written as "
                  "in the Penn Treebank language-model text: lower-cased, numbers as N"},
    )  # fmt: skip


@register_task("structured_masked_lm", dataclass=StructuredMaskedLMConfig)
class StructuredMaskedLMTask(SentenceTask):
    """Prediction of hidden words in sentences (Shen's thesis, section 4.3.1).

    Use it with the criterion of the same name, which logs ``ppl``. With a treebank, each validation
    also scores the model's parser on its trees: ``uas`` and ``uuas`` of the best spanning trees
    with a single root; ``uas_argmax`` and ``uuas_argmax`` of each word's best head among the other
    words, as in Shen's thesis; ``uas_argmax_root`` and ``uuas_argmax_root``, where the root is a
    candidate head, too.

    Args:
        cfg: the options.
        words: dictionary; the mask's symbol is added to it.
    """

    own_criterion = "structured_masked_lm"
    ONLY_FOR_TRAINING = ("treebank",)
    kind_of_models = "masked language models such as udgn"

    def __init__(self, cfg: StructuredMaskedLMConfig, words: Dictionary):
        super().__init__(cfg, words)
        if not 0 < cfg.mask_rate < 1:
            raise InputError(f"--mask-rate must be above 0 and below 1, not {cfg.mask_rate}")
        require_at_least(cfg, 1, "valid_draws")
        self.mask = words.add_symbol(MASK)
        self.gold = self._gold(cfg.treebank) if cfg.treebank else []
        self._scores: dict[str, float] = {}  # on the treebank, in the current validation
        self._scored = None  # the split that the scores are logged with
        self._now = None  # the split that batches come from
        self._model = None  # gives the largest sentence length

    @classmethod
    def setup_task(cls, cfg: StructuredMaskedLMConfig, **kwargs):
        """Load the dictionary.

        Raises:
            InputError: the folder or its dictionary does not exist, the dictionary has the mask as
                a word, another shard has another dictionary, or the treebank cannot be read.
        """
        if not cfg.data:
            raise InputError("the task needs the data-bin folder of a language model")
        path = shard(cfg.data) / "dict.txt"
        if not path.is_file():
            raise InputError(f"{path}: no such file; fairseq-preprocess --only-source makes it")
        words = load_dictionary(path)
        if MASK in words:
            raise InputError(f"{path}: has {MASK} as a word, but it is a special symbol")
        check_shards(cfg.data, ["dict.txt"])
        return cls(cfg, words)

    def _gold(self, path: str) -> list[tuple[torch.Tensor, list[int]]]:
        """The treebank's sentences as integers, and their heads."""
        result = []
        for tree in read_treebank(path):
            if not self.cfg.keep_punctuation:
                tree = without_punctuation(tree)
            if tree is None:
                continue
            if not self.cfg.keep_case:
                tree = as_language_model_text(tree)
            numbers = torch.tensor([index_of(self.words, word) for word in tree.words])
            result.append((numbers, list(tree.heads)))
        if not result:
            raise InputError(f"{path}: no sentence is left after punctuation is removed")
        return result

    def build_model(self, cfg, from_checkpoint: bool = False):
        """Build the model.

        Raises:
            InputError: there is a treebank, but the model infers no trees.
        """
        model = super().build_model(cfg, from_checkpoint)
        if self.gold and not getattr(model, "parses", False):
            raise InputError("--treebank is for models that infer trees, such as udgn")
        self._model = model
        return model

    def load_dataset(self, split: str, epoch: int = 1, combine: bool = False, **kwargs):
        """Load a split of the folder; with several folders, of that of this epoch.

        Raises:
            InputError: the split does not exist or has several parts, a sentence is empty or too
                long for the model, or none of the split's words is ever hidden.
        """
        path = shard(self.cfg.data, epoch) / split
        sentences = load_lines(path, self.words, combine=combine).without_end(self.words.eos())
        for number, size in sentences.first_of_each_size():
            if not size:
                raise InputError(f"{path}.bin: sentence {number + 1} is empty")
            if self._model is not None:
                self._model.check_length(size, f"{path}.bin: sentence {number + 1}")
        training = self.trains_on(split)
        self.datasets[split] = MaskedSentences(
            sentences, self.words.pad(), self.words.unk(), self.mask, self.cfg.mask_rate,
            self.cfg.seed, 1 if training else self.cfg.valid_draws, shuffle=training,
        )  # fmt: skip
        data = self.datasets[split]
        if not training and not any(data[place]["hidden"].any() for place in range(len(data))):
            raise InputError(f"{path}.bin: at --mask-rate {self.cfg.mask_rate} no word is masked")

    def get_batch_iterator(self, dataset, *args, **kwargs):
        """Batches of a split; in a validation the first split logs the scores on the treebank."""
        self._now = dataset
        if self._scored is None:
            self._scored = dataset
        if dataset.shuffle:  # validation may read the training split, with the draws of epoch 1
            dataset = copy.copy(dataset)
        return super().get_batch_iterator(dataset, *args, **kwargs)

    def train_step(self, sample, model, criterion, optimizer, update_num, ignore_grad=False):
        """Forward and backward pass on a batch."""
        self._scores = {}
        return super().train_step(sample, model, criterion, optimizer, update_num, ignore_grad)

    def valid_step(self, sample, model, criterion):
        """Losses of a batch."""
        if self.gold and not self._scores and self._now is self._scored:
            self._scores = self.attachment(model)  # fairseq-validate calls no begin_valid_epoch
        return super().valid_step(sample, model, criterion)

    def begin_valid_epoch(self, epoch: int, model):
        """Compare the model's trees with the treebank's."""
        self._scores = self.attachment(model) if self.gold else {}
        self._scored = None

    def check_metric(self, metric: str) -> None:
        """Refuse to choose checkpoints by trees that nothing is known about.

        Args:
            metric: ``--best-checkpoint-metric``.

        Raises:
            InputError: it is a score of trees, and there is no treebank.
        """
        if metric.split("_")[0] in ("uas", "uuas") and not self.gold:
            raise InputError(f"--best-checkpoint-metric {metric} needs a --treebank")

    def attachment(self, model) -> dict[str, float]:
        """Scores of a model's parser on the treebank: see :func:`.score_parser`."""
        model.eval()
        device = next(model.parameters()).device
        return score_parser(model.arc_scores, self.gold, self.words.pad(), device)

    def reduce_metrics(self, logging_outputs: list[dict], criterion):
        """Log what the criterion logs and, while validating, the scores of the trees."""
        super().reduce_metrics(logging_outputs, criterion)
        if self._now is self._scored:
            for name, value in self._scores.items():
                metrics.log_scalar(name, value, round=2)

    @property
    def target_dictionary(self) -> Dictionary:
        """The dictionary of words, with the mask."""
        return self.words
