"""Layers of torch's LSTM with dropout of recurrent weights, as in AWD-LSTM."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from fairseq_struct.modules.dropouts import DropConnect
from fairseq_struct.modules.masks import check_lengths
from fairseq_struct.modules.on_lstm import ONLSTMOutput
from fairseq_struct.modules.recurrent.torch_lstm import lstm
from fairseq_struct.structure.checks import of_shape


class LSTMLayers(nn.Module):
    """LSTM layers with :class:`.DropConnect` on U (Merity et al., 2018); interface of ``ONLSTM``.

    Args:
        input_size: size of x_t.
        hidden_sizes: size of every layer.
        weight_dropout: dropout of the recurrent weights, one mask for each call.
        between: module applied between layers.

    Raises:
        ValueError: there is no layer, a size is below 1, or the dropout is not in [0, 1).
    """

    def __init__(
        self, input_size: int, hidden_sizes: Sequence[int], weight_dropout: float = 0.0,
        between: nn.Module | None = None,
    ):  # fmt: skip
        super().__init__()
        sizes = list(hidden_sizes)
        if not sizes or min(input_size, *sizes) < 1:
            raise ValueError("there must be at least one layer, and all sizes 1 or more")
        self.layers = nn.ModuleList(
            nn.LSTM(given, size) for given, size in zip([input_size, *sizes], sizes, strict=False)
        )
        self.drop_connect = DropConnect(weight_dropout)
        self.between = nn.Identity() if between is None else between

    def run(self, inputs: Tensor, state=None, lengths: Tensor | None = None) -> ONLSTMOutput:
        """As :meth:`.ONLSTM.run`, but without distances: they are (0, T, batch).

        Args:
            inputs: (T, batch, input_size).
            state: h_0 and c_0 of every layer, two tuples of (batch, D).
            lengths: (batch,) steps of each sequence, 0 to T, a tensor or a list; T if not given.

        Raises:
            ValueError: lengths of another batch, or out of range.
        """
        steps, batch, _ = inputs.shape
        if lengths is not None:
            if not isinstance(lengths, Tensor):
                lengths = torch.tensor(lengths, device="cpu")
            check_lengths(lengths, steps, 0)
            lengths = of_shape("lengths", lengths, (batch,)).long()
            # Gradients of the weights would read what a sequence without steps holds.
            empty = (lengths == 0).to(inputs.device)[None, :, None]
            inputs = inputs.masked_fill(empty, 0.0)
        if state is None:
            zeros = [inputs.new_zeros(batch, layer.hidden_size) for layer in self.layers]
            state = zeros, zeros
        given, outputs, hidden, cells = inputs, [], [], []
        for number, (layer, h, c) in enumerate(zip(self.layers, *state, strict=True)):
            if number:
                given = self.between(given)
            given, h, c = self._layer(layer, given, h, c, lengths)
            outputs.append(given)
            hidden.append(h)
            cells.append(c)
        nothing = inputs.new_zeros(0, steps, batch)
        return ONLSTMOutput(given, (tuple(hidden), tuple(cells)), tuple(outputs), nothing)

    def _layer(self, layer: nn.LSTM, given: Tensor, h: Tensor, c: Tensor, lengths: Tensor | None):
        weights = [
            layer.weight_ih_l0, self.drop_connect(layer.weight_hh_l0),
            layer.bias_ih_l0, layer.bias_hh_l0,
        ]  # fmt: skip
        if lengths is None:
            start = h[None].contiguous(), c[None].contiguous()
            output, last_h, last_c = lstm(given, start, weights, self.training, batch_first=False)
            return output, last_h[0], last_c[0]
        # Packing refuses empty sequences: such a sequence reads one step, whose result is dropped.
        packed = pack_padded_sequence(given, lengths.cpu().clamp_min(1), enforce_sorted=False)
        order, back = packed.sorted_indices, packed.unsorted_indices
        start = h[order][None], c[order][None]
        # (has bias, layers, dropout, training, bidirectional): no dropout after one layer.
        options = True, 1, 0.0, self.training, False
        data, last_h, last_c = torch.lstm(packed.data, packed.batch_sizes, start, weights, *options)
        output, _ = pad_packed_sequence(packed._replace(data=data), total_length=len(given))
        empty = (lengths == 0).to(h.device)[:, None]
        last = (torch.where(empty, old, new[0][back]) for old, new in ((h, last_h), (c, last_c)))
        return output.masked_fill(empty, 0.0), *last
