"""Options, decoder and base class of recurrent language models."""

from dataclasses import dataclass, field
from typing import Optional  # fairseq cannot read "str | None"

import torch
from fairseq.dataclass import FairseqDataclass
from fairseq.models import FairseqIncrementalDecoder, FairseqLanguageModel
from torch import Tensor

from fairseq_struct.errors import InputError, as_input
from fairseq_struct.modules.recurrent.language_model import RecurrentLanguageModel
from fairseq_struct.option_checks import require_at_least

STATE = "recurrent_state"

# Of targeted syntactic evaluation (ON-LSTM paper, section 5.3): two layers of 650.
SYNTACTIC_EVALUATION = {
    "embed_dim": 200, "hidden_size": 650, "layers": 2, "untied": True, "dropout_words": 0.0,
    "dropout_embedding": 0.2, "dropout_between": 0.2, "dropout_output": 0.2,
    "dropout_weights": 0.0,
}  # fmt: skip


@dataclass
class RecurrentLMConfig(FairseqDataclass):
    """Sizes and dropout of a recurrent language model.

    The sizes are those for the Penn Treebank in the ON-LSTM and AWD-LSTM papers, the dropouts those
    of the ON-LSTM paper (section 5.1).
    """

    embed_dim: int = field(default=400, metadata={"help": "size of word embeddings"})
    hidden_size: int = field(default=1150, metadata={"help": "size of the layers"})
    layers: int = field(default=3, metadata={"help": "number of layers"})
    untied: bool = field(
        default=False,
        metadata={
            "help": "give the output separate weights; by default it uses the embeddings, and the "
            "last layer has their size"
        },
    )
    dropout_words: float = field(
        default=0.1, metadata={"help": "probability of dropping a word wherever it occurs"}
    )
    dropout_embedding: float = field(default=0.5, metadata={"help": "dropout of the embeddings"})
    dropout_between: float = field(
        default=0.3, metadata={"help": "dropout between layers"}
    )
    dropout_output: float = field(default=0.45, metadata={"help": "dropout of the last layer"})
    dropout_weights: float = field(
        default=0.45, metadata={"help": "dropout of the recurrent weights"}
    )
    adaptive_softmax_cutoff: Optional[str] = field(  # noqa: UP045
        default=None,
        metadata={
            "help": "adaptive softmax: the numbers of most frequent words at which its clusters "
            "begin, such as 2000,20000; needs --untied"
        },
    )
    adaptive_softmax_factor: float = field(
        default=4,
        metadata={
            "help": "adaptive softmax: how much smaller the vectors of each cluster are than those "
            "of the cluster before it"
        },
    )


def adaptive_cutoffs(cfg: RecurrentLMConfig) -> tuple[int, ...]:
    """Where the clusters of an adaptive softmax begin; none without one.

    Raises:
        InputError: the cutoffs are not numbers, or the output is tied to the embeddings.
    """
    given = getattr(cfg, "adaptive_softmax_cutoff", None)
    if given is None:
        return ()
    parts = [part.strip() for part in str(given).split(",")]
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise InputError(
            "--adaptive-softmax-cutoff must be numbers with commas between them, such as "
            f"2000,20000, not {given!r}"
        )
    if not cfg.untied:
        raise InputError(
            "--adaptive-softmax-cutoff needs --untied: its output has weights of its own"
        )
    return tuple(map(int, parts))


class RecurrentDecoder(FairseqIncrementalDecoder):
    """Wraps a :class:`.RecurrentLanguageModel` as a fairseq decoder.

    Args:
        dictionary: the words.
        network: the model.
    """

    def __init__(self, dictionary, network: RecurrentLanguageModel):
        super().__init__(dictionary)
        self.network = network

    def forward(
        self,
        prev_output_tokens: Tensor,
        encoder_out=None,
        incremental_state: dict | None = None,
        src_lengths: Tensor | None = None,
        state=None,
        targets: Tensor | None = None,
    ) -> tuple[Tensor | None, dict]:
        """Logits (batch, T, words), and ``hidden``, ``dropped``, ``state`` and ``target_scores``.

        Args:
            prev_output_tokens: (batch, T), padding only behind the words.
            encoder_out, src_lengths: not used.
            incremental_state: fairseq's state for decoding word by word.
            state: recurrent state after the previous words; zeros if not given.
            targets: (batch, T) the only words an adaptive softmax scores, without logits.
        """
        if incremental_state is not None:
            prev_output_tokens = prev_output_tokens[:, -1:]
            kept = self.get_incremental_state(incremental_state, STATE)
            if kept is not None:
                half = len(kept) // 2
                parts = [kept[str(i)] for i in range(len(kept))]
                state = parts[:half], parts[half:]
        made = self.network(prev_output_tokens, state, targets)
        if incremental_state is not None:
            parts = {str(i): part for i, part in enumerate((*made.state[0], *made.state[1]))}
            self.set_incremental_state(incremental_state, STATE, parts)
        # Fairseq's generator reads "attn".
        extra = {"attn": [None], "hidden": made.hidden, "dropped": made.dropped,
                 "state": made.state, "target_scores": made.target_scores}  # fmt: skip
        return made.logits, extra

    def reorder_incremental_state(self, incremental_state: dict, new_order: Tensor):
        """Reorder the kept state as the beams are reordered."""
        kept = self.get_incremental_state(incremental_state, STATE)
        if kept is not None:
            parts = {name: part.index_select(0, new_order) for name, part in kept.items()}
            self.set_incremental_state(incremental_state, STATE, parts)

    def max_positions(self) -> int:
        """No limit."""
        return int(1e6)


class RecurrentLM(FairseqLanguageModel):
    """Base class of the recurrent language models. Padding has no effect on the results."""

    for_tasks = ("recurrent_language_modeling",)  # and fairseq's language_modeling
    cell = ""

    def __init__(self, decoder: RecurrentDecoder):
        super().__init__(decoder)
        # What a resumed training needs beside the weights; checkpoints hold it with them.
        self.progress: dict = {}

    def get_extra_state(self) -> dict:
        """The state that checkpoints hold beside the weights."""
        return self.progress

    def set_extra_state(self, state: dict):
        """Restore that state from a checkpoint."""
        self.progress = dict(state)

    def upgrade_state_dict(self, state_dict: dict):
        """Accept a checkpoint that holds only weights."""
        super().upgrade_state_dict(state_dict)
        state_dict.setdefault("_extra_state", {})

    @classmethod
    def build_model(cls, cfg: RecurrentLMConfig, task):
        """Build the model.

        Raises:
            InputError: an option is out of range, or options contradict each other.
        """
        require_at_least(cfg, 1, "layers", "embed_dim", "hidden_size")
        last = cfg.hidden_size if cfg.untied else cfg.embed_dim
        cutoffs = adaptive_cutoffs(cfg)
        with as_input():
            network = RecurrentLanguageModel(
                len(task.source_dictionary), task.source_dictionary.pad(), cfg.embed_dim,
                (*[cfg.hidden_size] * (cfg.layers - 1), last), cls.cell,
                getattr(cfg, "chunk_size", 1), not cfg.untied, cfg.dropout_words,
                cfg.dropout_embedding, cfg.dropout_between, cfg.dropout_output, cfg.dropout_weights,
                cutoffs, getattr(cfg, "adaptive_softmax_factor", 4.0),
            )  # fmt: skip
        return cls(RecurrentDecoder(task.source_dictionary, network))

    @property
    def scores_targets(self) -> bool:
        """Whether ``targets`` makes the model score these words alone: its softmax is adaptive."""
        return self.decoder.network.adaptive

    def check_criterion(self, criterion):
        """Refuse to train an adaptive softmax with scores of all words, before training begins.

        Raises:
            InputError: the criterion would ask for them.
        """
        if self.scores_targets and not getattr(criterion, "scores_targets", False):
            raise InputError(
                "--adaptive-softmax-cutoff needs --criterion recurrent_language_modeling, with "
                "--task language_modeling, too"
            )

    @property
    def supported_targets(self) -> set[str]:
        """The targets fairseq may request: only the next word."""
        return {"future"}

    @property
    def tree_layers(self) -> int:
        """Number of layers that have syntactic distances, and so trees."""
        return 0

    @property
    def best_tree_layer(self) -> int:
        """The layer (from 1) with the best trees in the ON-LSTM paper: the second."""
        return min(2, self.tree_layers)

    @torch.no_grad()
    def distances(self, tokens: Tensor) -> Tensor:
        """Syntactic distances (tree_layers, batch, T) of ``tokens`` (batch, T).

        Equation 15 of the ON-LSTM paper.
        """
        return self.decoder.network.distances(tokens)
