"""How compILE recognises segments and their latents in a whole demonstration.

Source: Kipf, Li, Dai, Zambaldi, Sanchez-Gonzalez, Grefenstette, Kohli, Battaglia, "CompILE:
Compositional Imitation Learning and Execution", ICML 2019, section 2.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from fairseq_struct.modules.workers import own_gumbel_noise
from fairseq_struct.structure.precision import at_least_float32


class Segments(NamedTuple):
    """What was recognised in demonstrations; S segments, K latents, ``places`` = steps + 1.

    Attributes:
        boundaries: (S - 1, batch, places) b_i, which sum to one: where segment i has just ended.
            They are one-hot in evaluation, relaxed samples in training.
        boundary_logs: (S - 1, batch, places) log q(b_i); -inf at places that are none.
        latents: (S, batch, K) z_i, one-hot or relaxed likewise.
        latent_logs: (S, batch, K) log q(z_i); both logs are in float32 or more.
        masks: (S, batch, places) how far a step belongs to a segment. They sum to one over
            segments at every step, and to zero at the end and at padding.
    """

    boundaries: Tensor
    boundary_logs: Tensor
    latents: Tensor
    latent_logs: Tensor
    masks: Tensor


class Recognition(nn.Module):
    """q(b_1, z_1, .., b_S, z_S | x, a), one pass of an LSTM for each segment.

    With C_i(t) = sum_{t' <= t} b_i(t'), reached_i(t) = prod_{j < i} C_j(t) is how far the segments
    before i have ended at t. Pass i multiplies both states of the LSTM by reached_i(t) after each
    step, so that it starts anew where segment i does. Then q(b_i = t) = softmax_t(MLP(h_t)) over
    t = 1..L, of a demonstration of L steps that are counted from 0; q(z_i) = softmax(MLP(sum_t
    b_i(t) h_{t-1})); and mask_i(t) = reached_i(t) (1 - C_i(t)). The last segment ends at L.

    Samples are relaxed ones of the Gumbel softmax in training, the most likely places and latents
    in evaluation. As in the published code, place L is the end of the demonstration, read as a
    symbol of its own; boundaries at L leave the later segments empty, and so do those that come
    before an earlier one. (The code's places depend on the padding of the batch; these do not.)

    Args:
        size: of what is read, and of the LSTM.
        options: K.
        segments: S, 2 or more.
        temperature: of the relaxed samples.
    """

    def __init__(self, size: int, options: int, segments: int, temperature: float = 1.0):
        super().__init__()
        self.segments, self.temperature = segments, temperature
        self.cell = nn.LSTMCell(size, size)
        self.boundary = nn.Sequential(nn.Linear(size, size), nn.ReLU(), nn.Linear(size, 1))
        self.latent = nn.Sequential(nn.Linear(size, size), nn.ReLU(), nn.Linear(size, options))

    def forward(self, read: Tensor, lengths: Tensor) -> Segments:
        """Recognise the segments of demonstrations.

        Args:
            read: (batch, places, size) vectors of steps; at ``lengths`` that of the end.
            lengths: (batch,) L, numbers of steps, below the number of places.
        """
        places = torch.arange(read.size(1), device=read.device)
        never = (places == 0) | (places > lengths[:, None])
        end = functional.one_hot(lengths, read.size(1)).to(read.dtype)
        reached = torch.ones_like(end)
        boundaries, boundary_logs, latents, latent_logs, masks = [], [], [], [], []
        for segment in range(self.segments):
            encoded = self._encode(read, reached)
            boundary = end
            if segment < self.segments - 1:
                scores = self.boundary(encoded).squeeze(-1).masked_fill(never, -torch.inf)
                boundary = self._draw(scores)
                boundaries.append(boundary)
                boundary_logs.append(at_least_float32(scores).log_softmax(-1))
            scores = self.latent((boundary[:, 1:, None] * encoded[:, :-1]).sum(1))
            latents.append(self._draw(scores))
            latent_logs.append(at_least_float32(scores).log_softmax(-1))
            ended = boundary.cumsum(1)
            masks.append(reached * (1 - ended))
            reached = reached * ended
        found = boundaries, boundary_logs, latents, latent_logs, masks
        return Segments(*map(torch.stack, found))

    def _encode(self, read: Tensor, reached: Tensor) -> Tensor:
        """States of the LSTM at every place, (batch, places, size)."""
        state = read.new_zeros(2, len(read), self.cell.hidden_size).unbind()
        encoded = []
        for vectors, weight in zip(read.unbind(1), reached.unsqueeze(-1).unbind(1), strict=True):
            state = tuple(weight * part for part in self.cell(vectors, state))
            encoded.append(state[0])
        return torch.stack(encoded, 1)

    def _draw(self, scores: Tensor) -> Tensor:
        if self.training:
            # In half precision, noise may be infinite.
            exact = at_least_float32(scores)
            noisy = (exact + own_gumbel_noise(exact)) / self.temperature
            return noisy.softmax(-1).to(scores.dtype)
        return functional.one_hot(scores.argmax(-1), scores.size(-1)).to(scores.dtype)


def poisson_logs(lengths: Tensor, places: int, rate: float) -> Tensor:
    """Log-probabilities of a Poisson distribution, cut to 1..length, (batch, places).

    p(t) = rate^t / t! / sum_{t' = 1}^{length} rate^t' / t'!; -inf outside.

    Args:
        lengths: (batch,) largest values.
        places: more than the largest length; values are 0..places - 1.
        rate: the mean of the distribution that is not cut.
    """
    values = torch.arange(places, device=lengths.device, dtype=torch.float64)
    logs = values * torch.tensor(rate, dtype=torch.float64).log() - torch.lgamma(values + 1)
    never = (values == 0) | (values > lengths[:, None])
    return logs.masked_fill(never, -torch.inf).log_softmax(-1)
