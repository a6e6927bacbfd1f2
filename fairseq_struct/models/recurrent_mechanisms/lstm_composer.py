"""An LSTM that composes sentences, for fairseq."""

from dataclasses import dataclass

from fairseq.models import register_model

from fairseq_struct.errors import as_input
from fairseq_struct.models.shared.composer_model import (
    ComposerConfig,
    ComposerModel,
    check_options,
    word_embedding,
)
from fairseq_struct.modules.recurrent_mechanisms import LstmComposer
from fairseq_struct.option_checks import require_task


@dataclass
class LstmComposerConfig(ComposerConfig):
    """Options of the model."""


@register_model("lstm_composer", dataclass=LstmComposerConfig)
class LstmComposerModel(ComposerModel):
    """:class:`.LstmComposer` on ``--task grammar_induction``; it is no model of the thesis."""

    @classmethod
    def build_model(cls, cfg: LstmComposerConfig, task) -> "LstmComposerModel":
        """Build the model for the task's dictionary and categories.

        Raises:
            InputError: another task, an option out of range, or word vectors that do not fit.
        """
        require_task(cls, task)
        check_options(cfg)
        words = word_embedding(cfg, task.source_dictionary)
        categories = len(task.categories) if cfg.predict_category else 0
        with as_input("--embed-dim: "):
            network = LstmComposer(words, cfg.layers, categories, cfg.dropout)
        return cls(network, cfg)
