"""Transformer encoder as masked language model for fairseq: a baseline for UDGN."""

from dataclasses import dataclass, field

from fairseq.models import register_model

from fairseq_struct.models.shared.masked_language_model import MaskedModel, MaskedModelConfig
from fairseq_struct.modules.masked_lm.language_model import TransformerMaskedEncoder


@dataclass
class MaskedTransformerConfig(MaskedModelConfig):
    """Options of the baseline."""

    heads: int = field(default=8, metadata={"help": "attention heads of each layer"})
    feedforward_dim: int = field(default=2048, metadata={"help": "size of the feed-forward layers"})
    longest_sentence: int = field(
        default=512, metadata={"help": "number of positions: the most words of a sentence"}
    )


@register_model("masked_transformer", dataclass=MaskedTransformerConfig)
class MaskedTransformerModel(MaskedModel):
    """Transformer encoder as masked language model: the baseline in table 6 of Shen's thesis."""

    SIZES = (*MaskedModel.SIZES, "heads", "feedforward_dim", "longest_sentence")
    LONGEST_OPTION = "longest_sentence"

    @classmethod
    def build_encoder(cls, cfg, embedding, vectors) -> TransformerMaskedEncoder:
        """See :meth:`MaskedModel.build_encoder`."""
        return TransformerMaskedEncoder(
            embedding, cfg.layers, cfg.heads, cfg.feedforward_dim, cfg.longest_sentence,
            cfg.dropout, cfg.attention_dropout,
        )  # fmt: skip
