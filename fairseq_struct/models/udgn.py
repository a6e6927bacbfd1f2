"""UDGN for fairseq: a masked language model that infers dependency trees (Shen's thesis)."""

from dataclasses import dataclass, field

from fairseq.dataclass import ChoiceEnum
from fairseq.models import register_model, register_model_architecture

from fairseq_struct.models.shared.masked_language_model import MaskedModel, MaskedModelConfig
from fairseq_struct.models.shared.presets import set_defaults
from fairseq_struct.modules.masked_lm.dependency_graph import (
    COMPETITIONS,
    NONLINEARITIES,
    DependencyGraphLayer,
    DependencyGraphNetwork,
)
from fairseq_struct.modules.masked_lm.head_parser import HeadParser, TagSharedEmbedding
from fairseq_struct.modules.masked_lm.language_model import UDGNEncoder


@dataclass
class UDGNConfig(MaskedModelConfig):
    """Options of the model; the defaults are the published code's for the Penn Treebank."""

    parser_layers: int = field(default=3, metadata={"help": "layers of the parser's BiLSTM"})
    parser_size: int = field(
        default=512, metadata={"help": "size of the parser's vectors and of each LSTM direction"}
    )
    parser_dropout: float = field(
        default=0.2,
        metadata={"help": "dropout of the parser's vectors, between its layers and of the last"},
    )
    parser_tags: int = field(
        default=50,
        metadata={
            "help": "number of tag vectors that the parser's words share (Shen's thesis, eqs. "
            "4.2.1 and 4.2.2, which does not give the number); 0: none"
        },
    )
    channels: int = field(default=8, metadata={"help": "channels of each layer"})
    channel_size: int = field(default=128, metadata={"help": "size of a channel's vectors"})
    nonlinearity: ChoiceEnum(NONLINEARITIES) = field(
        default="tanh", metadata={"help": "nonlinearity of the values channels send (eq. 4.2.13)"}
    )
    no_gates: bool = field(
        default=False, metadata={"help": "ablation: no gate of the receiving word"}
    )
    competition: ChoiceEnum(COMPETITIONS) = field(
        default="softmax",
        metadata={"help": "how channels share an arc (eq. 4.2.11); sigmoid: independently"},
    )
    absolute_positions: int = field(
        default=0,
        metadata={
            "help": "ablation: vectors for this many positions, in place of the biases for left "
            "and right words (eq. 4.2.16); 0: none"
        },
    )


@register_model("udgn", dataclass=UDGNConfig)
class UDGNModel(MaskedModel):
    """:class:`UDGNEncoder` as masked language model, for ``--task structured_masked_lm``."""

    SIZES = (*MaskedModel.SIZES, "parser_layers", "parser_size", "channels", "channel_size")
    COUNTS = ("parser_tags", "absolute_positions")
    SHARES = (*MaskedModel.SHARES, "parser_dropout")
    LONGEST_OPTION = "absolute_positions"
    parses = True

    @classmethod
    def build_encoder(cls, cfg, embedding, vectors) -> UDGNEncoder:
        """See :meth:`MaskedModel.build_encoder`."""
        size = cfg.parser_size
        tags = TagSharedEmbedding(vectors(size), cfg.parser_tags)
        parser = HeadParser(tags, size, size, cfg.parser_layers, cfg.parser_dropout)
        layers = [
            DependencyGraphLayer(
                cfg.embed_dim, cfg.channels, cfg.channel_size, cfg.dropout,
                cfg.attention_dropout, str(cfg.nonlinearity), not cfg.no_gates,
                str(cfg.competition), position_bias=not cfg.absolute_positions,
            )
            for _ in range(cfg.layers)
        ]  # fmt: skip
        graph = DependencyGraphNetwork(layers, cfg.embed_dim, cfg.absolute_positions, cfg.dropout)
        return UDGNEncoder(parser, embedding, graph)


@register_model_architecture("udgn", "udgn_ptb")
def udgn_ptb(args):
    """The published code's settings for the Penn Treebank (the thesis has none): the defaults."""


@register_model_architecture("udgn", "udgn_bllip")
def udgn_bllip(args):
    """Model for BLLIP, the defaults, too: Shen's thesis does not give the tuned values."""


@register_model_architecture("udgn", "udgn_tiny")
def udgn_tiny(args):
    """Small model for toy corpora and tests."""
    set_defaults(
        args, embed_dim=64, layers=3, channels=4, channel_size=32, parser_size=128, parser_layers=2,
        parser_tags=20, dropout=0.1, parser_dropout=0.1,
    )  # fmt: skip
