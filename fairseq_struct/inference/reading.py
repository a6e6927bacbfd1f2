"""Raw text for trained models: lines as they arrive, and batches of similar length.

A sentence is a string whose words are separated by spaces, or a list, tuple or array of its words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias, TypeVar

from fairseq_struct.data.datasets.similar_lengths import BATCH_WORDS, similar_lengths
from fairseq_struct.errors import InputError

Words = tuple[str, ...]
RawSentence: TypeAlias = str | Sequence[str]  # text, or its words
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


def is_list(item: Any) -> bool:
    """Whether something is a list, a tuple or an array of one dimension, such as words make."""
    if isinstance(item, (str, bytes)):
        return False
    return isinstance(item, Sequence) or getattr(item, "ndim", None) == 1


def text_of(number: int, sentence: RawSentence) -> str:
    """Return a sentence as text: a string unchanged, words joined by spaces.

    Args:
        number: number of the sentence, for messages.
        sentence: the sentence.

    Raises:
        InputError: ``sentence`` is neither a string nor words, or several lines.
    """
    if is_list(sentence):
        return " ".join(_own_words(number, sentence))
    if not isinstance(sentence, str):
        raise InputError(
            f"line {number}: expected a string whose words are separated by spaces, or a list of "
            f"words, not {sentence!r:.60}"
        )
    if "\n" in sentence.removesuffix("\n"):
        raise InputError(f"line {number}: line breaks; give one sentence each")
    return sentence


def words_of(number: int, sentence: RawSentence, longest: int = LONGEST) -> Words:
    """The words of a sentence; a string is split at white space.

    Args:
        number: number of the sentence, for messages.
        sentence: a line, or its words.
        longest: maximum number of words.

    Raises:
        InputError: there are no words, or too many, or as for :func:`text_of`.
    """
    if is_list(sentence):
        words = _own_words(number, sentence)
    else:
        words = tuple(text_of(number, sentence).split())
    if not words:
        raise InputError(f"line {number}: empty sentence")
    refuse_long(f"line {number}", len(words), longest)
    return words


def _own_words(number: int, words: Sequence[str]) -> Words:
    """Words as they are given; a space within one stays (see :func:`.index_of`)."""
    for place, word in enumerate(words, 1):
        if not isinstance(word, str):
            raise InputError(f"line {number}: word {place} is not a string but {word!r:.60}")
        if not word or any(one.isspace() and one != " " for one in word):
            what = "contains white space other than spaces" if word else "is empty"
            raise InputError(f"line {number}: word {place} {what}: {word!r:.60}")
    return tuple(map(str, words))  # also those of an array


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
