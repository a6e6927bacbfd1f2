"""Classifiers over the sentence vectors of a trained composer, for fairseq."""

from dataclasses import dataclass, field
from typing import Optional  # fairseq cannot read "str | None"

import torch
from fairseq.dataclass import ChoiceEnum, FairseqDataclass
from fairseq.models import register_model
from torch import nn

from fairseq_struct.errors import InputError, as_input
from fairseq_struct.files.stored_text import as_bytes, content_of
from fairseq_struct.models.shared.classifier import ClassifierModel
from fairseq_struct.models.shared.known_vectors import set_known_vectors
from fairseq_struct.models.shared.trained_composer import read_composer
from fairseq_struct.modules.recurrent_mechanisms.composed_classifier import (
    MeanClassifier,
    RootClassifier,
)
from fairseq_struct.modules.recurrent_mechanisms.stored_composer import described, stored_composer

ROOT, MEAN = "root", "mean_of_words"
ABOUT, COMPOSER = "about", "network.composer."


@dataclass
class ComposedClassifierConfig(FairseqDataclass):
    """Options of the model."""

    composer_from: Optional[str] = field(  # noqa: UP045
        default=None,
        metadata={
            "help": "checkpoint of a trained composer, which is frozen; only training reads it, "
            "because what is needed of it is stored again"
        },
    )
    composer_data: Optional[str] = field(  # noqa: UP045
        default=None,
        metadata={"help": "data-bin of the composer (default: that of its training)"},
    )
    sentence_vector: ChoiceEnum((ROOT, MEAN)) = field(
        default=ROOT,
        metadata={
            "help": "root: the last symbol of the composer, which takes its own spans; "
            "mean_of_words: the mean of the composer's word vectors, or of those of --embed-path"
        },
    )
    embed_path: Optional[str] = field(  # noqa: UP045
        default=None,
        metadata={
            "help": "with --sentence-vector mean_of_words: text file of word vectors, such as those"
            " that the composer's training started from, in place of --composer-from"
        },
    )
    embed_dim: int = field(
        default=100, metadata={"help": "size of these vectors, as in the composer"}
    )
    sides: int = field(default=1, metadata={"help": "sentences per instance, 1 or 2"})
    hidden_size: int = field(
        default=100, metadata={"help": "size of the perceptron (not in the thesis)"}
    )
    dropout: float = field(default=0.0, metadata={"help": "dropout of the perceptron"})


@register_model("composed_classifier", dataclass=ComposedClassifierConfig)
class ComposedClassifierModel(ClassifierModel):
    """:class:`.RootClassifier` or :class:`.MeanClassifier` on ``--task structured_classification``.

    The buffer ``about`` of checkpoints holds the composer's options, as JSON, so that they load
    without the composer's own checkpoint.

    Args:
        network: the classifier.
        complete: whether it has its composer, or its word vectors.
    """

    ONLY_FOR_TRAINING = ("composer_from", "composer_data", "embed_path")

    def __init__(self, network: RootClassifier | MeanClassifier, complete: bool):
        super().__init__(network)
        self.complete = complete
        composer = getattr(network, "composer", None)
        about = {} if composer is None else described(composer)
        self.register_buffer(ABOUT, as_bytes(about))

    @classmethod
    def build_model(cls, cfg: ComposedClassifierConfig, task) -> "ComposedClassifierModel":
        """Build the model for the task's dictionaries.

        Raises:
            InputError: another task, an option out of range, or a composer or word vectors that
                cannot be used.
        """
        cls.check_task(task)
        cls.check_sizes(cfg, "embed_dim", "hidden_size")
        words, labels = task.words, len(task.label_names)
        perceptron = {"sides": cfg.sides, "hidden_size": cfg.hidden_size, "dropout": cfg.dropout}
        vector, complete = str(cfg.sentence_vector), bool(cfg.composer_from or cfg.embed_path)
        if cfg.embed_path and (vector == ROOT or cfg.composer_from):
            raise InputError(
                "--embed-path is for --sentence-vector mean_of_words without --composer-from"
            )
        composer = _composer(cfg, words) if cfg.composer_from else None
        with as_input():
            if vector == ROOT:
                network = RootClassifier(composer, cfg.embed_dim, labels, **perceptron)
            else:
                given = _vectors(cfg, words) if composer is None else composer.words
                network = MeanClassifier(given, labels, **perceptron)
        return cls(network, complete)

    def check_criterion(self, criterion):
        """Refuse to train without vectors; fairseq's trainer calls it before training.

        Raises:
            InputError: there is neither a composer nor a file of word vectors.
        """
        if not self.complete:
            raise InputError(
                "this model needs --composer-from, or --embed-path with --sentence-vector "
                "mean_of_words"
            )

    def load_state_dict(self, state_dict, strict=True, model_cfg=None, args=None):
        """Load parameters; a composer comes with them, so the file it is from may be gone."""
        if ABOUT in state_dict:
            self.about = torch.empty_like(state_dict[ABOUT], device=self.about.device)
        network = self.network
        if isinstance(network, RootClassifier) and network.composer is None:
            parts = {
                name.removeprefix(COMPOSER): value
                for name, value in state_dict.items()
                if name.startswith(COMPOSER)
            }
            try:
                composer = stored_composer(_about_of(state_dict), parts)
            except ValueError as error:
                raise RuntimeError(str(error)) from None
            device = network.output[1].weight.device
            network.composer = composer.requires_grad_(False).to_empty(device=device).eval()
        self.complete = True
        return super().load_state_dict(state_dict, strict, model_cfg, args)


def _composer(cfg: ComposedClassifierConfig, words):
    """The composer of ``--composer-from``."""
    composer = read_composer(cfg.composer_from, "--composer-from", words, cfg.composer_data)
    if composer.size != cfg.embed_dim:
        raise InputError(
            f"--composer-from {cfg.composer_from}: its vectors have size {composer.size}, not "
            f"--embed-dim {cfg.embed_dim}"
        )
    return composer


def _vectors(cfg: ComposedClassifierConfig, words) -> nn.Embedding:
    """The vectors of ``--embed-path``; zeros for words that it lacks."""
    weight = torch.zeros(len(words), cfg.embed_dim)
    if cfg.embed_path:
        set_known_vectors(weight, cfg.embed_path, words)
    return nn.Embedding.from_pretrained(weight, padding_idx=words.pad())


def _about_of(parameters) -> dict:
    """What the buffer of a checkpoint says.

    Raises:
        ValueError: it is missing or damaged.
    """
    try:
        return content_of(parameters[ABOUT])
    except (KeyError, ValueError):
        raise ValueError("what it says about its composer is damaged") from None
