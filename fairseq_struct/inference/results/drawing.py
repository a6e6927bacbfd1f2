"""Pictures of results as SVG."""

from __future__ import annotations

from collections.abc import Sequence

from fairseq_struct.pages.bracket_page import bracket_picture
from fairseq_struct.pages.tree_page import tree_picture


def dependency_svg(
    words: Sequence[str], heads: Sequence[int], *, probabilities: Sequence[float] | None = None,
    gold: Sequence[int] | None = None, title: str | None = None,
) -> str:  # fmt: skip
    """Draw a dependency tree."""
    return tree_picture(words, heads, gold).svg()


def constituency_svg(
    words: Sequence[str], spans: Sequence[tuple[int, int]], *,
    distances: Sequence[float] | None = None, title: str | None = None,
) -> str:  # fmt: skip
    """Draw a constituency tree."""
    return bracket_picture(words, spans, distances).svg()
