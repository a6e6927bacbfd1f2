"""The constituency tree of a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nltk import Tree

from fairseq_struct.data.readers.bracket_trees import leaves_of, nodes_of, spans_of, to_line
from fairseq_struct.structure.spans import Span


class ConstituencyParse(Tree):
    """The constituency tree of a sentence: an ``nltk`` tree that knows how it was found.

    It equals any ``nltk`` tree with the same labels and words. It has no ``to_conllu()``: CoNLL-U
    holds dependencies.

    Args:
        node, children: as for ``nltk.Tree``.
        distances: syntactic distances of the words (ON-LSTM paper, eq. 15); None if the model has
            none.
    """

    def __init__(self, node, children=None, distances: Sequence[float] | None = None):
        super().__init__(node, children)
        self.distances = None if distances is None else tuple(distances)

    @classmethod
    def of(cls, found) -> ConstituencyParse:
        """The tree of a :class:`.Constituents`."""
        tree = found.tree()
        return cls(tree.label(), list(tree), found.distances)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tree) and _flat(self) == _flat(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __repr__(self) -> str:
        return f"ConstituencyParse({to_line(self)})"

    def copy(self, deep: bool = False) -> ConstituencyParse:
        """A copy, of the nodes below it only if ``deep``; ``copy.copy`` and ``deepcopy`` use it."""
        copied = super().copy(deep)
        copied.distances = self.distances
        return copied

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the sentence."""
        return tuple(leaves_of(self))

    @property
    def spans(self) -> tuple[Span, ...]:
        """(start, end) of constituents of two or more words, from 0, the end excluded."""
        return tuple(dict.fromkeys(span for _, span in spans_of(self)))

    @property
    def labelled(self) -> bool:
        """Whether the tree has any label: categories of constituents or parts of speech."""
        return any(node.label() for node in nodes_of(self))

    def to_brackets(self) -> str:
        """The tree in one line, ``(X the (X cat sleeps))``; X stands for a missing label."""
        return to_line(self)

    def to_nltk(self) -> Tree:
        """A plain ``nltk.Tree``."""
        return Tree(self.label(), list(self))

    def to_displacy(self) -> dict[str, Any]:
        """Input of spaCy's ``displacy.render(…, style="span", manual=True)``."""
        spans = [
            {"start_token": start, "end_token": end, "label": label or "X"}
            for label, (start, end) in spans_of(self)
        ]
        return {"text": " ".join(self.words), "tokens": list(self.words), "spans": spans}

    def to_dict(self, probabilities: bool = False) -> dict[str, Any]:
        """Words, tree in brackets, spans, and distances if the model has any, as JSON has them.

        Args:
            probabilities: as for :class:`.DependencyParse`; constituents have none.
        """
        found: dict[str, Any] = {
            "words": list(self.words), "tree": to_line(self),
            "spans": [list(span) for span in self.spans],
        }  # fmt: skip
        if self.distances is not None:
            found["distances"] = [round(one, 6) for one in self.distances]
        return found

    def to_svg(self, title: str | None = None, gold: Sequence[Span] | None = None) -> str:
        """Draw the tree, with its distances below the words if the model has any.

        Args:
            title: written above.
            gold: the right spans; others are coloured.
        """
        from fairseq_struct.pages import constituency_svg

        labels, spans = zip(*spans_of(self), strict=True) if self.spans else ((), ())
        return constituency_svg(
            self.words, spans, labels=labels if any(labels) else None, distances=self.distances,
            gold=gold, title=title,
        )  # fmt: skip

    def _repr_html_(self) -> str:
        return self.to_svg()

    def _repr_svg_(self) -> str:  # nltk's needs another package
        return self.to_svg()


def _flat(tree: Tree) -> list:
    """Labels, numbers of children and words, from the outside in; without recursion."""
    found, waiting = [], [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Tree):
            found.append((node.label(), len(node)))
            waiting += reversed(node)
        else:
            found.append(node)
    return found
