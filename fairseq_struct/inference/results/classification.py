"""The label of a sentence or pair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from fairseq_struct.inference.results.constituency_parse import ConstituencyParse
from fairseq_struct.inference.results.dependency_parse import DependencyParse

_BAR = (
    '<tr><td style="text-align:left">{label}</td><td style="text-align:left">'
    '<span style="display:inline-block;height:0.7em;width:{width}px;background:#1b6ca8"></span>'
    " {chance:.3f}</td></tr>"
)


class Classification(str):
    """The most likely label, as text; it equals the label alone.

    Args:
        label: the label.
        probabilities: probability of each label.
        sentences: the words of the sentence, or of both sentences of a pair.
        trees: the tree that the model found for each sentence; () for a model without trees.
    """

    probabilities: dict[str, float]
    sentences: tuple[tuple[str, ...], ...]
    trees: tuple[DependencyParse | ConstituencyParse, ...]

    def __new__(
        cls, label: str, probabilities: Mapping[str, float] | None = None,
        sentences: Sequence[Sequence[str]] = (),
        trees: Sequence[DependencyParse | ConstituencyParse] = (),
    ):  # fmt: skip
        self = super().__new__(cls, label)
        self.probabilities = dict(probabilities or {})
        self.sentences = tuple(map(tuple, sentences))
        self.trees = tuple(trees)
        return self

    def __repr__(self) -> str:
        chance = self.probabilities.get(self.label)
        text = " / ".join(" ".join(words) for words in self.sentences)
        shown = [repr(self.label), *([] if chance is None else [f"{chance:.3f}"]), repr(text)]
        return f"Classification({', '.join(shown)})"

    @property
    def label(self) -> str:
        """The label as a plain string."""
        return str.__str__(self)

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the first sentence."""
        return self.sentences[0] if self.sentences else ()

    @property
    def tree(self) -> DependencyParse | ConstituencyParse | None:
        """The tree of the first sentence; None for a model without trees."""
        return self.trees[0] if self.trees else None

    def to_dict(self) -> dict[str, Any]:
        """Sentences, label, probabilities, and trees if the model finds any, as JSON has them."""
        found: dict[str, Any] = {
            "sentences": [list(words) for words in self.sentences],
            "label": self.label,
            "probabilities": {name: round(p, 6) for name, p in self.probabilities.items()},
        }
        if self.trees:
            found["trees"] = [tree.to_dict() for tree in self.trees]
        return found

    def _repr_html_(self) -> str:
        rows = "".join(
            _BAR.format(label=escape(name), width=round(120 * chance), chance=chance)
            for name, chance in self.probabilities.items()
        )
        text = " / ".join(escape(" ".join(words)) for words in self.sentences)
        trees = "".join(tree.to_svg() for tree in self.trees)
        return f"<p>{text}: <b>{escape(self.label)}</b></p><table>{rows}</table>{trees}"
