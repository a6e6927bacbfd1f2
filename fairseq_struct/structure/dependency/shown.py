"""How distributions over trees show themselves, in a session and in a notebook."""

from __future__ import annotations

from torch import Tensor

# Sentences and words of a table; larger ones would fill the screen.
SENTENCES, WORDS = 3, 15
_CELL = '<td style="text-align:right;background:rgba(27,108,168,{shade:.2f})">{value:.2f}</td>'


class ShownTrees:
    """What :class:`.DependencyTrees` shows: its sizes and options; in a notebook, marginals."""

    scores: Tensor
    lengths: Tensor
    projective: bool
    single_root: bool
    marginals: Tensor

    def __repr__(self) -> str:
        batch, n = self.scores.shape[:2]
        kind = "projective" if self.projective else "nonprojective"
        roots = "single root" if self.single_root else "any number of roots"
        shortest = int(self.lengths.min()) if batch else n
        words = f"n={n}" if shortest == n else f"n={n} (lengths {shortest} to {n})"
        where = f"{str(self.scores.dtype).removeprefix('torch.')} on {self.scores.device}"
        return f"{type(self).__name__}(batch={batch}, {words}, {kind}, {roots}, {where})"

    def _repr_html_(self) -> str:
        parts = [f"<p>{self!r}: marginals, heads in rows, modifiers in columns</p>"]
        marginals = self.marginals.detach().cpu()
        for row, size in zip(marginals[:SENTENCES], self.lengths.tolist(), strict=False):
            parts.append(_table(row[:size, :size].tolist()))
        hidden = len(marginals) - SENTENCES
        return "".join([*parts, f"<p>… and {hidden} more</p>" if hidden > 0 else ""])


def _table(marginals: list[list[float]]) -> str:
    """A table of (n, n) marginals; the first row has the arcs from the root."""
    count = min(len(marginals), WORDS)
    rows = [("root", [marginals[m][m] for m in range(count)])]
    for head in range(count):
        own = [0.0 if head == m else marginals[head][m] for m in range(count)]
        rows.append((str(head + 1), own))
    first = "".join(f"<th>{m + 1}</th>" for m in range(count))
    lines = [
        f"<tr><th>{name}</th>{''.join(_CELL.format(shade=v, value=v) for v in own)}</tr>"
        for name, own in rows
    ]
    left = len(marginals) - count
    more = f"<p>… and {left} more words</p>" if left else ""
    return f"<table><tr><th></th>{first}</tr>{''.join(lines)}</table>{more}"
