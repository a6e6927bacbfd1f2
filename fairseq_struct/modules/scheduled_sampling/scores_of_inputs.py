"""A decoder pass of which only some positions are needed, for scheduled sampling."""

from contextlib import ExitStack
from typing import NamedTuple

import torch
from torch import Tensor

from fairseq_struct.modules.scheduled_sampling.input_replacement import embeddings_replaced
from fairseq_struct.modules.scheduled_sampling.partial_computation import only_at


class ChosenInputs(NamedTuple):
    """Inputs of a decoder that are to be replaced, n of a batch.

    With confidence in place of coins, some are replaced by other words of their sentence.
    """

    rows: Tensor  # (n,)
    columns: Tensor  # (n,)
    scores: Tensor  # (n, vocabulary), of the first pass
    noise: Tensor | None = None  # (n,) words
    scrambled: Tensor | None = None  # (n,) booleans: where ``noise`` takes the place of the mix


def without_padding(scores: Tensor, padding: int) -> Tensor:
    """Scores (n, vocabulary), changed in place so that ``padding`` is never predicted."""
    scores[:, padding] = -torch.inf
    return scores


def scores_of_inputs(
    model, encoder_out: dict, inputs: Tensor, rows: Tensor, columns: Tensor,
    vectors: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Scores that predict the inputs at ``rows`` and ``columns``, by one decoder pass.

    The pass computes only what is needed: the sentences concerned, up to the last position. The
    output projection and (where no gradient is wanted) the last layer's feed-forward block are
    computed only at the n positions. Padding is not a word and scores -inf.

    Args:
        model: fairseq's Transformer.
        encoder_out: the output of its encoder for the batch.
        inputs: (batch, length) words of the decoder's input.
        rows: (n,) sentences, ascending.
        columns: (n,) positions in them, 1 or more.
        vectors: (n, dim) what replaces the embeddings of these inputs; by default they stay.

    Returns:
        (n, vocabulary).
    """
    decoder = model.decoder
    sentences, own_rows = rows.unique(return_inverse=True)
    # The decoder does not use the hidden states of all encoder layers; do not copy them.
    encoder_out = {**encoder_out, "encoder_states": []}
    if sentences.numel() < inputs.size(0):
        encoder_out = model.encoder.reorder_encoder_out(encoder_out, sentences)
        inputs = inputs[sentences]
    length = int(columns.max())
    with ExitStack() as stack:
        if vectors is not None:
            seen = columns < length
            stack.enter_context(
                embeddings_replaced(
                    decoder.embed_tokens, own_rows[seen], columns[seen], vectors[seen]
                )
            )
        if not torch.is_grad_enabled():
            last = decoder.layers[-1]
            stack.enter_context(only_at(last.fc1, last.fc2, own_rows, columns - 1))
        # Layer -1 does not exist: no attention weights are averaged for an alignment.
        features, _ = decoder(
            inputs[:, :length], encoder_out=encoder_out, features_only=True, alignment_layer=-1
        )
    scores = decoder.output_layer(features[own_rows, columns - 1])
    return without_padding(scores, decoder.padding_idx)
