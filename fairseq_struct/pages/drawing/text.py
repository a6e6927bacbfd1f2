"""How wide texts are when they are drawn, how long ones are cut, and which run from the right."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from html import escape

# Size of words, and of labels of arcs and scales, in pixels.
WORD_SIZE, SMALL_SIZE = 14, 11
LONGEST = 36
FONTS = "Helvetica Neue,Helvetica,Arial,DejaVu Sans,sans-serif"
# Widths as shares of the size, those of DejaVu Sans: the other fonts are narrower.
_NARROW, _WIDE = frozenset("ijlI.,:;'|!()[]{}ftr`/\\-\" "), frozenset("mwMW@%—…#OQ&+=<>~")
_SHARES = {"narrow": 0.42, "wide": 0.98, "capital": 0.74, "other": 0.64, "full": 1.05}

_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def visible(text: str) -> str:
    """The text with U+FFFD for control characters and others that no XML file may have."""
    return _NOT_IN_XML.sub("\ufffd", text)


def in_markup(text: str) -> str:
    """The text as it is written in SVG and HTML."""
    return escape(visible(text))


def width_of(text: str, size: float = WORD_SIZE) -> float:
    """Width of a text in pixels, rather too much than too little.

    Args:
        text: in any script; Chinese, Japanese and Korean signs take a full square.
        size: of its letters, in pixels.
    """
    return size * sum(map(_share, text))


def shortened(text: str) -> str:
    """The text, or its two ends and an ellipsis if it is very long."""
    if len(text) <= LONGEST:
        return text
    half = LONGEST // 2
    return f"{text[:half]}…{text[-half + 1 :]}"


def runs_from_right(words: Sequence[str]) -> bool:
    """Whether most words that have a direction are written from right to left."""
    from_right = [direction != "L" for word in words if (direction := _direction(word))]
    return 2 * sum(from_right) > len(from_right)


def _share(letter: str) -> float:
    if letter in _NARROW:
        return _SHARES["narrow"]
    if letter in _WIDE:
        return _SHARES["wide"]
    if letter.isascii():
        return _SHARES["capital" if letter.isupper() else "other"]
    if unicodedata.category(letter) in ("Mn", "Me", "Cf"):
        return 0.0
    if unicodedata.east_asian_width(letter) in "WF":
        return _SHARES["full"]
    return _SHARES["capital"]


def _direction(word: str) -> str:
    """``L``, ``R`` or ``AL`` of the first letter that has one; empty for numbers and points."""
    found = (unicodedata.bidirectional(letter) for letter in word)
    return next((one for one in found if one in ("L", "R", "AL")), "")
