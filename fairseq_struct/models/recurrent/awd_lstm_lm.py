"""AWD-LSTM language model, the baseline of ON-LSTM's size."""

from dataclasses import dataclass

from fairseq.models import register_model, register_model_architecture

from fairseq_struct.models.shared.presets import set_defaults
from fairseq_struct.models.shared.recurrent_language_model import (
    SYNTACTIC_EVALUATION,
    RecurrentLM,
    RecurrentLMConfig,
)


@dataclass
class AWDLSTMConfig(RecurrentLMConfig):
    """Sizes and dropout of AWD-LSTM."""


@register_model("awd_lstm_lm", dataclass=AWDLSTMConfig)
class AWDLSTMLanguageModel(RecurrentLM):
    """AWD-LSTM language model (AWD-LSTM paper: Merity et al., 2018)."""

    cell = "lstm"


@register_model_architecture("awd_lstm_lm", "awd_lstm_lm_ptb")
def penn_treebank(args):
    """For the Penn Treebank, with the dropouts of the ON-LSTM paper: the defaults."""


@register_model_architecture("awd_lstm_lm", "awd_lstm_lm_syneval")
def syntactic_evaluation(args):
    """For targeted syntactic evaluation (ON-LSTM paper, section 5.3): two layers of 650."""
    set_defaults(args, **SYNTACTIC_EVALUATION)
