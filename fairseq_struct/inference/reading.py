"""Raw text for trained models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fairseq_struct.errors import InputError


def listed(sentences: Iterable[str]) -> Iterable[str]:
    """The sentences, if they are not one string, whose letters would be taken for sentences.

    Raises:
        InputError: they are.
    """
    if isinstance(sentences, str):
        raise InputError(f"a list of sentences is needed, not one string: {sentences[:40]!r}")
    return sentences


def words_of(number: int, sentence: str) -> tuple[str, ...]:
    """Words of a line, by white space.

    Raises:
        InputError: it has none.
    """
    words = tuple(sentence.split())
    if not words:
        raise InputError(f"line {number}: empty sentence")
    return words


def read_lines(stream: Iterable[str]) -> Iterator[str]:
    """Lines of text without their ends.

    Raises:
        InputError: they are not in the encoding of the terminal, UTF-8 as a rule.
    """
    try:
        for line in stream:
            line.encode()  # in some places Python reads bytes that are no text all the same
            yield line.rstrip("\r\n")
    except UnicodeError as error:
        raise InputError(f"the input is not {error.encoding}: {error.reason}") from None
