"""Undirected attention for fairseq (Mihaylova's thesis, section 5.4)."""

from dataclasses import dataclass, field, fields

from fairseq.models import BaseFairseqModel, register_model, register_model_architecture
from torch import Tensor

from fairseq_struct.errors import InputError, as_input
from fairseq_struct.models.shared.presets import set_defaults
from fairseq_struct.models.shared.undirected_options import UndirectedConfig, passes_of
from fairseq_struct.modules.undirected.attention import (
    ORDERS,
    Completer,
    Completion,
    SelfAttention,
    UndirectedAttention,
)
from fairseq_struct.option_checks import option_name, require_task


@dataclass
class UndirectedAttentionConfig(UndirectedConfig):
    """Options of the model; the defaults are those of the thesis."""

    hidden_size: int = field(
        default=256, metadata={"help": "d: size of embeddings, queries, keys, values; even"}
    )
    order: str = field(
        default=ORDERS[0],
        metadata={
            "help": "order of a pass. forward_backward: Q K V S H S V K Q and the hidden inputs; "
            "random: a new permutation of Q K V S H in each pass, then the hidden inputs"
        },
    )
    self_attention: bool = field(
        default=False,
        metadata={"help": "the plain network instead: self-attention, computed once"},
    )


@register_model("undirected_attention", dataclass=UndirectedAttentionConfig)
class UndirectedAttentionModel(BaseFairseqModel):
    """:class:`.UndirectedAttention`, or :class:`.SelfAttention`, on ``--task sequence_completion``.

    Random orders and numbers of passes come from torch's generator. Fairseq seeds it at every
    update with ``--seed`` and the update number, so a resumed run repeats the uninterrupted one.

    Args:
        network: the network.
    """

    for_tasks = ("sequence_completion",)
    completes = True

    def __init__(self, network: Completer):
        super().__init__()
        self.network = network

    @classmethod
    def build_model(cls, cfg: UndirectedAttentionConfig, task) -> "UndirectedAttentionModel":
        """Build the model for the task's symbols.

        Raises:
            InputError: another task, options that exclude each other, or one out of range.
        """
        require_task(cls, task)
        passes = passes_of(cfg)
        with as_input():
            if not cfg.self_attention:
                network = UndirectedAttention(
                    len(task.symbols), cfg.hidden_size, cfg.order, passes, cfg.dropout
                )
                network.warn_of_passes()
                return cls(network)
            plain = UndirectedAttentionConfig()
            own = [one.name for one in fields(UndirectedConfig) if not one.name.startswith("_")]
            for name in ("order", *own):
                if getattr(cfg, name) != getattr(plain, name):
                    raise InputError(f"{option_name(name)} does not apply to --self-attention")
            return cls(SelfAttention(len(task.symbols), cfg.hidden_size))

    def check_format(self, common) -> None:
        """Refuse, before training, 16 bits that cannot hold the values of several passes.

        Args:
            common: fairseq's option group ``common``.

        Raises:
            InputError: training in fp16, by ``--fp16`` or ``--amp``, with more than one pass.
        """
        passes = getattr(self.network, "passes", None)
        if passes is None or passes.training == 1:
            return
        for name in ("fp16", "amp"):
            if getattr(common, name, False):
                raise InputError(
                    f"--{name}: values of undirected attention grow from pass to pass, beyond what "
                    "fp16 holds; leave it out, or use --passes 1"
                )

    def forward(self, tokens: Tensor, lengths: Tensor, places: Tensor) -> Completion:
        """Logits of hidden symbols: see :meth:`.Completer.read`."""
        return self.network(tokens, lengths, places)

    def attentions(self, tokens: Tensor, places: Tensor) -> list[list[Tensor]]:
        """Attention weights of one sequence: see :meth:`.UndirectedAttention.attentions`."""
        return self.network.attentions(tokens, places)


@register_model_architecture("undirected_attention", "undirected_attention_completion")
def completion(args):
    """The thesis's model: the defaults."""


@register_model_architecture("undirected_attention", "undirected_attention_completion_cpu")
def completion_cpu(args):
    """A size at which training on a CPU takes minutes."""
    set_defaults(args, hidden_size=64)
