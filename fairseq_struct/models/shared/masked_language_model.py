"""Base class of the masked language models for fairseq."""

import copy
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from fairseq.dataclass import FairseqDataclass
from fairseq.models import BaseFairseqModel
from torch import Tensor, nn

from fairseq_struct.errors import InputError, as_input
from fairseq_struct.modules.masked_lm.language_model import Encoding, MaskedLanguageModel
from fairseq_struct.modules.masks import within
from fairseq_struct.option_checks import (
    option_name,
    require_at_least,
    require_share,
    require_task,
)


@dataclass
class MaskedModelConfig(FairseqDataclass):
    """Options that all masked models have."""

    embed_dim: int = field(default=512, metadata={"help": "size of the word vectors"})
    layers: int = field(default=8, metadata={"help": "layers of the network"})
    dropout: float = field(
        default=0.2, metadata={"help": "dropout of the embeddings and of what each layer adds"}
    )
    attention_dropout: float = field(
        default=0.1, metadata={"help": "dropout of the attention weights"}
    )


class MaskedModel(BaseFairseqModel):
    """A masked language model.

    Args:
        network: the language model.
        longest: most words of a sentence, 0 for any number.
    """

    for_tasks = ("structured_masked_lm", "semantic_similarity")
    # Options with a range: 1 or more; 0 or more; 0 or more and below 1. A subclass adds its own.
    SIZES: tuple[str, ...] = ("embed_dim", "layers")
    COUNTS: tuple[str, ...] = ()
    SHARES: tuple[str, ...] = ("dropout", "attention_dropout")
    # Option that limits the number of words of a sentence; "" if there is none.
    LONGEST_OPTION = ""
    # Whether the model infers trees: its encoder has a ``parser`` and ``arc_scores``.
    parses = False

    def __init__(self, network: MaskedLanguageModel, longest: int = 0):
        super().__init__()
        self.network, self.longest = network, longest

    def check_length(self, words: int, what: str = "a sentence"):
        """Refuse a sentence that is longer than the model can read.

        Raises:
            InputError: the sentence has more words than ``longest``.
        """
        if self.longest and words > self.longest:
            option = option_name(self.LONGEST_OPTION)
            raise InputError(f"{what} has {words} words, more than {option} {self.longest}")

    def forward(
        self, tokens: Tensor, lengths: Tensor, hidden: Tensor | None = None
    ) -> tuple[Tensor, Encoding] | Tensor:
        """Scores of hidden words: see :meth:`MaskedLanguageModel.forward`.

        Without ``hidden`` it returns :meth:`sentence_vectors`. Distributed training shares only
        gradients of calls of this method, so sentence vectors have to be computed through it.
        """
        if hidden is None:
            return self.sentence_vectors(tokens, lengths)
        self.check_length(tokens.size(1))
        return self.network(tokens, lengths, hidden)

    def encode(self, tokens: Tensor, lengths: Tensor) -> Encoding:
        """Words in context, with the parser's scores if the model has a parser."""
        self.check_length(tokens.size(1))
        return self.network.encoder(tokens, lengths)

    def arc_scores(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """The parser's scores alone: cheaper than :meth:`encode`, and without a length limit.

        Raises:
            ValueError: the model has no parser.
        """
        if not self.parses:
            raise ValueError(f"{type(self).__name__} infers no trees")
        return self.network.encoder.arc_scores(tokens, lengths)

    def sentence_vectors(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """Mean vectors (batch, size) of the words in context (Shen's thesis, section 4.3.5).

        Args:
            tokens: (batch, n) integers.
            lengths: (batch,) words per sentence, at least 1.
        """
        words = self.encode(tokens, lengths).words
        words = words.to(torch.promote_types(words.dtype, torch.float32))
        inside = within(lengths, words.size(1))[..., None]
        return words.masked_fill(~inside, 0.0).sum(1) / lengths[:, None]

    def in_float64(self) -> "MaskedModel":
        """A copy of the model in float64; the model itself if it is in float64 already."""
        if all(one.dtype == torch.float64 for one in self.parameters()):
            return self
        return copy.deepcopy(self).double()

    def shares(self, tokens: Tensor, lengths: Tensor) -> list[Tensor]:
        """Shares of each layer's channels or heads in the messages: see :class:`Encoding`."""
        self.check_length(tokens.size(1))
        encoder = self.network.encoder
        own = getattr(encoder, "shares", None)
        return own(tokens, lengths) if own else encoder(tokens, lengths).shares

    @classmethod
    def build_model(cls, cfg: MaskedModelConfig, task) -> "MaskedModel":
        """Build the model for the task's dictionary.

        Raises:
            InputError: another task, whose batches differ; or an option out of range.
        """
        require_task(cls, task)
        require_at_least(cfg, 1, *cls.SIZES)
        require_at_least(cfg, 0, *cls.COUNTS)
        require_share(cfg, *cls.SHARES)
        words = task.source_dictionary

        def vectors(size: int) -> nn.Embedding:
            return nn.Embedding(len(words), size, words.pad())

        embedding = vectors(cfg.embed_dim)
        with as_input():
            encoder = cls.build_encoder(cfg, embedding, vectors)
        longest = getattr(cfg, cls.LONGEST_OPTION) if cls.LONGEST_OPTION else 0
        return cls(MaskedLanguageModel(encoder, embedding), longest)

    @classmethod
    @abstractmethod
    def build_encoder(
        cls, cfg: MaskedModelConfig, embedding: nn.Embedding,
        vectors: Callable[[int], nn.Embedding],
    ) -> nn.Module:  # fmt: skip
        """Build the encoder, which maps integers to an :class:`Encoding`.

        Args:
            cfg: the options.
            embedding: the word vectors; the model also scores words with them.
            vectors: function that makes further word vectors of a given size.

        Raises:
            ValueError: an option out of range.
        """
