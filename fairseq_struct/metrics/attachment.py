"""Attachment scores of dependency trees, directed and undirected."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from operator import index

# Those of section 5.5 of Mihaylova's thesis, which parsers are validated by.
SCORES = ("uas", "modifier_list", "modifier_count", "exact_match")


@dataclass
class AttachmentScores:
    """Counts words with the correct head (tables 7 and 9 of Shen's thesis, chapter 4).

    ``uas`` is the share of words with the correct head; modifiers of the root count. ``uuas`` is
    the share of gold arcs that are predicted in either direction, as pairs of words. Arcs of the
    root are not pairs.

    Of Mihaylova's thesis, section 5.5: ``exact_match`` is the share of sentences without a wrong
    head. ``modifier_list`` is the share of words with modifiers whose modifiers are all right, and
    to which no other word is attached. ``modifier_count`` is what the published code computes: it
    compares only the number of modifiers, and counts a word's arc from the root as one of its own.

    Sentences of one word have no pairs and no words with modifiers. A share of nothing is 0 here,
    for logs of trainings; ``fairseq-struct evaluate`` leaves it out.

    The fields are sums over sentences, so that those of several workers can be added.
    """

    words: int = 0
    right: int = 0
    pairs: int = 0
    joined: int = 0
    sentences: int = 0
    exact: int = 0
    with_modifiers: int = 0
    lists: int = 0
    with_arcs: int = 0
    counts: int = 0

    def add(self, predicted: Sequence[int], gold: Sequence[int]):
        """Add a sentence.

        Args:
            predicted, gold: heads, 1-based and 0 for the root, as lists, tensors or arrays.
                Predicted ones need not be a tree.

        Raises:
            TypeError: a head is not an integer.
            ValueError: the lengths differ, or a head is outside the sentence.
        """
        # Elements of tensors would be keys by their identity.
        predicted, gold = ([index(head) for head in heads] for heads in (predicted, gold))
        n = len(gold)
        if len(predicted) != n:
            raise ValueError(f"{len(predicted)} predicted heads for {n} gold ones")
        for heads in (predicted, gold):
            for head in heads:
                if not 0 <= head <= n:
                    raise ValueError(f"{head} is not a valid head in a sentence of {n} words")
        self.words += n
        self.right += sum(a == b for a, b in zip(predicted, gold, strict=True))
        theirs = _pairs(gold)
        self.pairs += len(theirs)
        self.joined += len(theirs & _pairs(predicted))
        self.sentences += 1
        self.exact += predicted == gold
        theirs, ours = _modifiers(gold), _modifiers(predicted)
        self.with_modifiers += len(theirs)
        self.lists += sum(ours.get(word) == own for word, own in theirs.items())
        theirs, ours = _arcs_by_word(gold), _arcs_by_word(predicted)
        self.with_arcs += len(theirs)
        self.counts += sum(ours[word] == number for word, number in theirs.items())

    def sums(self) -> list[int]:
        """The fields, in their order; ``AttachmentScores(*sums)`` has the same scores."""
        return [getattr(self, field.name) for field in fields(self)]

    @property
    def uas(self) -> float:
        """Unlabelled attachment score, 0 to 100."""
        return _percent(self.right, self.words)

    @property
    def uuas(self) -> float:
        """Undirected unlabelled attachment score, 0 to 100."""
        return _percent(self.joined, self.pairs)

    @property
    def exact_match(self) -> float:
        """Sentences without a wrong head, 0 to 100."""
        return _percent(self.exact, self.sentences)

    @property
    def modifier_list(self) -> float:
        """Words with modifiers that have exactly the right ones, 0 to 100."""
        return _percent(self.lists, self.with_modifiers)

    @property
    def modifier_count(self) -> float:
        """Words with as many modifiers as they should have, the root's arc included, 0 to 100."""
        return _percent(self.counts, self.with_arcs)


def scores_of_readings(
    gold: Iterable[Sequence[int]], readings: Iterable[Mapping[str, Sequence[int]]]
) -> dict[str, float]:
    """``uas`` and ``uuas`` of each reading over all sentences; keys end in the reading's name.

    Args:
        gold: heads of every sentence.
        readings: for every sentence, heads by name, as from :func:`.head_selection.readings`.
            Heads beyond the sentence's end are ignored.
    """
    found: dict[str, AttachmentScores] = defaultdict(AttachmentScores)
    for heads, own in zip(gold, readings, strict=True):
        for name, predicted in own.items():
            found[name].add(predicted[: len(heads)], heads)
    return {
        f"{kind}{name}": getattr(scores, kind)
        for name, scores in found.items()
        for kind in ("uas", "uuas")
    }


def _percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 0.0


def _modifiers(heads: Sequence[int]) -> dict[int, set[int]]:
    """Modifiers of each word that has some."""
    found: dict[int, set[int]] = defaultdict(set)
    for modifier, head in enumerate(heads, 1):
        if head:
            found[head].add(modifier)
    return dict(found)


def _arcs_by_word(heads: Sequence[int]) -> Counter[int]:
    """Arcs in each row of the packed matrix: those of a word, and the root's to this word."""
    return Counter(head or modifier for modifier, head in enumerate(heads, 1))


def _pairs(heads: Sequence[int]) -> set[tuple[int, int]]:
    return {(min(m, head), max(m, head)) for m, head in enumerate(heads, 1) if head not in (0, m)}
