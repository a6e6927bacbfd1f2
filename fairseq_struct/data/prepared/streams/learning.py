"""Learns the subwords of a parallel corpus from its training pairs, chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from fairseq_struct.data.prepared.streams.in_order import in_order
from fairseq_struct.data.prepared.streams.journal import Journal
from fairseq_struct.data.prepared.streams.sentence_pairs import (
    PieceCounter,
    SideReader,
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
from fairseq_struct.data.readers.parallel_text import ParallelCorpus, TextOptions

_KINDS = {"none": WholeWords, "bpe": BytePairEncoding}  # the others are sentencepiece's


def learn_segmenter(
    corpus: ParallelCorpus, options: TextOptions, journal: Journal, workers: int = 1
) -> Segmenter:
    """Learn the segmentation from the training text of both languages, and save it.

    Args:
        corpus: the text.
        options: kind and size of the segmentation, and how text becomes words.
        journal: of the folder that the segmentation's files are written into; what an interrupted
            run has learned is read from there.
        workers: number of processes that read text; the result does not depend on it.

    Raises:
        InputError: the text is too small for this size.
        ValueError: the kind of segmentation is unknown.
    """
    if options.segment not in SEGMENTATIONS:
        raise ValueError(f"segmentation must be one of {SEGMENTATIONS}, not {options.segment!r}")
    kind = _KINDS.get(options.segment, SentencePiece)
    if kind is WholeWords:
        return WholeWords()
    if journal.finished("learning"):
        return kind.load(journal.folder)
    if kind is SentencePiece:
        own = options.segment.removeprefix("sentencepiece-")
        segmenter = kind.learn(_lines(corpus, options, workers), options.subwords, own)
    else:
        segmenter = _learn_merges(corpus, options, journal, workers)
    segmenter.save(journal.folder)
    journal.finish("learning")
    return segmenter


def _learn_merges(
    corpus: ParallelCorpus, options: TextOptions, journal: Journal, workers: int
) -> BytePairEncoding:
    known, sample = without_text(corpus), sample_of(corpus, options.learn_on, options.seed)
    total = len(corpus.splits["train"])
    counter = partial(WordCounter, known, options)
    (words,) = journal.counted("counting words", counter, sample, 1, workers, total)
    segmenter = BytePairEncoding.of_words(words, options.subwords)
    if options.vocabulary_threshold <= 0:
        return segmenter
    pieces = journal.counted(
        "counting subwords", partial(PieceCounter, known, options, segmenter),
        chunks_of(corpus, "train"), len(corpus.languages), workers, total,
    )  # fmt: skip
    return segmenter.limited(
        dict(zip(corpus.languages, pieces, strict=True)), options.vocabulary_threshold
    )


def _lines(corpus: ParallelCorpus, options: TextOptions, workers: int) -> Iterator[str]:
    """All training lines of one language, then those of the other."""
    for side in range(len(corpus.languages)):
        reader = partial(SideReader, without_text(corpus), options, side)
        for lines in in_order(reader, sample_of(corpus, options.learn_on, options.seed), workers):
            yield from lines
