"""StructFormer for fairseq: a masked language model, baseline for UDGN in Shen's thesis."""

from dataclasses import dataclass, field

from fairseq.models import register_model, register_model_architecture

from fairseq_struct.models.masked_transformer import (
    MaskedTransformerConfig,
    MaskedTransformerModel,
)
from fairseq_struct.models.shared.masked_language_model import MaskedModel
from fairseq_struct.modules.masked_lm.structformer import (
    DependencyAttention,
    DistanceParser,
    StructFormerEncoder,
)


@dataclass
class StructFormerConfig(MaskedTransformerConfig):
    """Options of the model."""

    parser_layers: int = field(
        default=4, metadata={"help": "convolution layers of the parser"}
    )
    parser_window: int = field(
        default=9, metadata={"help": "words that a convolution sees, an odd number"}
    )


@register_model("structformer", dataclass=StructFormerConfig)
class StructFormerModel(MaskedModel):
    """:class:`StructFormerEncoder` as masked language model: a baseline in Shen's table 6."""

    SIZES = (*MaskedTransformerModel.SIZES, "parser_layers", "parser_window")
    LONGEST_OPTION = "longest_sentence"
    parses = True

    @classmethod
    def build_encoder(cls, cfg, embedding, vectors) -> StructFormerEncoder:
        """See :meth:`MaskedModel.build_encoder`."""
        size = cfg.embed_dim
        parser = DistanceParser(
            vectors(size), size, cfg.parser_layers, cfg.parser_window, cfg.dropout
        )
        layers = [
            DependencyAttention(
                size, cfg.heads, cfg.feedforward_dim, cfg.dropout, cfg.attention_dropout
            )
            for _ in range(cfg.layers)
        ]
        return StructFormerEncoder(parser, embedding, layers, cfg.longest_sentence, cfg.dropout)


@register_model_architecture("structformer", "structformer_ptb")
def structformer_ptb(args):
    """The size of ``udgn_ptb``, the defaults; table 6 of Shen's thesis compares the two models."""
