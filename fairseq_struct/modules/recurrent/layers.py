"""Recurrent layers by name, for language models and classifiers."""

from collections.abc import Sequence

from torch import nn

from fairseq_struct.errors import unknown_name
from fairseq_struct.modules.on_lstm import ONLSTM
from fairseq_struct.modules.recurrent.lstm_layers import LSTMLayers

# Functions that build layers of each kind; all have a method ``run`` as :meth:`.ONLSTM.run`.
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
    """Recurrent layers of the given kind.

    Args:
        cell: one of ``CELLS``.
        input_size: size of the inputs.
        hidden_sizes: size of every layer.
        chunk_size: C of ON-LSTM.
        weight_dropout: dropout of the recurrent weights, one mask for each call.
        between: module applied between layers.

    Raises:
        ValueError: an unknown cell, or a size or probability out of range.
    """
    if cell not in CELLS:
        raise ValueError(unknown_name("cell", cell, CELLS))
    return CELLS[cell](
        input_size, hidden_sizes, chunk_size, weight_dropout=weight_dropout, between=between
    )
