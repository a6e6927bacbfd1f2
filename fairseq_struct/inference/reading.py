"""Raw text for trained models: lines as they come, and batches of similar lengths."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from fairseq_struct.data.datasets.similar_lengths import BATCH_WORDS, similar_lengths
from fairseq_struct.errors import InputError

Words = tuple[str, ...]
Item = TypeVar("Item")
Read = TypeVar("Read")
Result = TypeVar("Result")
# Items that are read before they are put into batches by length.
WINDOW = 2000
# Words of a sentence, if nobody asks for more: arc scores of 10,000 words take gigabytes.
LONGEST = 2000


def listed(sentences: Iterable[Item]) -> Iterable[Item]:
    """The sentences, if they are not one string, whose letters would be taken for sentences.

    Raises:
        InputError: they are.
    """
    if isinstance(sentences, str):
        raise InputError(f"a list of sentences is needed, not one string: {sentences[:40]!r}")
    return sentences


def words_of(number: int, sentence: str, longest: int = LONGEST) -> Words:
    """Words of a line, by white space.

    Args:
        number: of the line, for messages.
        sentence: the line.
        longest: most words.

    Raises:
        InputError: it has none, or more.
    """
    words = tuple(sentence.split())
    if not words:
        raise InputError(f"line {number}: empty sentence")
    if len(words) > longest:
        raise InputError(
            f"line {number}: {len(words)} words, more than the {longest} allowed; "
            "--longest-sentence raises the limit, and memory grows with its square"
        )
    return words


def windows(items: Iterable[Item], size: int) -> Iterator[list[tuple[int, Item]]]:
    """Numbered items from 1, as many at once as there are without waiting, at most ``size``.

    Args:
        items: which have :meth:`.Lines.ready` if one may have to wait for them.
        size: of a window.
    """
    ready = getattr(items, "ready", lambda: True)
    window: list[tuple[int, Item]] = []
    for numbered in enumerate(items, 1):
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
    """What ``analyse`` makes of batches of similar lengths, in the order of the items.

    Args:
        items: sentences, or whatever else ``read`` takes.
        analyse: sentences to a result for each.
        read: number and item to a sentence's words.
        length: of what was read, in words.
        batch_words: most words that are analysed at once, as of :func:`.similar_lengths`.

    Raises:
        InputError: one string in place of a list, and what ``read`` raises.
    """
    for window in windows(listed(items), WINDOW):
        every = [read(number, item) for number, item in window]
        found: dict[int, Result] = {}
        for batch in similar_lengths([length(one) for one in every], batch_words):
            found.update(zip(batch, analyse([every[place] for place in batch]), strict=True))
        yield from (found[place] for place in range(len(every)))
