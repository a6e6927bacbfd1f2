"""A linear classifier for each value of a latent choice, and an encoder that makes the choice."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, one_hot

from fairseq_struct.errors import InputError, unknown_name
from fairseq_struct.modules.latent_structure import LatentStructure
from fairseq_struct.structure.categorical import Categorical
from fairseq_struct.structure.precision import at_least_float32
from fairseq_struct.structure.softmax_diagonal import SoftmaxDiagonal

BASELINES = ("linear", "gold")
# The methods of pullback.py, by their names for a single choice, and two more.
LATENT_METHODS = (
    *BASELINES, "softmax", "sparsemax", "gumbel_softmax", "st_gumbel", "sfe", "sfe_baseline",
    "ste_softmax", "ste_softmax_diagonal", "ste_identity", "spigot", "spigot_ce", "spigot_eg",
)  # fmt: skip
# Names in pullback.py of those two.
_IN_PULLBACK = {"sfe_baseline": "sfe", "ste_softmax_diagonal": "ste_softmax"}


@dataclass
class Classified:
    """Result of :class:`LatentClassifier`.

    Args:
        losses: (batch,) losses, to be summed or averaged and differentiated.
        logits: (batch,) scores of y = 1, without gradient.
        clusters: (batch,) the latent choices with the highest scores.
    """

    losses: Tensor
    logits: Tensor
    clusters: Tensor


class LatentClassifier(LatentStructure):
    """Binary classifier of x with one latent choice among K (Mihaylova's thesis, section 4.5.1).

    s = W_f x + b_f, z = rho(s), logit = z' W_g x + b_g (eq. 4.15). ``linear`` has no latent
    choice (K = 1). ``gold`` reads the true choice. The other methods are those of
    :func:`fairseq_struct.structure.pullback.latent`; ``sfe_baseline`` is ``sfe`` with a moving
    average of the loss as control variate, and ``ste_softmax_diagonal`` is ``ste_softmax`` as the
    code of Mihaylova's thesis computes it (:class:`.SoftmaxDiagonal`).

    Each of the two labels has its own W_g and b_g, and the logit is the difference of their scores.
    With 10 clusters this gives the numbers of parameters in Mihaylova's thesis, table A.1. A single
    W_g could express the same, but a step of Adam would change the logit half as fast. The speed
    of the decoder relative to the encoder decides how well clusters are found. W_g and b_g start as
    in ``torch.nn.Bilinear``, with entries up to K^-1/2: at first the encoder learns from the
    differences between rows.

    Args:
        dim: size of x.
        clusters: K.
        method: one of ``LATENT_METHODS``.
        step_size: eta of the pulled-back methods, for the loss of one instance: see
            :mod:`fairseq_struct.structure.pullback`.
        steps: number of steps k of the pulled-back methods.
        temperature: of the two methods with Gumbel noise.

    Raises:
        InputError: an unknown method, or a number out of range.
    """

    def __init__(
        self,
        dim: int,
        clusters: int,
        method: str,
        step_size: float = 1.0,
        steps: int = 1,
        temperature: float = 1.0,
    ):
        if method not in LATENT_METHODS:
            raise InputError(unknown_name("latent method", method, LATENT_METHODS))
        if dim < 1:
            raise InputError(f"inputs need at least 1 dimension, not {dim}")
        if clusters < 2:
            raise InputError(f"a latent choice needs at least 2 clusters, not {clusters}")
        super().__init__(
            _IN_PULLBACK.get(method, method), step_size, steps, temperature,
            averaged=method == "sfe_baseline",
        )  # fmt: skip
        self.choice = SoftmaxDiagonal if method == "ste_softmax_diagonal" else Categorical
        self.encoder = None if method in BASELINES else nn.Linear(dim, clusters)
        rows = 1 if method == "linear" else clusters
        bound = (dim if method == "linear" else clusters) ** -0.5
        self.decoder_weight = nn.Parameter(torch.empty(2, rows, dim).uniform_(-bound, bound))
        self.decoder_bias = nn.Parameter(torch.empty(2).uniform_(-bound, bound))

    def forward(self, inputs: Tensor, targets: Tensor, clusters: Tensor) -> Classified:
        """Losses and predictions.

        Args:
            inputs: x, (batch, dim).
            targets: y, (batch,) zeros and ones.
            clusters: true z, (batch,) integers; only ``gold`` reads them.
        """
        # z' (W_g x), in this order: each further call of the decoder costs only batch x K products.
        projected = nn.functional.linear(inputs, self.decoder_weight[1] - self.decoder_weight[0])
        bias = self.decoder_bias[1] - self.decoder_bias[0]

        def decode(z: Tensor) -> Tensor:
            return at_least_float32((z * projected).sum(1) + bias)

        def losses_of(z: Tensor) -> Tensor:
            logits = decode(z)
            return binary_cross_entropy_with_logits(logits, targets.to(logits), reduction="none")

        if self.encoder is None:
            chosen = clusters if self.method == "gold" else torch.zeros_like(clusters)
            z = one_hot(chosen, projected.size(1)).to(projected.dtype)
            losses = losses_of(z)
        else:
            scores = self.encoder(inputs)
            chosen = scores.detach().argmax(1)
            if self.training:
                result = self._learn(scores, self.choice, losses_of)
                z, losses = result.value, result.losses
            else:
                z = self._read(scores, self.choice)
                losses = losses_of(z)
        with torch.no_grad():
            logits = decode(z)
        return Classified(losses, logits, chosen)
