"""Recurrent language models with the regularisation of AWD-LSTM."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from fairseq_struct.modules.dropouts import LockedDropout, WordDropout
from fairseq_struct.modules.on_lstm import State
from fairseq_struct.modules.recurrent.adaptive_softmax import AdaptiveSoftmax
from fairseq_struct.modules.recurrent.layers import recurrent_layers


class Prediction(NamedTuple):
    """Output of a language model for the next words.

    Args:
        logits: (batch, T, words); with an adaptive softmax log-probabilities, and None if targets
            were given.
        hidden: (T, batch, size) states of the last layer.
        dropped: ``hidden`` after dropout; the logits are computed from it.
        state: h and c of every layer, two tuples of (batch, D), to continue from.
        distances: (layers, T, batch) of ON-LSTM layers (ON-LSTM paper, eq. 15); (0, T, batch) of
            other layers.
        target_scores: (batch, T) log-probabilities of the targets, 0 for padding, if an adaptive
            softmax was given targets; otherwise None.
    """

    logits: Tensor | None
    hidden: Tensor
    dropped: Tensor
    state: State
    distances: Tensor
    target_scores: Tensor | None = None


class RecurrentLanguageModel(nn.Module):
    """p(x_{t+1} | x_1 .. x_t) by layers of ON-LSTM or LSTM.

    ON-LSTM paper, section 5.1: embeddings, L layers, and a softmax over words. Its weights can be
    the embeddings (Inan et al., 2017; Press, Wolf, 2017). The regularisation is that of Merity et
    al. (2018).

    Args:
        words: number of words.
        padding: index of the padding symbol, after a sentence's end.
        embedding_size: size of the embeddings.
        hidden_sizes: sizes of the layers.
        cell: one of ``recurrent.layers.CELLS``.
        chunk_size: C of ON-LSTM.
        tied: use the embeddings as weights of the output; the last layer must have their size.
        word_dropout: dropout of whole words of the vocabulary.
        embedding_dropout, between_dropout, output_dropout: dropout of the embeddings, between
            layers, and of the last layer's output; each with one mask for all steps.
        weight_dropout: dropout of the recurrent weights.
        cutoffs: of an :class:`.AdaptiveSoftmax` in place of the softmax; none for the softmax.
        factor: of the adaptive softmax.

    Raises:
        ValueError: a size or probability out of range, an unknown cell, sizes that do not fit, or
            an adaptive softmax with tied weights.
    """

    def __init__(
        self,
        words: int,
        padding: int,
        embedding_size: int = 400,
        hidden_sizes: tuple[int, ...] = (1150, 1150, 400),
        cell: str = "on_lstm",
        chunk_size: int = 10,
        tied: bool = True,
        word_dropout: float = 0.1,
        embedding_dropout: float = 0.5,
        between_dropout: float = 0.3,
        output_dropout: float = 0.45,
        weight_dropout: float = 0.45,
        cutoffs: tuple[int, ...] = (),
        factor: float = 4.0,
    ):
        super().__init__()
        if tied and hidden_sizes[-1] != embedding_size:
            raise ValueError(
                f"tied weights need a last layer of the embeddings' size {embedding_size}, "
                f"not {hidden_sizes[-1]}"
            )
        self.embedding = nn.Embedding(words, embedding_size, padding)
        nn.init.uniform_(self.embedding.weight, -0.1, 0.1)
        nn.init.zeros_(self.embedding.weight[padding].detach())
        self.padding, self.depth = padding, len(hidden_sizes)
        self.word_dropout = WordDropout(word_dropout)
        self.embedding_dropout = LockedDropout(embedding_dropout)
        self.output_dropout = LockedDropout(output_dropout)
        self.layers = recurrent_layers(
            cell, embedding_size, hidden_sizes, chunk_size, weight_dropout,
            LockedDropout(between_dropout),
        )  # fmt: skip
        if cutoffs:
            if tied:
                raise ValueError("an adaptive softmax has weights of its own: it cannot be tied")
            self.output = AdaptiveSoftmax(hidden_sizes[-1], words, cutoffs, factor)
            return
        self.output = nn.Linear(hidden_sizes[-1], words)
        nn.init.uniform_(self.output.weight, -0.1, 0.1)
        nn.init.zeros_(self.output.bias)
        if tied:
            self.output.weight = self.embedding.weight

    @property
    def adaptive(self) -> bool:
        """Whether the softmax is adaptive."""
        return isinstance(self.output, AdaptiveSoftmax)

    def forward(
        self, tokens: Tensor, state: State | None = None, targets: Tensor | None = None
    ) -> Prediction:
        """Predict the word after each of ``tokens``.

        Args:
            tokens: (batch, T) integers, padding only after the words.
            state: state after the preceding words; zeros if not given.
            targets: (batch, T) words to score, or padding. An adaptive softmax then computes no
                others; the softmax does not read them.
        """
        made = self._read(tokens, state)
        dropped = self.output_dropout(made.output)
        logits = scores = None
        if not self.adaptive:
            logits = self.output(dropped).transpose(0, 1)
        elif targets is None:
            logits = self.output.of_all_words(dropped.transpose(0, 1))
        else:
            scores = self._target_scores(dropped.transpose(0, 1), targets)
        return Prediction(logits, made.output, dropped, made.state, made.distances, scores)

    def _target_scores(self, states: Tensor, targets: Tensor) -> Tensor:
        inside = targets != self.padding
        found = self.output.of_targets(states[inside], targets[inside])
        return found.new_zeros(targets.shape).masked_scatter(inside, found)

    def _read(self, tokens: Tensor, state: State | None):
        """Everything but the output layer, which is slow for a large vocabulary."""
        outside = tokens == self.padding
        if (outside[:, :-1] & ~outside[:, 1:]).any():
            raise ValueError("padding must be on the right, but a word follows padding")
        lengths = (~outside).sum(1) if outside.any() else None
        vectors = self.word_dropout(tokens.t(), self.embedding)
        return self.layers.run(self.embedding_dropout(vectors), state, lengths)

    @torch.no_grad()
    def distances(self, tokens: Tensor) -> Tensor:
        """(layers, batch, T) syntactic distances of ``tokens``, read from a state of zeros."""
        return self._read(tokens, None).distances.transpose(1, 2)
