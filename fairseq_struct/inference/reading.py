"""Raw text for trained models."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from fairseq_struct.errors import InputError

Words = tuple[str, ...]
Result = TypeVar("Result")
# Words that go through a model side by side, padding counted.
BATCH_WORDS = 4000
# Sentences that are read before they are put into batches by length.
WINDOW = 2000


def listed(sentences: Iterable[str]) -> Iterable[str]:
    """The sentences, if they are not one string, whose letters would be taken for sentences.

    Raises:
        InputError: they are.
    """
    if isinstance(sentences, str):
        raise InputError(f"a list of sentences is needed, not one string: {sentences[:40]!r}")
    return sentences


def words_of(number: int, sentence: str) -> Words:
    """Words of a line, by white space.

    Raises:
        InputError: it has none.
    """
    words = tuple(sentence.split())
    if not words:
        raise InputError(f"line {number}: empty sentence")
    return words


def by_length(
    sentences: Iterable[str], analyse: Callable[[list[Words]], Iterable[Result]]
) -> Iterator[Result]:
    """What ``analyse`` makes of batches of similar lengths, in the order of the sentences.

    Args:
        sentences: whose words are separated by spaces.
        analyse: sentences, of ``BATCH_WORDS`` words with padding or fewer unless one alone has
            more, to a result for each.

    Raises:
        InputError: an empty sentence, or one string in place of a list.
    """
    window: list[Words] = []
    for number, sentence in enumerate(listed(sentences), 1):
        window.append(words_of(number, sentence))
        if len(window) == WINDOW:
            yield from _window(window, analyse)
            window = []
    yield from _window(window, analyse)


def _window(
    sentences: list[Words], analyse: Callable[[list[Words]], Iterable[Result]]
) -> list[Result]:
    found: dict[int, Result] = {}
    order = sorted(range(len(sentences)), key=lambda place: len(sentences[place]))
    while order:
        size = max(1, BATCH_WORDS // len(sentences[order[-1]]))
        batch, order = order[-size:], order[:-size]
        found.update(zip(batch, analyse([sentences[place] for place in batch]), strict=True))
    return [found[place] for place in range(len(sentences))]


def read_lines(stream: Iterable[str] | None) -> Iterator[str]:
    """Lines of text without their ends.

    Raises:
        InputError: there is no stream, as where standard input is closed, or the lines are not in
            the encoding of the terminal, UTF-8 as a rule.
    """
    if stream is None:
        raise InputError("there is no input to read: standard input is closed")
    try:
        for line in stream:
            line.encode()  # in some places Python reads bytes that are no text all the same
            yield line.rstrip("\r\n")
    except UnicodeError as error:
        raise InputError(f"the input is not {error.encoding}: {error.reason}") from None
