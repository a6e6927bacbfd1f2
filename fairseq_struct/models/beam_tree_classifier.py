"""Recursive networks over trees found with a beam, as classifiers for fairseq."""

from dataclasses import dataclass, field

from fairseq.dataclass import FairseqDataclass
from fairseq.models import register_model, register_model_architecture
from torch import nn

from fairseq_struct.errors import as_input
from fairseq_struct.models.shared.classifier import ClassifierModel
from fairseq_struct.models.shared.presets import set_defaults
from fairseq_struct.modules.recursive.beam_tree_classifier import BeamTreeClassifier
from fairseq_struct.option_checks import require_at_least


@dataclass
class BeamTreeClassifierConfig(FairseqDataclass):
    """Options of the model; the sizes are those of Ordered Memory for logical inference."""

    sides: int = field(default=2, metadata={"help": "sentences per instance, 1 or 2"})
    beam: int = field(
        default=5, metadata={"help": "trees that are kept; time and memory grow with it"}
    )
    beam_noise: float = field(
        default=1.0,
        metadata={
            "help": "scale of the Gumbel noise by which trees are explored in training; 0: none"
        },
    )
    one_soft: bool = field(
        default=False,
        metadata={
            "help": "OneSoft: in training, the last tree of the beam is a mixture of all others "
            "that were proposed"
        },
    )
    embed_dim: int = field(default=200, metadata={"help": "size of word embeddings"})
    hidden_size: int = field(default=200, metadata={"help": "size of the vectors of nodes"})
    dropout: float = field(
        default=0.2,
        metadata={"help": "dropout of embeddings, of the perceptron and inside of the cell"},
    )


@register_model("beam_tree_classifier", dataclass=BeamTreeClassifierConfig)
class BeamTreeClassifierModel(ClassifierModel):
    """:class:`.BeamTreeClassifier` on ``--task structured_classification``."""

    @classmethod
    def build_model(cls, cfg: BeamTreeClassifierConfig, task) -> "BeamTreeClassifierModel":
        """Build the model for the task's dictionaries.

        Raises:
            InputError: another task, or an option out of range.
        """
        cls.check_task(task)
        cls.check_sizes(cfg, "embed_dim", "hidden_size", "beam")
        require_at_least(cfg, 0, "beam_noise")
        embedding = nn.Embedding(len(task.words), cfg.embed_dim, task.words.pad())
        with as_input():
            network = BeamTreeClassifier(
                embedding, cfg.hidden_size, len(task.label_names), cfg.beam, cfg.dropout,
                cfg.sides, cfg.beam_noise, cfg.one_soft,
            )  # fmt: skip
        return cls(network)


@register_model_architecture("beam_tree_classifier", "beam_tree_classifier_proplogic")
def propositional_logic(args):
    """The successor of Ordered Memory for logical inference: the defaults."""


@register_model_architecture("beam_tree_classifier", "beam_tree_classifier_listops")
def listops(args):
    """The successor of Ordered Memory on ListOps: single sentences, and vectors of its size."""
    set_defaults(args, sides=1, embed_dim=128, hidden_size=128, dropout=0.1)
