"""The translation of a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any


class Translation(str):
    """A translation, as detokenised text; it equals the text alone.

    Args:
        text: the text.
        source: the sentence that was translated.
        tokens: the symbols that the model wrote, without the end of the sentence.
        score: of the hypothesis, in bits, as ``fairseq-generate`` prints it: the sum of
            ``token_scores``, divided by their number to the power of the length penalty. None for
            an empty sentence.
        token_scores: log2 p of each symbol, and of the end of the sentence.
        alternatives: the best translations, the best one (equal to this one) first.
    """

    source: str
    tokens: tuple[str, ...]
    score: float | None
    token_scores: tuple[float, ...]
    alternatives: tuple[Translation, ...]

    def __new__(
        cls, text: str, source: str = "", tokens: Sequence[str] = (), score: float | None = None,
        token_scores: Sequence[float] = (), alternatives: Sequence[Translation] = (),
    ):  # fmt: skip
        self = super().__new__(cls, text)
        self.source, self.tokens, self.score = source, tuple(tokens), score
        self.token_scores, self.alternatives = tuple(token_scores), tuple(alternatives)
        return self

    def __repr__(self) -> str:
        score = "" if self.score is None else f", score {self.score:.3f}"
        more = f", {len(self.alternatives)} alternatives" if len(self.alternatives) > 1 else ""
        return f"Translation({self.text!r}{score}{more})"

    @property
    def text(self) -> str:
        """The translation as a plain string."""
        return str.__str__(self)

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the text."""
        return tuple(self.split())

    def to_dict(self) -> dict[str, Any]:
        """Source, translation, symbols, scores and alternatives, as JSON has them."""
        found = {"source": self.source, **self._own()}
        if len(self.alternatives) > 1:
            found["alternatives"] = [one._own() for one in self.alternatives]
        return found

    def _own(self) -> dict[str, Any]:
        return {
            "translation": self.text,
            "score": None if self.score is None else round(self.score, 6),
            "tokens": list(self.tokens),
            "token_scores": [round(one, 6) for one in self.token_scores],
        }

    def _repr_html_(self) -> str:
        rows = "".join(
            f'<tr><td style="text-align:left">{escape(one.text)}</td>'
            f"<td>{'' if one.score is None else f'{one.score:.3f}'}</td></tr>"
            for one in self.alternatives or (self,)
        )
        return f"<p>{escape(self.source)}</p><table>{rows}</table>"
