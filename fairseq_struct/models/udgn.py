"""UDGN for fairseq, a masked language model that infers dependency trees."""

from dataclasses import dataclass, field

from fairseq.dataclass import ChoiceEnum, FairseqDataclass
from fairseq.models import BaseFairseqModel, register_model, register_model_architecture
from torch import Tensor, nn

from fairseq_struct.errors import InputError
from fairseq_struct.modules.dependency_graph import (
    COMPETITIONS,
    NONLINEARITIES,
    DependencyGraphLayer,
    DependencyGraphNetwork,
)
from fairseq_struct.modules.head_parser import HeadParser, TagSharedEmbedding
from fairseq_struct.modules.masked_language_model import (
    Encoding,
    MaskedLanguageModel,
    TransformerMaskedEncoder,
    UDGNEncoder,
)


@dataclass
class MaskedModelConfig(FairseqDataclass):
    """Options that all masked models have."""

    embed_dim: int = field(default=512, metadata={"help": "size of the words' vectors"})
    layers: int = field(default=8, metadata={"help": "layers of the network"})
    dropout: float = field(
        default=0.2, metadata={"help": "of the embeddings and of what each layer adds"}
    )
    attention_dropout: float = field(
        default=0.1, metadata={"help": "of the weights with which words take from others"}
    )


@dataclass
class UDGNConfig(MaskedModelConfig):
    """Options of the model; the defaults are the published ones for the Penn Treebank."""

    parser_layers: int = field(default=3, metadata={"help": "layers of the parser's BiLSTM"})
    parser_size: int = field(
        default=512, metadata={"help": "of the parser's vectors and of each direction of its LSTM"}
    )
    parser_dropout: float = field(
        default=0.2, metadata={"help": "of the parser's vectors and between its layers"}
    )
    parser_tags: int = field(
        default=50,
        metadata={
            "help": "vectors that the parser's words share (eqs. 4.2.1, 4.2.2; the thesis does not "
            "print their number); 0: none"
        },
    )
    channels: int = field(default=8, metadata={"help": "channels of each layer"})
    channel_size: int = field(default=128, metadata={"help": "size of a channel's vectors"})
    nonlinearity: ChoiceEnum(NONLINEARITIES) = field(
        default="tanh", metadata={"help": "of the values that channels send (eq. 4.2.13)"}
    )
    no_gates: bool = field(
        default=False, metadata={"help": "ablation: channels without a gate of the receiving word"}
    )
    competition: ChoiceEnum(COMPETITIONS) = field(
        default="softmax",
        metadata={"help": "how channels share an arc (eq. 4.2.11); sigmoid: each by itself"},
    )
    absolute_positions: int = field(
        default=0,
        metadata={
            "help": "ablation: vectors for that many positions in place of the biases for words "
            "before and behind (eq. 4.2.16); 0: none"
        },
    )


class MaskedModel(BaseFairseqModel):
    """A masked language model.

    Args:
        network: what it is.
    """

    def __init__(self, network: MaskedLanguageModel):
        super().__init__()
        self.network = network

    @property
    def parses(self) -> bool:
        """Whether it infers trees."""
        return hasattr(self.network.encoder, "parser")

    def forward(self, tokens: Tensor, lengths: Tensor, hidden: Tensor) -> tuple[Tensor, Encoding]:
        """Scores of hidden words: see :meth:`MaskedLanguageModel.forward`."""
        return self.network(tokens, lengths, hidden)

    def encode(self, tokens: Tensor, lengths: Tensor) -> Encoding:
        """Words in context, with the parser's scores where there is a parser."""
        return self.network.encoder(tokens, lengths)


@register_model("udgn", dataclass=UDGNConfig)
class UDGNModel(MaskedModel):
    """:class:`UDGNEncoder` under a masked language model, for ``--task structured_masked_lm``."""

    @classmethod
    def build_model(cls, cfg: UDGNConfig, task) -> "UDGNModel":
        """Build the model for the task's dictionary.

        Raises:
            InputError: an option out of range.
        """
        check_masked(cfg)
        words = task.source_dictionary
        size = cfg.parser_size
        try:
            tags = TagSharedEmbedding(len(words), size, cfg.parser_tags, words.pad())
            parser = HeadParser(tags, size, size, cfg.parser_layers, cfg.parser_dropout)
            layers = [
                DependencyGraphLayer(
                    cfg.embed_dim, cfg.channels, cfg.channel_size, cfg.dropout,
                    cfg.attention_dropout, cfg.nonlinearity, not cfg.no_gates, cfg.competition,
                    position_bias=not cfg.absolute_positions,
                )
                for _ in range(cfg.layers)
            ]  # fmt: skip
            graph = DependencyGraphNetwork(
                layers, cfg.embed_dim, cfg.absolute_positions, cfg.dropout
            )
        except ValueError as error:
            raise InputError(str(error)) from None
        embedding = nn.Embedding(len(words), cfg.embed_dim, words.pad())
        encoder = UDGNEncoder(parser, embedding, graph)
        return cls(MaskedLanguageModel(encoder, embedding))


@dataclass
class MaskedTransformerConfig(MaskedModelConfig):
    """Options of the baseline."""

    heads: int = field(default=8, metadata={"help": "attention heads of each layer"})
    feedforward_dim: int = field(default=2048, metadata={"help": "size of the layers between"})
    longest_sentence: int = field(
        default=512, metadata={"help": "positions, as many as the longest sentence has words"}
    )


@register_model("masked_transformer", dataclass=MaskedTransformerConfig)
class MaskedTransformerModel(MaskedModel):
    """A Transformer encoder as masked language model, the baseline of table 6."""

    @classmethod
    def build_model(cls, cfg: MaskedTransformerConfig, task) -> "MaskedTransformerModel":
        """Build the model for the task's dictionary.

        Raises:
            InputError: an option out of range.
        """
        check_masked(cfg)
        words = task.source_dictionary
        embedding = nn.Embedding(len(words), cfg.embed_dim, words.pad())
        try:
            encoder = TransformerMaskedEncoder(
                embedding, cfg.layers, cfg.heads, cfg.feedforward_dim, cfg.longest_sentence,
                cfg.dropout,
            )
        except ValueError as error:
            raise InputError(str(error)) from None
        return cls(MaskedLanguageModel(encoder, embedding))


def check_masked(cfg: MaskedModelConfig):
    """Refuse options that no masked model can have.

    Raises:
        InputError: a size below 1, or a probability that is none.
    """
    for name in ("embed_dim", "layers"):
        if getattr(cfg, name) < 1:
            raise InputError(f"--{name.replace('_', '-')} must be 1 or more")
    for name in ("dropout", "attention_dropout", "parser_dropout"):
        value = getattr(cfg, name, 0.0)
        if not 0 <= value < 1:
            raise InputError(f"--{name.replace('_', '-')} must be 0 or more and below 1")


@register_model_architecture("udgn", "udgn_ptb")
def udgn_ptb(args):
    """The published settings for the Penn Treebank, which are the defaults."""
    args.embed_dim = getattr(args, "embed_dim", 512)
    args.layers = getattr(args, "layers", 8)
    args.channels = getattr(args, "channels", 8)
    args.channel_size = getattr(args, "channel_size", 128)


@register_model_architecture("udgn", "udgn_tiny")
def udgn_tiny(args):
    """For toy corpora and tests."""
    args.embed_dim = getattr(args, "embed_dim", 64)
    args.layers = getattr(args, "layers", 3)
    args.channels = getattr(args, "channels", 4)
    args.channel_size = getattr(args, "channel_size", 32)
    args.parser_size = getattr(args, "parser_size", 64)
    args.parser_layers = getattr(args, "parser_layers", 1)
    args.parser_tags = getattr(args, "parser_tags", 20)
    args.dropout = getattr(args, "dropout", 0.1)
    args.parser_dropout = getattr(args, "parser_dropout", 0.1)
