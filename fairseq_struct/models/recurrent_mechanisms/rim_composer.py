"""Grammar induction with recurrent independent mechanisms, for fairseq."""

import math
from dataclasses import dataclass, field
from typing import Optional  # fairseq cannot read "str | None"

from fairseq.dataclass import ChoiceEnum
from fairseq.models import register_model, register_model_architecture

from fairseq_struct.errors import InputError
from fairseq_struct.models.shared.composer_model import (
    ComposerConfig,
    ComposerModel,
    check_options,
    word_embedding,
)
from fairseq_struct.modules.recurrent_mechanisms import (
    INPUT_WEIGHTS,
    POSITIONS,
    SPAN_ATTENTION,
    RimComposer,
)
from fairseq_struct.option_checks import require_at_least, require_task


@dataclass
class RimComposerConfig(ComposerConfig):
    """Options of the model; the defaults are the thesis's where it states them."""

    hidden_size: Optional[int] = field(  # noqa: UP045
        default=None,
        metadata={"help": "size of the units' states: that of --embed-dim, because symbols take "
                  "the places of words"},
    )  # fmt: skip
    units: int = field(default=5, metadata={"help": "units of each layer"})
    top_k: int = field(default=3, metadata={"help": "units that are active in each step"})
    key_size: int = field(
        default=64, metadata={"help": "size of keys and queries (not in the thesis)"}
    )
    input_weights: ChoiceEnum(INPUT_WEIGHTS) = field(
        default="sigmoid",
        metadata={
            "help": "what weighs the symbols that a unit reads: sigmoid of its scores (section "
            "3.2.3.2 of the thesis) or softmax (Goyal et al., 2019)"
        },
    )
    span_attention: ChoiceEnum(SPAN_ATTENTION) = field(
        default="sigmoid",
        metadata={
            "help": "attention whose combination is the span: sigmoid, or softmax, which cannot "
            "give each of m symbols more than 1/m"
        },
    )
    positions: ChoiceEnum(POSITIONS) = field(
        default="none",
        metadata={
            "help": "none: units read a set, as in the thesis; from_right: they also know places "
            "in the current sequence, counted from its right end"
        },
    )
    pad_value: Optional[float] = field(  # noqa: UP045
        default=None,
        metadata={
            "help": "pad with vectors of this number, which units read, as the thesis does (-1), "
            "so that results depend on the batch (default: masks)"
        },
    )


@register_model("rim_composer", dataclass=RimComposerConfig)
class RimComposerModel(ComposerModel):
    """:class:`.RimComposer` on ``--task grammar_induction``."""

    @classmethod
    def build_model(cls, cfg: RimComposerConfig, task) -> "RimComposerModel":
        """Build the model for the task's dictionary and categories.

        Raises:
            InputError: another task, an option out of range, or word vectors that do not fit.
        """
        require_task(cls, task)
        check_options(cfg)
        if cfg.hidden_size not in (None, cfg.embed_dim):
            raise InputError(
                f"--hidden-size {cfg.hidden_size} must be that of --embed-dim, {cfg.embed_dim}: "
                "symbols take the places of words"
            )
        require_at_least(cfg, 1, "units", "key_size")
        if not 1 <= cfg.top_k <= cfg.units:
            raise InputError(
                f"--top-k must be 1 to {cfg.units}, the number of --units, not {cfg.top_k}"
            )
        if cfg.pad_value is not None and not math.isfinite(cfg.pad_value):
            raise InputError(f"--pad-value must be a number, not {cfg.pad_value}")
        network = RimComposer(
            word_embedding(cfg, task.source_dictionary), cfg.units, cfg.top_k, cfg.layers,
            cfg.key_size, str(cfg.input_weights), str(cfg.span_attention), str(cfg.positions),
            cfg.pad_value, len(task.categories) if cfg.predict_category else 0, cfg.dropout,
        )  # fmt: skip
        return cls(network, cfg)


@register_model_architecture("rim_composer", "rim_composer_wsj")
def rim_composer_wsj(args):
    """The thesis's network for the sample of the Penn Treebank: the defaults."""
