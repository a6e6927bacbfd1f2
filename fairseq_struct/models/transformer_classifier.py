"""Transformer and Universal Transformer, as classifiers of one sentence or two for fairseq."""

from dataclasses import dataclass, field

from fairseq.dataclass import FairseqDataclass
from fairseq.models import register_model, register_model_architecture
from torch import nn

from fairseq_struct.errors import as_input
from fairseq_struct.models.shared.classifier import ClassifierModel
from fairseq_struct.models.shared.presets import set_defaults
from fairseq_struct.modules.transformer_classifier import TransformerClassifier


@dataclass
class TransformerClassifierConfig(FairseqDataclass):
    """Options of the model; as many layers as Ordered Memory has slots for logical inference."""

    universal: bool = field(
        default=False,
        metadata={"help": "Universal Transformer: all layers share their weights; no halting"},
    )
    sides: int = field(default=2, metadata={"help": "sentences per instance, 1 or 2"})
    hidden_size: int = field(
        default=200, metadata={"help": "size of word embeddings and of all layers"}
    )
    layers: int = field(
        default=12, metadata={"help": "number of layers; with --universal, of steps"}
    )
    heads: int = field(
        default=8, metadata={"help": "attention heads; their number must divide --hidden-size"}
    )
    feedforward_size: int = field(
        default=800, metadata={"help": "size of the hidden layers between attentions"}
    )
    dropout: float = field(
        default=0.1, metadata={"help": "dropout of embeddings, in layers and of the perceptron"}
    )


@register_model("transformer_classifier", dataclass=TransformerClassifierConfig)
class TransformerClassifierModel(ClassifierModel):
    """:class:`.TransformerClassifier` on ``--task structured_classification``."""

    @classmethod
    def build_model(cls, cfg: TransformerClassifierConfig, task) -> "TransformerClassifierModel":
        """Build the model for the task's dictionaries.

        Raises:
            InputError: another task, or an option out of range.
        """
        cls.check_task(task)
        cls.check_sizes(cfg, "hidden_size", "layers", "heads", "feedforward_size")
        embedding = nn.Embedding(len(task.words), cfg.hidden_size, task.words.pad())
        with as_input():
            network = TransformerClassifier(
                embedding, len(task.label_names), cfg.layers, cfg.heads, cfg.feedforward_size,
                cfg.dropout, cfg.sides, cfg.universal,
            )  # fmt: skip
        return cls(network)


@register_model_architecture("transformer_classifier", "transformer_classifier_proplogic")
def propositional_logic(args):
    """The baseline of Ordered Memory for logical inference: the defaults."""


@register_model_architecture("transformer_classifier", "transformer_classifier_listops")
def listops(args):
    """The baseline of Ordered Memory on ListOps: single sentences, its size and its slots."""
    set_defaults(args, sides=1, hidden_size=128, layers=21, feedforward_size=512)
