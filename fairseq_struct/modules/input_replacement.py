"""Which decoder inputs scheduled sampling replaces, and how the replacements get in.

Decoder inputs are the gold target shifted right: column 0 holds the begin symbol, column i the
gold token that the decoder had to predict at column i - 1. The candidate for column i is
therefore built from the scores at column i - 1 (Mihaylova's thesis, section 3.3.1, eq. 3.1).
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


def replaceable_positions(inputs: Tensor, padding_index: int) -> Tensor:
    """Positions that hold a word which some earlier position predicted.

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
    """Choose the positions fed from the model, by an independent coin for each (section 3.3.1).

    Args:
        replaceable: (batch, length) booleans.
        gold_probability: t(i), the probability that a position keeps its gold token.
        generator: source of the coins.

    Returns:
        (batch, length) booleans, True where the model's candidate is used.
    """
    coins = torch.rand(replaceable.shape, generator=generator, device=replaceable.device)
    return replaceable & (coins >= gold_probability)


def gold_confidence(scores: Tensor, gold: Tensor) -> Tensor:
    """Probability that the model gives to the gold tokens, softmax(scores)[gold].

    The confidence that decides on a replacement in Liu et al. (2021).

    Args:
        scores: (n, vocabulary) unnormalised scores.
        gold: (n,) token indices.

    Returns:
        (n,) probabilities in float32 (float64 for float64 scores).
    """
    scores = scores if scores.dtype == torch.float64 else scores.float()
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

    The substitution happens at the embedding table's output, so everything a decoder does to
    token embeddings (scale, positions, layer norm, dropout) treats mixed and gold inputs alike.

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
