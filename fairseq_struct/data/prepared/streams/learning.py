"""Learns the subwords of a parallel corpus from its training pairs, chunk by chunk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial

from fairseq_struct.data.prepared.streams.in_order import in_order
from fairseq_struct.data.prepared.streams.sentence_pairs import (
    PieceCounter,
    SideReader,
    TextOptions,
    WordCounter,
    chunks_of,
    sample_of,
    without_text,
)
from fairseq_struct.data.prepared.vocabulary.subwords import (
    SEGMENTATIONS,
    BytePairEncoding,
    Segmenter,
    SentencePiece,
    WholeWords,
)
from fairseq_struct.data.readers.parallel_text import ParallelCorpus


def learn_segmenter(corpus: ParallelCorpus, options: TextOptions, workers: int = 1) -> Segmenter:
    """Learn the segmentation from the training text of both languages.

    Args:
        corpus: the text.
        options: kind and size of the segmentation, and how text becomes words.
        workers: number of processes that read text; the result does not depend on it.

    Raises:
        InputError: the text is too small for this size.
        ValueError: the kind of segmentation is unknown.
    """
    if options.segment not in SEGMENTATIONS:
        raise ValueError(f"segmentation must be one of {SEGMENTATIONS}, not {options.segment!r}")
    if options.segment == "none":
        return WholeWords()
    known = without_text(corpus)
    if options.segment != "bpe":
        kind = options.segment.removeprefix("sentencepiece-")
        return SentencePiece.learn(_lines(corpus, options, workers), options.subwords, kind)
    words: Counter[str] = Counter()
    sample = sample_of(corpus, options.learn_on)
    for some in in_order(partial(WordCounter, known, options), sample, workers):
        words.update(some)
    segmenter = BytePairEncoding.of_words(words, options.subwords)
    if options.vocabulary_threshold <= 0:
        return segmenter
    counter = partial(PieceCounter, known, options, segmenter)
    pieces: tuple[Counter[str], Counter[str]] = Counter(), Counter()
    for found in in_order(counter, chunks_of(corpus, "train"), workers):
        for total, some in zip(pieces, found, strict=True):
            total.update(some)
    return segmenter.limited(
        dict(zip(corpus.languages, pieces, strict=True)), options.vocabulary_threshold
    )


def _lines(corpus: ParallelCorpus, options: TextOptions, workers: int) -> Iterator[str]:
    """All training lines of one language, then those of the other."""
    for side in range(len(corpus.languages)):
        reader = partial(SideReader, without_text(corpus), options, side)
        for lines in in_order(reader, sample_of(corpus, options.learn_on), workers):
            yield from lines
