"""Ordered Memory classifiers of sentences and of sentence pairs for fairseq."""

from dataclasses import dataclass, field
from typing import Optional

from fairseq.dataclass import FairseqDataclass
from fairseq.models import register_model, register_model_architecture
from torch import nn

from fairseq_struct.errors import as_input
from fairseq_struct.models.shared.classifier import ClassifierModel
from fairseq_struct.models.shared.presets import set_defaults
from fairseq_struct.modules.ordered_memory import (
    ATTENTIONS,
    OrderedMemory,
    OrderedMemoryClassifier,
)

DROPOUTS = "cell_dropout", "input_dropout", "output_dropout", "memory_dropout"


@dataclass
class OrderedMemoryClassifierConfig(FairseqDataclass):
    """Options of the model; sizes and dropouts are the published code's for logical inference.

    ``attention`` is as in the thesis, which the code is not.
    """

    sides: int = field(default=2, metadata={"help": "sentences per instance, 1 or 2"})
    embed_dim: int = field(default=200, metadata={"help": "size of word embeddings"})
    hidden_size: int = field(
        default=200, metadata={"help": "D: width of a memory slot, and of the perceptron"}
    )
    slots: int = field(default=12, metadata={"help": "N: memory slots"})
    test_slots: Optional[int] = field(  # noqa: UP045
        default=None,
        metadata={
            "help": "memory slots while not training; 0: doubled for each sentence until its last "
            "one is not used (default: as --slots)"
        },
    )
    attention: str = field(
        default="paper",
        metadata={
            "help": f"form of the attention over slots, one of {', '.join(ATTENTIONS)}: tanh as in "
            "eq. 3.5.8 of Shen's thesis, or ReLU of two layer normalisations as in the published "
            "code"
        },
    )
    least_mask: Optional[float] = field(  # noqa: UP045
        default=None,
        metadata={
            "help": "slots that can be reached with less probability are not reached at all "
            "(default: 0 for --attention paper, 1e-5 for published)"
        },
    )
    cell_dropout: float = field(default=0.2, metadata={"help": "dropout of the recursive cell"})
    input_dropout: float = field(default=0.1, metadata={"help": "dropout of word embeddings"})
    output_dropout: float = field(default=0.3, metadata={"help": "dropout of the perceptron"})
    memory_dropout: float = field(
        default=0.2, metadata={"help": "dropout of the attention over slots"}
    )
    sharpness_weight: float = field(
        default=0.0,
        metadata={
            "help": "factor of the mean entropy of the pointers into the stack, added to the loss"
        },
    )


@register_model("ordered_memory_classifier", dataclass=OrderedMemoryClassifierConfig)
class OrderedMemoryClassifierModel(ClassifierModel):
    """:class:`.OrderedMemoryClassifier` on ``--task structured_classification``."""

    @property
    def test_slots(self) -> int | None:
        """Slots while not training: see :class:`.OrderedMemoryClassifier`; may be set."""
        return self.network.test_slots

    @test_slots.setter
    def test_slots(self, slots: int | None):
        self.network.test_slots = slots

    @classmethod
    def build_model(
        cls, cfg: OrderedMemoryClassifierConfig, task
    ) -> "OrderedMemoryClassifierModel":
        """Build the model for the task's dictionaries.

        Raises:
            InputError: another task, or an option out of range.
        """
        cls.check_task(task)
        cls.check_sizes(cfg, "embed_dim", "hidden_size", "slots", dropouts=DROPOUTS)
        with as_input():
            return cls(cls._network(cfg, task))

    @staticmethod
    def _network(cfg: OrderedMemoryClassifierConfig, task) -> OrderedMemoryClassifier:
        memory = OrderedMemory(
            cfg.embed_dim, cfg.hidden_size, cfg.slots, cfg.attention, cfg.cell_dropout,
            cfg.memory_dropout, cfg.least_mask,
        )  # fmt: skip
        embedding = nn.Embedding(len(task.words), cfg.embed_dim, task.words.pad())
        return OrderedMemoryClassifier(
            embedding, memory, len(task.label_names), cfg.sides, cfg.input_dropout,
            cfg.output_dropout, cfg.test_slots, cfg.sharpness_weight,
        )  # fmt: skip


@register_model_architecture("ordered_memory_classifier", "ordered_memory_classifier_proplogic")
def propositional_logic(args):
    """The published model for logical inference; tested with twice as many slots."""
    set_defaults(args, test_slots=24)


@register_model_architecture("ordered_memory_classifier", "ordered_memory_classifier_listops")
def listops(args):
    """The published model for ListOps."""
    set_defaults(
        args, sides=1, embed_dim=128, hidden_size=128, slots=21, cell_dropout=0.1,
        input_dropout=0.1, output_dropout=0.2, memory_dropout=0.3,
    )  # fmt: skip


@register_model_architecture("ordered_memory_classifier", "ordered_memory_classifier_cpu")
def cpu(args):
    """A small model for trials on a CPU."""
    set_defaults(args, embed_dim=64, hidden_size=64)
