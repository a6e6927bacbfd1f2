"""Masked language models: predict hidden words of a sentence."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from fairseq_struct.modules.masked_lm.dependency_graph import DependencyGraphNetwork
from fairseq_struct.modules.masked_lm.head_parser import (
    HeadParser,
    dependency_mask,
    head_probabilities,
)
from fairseq_struct.modules.masks import check_lengths, within


class Encoding(NamedTuple):
    """Result of an encoder for a batch of sentences.

    Args:
        words: (batch, n, size), words in context.
        arc_scores: (batch, n, n) of the encoder's parser, h as head of m at [h, m], the root at
            [m, m]; None without a parser.
        shares: per layer, (batch, channels or heads, n, n): weight of sending words (columns) for
            receiving words (rows), by channel. A Transformer computes them on request.
    """

    words: Tensor
    arc_scores: Tensor | None
    shares: list[Tensor]


class UDGNEncoder(nn.Module):
    """Unsupervised dependency graph network: a parser, and messages along its arcs.

    The graph is m of eq. 4.2.8, from the parser's head probabilities (Shen's thesis, section 4.2).

    Args:
        parser: the parser, with separate embeddings, as in the published code.
        embedding: maps word indices to vectors.
        graph: network over the vectors and m.
    """

    def __init__(self, parser: HeadParser, embedding: nn.Embedding, graph: DependencyGraphNetwork):
        super().__init__()
        self.parser, self.embedding, self.graph = parser, embedding, graph

    def forward(self, tokens: Tensor, lengths: Tensor) -> Encoding:
        """Words in context.

        Args:
            tokens: (batch, n) integers.
            lengths: (batch,) words per sentence, at least 1.
        """
        scores = self.arc_scores(tokens, lengths)
        mask = dependency_mask(head_probabilities(scores, lengths))
        words, shares = self.graph(self.embedding(tokens), mask)
        return Encoding(words, scores, shares)

    def arc_scores(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """Only ``arc_scores`` (batch, n, n) of :class:`Encoding`."""
        return self.parser(tokens, lengths)


class TransformerMaskedEncoder(nn.Module):
    """The baseline: a Transformer encoder with learned positions, and no parser.

    Args:
        embedding: maps word indices to vectors.
        layers, heads: number of layers, and of attention heads.
        feedforward: size of the feed-forward layers.
        positions: length of the longest sentence.
        dropout: dropout of the embeddings, the residual branches and the feed-forward layers.
        attention_dropout: dropout of the attention weights.

    Raises:
        ValueError: the heads do not divide the size.
    """

    def __init__(
        self, embedding: nn.Embedding, layers: int, heads: int, feedforward: int,
        positions: int, dropout: float = 0.0, attention_dropout: float = 0.0,
    ):  # fmt: skip
        super().__init__()
        size = embedding.embedding_dim
        if size % heads:
            raise ValueError(f"the number of heads must divide the size {size}, not {heads}")
        self.embedding = embedding
        self.positions = nn.Embedding(positions, size)
        nn.init.normal_(self.positions.weight, std=size**-0.5)
        self.dropout = nn.Dropout(dropout)
        layer = nn.TransformerEncoderLayer(
            size, heads, feedforward, dropout, batch_first=True, norm_first=True
        )
        norm = nn.LayerNorm(size)
        self.layers = nn.TransformerEncoder(layer, layers, norm, enable_nested_tensor=False)
        for layer in self.layers.layers:
            layer.self_attn.dropout = attention_dropout

    def forward(self, tokens: Tensor, lengths: Tensor) -> Encoding:
        """Words in context, without shares; see :meth:`UDGNEncoder.forward`.

        Raises:
            ValueError: a sentence is longer than there are positions.
        """
        words, padding = self._embedded(tokens, lengths)
        return Encoding(self.layers(words, src_key_padding_mask=padding), None, [])

    def shares(self, tokens: Tensor, lengths: Tensor) -> list[Tensor]:
        """Attention weights (batch, heads, n, n) by layer; :meth:`forward` does not store them.

        Raises:
            ValueError: a sentence is longer than there are positions.
        """
        words, padding = self._embedded(tokens, lengths)
        found = []
        for layer in self.layers.layers:
            queries = layer.norm1(words)
            found.append(
                layer.self_attn(
                    queries, queries, queries, key_padding_mask=padding,
                    average_attn_weights=False,
                )[1]
            )  # fmt: skip
            words = layer(words, src_key_padding_mask=padding)
        return found

    def _embedded(self, tokens: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        n, known = tokens.size(1), self.positions.num_embeddings
        if n > known:
            raise ValueError(f"a sentence of {n} words, but only {known} positions")
        check_lengths(lengths, n)
        words = self.dropout(self.embedding(tokens) + self.positions.weight[:n])
        return words, ~within(lengths, n)


class MaskedLanguageModel(nn.Module):
    """p(w) = softmax(E h + b) of hidden words; E are the encoder's input embeddings.

    Args:
        encoder: network that returns an :class:`Encoding`.
        embedding: E.
    """

    def __init__(self, encoder: nn.Module, embedding: nn.Embedding):
        super().__init__()
        self.encoder = encoder
        self.embedding = embedding
        self.bias = nn.Parameter(torch.zeros(embedding.num_embeddings))
        nn.init.normal_(embedding.weight, std=embedding.embedding_dim**-0.5)

    def forward(self, tokens: Tensor, lengths: Tensor, hidden: Tensor) -> tuple[Tensor, Encoding]:
        """Scores (hidden words, vocabulary) for the hidden words, and the encoding.

        Args:
            tokens: (batch, n) integers, the mask's index where a word is hidden.
            lengths: (batch,) words per sentence, at least 1.
            hidden: (batch, n) booleans, which words are hidden.
        """
        encoding = self.encoder(tokens, lengths)
        asked = encoding.words[hidden]
        return nn.functional.linear(asked, self.embedding.weight, self.bias), encoding
