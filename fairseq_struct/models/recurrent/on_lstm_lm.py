"""ON-LSTM language model."""

from dataclasses import dataclass, field

from fairseq.models import register_model, register_model_architecture

from fairseq_struct.models.shared.presets import set_defaults
from fairseq_struct.models.shared.recurrent_language_model import (
    SYNTACTIC_EVALUATION,
    RecurrentLM,
    RecurrentLMConfig,
)


@dataclass
class ONLSTMConfig(RecurrentLMConfig):
    """Sizes and dropout of ON-LSTM: those of AWD-LSTM, and the chunk size."""

    chunk_size: int = field(
        default=10, metadata={"help": "C: neurons that share an element of the master gates"}
    )


@register_model("on_lstm_lm", dataclass=ONLSTMConfig)
class ONLSTMLanguageModel(RecurrentLM):
    """ON-LSTM language model (ON-LSTM paper: Shen et al., 2019, section 5.1)."""

    cell = "on_lstm"

    @property
    def tree_layers(self) -> int:
        """Number of layers: every ON-LSTM layer has distances."""
        return self.decoder.network.depth


@register_model_architecture("on_lstm_lm", "on_lstm_lm_ptb")
def penn_treebank(args):
    """For the Penn Treebank (ON-LSTM paper, section 5.1): the defaults."""


@register_model_architecture("on_lstm_lm", "on_lstm_lm_syneval")
def syntactic_evaluation(args):
    """For targeted syntactic evaluation (ON-LSTM paper, section 5.3): two layers of 650."""
    set_defaults(args, **SYNTACTIC_EVALUATION)
