"""Sentence classifier with a latent tree for fairseq (Mihaylova's thesis, section 4.5.2)."""

from dataclasses import dataclass, field

from fairseq.models import register_model, register_model_architecture

from fairseq_struct.errors import InputError
from fairseq_struct.models.shared.classifier import ClassifierModel
from fairseq_struct.models.shared.latent_classifier_options import (
    LatentClassifierConfig,
    build_embedding,
    build_tree,
    set_thesis_steps,
)
from fairseq_struct.models.shared.presets import set_defaults
from fairseq_struct.modules.latent_tree.classifier import (
    LatentTreeClassifier,
    SummedStatesClassifier,
)
from fairseq_struct.modules.sentence_encoder import SentenceEncoder
from fairseq_struct.option_checks import require_at_least


@dataclass
class LatentTreeClassifierConfig(LatentClassifierConfig):
    """Options of the model."""

    lstm_layers: int = field(default=1, metadata={"help": "layers of the BiLSTM"})


@register_model("latent_tree_classifier", dataclass=LatentTreeClassifierConfig)
class LatentTreeClassifierModel(ClassifierModel):
    """:class:`LatentTreeClassifier`, or with ``--latent-method baseline`` a BiLSTM without trees.

    The sizes are those for SST in table A.1 of Mihaylova's thesis. With 300-dimensional embeddings
    that are not trained, the model has 181,502 parameters, and 151,102 without trees (in the
    thesis: 180K and 150K).
    """

    @classmethod
    def build_model(cls, cfg: LatentTreeClassifierConfig, task) -> "LatentTreeClassifierModel":
        """Build the model for the task's dictionaries.

        Raises:
            InputError: another task, an option out of range, or word vectors that do not fit.
        """
        cls.check_task(task)
        if cfg.hidden_size % 2:
            raise InputError(f"--hidden-size must be even for a BiLSTM, not {cfg.hidden_size}")
        require_at_least(cfg, 1, "lstm_layers")
        tree, embedding = build_tree(cfg), build_embedding(cfg, task.words)
        encoder = SentenceEncoder(embedding, cfg.hidden_size, cfg.lstm_layers, cfg.dropout)
        labels = len(task.label_names)
        if tree is None:
            return cls(SummedStatesClassifier(encoder, cfg.hidden_size, labels, cfg.dropout))
        return cls(LatentTreeClassifier(encoder, cfg.hidden_size, labels, tree, cfg.dropout))


@register_model_architecture("latent_tree_classifier", "latent_tree_classifier_sst")
def latent_tree_classifier_sst(args):
    """The model for SST in Mihaylova's thesis: pretrained embeddings of size 300, not trained.

    The best eta in table A.1, for batches of 32, is 0.1. The table has no eta for
    ``ste_identity``; 1 gives the plain straight-through gradient.
    """
    set_thesis_steps(args, 1 if getattr(args, "latent_method", "") == "ste_identity" else 0.1, 32)
    pretrained = getattr(args, "embed_path", None) is not None
    set_defaults(
        args, embed_dim=300, freeze_embeddings=pretrained, hidden_size=100, lstm_layers=1,
        dropout=0.0,
    )  # fmt: skip
