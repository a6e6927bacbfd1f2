"""Checks of what pictures are given; arrays and tensors serve as well as lists."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import isfinite

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
        found = [_whole(value) if kind is int else kind(value) for value in values]
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name}: not all are {kind.__name__} values") from None
    if len(found) != len(words):
        raise InputError(f"{name}: {len(found)} for {len(words)} words")
    return found


def numbers_in(values: Iterable, name: str) -> list[float]:
    """Finite numbers, as plain ones.

    Raises:
        InputError: one is not; the message tells its place, from 1.
    """
    try:
        found = [float(value) for value in values]
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name}: not all are numbers") from None
    for place, value in enumerate(found, 1):
        if not isfinite(value):
            raise InputError(f"{name}: number {place} is {value:g}, not finite")
    return found


def shares_in(values: Iterable, name: str) -> list[float]:
    """Numbers from 0 to 1.

    Raises:
        InputError: one is not; the message tells its place, from 1.
    """
    found = numbers_in(values, name)
    for place, value in enumerate(found, 1):
        # Marginals may be above 1 by the last digits of float32.
        if not -1e-3 <= value <= 1 + 1e-3:
            raise InputError(f"{name}: number {place} is {value:g}, not from 0 to 1")
    return [min(max(value, 0.0), 1.0) for value in found]


def table_of(
    values: Iterable, name: str, rows: int, columns: int | None = None, kind: Callable = numbers_in
) -> list[list[float]]:
    """Rows of numbers, all of the same length.

    Args:
        values: the rows.
        name: what they are called in messages.
        rows: how many.
        columns: numbers of each row; None for any number but 0.
        kind: checks a row: :func:`numbers_in` or :func:`shares_in`.

    Raises:
        InputError: there are others; the message tells the row, from 1.
    """
    try:
        given = list(values)
    except TypeError:
        raise InputError(f"{name}: rows of numbers are needed") from None
    found = [kind(row, f"{name}, row {place}") for place, row in enumerate(given, 1)]
    widths = {len(row) for row in found}
    if len(found) != rows or len(widths) != 1 or widths == {0} or columns not in (None, *widths):
        size = "numbers" if columns is None else f"{columns} numbers"
        told = ", ".join(str(len(row)) for row in found) or "none"
        raise InputError(f"{name}: {rows} rows of {size} are needed, not rows of {told}")
    return found


def checked_spans(spans: Iterable, count: int, name: str) -> list[tuple[int, int]]:
    """Spans (start, end) of a sentence.

    Raises:
        InputError: one is no pair of numbers, or not within ``count`` words.
    """
    found = []
    for place, span in enumerate(spans, 1):
        try:
            start, end = map(_whole, span)
        except (TypeError, ValueError, OverflowError):
            raise InputError(f"{name}: number {place} is no pair (start, end)") from None
        if not 0 <= start < end <= count:
            raise InputError(f"{name}: ({start}, {end}) is not within {count} words")
        found.append((start, end))
    return found


def _whole(value) -> int:
    """A whole number; int() alone would round 1.5 without a word."""
    found = int(value)
    if found != float(value):
        raise ValueError
    return found
