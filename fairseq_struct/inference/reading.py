"""Raw text for trained models: lines as they arrive, and batches of similar length."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from fairseq_struct.data.datasets.similar_lengths import BATCH_WORDS, similar_lengths
from fairseq_struct.errors import InputError

Words = tuple[str, ...]
Item = TypeVar("Item")
Read = TypeVar("Read")
Result = TypeVar("Result")
# Number of items to read before sorting them into batches by length.
WINDOW = 2000
# Default maximum of words of a sentence: arc scores of 10,000 words take gigabytes.
LONGEST = 2000


def listed(sentences: Iterable[Item]) -> Iterable[Item]:
    """Return the sentences unchanged; refuse a single string, whose letters would be sentences.

    Raises:
        InputError: ``sentences`` is a string.
    """
    if isinstance(sentences, str):
        raise InputError(f"expected a list of sentences, not one string: {sentences[:40]!r}")
    return sentences


def text_of(number: int, sentence: str) -> str:
    """Return a sentence unchanged; refuse what is not text, such as a list of words.

    Raises:
        InputError: ``sentence`` is not a string.
    """
    if not isinstance(sentence, str):
        raise InputError(
            f"line {number}: expected a string whose words are separated by spaces, not "
            f"{sentence!r:.60}"
        )
    return sentence


def words_of(number: int, sentence: str, longest: int = LONGEST) -> Words:
    """Split a line into words at white space.

    Args:
        number: number of the line, for messages.
        sentence: the line.
        longest: maximum number of words.

    Raises:
        InputError: the line has no words, or too many, or is not a string.
    """
    words = tuple(text_of(number, sentence).split())
    if not words:
        raise InputError(f"line {number}: empty sentence")
    refuse_long(f"line {number}", len(words), longest)
    return words


def refuse_long(place: str, words: int, longest: int):
    """Refuse a sentence of more words than allowed.

    Args:
        place: where the sentence is, for the message.
        words, longest: number of words, and its maximum.

    Raises:
        InputError: there are too many.
    """
    if words > longest:
        raise InputError(
            f"{place}: {words} words, more than the {longest} allowed; "
            "--longest-sentence raises the limit; with trees, memory may grow with its square"
        )


def windows(items: Iterable[Item], size: int) -> Iterator[list[tuple[int, Item]]]:
    """Yield windows of numbered items; each has the items that are ready, at most ``size``.

    Args:
        items: the items; they have :meth:`.Lines.ready` if reading them may wait, and ``first``,
            as :class:`.LinesFrom`, if the first number is not 1.
        size: maximum number of items of a window.
    """
    ready = getattr(items, "ready", lambda: True)
    window: list[tuple[int, Item]] = []
    for numbered in enumerate(items, getattr(items, "first", 1)):
        window.append(numbered)
        if len(window) == size or not ready():
            yield window
            window = []
    if window:
        yield window


def by_length(
    items: Iterable[Item],
    analyse: Callable[[list[Read]], Iterable[Result]],
    read: Callable[[int, Item], Read] = words_of,
    length: Callable[[Read], int] = len,
    batch_words: int = BATCH_WORDS,
) -> Iterator[Result]:
    """Apply ``analyse`` to batches of similar length; yield the results in the order of the items.

    Args:
        items: sentences, or other items that ``read`` accepts.
        analyse: maps a batch of sentences to one result per sentence.
        read: maps the number of an item and the item to a sentence's words.
        length: number of words of a result of ``read``.
        batch_words: maximum number of words of a batch, as in :func:`.similar_lengths`.

    Raises:
        InputError: ``items`` is a string; also errors of ``read``.
    """
    for window in windows(listed(items), WINDOW):
        every = [read(number, item) for number, item in window]
        found: dict[int, Result] = {}
        for batch in similar_lengths([length(one) for one in every], batch_words):
            found.update(zip(batch, analyse([every[place] for place in batch]), strict=True))
        yield from (found[place] for place in range(len(every)))
