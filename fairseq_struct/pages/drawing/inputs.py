"""Checks of what pictures of sentences are given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from fairseq_struct.errors import InputError


def checked_words(words: Iterable[str]) -> list[str]:
    """The words of a sentence.

    Raises:
        InputError: there is none, or it is a string, whose letters would be drawn as words.
    """
    if isinstance(words, str):
        raise InputError("words: a list of words is needed, not one string")
    found = [str(word) for word in words]
    if not found:
        raise InputError("words: a picture needs at least one")
    return found


def one_for_each(words: Sequence[str], values: Iterable, name: str, kind: Callable) -> list:
    """A value for each word, as plain Python values; arrays and tensors serve, too.

    Raises:
        InputError: they are not as many as the words, or not of this kind.
    """
    try:
        found = [kind(value) for value in values]
    except (TypeError, ValueError):
        raise InputError(f"{name}: not all are {kind.__name__} values") from None
    if len(found) != len(words):
        raise InputError(f"{name}: {len(found)} for {len(words)} words")
    return found
