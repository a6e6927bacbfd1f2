"""Which decoder inputs scheduled sampling replaces, and how they are replaced.

Decoder inputs are the gold target shifted right: column 0 holds the begin symbol, column i the
gold token that the decoder has to predict at column i - 1. So the candidate for column i comes from
the scores at column i - 1 (Mihaylova's thesis, section 3.3.1, eq. 3.1).
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from fairseq_struct.structure.precision import at_least_float32


def replaceable_positions(inputs: Tensor, padding_index: int) -> Tensor:
    """Positions that hold a word that an earlier position predicts.

    The first symbol of each sentence (begin of sentence) and padding stay gold; padding may be
    on either side.

    Args:
        inputs: (batch, length) decoder input tokens.
        padding_index: the padding token.

    Returns:
        (batch, length) booleans.
    """
    words = inputs.ne(padding_index)
    replaceable = torch.zeros_like(words)
    replaceable[:, 1:] = words[:, 1:] & words[:, :-1]
    return replaceable


def flip_coins(
    replaceable: Tensor, gold_probability: float, generator: torch.Generator | None = None
) -> Tensor:
    """Choose the positions fed from the model, by an independent coin for each.

    Mihaylova's thesis, section 3.3.1.

    Args:
        replaceable: (batch, length) booleans.
        gold_probability: t(i), the probability that a position keeps its gold token.
        generator: source of the coins.

    Returns:
        (batch, length) booleans, True where the model's candidate is used.
    """
    coins = torch.rand(replaceable.shape, generator=generator, device=replaceable.device)
    return replaceable & (coins >= gold_probability)


def following_words(inputs: Tensor, padding_index: int, end_index: int) -> Tensor:
    """The word that each position has to predict: the next word, and the end symbol at the end.

    Args:
        inputs: (batch, length) decoder input tokens, padding on either side.
        padding_index, end_index: the padding token and the end symbol.

    Returns:
        (batch, length) tokens.
    """
    following = torch.full_like(inputs, end_index)
    following[:, :-1] = inputs[:, 1:].masked_fill(inputs[:, 1:] == padding_index, end_index)
    return following


def gold_confidence(scores: Tensor, gold: Tensor) -> Tensor:
    """Probability that the model gives to the gold tokens, softmax(scores)[gold].

    It decides on replacements in place of a coin. y_i is the input at position i, which position
    i - 1 has to predict; P are these probabilities in the first pass.

    - ``confidence`` (Liu et al., 2021) replaces y_i where P(y_{i+1}) is above a threshold: the
      model is sure of the word to predict from y_i. Above a second threshold, y_i is replaced by a
      random word of the sentence. Liu et al. train both passes (``--criterion
      scheduled_sampling_cross_entropy``), use the mix ``softmax``, and start from a trained
      Transformer. Their thresholds are .9 and .95; the defaults of their code are .3 and .8.
    - ``own_confidence`` (ours) replaces y_i where P(y_i) is above the threshold: the prediction
      that replaces y_i is likely to be the same word. One pass is trained.

    Args:
        scores: (n, vocabulary) unnormalised scores.
        gold: (n,) token indices.

    Returns:
        (n,) probabilities in float32 (float64 for float64 scores).
    """
    scores = at_least_float32(scores)
    own = scores.gather(1, gold.unsqueeze(1)).squeeze(1)
    return (own - scores.logsumexp(1)).exp()


def random_tokens_of_same_sentence(
    inputs: Tensor, replaceable: Tensor, rows: Tensor, generator: torch.Generator | None = None
) -> Tensor:
    """Draw, for each requested row, a uniformly random replaceable token of that sentence.

    Args:
        inputs: (batch, length) decoder input tokens.
        replaceable: (batch, length) booleans; every requested row has at least one.
        rows: (n,) row numbers, repeats allowed.
        generator: source of the draws.

    Returns:
        (n,) tokens.
    """
    columns = torch.multinomial(
        replaceable[rows].float(), num_samples=1, generator=generator
    ).squeeze(1)
    return inputs[rows, columns]


@contextmanager
def embeddings_replaced(
    embedding: nn.Module, rows: Tensor, columns: Tensor, vectors: Tensor
) -> Iterator[None]:
    """Let ``embedding`` return ``vectors`` at the given positions while the context is open.

    It replaces the output of the embedding table. So all later operations of a decoder on token
    embeddings (scale, positions, layer norm, dropout) treat mixed and gold inputs alike.

    Args:
        embedding: the decoder's token embedding, called on (batch, length) tokens.
        rows, columns: (n,) positions.
        vectors: (n, dim).
    """

    def substitute(_module: nn.Module, _inputs: tuple, output: Tensor) -> Tensor:
        return output.index_put((rows, columns), vectors.to(output.dtype))

    handle = embedding.register_forward_hook(substitute)
    try:
        yield
    finally:
        handle.remove()
