"""The recurrent networks that language models and classifiers choose from by name."""

from collections.abc import Sequence

from torch import nn

from fairseq_struct.errors import unknown_name
from fairseq_struct.modules.lstm_layers import LSTMLayers
from fairseq_struct.modules.on_lstm import ONLSTM

# What makes layers of each kind; they run as :meth:`.ONLSTM.run` does.
CELLS = {
    "on_lstm": lambda size, sizes, chunk_size, **options: ONLSTM(
        size, sizes, chunk_size=chunk_size, **options
    ),
    "lstm": lambda size, sizes, chunk_size, **options: LSTMLayers(size, sizes, **options),
}


def recurrent_layers(
    cell: str,
    input_size: int,
    hidden_sizes: Sequence[int],
    chunk_size: int = 10,
    weight_dropout: float = 0.0,
    between: nn.Module | None = None,
) -> nn.Module:
    """Recurrent layers of a kind.

    Args:
        cell: one of ``CELLS``.
        input_size: size of the inputs.
        hidden_sizes: of every layer.
        chunk_size: C of ON-LSTM.
        weight_dropout: of the recurrent weights, one mask for each call.
        between: module for what goes from layer to layer.

    Raises:
        ValueError: an unknown cell, or a size or probability out of range.
    """
    if cell not in CELLS:
        raise ValueError(unknown_name("cell", cell, CELLS))
    return CELLS[cell](
        input_size, hidden_sizes, chunk_size, weight_dropout=weight_dropout, between=between
    )
