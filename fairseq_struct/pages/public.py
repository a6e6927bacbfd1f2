"""Pictures of one sentence, as text of SVG and of TikZ."""

from __future__ import annotations

from collections.abc import Sequence

from fairseq_struct.pages.constituents.constituent_picture import constituent_picture
from fairseq_struct.pages.dependencies.dependency_picture import dependency_picture
from fairseq_struct.pages.drawing.tikz import tikz


def dependency_svg(
    words: Sequence[str],
    heads: Sequence[int],
    *,
    labels: Sequence[str] | None = None,
    probabilities: Sequence[float] | None = None,
    gold: Sequence[int] | None = None,
    title: str | None = None,
) -> str:
    """Draw a dependency tree as SVG, which is a file as well as a part of a page.

    Args:
        words: words of the sentence.
        heads: 1-based, 0 for the root.
        labels: relation of each word to its head.
        probabilities: of the drawn arcs, from 0 to 1: the less likely, the fainter the arc. The
            number is told under the mouse.
        gold: the right heads. Arcs that differ are red, the right ones are green, below the words.
        title: a heading.

    Raises:
        InputError: no word, or values that are not those of the words.
    """
    return dependency_picture(
        words, heads, labels=labels, probabilities=probabilities, gold=gold, title=title
    ).svg_file()


def dependency_tikz(
    words: Sequence[str],
    heads: Sequence[int],
    *,
    labels: Sequence[str] | None = None,
    probabilities: Sequence[float] | None = None,
    gold: Sequence[int] | None = None,
    title: str | None = None,
) -> str:
    r"""Draw a dependency tree as TikZ (``\usepackage{tikz}``): see :func:`dependency_svg`."""
    return tikz(
        dependency_picture(
            words, heads, labels=labels, probabilities=probabilities, gold=gold, title=title
        )
    )


def constituency_svg(
    words: Sequence[str],
    spans: Sequence[tuple[int, int]],
    *,
    labels: Sequence[str] | None = None,
    distances: Sequence[float] | None = None,
    gold: Sequence[tuple[int, int]] | None = None,
    title: str | None = None,
) -> str:
    """Draw a constituency tree as SVG, which is a file as well as a part of a page.

    Args:
        words: words of the sentence.
        spans: constituents (start, end), the end excluded; of equal ones, the first is outermost.
        labels: of the spans.
        distances: syntactic distances of the words, or of the gaps between them: bars on a scale.
        gold: the right spans. Others are red; those that are missed are green brackets.
        title: a heading.

    Raises:
        InputError: no word, spans that cross each other, or values that are not theirs.
    """
    return constituent_picture(
        words, spans, labels=labels, distances=distances, gold=gold, title=title
    ).svg_file()


def constituency_tikz(
    words: Sequence[str],
    spans: Sequence[tuple[int, int]],
    *,
    labels: Sequence[str] | None = None,
    distances: Sequence[float] | None = None,
    gold: Sequence[tuple[int, int]] | None = None,
    title: str | None = None,
) -> str:
    r"""Draw a constituency tree as TikZ (``\usepackage{tikz}``): see :func:`constituency_svg`."""
    return tikz(
        constituent_picture(
            words, spans, labels=labels, distances=distances, gold=gold, title=title
        )
    )


def attention_svg(words: Sequence[str], weights: Sequence[Sequence[float]]) -> str:
    """Draw attention weights as SVG: a row for each position, from 0 to 1.

    Raises:
        InputError: no word, or weights that are not from 0 to 1 or not as many as the words.
    """
    from fairseq_struct.pages.grids.attention_grid import attention_grid

    return attention_grid(words, weights).svg_file()


def memory_svg(
    words: Sequence[str],
    pointers: Sequence[Sequence[float]],
    spans: Sequence[tuple[int, int]],
) -> str:
    """Draw the slots of a stack memory by steps as SVG, below the tree that it induced.

    Args:
        words: of the sentence, one for each step.
        pointers: p_t of each step, over the same slots; the last one is the root.
        spans: constituents (start, end), the end excluded.

    Raises:
        InputError: no word, pointers that are not from 0 to 1 or not as many as the words, or spans
            beyond the words or that cross each other.
    """
    from fairseq_struct.pages.grids.memory_grid import memory_grid

    return memory_grid(words, pointers, spans).svg_file()


def confusion_svg(labels: Sequence[str], counts: Sequence[Sequence[int]]) -> str:
    """Draw a classifier's counts [true][predicted] as SVG, rows shaded by their own shares.

    Raises:
        InputError: no label, or counts that are not those of the labels.
    """
    from fairseq_struct.pages.grids.confusion_matrix import confusion_matrix

    return confusion_matrix(labels, counts).svg_file()
