"""Semantic textual similarity: scores two sentences by the similarity of their vectors."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Optional  # fairseq cannot read "str | None"

import torch
from fairseq.data import Dictionary
from fairseq.logging import metrics
from fairseq.tasks import register_task

from fairseq_struct.data.datasets.labelled_sentences import LabelledSentences
from fairseq_struct.data.prepared.vocabulary.dictionary_file import load_dictionary
from fairseq_struct.data.readers.scored_pairs import HIGHEST, read_pairs
from fairseq_struct.errors import InputError
from fairseq_struct.files.reserved_words import MASK, index_of, refuse_reserved
from fairseq_struct.metrics.rank_correlation import PAIRS
from fairseq_struct.tasks.shared.sentence_task import SentenceTask
from fairseq_struct.tasks.shared.strict_task import TrainedConfig


@dataclass
class SemanticSimilarityConfig(TrainedConfig):
    """Options of the task."""

    data: Optional[str] = field(  # noqa: UP045
        default=None, metadata={"help": "folder made by fairseq-struct prepare sentence_similarity"}
    )
    freeze_parser: bool = field(
        default=False, metadata={"help": "do not train the model's parser"}
    )


@register_task("semantic_similarity", dataclass=SemanticSimilarityConfig)
class SemanticSimilarityTask(SentenceTask):
    """Similarity of sentence pairs by a masked language model (Shen's thesis, section 4.3.5).

    Use it with the criterion of the same name. Give the architecture and sizes of a model trained
    with ``--task structured_masked_lm``, and its checkpoint: ``--finetune-from-model CHECKPOINT``.
    Splits are the files ``NAME.tsv`` of the folder.

    Args:
        cfg: the options.
        words: the model's dictionary; the mask's symbol is added to it.
    """

    own_criterion = "semantic_similarity"
    kind_of_models = "masked language models such as udgn"

    def __init__(self, cfg: SemanticSimilarityConfig, words: Dictionary):
        super().__init__(cfg, words)
        words.add_symbol(MASK)
        # Number of pairs in the largest batch so far, over all workers.
        self.largest_batch = 0
        # The model that is being validated, and its copy in float64.
        self._exact: tuple | None = None

    @classmethod
    def setup_task(cls, cfg: SemanticSimilarityConfig, **kwargs):
        """Load the dictionary.

        Raises:
            InputError: the folder or its dictionary does not exist.
        """
        path = Path(cfg.data or "") / "dict.txt"
        if not cfg.data or not path.is_file():
            how = "fairseq-struct prepare sentence_similarity"
            raise InputError(f"{path}: no such file; {how} makes it")
        return cls(cfg, load_dictionary(path))

    def build_model(self, cfg, from_checkpoint: bool = False):
        """Build the model, with its parser frozen under ``--freeze-parser``.

        Raises:
            InputError: the model is not one for this task, or has no parser to freeze.
        """
        model = super().build_model(cfg, from_checkpoint)
        if self.cfg.freeze_parser:
            if not model.parses:
                raise InputError(f"{type(model).__name__} has no parser; drop --freeze-parser")
            model.network.encoder.parser.requires_grad_(False)
        # No word is predicted, so the bias of the word scores gets no gradient.
        model.network.bias.requires_grad_(False)
        return model

    def load_dataset(self, split: str, epoch: int = 1, combine: bool = False, **kwargs):
        """Load a split of the folder.

        Raises:
            InputError: the split does not exist or is malformed.
        """
        path = Path(self.cfg.data) / f"{split}.tsv"
        pairs = read_pairs(path)
        sides: tuple[list[torch.Tensor], ...] = ([], [])
        for number, pair in enumerate(pairs, 1):
            for side, sentence in zip(sides, (pair.first, pair.second), strict=True):
                refuse_reserved(sentence.split(), f"{path}:{number}")
                side.append(
                    torch.tensor([index_of(self.words, word) for word in sentence.split()])
                )
        # fairseq does not convert float64 under fp16, so different scores stay different.
        scores = torch.tensor([pair.score / HIGHEST for pair in pairs], dtype=torch.float64)
        self.datasets[split] = LabelledSentences(
            sides, scores, self.words.pad(), shuffle=self.trains_on(split), seed=self.cfg.seed
        )

    def get_batch_iterator(self, dataset, *args, **kwargs):
        """Batches of a split; records the size of the largest one."""
        self._exact = None  # of an earlier validation
        batches = super().get_batch_iterator(dataset, *args, **kwargs)
        self.largest_batch = max([self.largest_batch, *map(len, batches.frozen_batches)])
        return batches

    def begin_valid_epoch(self, epoch, model):
        """Forget the pairs of the last validation, which fairseq would keep in checkpoints."""
        super().begin_valid_epoch(epoch, model)
        pairs = metrics.get_meter("valid", PAIRS)
        if pairs is not None:
            pairs.reset()

    def train_step(self, sample, model, criterion, optimizer, update_num, ignore_grad=False):
        """Forward and backward pass on a batch."""
        self._exact = None
        return super().train_step(sample, model, criterion, optimizer, update_num, ignore_grad)

    def valid_step(self, sample, model, criterion):
        """Losses of a batch, in float64: one copy of the model serves all batches of a split."""
        if self._exact is None or self._exact[0] is not model:
            self._exact = model, model.in_float64()
        return super().valid_step(sample, self._exact[1], criterion)
