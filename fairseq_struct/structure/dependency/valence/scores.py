"""Scores of trees with valence: checked, in float64, without -inf.

Indices of directions, of what a side has had so far, and of decisions:

    LEFT, RIGHT     the side of a head on which a modifier stands
    NONE, SOME      whether the head already has a modifier on this side
    STOP, GO        no further modifier on this side, or one more
"""

import torch
from torch import Tensor

from fairseq_struct.structure import checks
from fairseq_struct.structure.given_tensors import is_differentiated
from fairseq_struct.structure.log_domain import FORBIDDEN, LOWEST

LEFT, RIGHT = 0, 1
NONE, SOME = 0, 1
STOP, GO = 0, 1

_ENTRIES = {
    "attach": "attach {1} -> {2} in sentence {0}",
    "stop": "stop {1}, direction {2}, valence {3}, decision {4} in sentence {0}",
    "root": "root {1} in sentence {0}",
}


class ValenceScores:
    """Scores by the names ``attach``, ``stop`` and ``root``, and the sentences' lengths.

    ``words`` (batch, n) tells what is a word, and ``dtype`` is the attachments'.

    Args:
        attach: (batch, n, n) or (batch, n, n, 2): [b, h, m], or [b, h, m, v] with v NONE or SOME,
            for the arc from word h to word m. The diagonal is ignored.
        stop: (batch, n, 2, 2, 2): [b, h, direction, v, decision].
        root: (batch, n): the root's arc to each word.
        lengths: (batch,) words per sentence, 1 to n; n if not given.

    Raises:
        TypeError: scores that are not tensors.
        ValueError: wrong shapes, a length out of range, or a score that is NaN or above 1e12.
    """

    def __init__(self, attach: Tensor, stop: Tensor, root: Tensor, lengths: Tensor | None = None):
        attach, stop, root = (checks.scores_as_given(scores) for scores in (attach, stop, root))
        if root.dim() != 2 or root.size(1) == 0:
            raise ValueError(
                f"root scores must have shape (batch, n) with n >= 1, not {tuple(root.shape)}"
            )
        batch, n = root.shape
        if attach.shape not in ((batch, n, n), (batch, n, n, 2)):
            raise ValueError(
                f"attach scores must have shape ({batch}, {n}, {n}) or ({batch}, {n}, {n}, 2), "
                f"as the root scores have shape ({batch}, {n}), not {tuple(attach.shape)}"
            )
        if stop.shape != (batch, n, 2, 2, 2):
            raise ValueError(
                f"stop scores must have shape ({batch}, {n}, 2, 2, 2), not {tuple(stop.shape)}"
            )
        self.dtype = attach.dtype
        with torch.inference_mode(False):  # autograd keeps no tensors of inference mode
            self.lengths = checks.sentence_lengths(lengths, root)
            words = torch.arange(n, device=root.device) < self.lengths[:, None]
            arcs = words[:, :, None] & words[:, None, :]
            arcs &= ~torch.eye(n, dtype=torch.bool, device=root.device)
        self.words = words
        self._parts = {
            "attach": (arcs[..., None], attach),
            "stop": (words[:, :, None, None, None], stop),
            "root": (words, root),
        }
        for name, own in self.given.items():
            checks.refuse_nan_and_infinity(own.detach(), _ENTRIES[name])
            if (own.detach() > -LOWEST).any():  # it would outweigh what is forbidden
                raise ValueError(f"{name} scores must be at most {-LOWEST:g}")

    @property
    def given(self) -> dict[str, Tensor]:
        """Scores by name, in float64, 0 outside of sentences; attachments have both valences.

        They are made anew each time, so that each has a graph of its own.
        """
        found = {}
        for name, (inside, scores) in self._parts.items():
            if name == "attach" and scores.dim() == 3:
                scores = scores[..., None].expand(*scores.shape, 2)
            found[name] = torch.where(inside, scores.double(), 0.0)
        return found

    @property
    def differentiated(self) -> bool:
        """Whether derivatives in the scores may be wanted."""
        return any(is_differentiated(scores) for _, scores in self._parts.values())

    def bounded(self) -> tuple[Tensor, Tensor, Tensor]:
        """Scores of attachments, stops and roots for sums; those below -1e12 are forbidden."""
        return tuple(
            scores.masked_fill(scores < LOWEST, FORBIDDEN) for scores in self.given.values()
        )
