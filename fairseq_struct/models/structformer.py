"""StructFormer for fairseq, the masked language model that UDGN is compared with."""

from dataclasses import dataclass, field

from fairseq.models import register_model, register_model_architecture
from torch import nn

from fairseq_struct.errors import InputError
from fairseq_struct.models.udgn import MaskedModel, MaskedTransformerConfig, check_masked
from fairseq_struct.modules.masked_language_model import MaskedLanguageModel
from fairseq_struct.modules.structformer import (
    DependencyAttention,
    DistanceParser,
    StructFormerEncoder,
)


@dataclass
class StructFormerConfig(MaskedTransformerConfig):
    """Options of the model."""

    parser_layers: int = field(
        default=4, metadata={"help": "layers of convolutions of the parser"}
    )
    parser_window: int = field(
        default=9, metadata={"help": "words that a convolution sees, an odd number"}
    )


@register_model("structformer", dataclass=StructFormerConfig)
class StructFormerModel(MaskedModel):
    """:class:`StructFormerEncoder` as masked language model, a baseline of table 6."""

    @classmethod
    def build_model(cls, cfg: StructFormerConfig, task) -> "StructFormerModel":
        """Build the model for the task's dictionary.

        Raises:
            InputError: an option out of range.
        """
        check_masked(cfg)
        words = task.source_dictionary
        embedding, own = (
            nn.Embedding(len(words), cfg.embed_dim, words.pad()) for _ in range(2)
        )
        try:
            parser = DistanceParser(
                own, cfg.embed_dim, cfg.parser_layers, cfg.parser_window, cfg.dropout
            )
            layers = [
                DependencyAttention(cfg.embed_dim, cfg.heads, cfg.feedforward_dim, cfg.dropout)
                for _ in range(cfg.layers)
            ]
        except ValueError as error:
            raise InputError(str(error)) from None
        encoder = StructFormerEncoder(
            parser, embedding, layers, cfg.longest_sentence, cfg.dropout
        )
        return cls(MaskedLanguageModel(encoder, embedding))


@register_model_architecture("structformer", "structformer_ptb")
def structformer_ptb(args):
    """Of the size of ``udgn_ptb``, which table 6 compares it with."""
    args.embed_dim = getattr(args, "embed_dim", 512)
    args.layers = getattr(args, "layers", 8)
    args.heads = getattr(args, "heads", 8)
