"""Recursive networks over gold trees, as classifiers of one sentence or two for fairseq."""

from dataclasses import dataclass, field

from fairseq.dataclass import FairseqDataclass
from fairseq.models import register_model, register_model_architecture
from torch import nn

from fairseq_struct.errors import as_input
from fairseq_struct.models.shared.classifier import ClassifierModel
from fairseq_struct.models.shared.presets import set_defaults
from fairseq_struct.modules.recursive.cells import CELLS
from fairseq_struct.modules.recursive.classifier import RecursiveClassifier


@dataclass
class RecursiveClassifierConfig(FairseqDataclass):
    """Options of the model; the sizes are those of Ordered Memory for logical inference."""

    cell: str = field(default="tree_lstm", metadata={"help": f"one of {', '.join(CELLS)}"})
    sides: int = field(default=2, metadata={"help": "sentences per instance, 1 or 2"})
    embed_dim: int = field(default=200, metadata={"help": "size of word embeddings"})
    hidden_size: int = field(default=200, metadata={"help": "size of the vectors of nodes"})
    dropout: float = field(
        default=0.2,
        metadata={"help": "dropout of embeddings, of the perceptron and inside of tree_cell"},
    )


@register_model("tree_classifier", dataclass=RecursiveClassifierConfig)
class RecursiveClassifierModel(ClassifierModel):
    """:class:`.RecursiveClassifier` on ``--task structured_classification``.

    The task makes the gold trees (``--gold-trees``), or reads those of the folder.
    """

    @classmethod
    def build_model(cls, cfg: RecursiveClassifierConfig, task) -> "RecursiveClassifierModel":
        """Build the model for the task's dictionaries.

        Raises:
            InputError: another task, or an option out of range.
        """
        cls.check_task(task)
        cls.check_sizes(cfg, "embed_dim", "hidden_size")
        embedding = nn.Embedding(len(task.words), cfg.embed_dim, task.words.pad())
        with as_input():
            network = RecursiveClassifier(
                embedding, cfg.hidden_size, len(task.label_names), cfg.cell, cfg.dropout, cfg.sides
            )
        return cls(network)


@register_model_architecture("tree_classifier", "tree_classifier_proplogic")
def propositional_logic(args):
    """The baseline of Ordered Memory for logical inference: the defaults."""


@register_model_architecture("tree_classifier", "tree_classifier_listops")
def listops(args):
    """The baseline of Ordered Memory on ListOps: single sentences, and vectors of its size."""
    set_defaults(args, sides=1, embed_dim=128, hidden_size=128, dropout=0.1)
