"""Draws dependency trees as arcs above their words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from fairseq_struct.errors import InputError
from fairseq_struct.pages.dependencies.arc_levels import PORT, levels_of, ports_of
from fairseq_struct.pages.drawing.inputs import checked_words, one_for_each, shares_in
from fairseq_struct.pages.drawing.keys import HEADING, with_heading, with_key
from fairseq_struct.pages.drawing.shapes import BLUE, GREEN, RED, Arc, Label, Picture, Shape
from fairseq_struct.pages.drawing.text import SMALL_SIZE, runs_from_right, shortened, width_of
from fairseq_struct.pages.drawing.word_places import columns_apart

# Height of the first level, and from a level to the next one, without and with labels.
_FIRST, _STEP, _LABELLED_STEP = 20, 14, 20
# Height of the line of words; from an arc's line to its label; around a label; at the edges.
_WORDS, _ABOVE, _BESIDE, _MARGIN = 24, 3, 10, 4
_FAINTEST = 0.45  # on a dark ground, less is hardly seen


@dataclass(frozen=True)
class _Tree:
    words: list[str]
    heads: list[int]
    labels: list[str] | None
    probabilities: list[float] | None
    gold: list[int] | None

    def label(self, modifier: int) -> str:
        return self.labels[modifier - 1] if self.labels else ""

    def wrong(self, modifier: int) -> bool:
        return self.gold is not None and self.heads[modifier - 1] != self.gold[modifier - 1]

    def missed(self) -> dict[int, int]:
        """From each modifier with a wrong head to the right one."""
        return {place: head for place, head in enumerate(self.gold or (), 1) if self.wrong(place)}


class _Side:
    """The arcs above the words, or below them: their heights and ends."""

    def __init__(self, heads: Mapping[int, int], tree: _Tree, below: bool = False):
        self.heads, self.tree, self.below = heads, tree, below
        self.arcs = {modifier: head for modifier, head in heads.items() if head}
        self.levels = levels_of(self.arcs)
        self.starts, self.ends = ports_of(self.arcs, self.levels)
        self.labelled = tree.labels is not None and not below

    def label(self, modifier: int) -> str:
        return self.tree.label(modifier) if self.labelled else ""

    def apart(self) -> Iterator[tuple[int, int, float]]:
        """How far the ends of each arc must be apart for its label, and for a round corner each."""
        for modifier, head in self.arcs.items():
            ports = abs(self.starts[modifier]) + abs(self.ends[modifier])
            text = width_of(self.label(modifier), SMALL_SIZE) + _BESIDE if self.labelled else 0.0
            low, high = sorted((modifier, head))
            yield low - 1, high - 1, ports + max(text, 16.0)

    def widths(self) -> list[float]:
        """How wide each column is at least, for all ends of arcs, and the label of a root."""
        reach = [PORT] * len(self.tree.words)
        for modifier, head in self.arcs.items():
            for place, offset in ((head, self.starts), (modifier, self.ends)):
                reach[place - 1] = max(reach[place - 1], abs(offset[modifier]) + PORT)
        for modifier, head in self.heads.items():
            if not head and self.labelled:
                half = width_of(self.label(modifier), SMALL_SIZE) / 2 + _MARGIN
                reach[modifier - 1] = max(reach[modifier - 1], half)
        return [2 * one for one in reach]

    @property
    def height(self) -> float:
        """From the words to the end of the picture."""
        if not self.heads:
            return 0.0
        step = _LABELLED_STEP if self.labelled else _STEP
        label = SMALL_SIZE + _ABOVE if self.labelled else 0
        top = self.reach(max(self.levels.values(), default=0))
        # An arc from the root begins above all others.
        return top + label + (step if len(self.arcs) < len(self.heads) else _MARGIN)

    def reach(self, level: int) -> float:
        step = _LABELLED_STEP if self.labelled else _STEP
        return _FIRST + (level - 1) * step

    def shapes(self, centres: Sequence[float], y: float) -> list[Shape]:
        """All arcs with their labels; ``y`` is where they reach the words."""
        found: list[Shape] = []
        for modifier, head in self.heads.items():
            x = centres[modifier - 1]
            if head:
                start = centres[head - 1] + self.starts[modifier]
                end, height = x + self.ends[modifier], self.reach(self.levels[modifier])
            else:
                label = SMALL_SIZE + _ABOVE if self.labelled else 0
                start, end, height = x, x, self.height - label
            arc = self._arc(modifier, head, start, end)
            found.append(arc._replace(y=y, height=-height if self.below else height))
            if self.label(modifier):
                text, middle = self.label(modifier), (start + end) / 2
                colour = {"colour": RED} if arc.colour == RED else {}
                found.append(Label(middle, y - height - _ABOVE, text, SMALL_SIZE, **colour))
        return found

    def _arc(self, modifier: int, head: int, start: float, end: float) -> Arc:
        tree = self.tree
        hint = f"{tree.words[head - 1] if head else 'root'} → {tree.words[modifier - 1]}"
        if self.below:
            return Arc(start, end, 0, 0, GREEN, 1.0, f"gold: {hint}")
        colour, shade = (RED if tree.wrong(modifier) else BLUE), 1.0
        if tree.label(modifier):
            hint += f" ({tree.label(modifier)})"
        if tree.probabilities is not None:
            probability = tree.probabilities[modifier - 1]
            hint += f": {probability:.3f}"
            shade = _FAINTEST + (1 - _FAINTEST) * probability
        return Arc(start, end, 0, 0, colour, shade, hint)


def dependency_picture(
    words: Sequence[str],
    heads: Sequence[int],
    *,
    labels: Sequence[str] | None = None,
    probabilities: Sequence[float] | None = None,
    gold: Sequence[int] | None = None,
    title: str | None = None,
    key: bool = True,
) -> Picture:
    """Draw one tree; arcs point at modifiers, and come straight from above at words of the root.

    Args:
        words: words of the sentence.
        heads: 1-based, 0 for the root.
        labels: relation of each word to its head.
        probabilities: of the arcs, from 0 to 1: the less likely, the fainter the arc.
        gold: the right heads. Arcs that differ are red, the right ones are green, below the words.
        title: a heading.
        key: whether a line below tells how many heads differ from ``gold``.

    Raises:
        InputError: no word, or values that are not those of the words.
    """
    tree = _checked(words, heads, labels, probabilities, gold)
    above = _Side(dict(enumerate(tree.heads, 1)), tree)
    below = _Side(tree.missed(), tree, below=True)
    least = [max(pair) for pair in zip(above.widths(), below.widths(), strict=True)]
    shown = [shortened(word) for word in tree.words]
    columns = columns_apart(shown, [*above.apart(), *below.apart()], least)
    centres = [(left + right) / 2 for left, right in columns]
    y = (HEADING if title else 0) + above.height + _MARGIN
    shapes = above.shapes(centres, y)
    for x, text, word in zip(centres, shown, tree.words, strict=True):
        shapes.append(Label(x, y + 17, text, hint="" if text == word else word))
    shapes += below.shapes(centres, y + _WORDS)
    height = y + _WORDS + _MARGIN + below.height
    told = f"Dependency tree of: {' '.join(tree.words)}"
    picture = Picture(columns[-1][1], height, shapes, told)
    if runs_from_right(tree.words):
        picture = picture.mirrored()
    if gold is not None:
        picture = picture._replace(differences=len(below.heads))
        found = f"{len(below.heads)} of {len(tree.words)} heads differ from gold"
        picture = with_key(picture, found) if key else picture
    return with_heading(picture, title)


def _checked(words, heads, labels, probabilities, gold) -> _Tree:
    words = checked_words(words)
    count = len(words)
    trees = {"heads": heads} | ({} if gold is None else {"gold heads": gold})
    found = {}
    for name, values in trees.items():
        found[name] = one_for_each(words, values, name, int)
        for modifier, head in enumerate(found[name], 1):
            if not 0 <= head <= count or head == modifier:
                raise InputError(f"{name}: word {modifier} of {count} cannot have the head {head}")
    if labels is not None:
        labels = one_for_each(words, labels, "labels", str)
    if probabilities is not None:
        probabilities = one_for_each(words, probabilities, "probabilities", float)
        probabilities = shares_in(probabilities, "probabilities")
    return _Tree(words, found["heads"], labels, probabilities, found.get("gold heads"))
