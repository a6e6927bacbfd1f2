"""The dependency tree of a sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from torch import Tensor

from fairseq_struct.data.readers.conllu import to_conllu


class DependencyParse(tuple):
    """The heads of a sentence's words, 1-based, 0 for the root.

    It is a tuple of heads, and equals a tuple or list of the same heads, whatever its words.

    Args:
        heads: one for each word.
        words: the words.
        marginals: returns the probabilities (n, n) of all arcs, those of the root on the diagonal;
            None for a model without them.

    Raises:
        ValueError: there are more or fewer heads than words.
    """

    words: tuple[str, ...]

    def __new__(
        cls, heads: Iterable[int], words: Sequence[str] = (),
        marginals: Callable[[], Tensor] | None = None,
    ):  # fmt: skip
        self = super().__new__(cls, heads)
        self.words = tuple(words) or ("_",) * len(self)
        if len(self.words) != len(self):
            raise ValueError(f"{len(self)} heads for {len(self.words)} words")
        self._marginals = marginals
        return self

    def __eq__(self, other: object) -> bool:
        return tuple(self) == tuple(other) if isinstance(other, list) else super().__eq__(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = tuple.__hash__

    def __reduce__(self):
        # Its own marginals alone: the function holds those of a batch, on the model's device.
        known = self.marginals
        given = None if known is None else partial(_itself, known)
        return type(self), (self.heads, self.words, given)

    def __repr__(self) -> str:
        arcs = zip(self.words, self, strict=True)
        drawn = " ".join(f"{word}←{self.words[h - 1] if h else 'ROOT'}" for word, h in arcs)
        return f"DependencyParse({list(self)}: {drawn})"

    @property
    def heads(self) -> tuple[int, ...]:
        """The heads as a plain tuple."""
        return tuple(self)

    @property
    def marginals(self) -> Tensor | None:
        """P(arc) of all arcs, (n, n): [h, m] from word h to m, from 0; [m, m] from the root.

        The probability of a tree is proportional to exp(sum of its arcs' scores), over the trees
        that the model searches. None for a model without scores of arcs. The tensor is the
        caller's own.
        """
        return None if self._marginals is None else self._marginals().clone()

    @property
    def probabilities(self) -> tuple[float, ...] | None:
        """The marginal of each word's arc in this tree; None as for :attr:`marginals`."""
        marginals = self.marginals
        if marginals is None:
            return None
        return tuple(
            marginals[head - 1 if head else place, place].item() for place, head in enumerate(self)
        )

    def to_conllu(self, comments: Sequence[str] = (), probabilities: bool = False) -> str:
        """Write CoNLL-U, with the empty line at its end.

        Args:
            comments: first lines, without ``#``.
            probabilities: add ``Prob=0.93`` to the last column, where the model has them.

        Raises:
            InputError: a comment has a line break.
        """
        known = self.probabilities if probabilities else None
        notes = () if known is None else [f"Prob={one:.4f}" for one in known]
        return to_conllu(self.words, self, comments, notes=notes)

    def to_nltk(self):
        """The tree as :class:`nltk.parse.DependencyGraph`."""
        from nltk.parse import DependencyGraph

        return DependencyGraph(self.to_conllu(), cell_separator="\t", top_relation_label="root")

    def to_displacy(self) -> dict[str, Any]:
        """Input of spaCy's ``displacy.render(…, style="dep", manual=True)``; it draws no root."""
        arcs = []
        for place, head in enumerate(self):
            if head:
                start, end = sorted((place, head - 1))
                side = "left" if place < head - 1 else "right"
                arcs.append({"start": start, "end": end, "label": "", "dir": side})
        return {"words": [{"text": word, "tag": ""} for word in self.words], "arcs": arcs}

    def to_dict(self, probabilities: bool = False) -> dict[str, Any]:
        """Words and heads, and on request the probabilities of the arcs, as JSON has them."""
        found: dict[str, Any] = {"words": list(self.words), "heads": list(self)}
        if probabilities:
            known = self.probabilities
            found["probabilities"] = None if known is None else [round(one, 6) for one in known]
        return found

    def to_svg(self, title: str | None = None, gold: Sequence[int] | None = None) -> str:
        """Draw the tree; the less probable an arc, the paler.

        Args:
            title: written above.
            gold: the right heads; arcs that differ are coloured.
        """
        from fairseq_struct.pages import dependency_svg

        return dependency_svg(
            self.words, self, probabilities=self.probabilities, gold=gold, title=title
        )

    def _repr_html_(self) -> str:
        return self.to_svg()


def _itself(marginals: Tensor) -> Tensor:
    """What a copy of a parse asks for its marginals."""
    return marginals
