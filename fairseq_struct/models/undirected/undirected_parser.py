"""The undirected biaffine parser for fairseq (Mihaylova's thesis, section 5.5)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Optional  # fairseq cannot read "str | None"

import torch
from fairseq.dataclass import ChoiceEnum
from fairseq.models import BaseFairseqModel, register_model, register_model_architecture
from torch import Tensor, nn

from fairseq_struct.errors import InputError, as_input
from fairseq_struct.files.reserved_words import index_of
from fairseq_struct.models.shared.presets import set_defaults
from fairseq_struct.models.shared.undirected_options import UndirectedConfig, passes_of
from fairseq_struct.modules.dropouts import UnknownWords
from fairseq_struct.modules.pretrained_encoder import NO_PIECE, PretrainedEncoder
from fairseq_struct.modules.sentence_encoder import SentenceEncoder
from fairseq_struct.modules.undirected.parser import ORDERS, ROOT_HEADS, Parsed, UndirectedParser
from fairseq_struct.option_checks import require_at_least, require_share, require_task

ROOTS = ("single", "multiple")


@dataclass
class UndirectedParserConfig(UndirectedConfig):
    """Options of the model."""

    hidden_size: int = field(
        default=400, metadata={"help": "size d of the vectors of heads and modifiers"}
    )
    order: ChoiceEnum(tuple(ORDERS)) = field(
        default="sequential",
        metadata={
            "help": "heads, modifiers, trees; or simultaneous: heads and modifiers from their old "
            "values, as in the published code; only the first is sure to decrease the energy"
        },
    )
    roots: ChoiceEnum(ROOTS) = field(
        default="single",
        metadata={"help": "modifiers of the root in the trees that updates and loss are about"},
    )
    decode_roots: ChoiceEnum(ROOTS) = field(
        default="multiple",
        metadata={"help": "modifiers of the root in the best tree (default: as published)"},
    )
    root_head: ChoiceEnum(ROOT_HEADS) = field(
        default="word",
        metadata={
            "help": "the head of words that are attached to the root: the word's own vector, as in "
            "the thesis's equation; or a learned one, as customary and nearly as in the published "
            "code"
        },
    )
    encoder_folder: Optional[str] = field(  # noqa: UP045
        default=None,
        metadata={
            "help": "local folder of a Hugging Face encoder and its tokenizer, to be fine-tuned in "
            "place of the BiLSTM; it is also needed to load the trained model"
        },
    )
    embed_dim: int = field(default=100, metadata={"help": "BiLSTM: size of the word vectors"})
    encoder_size: int = field(
        default=800, metadata={"help": "BiLSTM: size of its states, both directions together"}
    )
    encoder_layers: int = field(default=3, metadata={"help": "BiLSTM: layers"})
    encoder_dropout: float = field(
        default=0.3,
        metadata={"help": "BiLSTM: dropout of word vectors and between layers"},
    )
    unknown_rate: float = field(
        default=0.2,
        metadata={"help": "BiLSTM: probability that a training word is read as an unknown one"},
    )


@register_model("undirected_parser", dataclass=UndirectedParserConfig)
class UndirectedParserModel(BaseFairseqModel):
    """:class:`UndirectedParser` for ``--task dependency_parsing``.

    Args:
        network: the parser.
        words: dictionary of the words.
        unknown_rate: probability that a training word is read as unknown; for word vectors.

    Attributes:
        padding: integer that fills sentences.
        single_root: whether the root of the trees of updates and loss has exactly one modifier.
    """

    for_tasks = ("dependency_parsing",)

    def __init__(self, network: UndirectedParser, words, unknown_rate: float = 0.0):
        super().__init__()
        self.network, self.words = network, words
        self.pretrained = isinstance(network.encoder, PretrainedEncoder)
        self.padding = NO_PIECE if self.pretrained else words.pad()
        self.unknown = UnknownWords(0.0 if self.pretrained else unknown_rate, words.unk())

    @property
    def single_root(self) -> bool:
        """Of :class:`.TreeMarginals`."""
        return self.network.graph.variables["y"].regulariser.single_root

    def read_words(self, words: Sequence[str]) -> Tensor:
        """What the model reads of a sentence: (n,) words, or (n, pieces) sub-words.

        Raises:
            InputError: the sentence is too long for a pretrained encoder.
        """
        if self.pretrained:
            return self.network.encoder.read_words(words)
        return torch.tensor([index_of(self.words, word) for word in words])

    def forward(self, tokens: Tensor, lengths: Tensor, allowed: Tensor | None = None) -> Parsed:
        """Trees of sentences: see :meth:`UndirectedParser.forward`."""
        return self.network(self.unknown(tokens), lengths, allowed)

    @classmethod
    def build_model(cls, cfg: UndirectedParserConfig, task) -> "UndirectedParserModel":
        """Build the model for the task's dictionary.

        Raises:
            InputError: another task, or an option out of range.
        """
        require_task(cls, task)
        passes, words = passes_of(cfg), task.source_dictionary
        require_at_least(cfg, 1, "hidden_size", "embed_dim", "encoder_size", "encoder_layers")
        if not cfg.encoder_folder and cfg.encoder_size % 2:
            raise InputError(f"--encoder-size must be even for a BiLSTM, not {cfg.encoder_size}")
        require_share(cfg, "encoder_dropout", "unknown_rate")
        with as_input():
            network = UndirectedParser(
                encoder_of(cfg, words), cfg.hidden_size, cfg.dropout, passes, str(cfg.order),
                str(cfg.roots) == "single", str(cfg.decode_roots) == "single", str(cfg.root_head),
            )  # fmt: skip
        return cls(network, words, cfg.unknown_rate)


def encoder_of(cfg: UndirectedParserConfig, words) -> nn.Module:
    """The encoder that the options describe."""
    if cfg.encoder_folder:
        return PretrainedEncoder(cfg.encoder_folder)
    embedding = nn.Embedding(len(words), cfg.embed_dim, words.pad())
    return SentenceEncoder(embedding, cfg.encoder_size, cfg.encoder_layers, cfg.encoder_dropout)


@register_model_architecture("undirected_parser", "undirected_parser_ud")
def undirected_parser_ud(args):
    """The parser over multilingual BERT (--encoder-folder); Mihaylova's thesis, section 5.5.

    Size and dropout are the published code's, and the head of the root is as in biaffine parsers:
    the thesis gives neither.
    """
    set_defaults(args, hidden_size=400, dropout=0.3, root_head="learned")


@register_model_architecture("undirected_parser", "undirected_parser_ud_cpu")
def undirected_parser_ud_cpu(args):
    """A smaller BiLSTM over word vectors from scratch, for one CPU thread."""
    set_defaults(args, encoder_size=256, encoder_layers=2, encoder_dropout=0.2, unknown_rate=0.1)
    undirected_parser_ud(args)
