"""ON-LSTM or LSTM classifiers of sentences and of sentence pairs for fairseq."""

from dataclasses import dataclass, field

from fairseq.dataclass import FairseqDataclass
from fairseq.models import register_model, register_model_architecture
from torch import nn

from fairseq_struct.errors import as_input
from fairseq_struct.models.shared.classifier import ClassifierModel
from fairseq_struct.models.shared.presets import set_defaults
from fairseq_struct.modules.recurrent.classifier import RecurrentClassifier
from fairseq_struct.modules.recurrent.layers import CELLS


@dataclass
class RecurrentClassifierConfig(FairseqDataclass):
    """Options of the model; the defaults are those of the ON-LSTM paper for logical inference."""

    cell: str = field(default="on_lstm", metadata={"help": f"one of {', '.join(CELLS)}"})
    sides: int = field(default=2, metadata={"help": "sentences per instance, 1 or 2"})
    embed_dim: int = field(default=128, metadata={"help": "size of word embeddings"})
    hidden_size: int = field(default=400, metadata={"help": "size of the recurrent layers"})
    layers: int = field(default=1, metadata={"help": "number of recurrent layers"})
    chunk_size: int = field(
        default=10, metadata={"help": "C: neurons that share an element of the master gates"}
    )
    dropout: float = field(default=0.2, metadata={"help": "dropout between all layers"})


@register_model("recurrent_classifier", dataclass=RecurrentClassifierConfig)
class RecurrentClassifierModel(ClassifierModel):
    """:class:`.RecurrentClassifier` on ``--task structured_classification``."""

    @classmethod
    def build_model(cls, cfg: RecurrentClassifierConfig, task) -> "RecurrentClassifierModel":
        """Build the model for the task's dictionaries.

        Raises:
            InputError: another task, or an option out of range.
        """
        cls.check_task(task)
        cls.check_sizes(cfg, "embed_dim", "hidden_size", "layers")
        embedding = nn.Embedding(len(task.words), cfg.embed_dim, task.words.pad())
        with as_input():
            network = RecurrentClassifier(
                embedding, (cfg.hidden_size,) * cfg.layers, len(task.label_names), cfg.cell,
                cfg.chunk_size, cfg.dropout, cfg.sides,
            )  # fmt: skip
        return cls(network)


@register_model_architecture("recurrent_classifier", "recurrent_classifier_proplogic")
def propositional_logic(args):
    """The ON-LSTM paper's model for logical inference: the defaults."""


@register_model_architecture("recurrent_classifier", "recurrent_classifier_listops")
def listops(args):
    """The baseline of Ordered Memory on ListOps: single sentences, and vectors of its size."""
    set_defaults(args, sides=1, embed_dim=128, hidden_size=128, chunk_size=8)
