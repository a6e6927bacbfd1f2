"""Sentence pairs in chunks: cleaned, tokenised, segmented and filtered."""

from __future__ import annotations

import dataclasses
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice

from fairseq_struct.data.prepared.streams.journal import Part
from fairseq_struct.data.prepared.vocabulary.subwords import Segmenter
from fairseq_struct.data.readers.parallel_text import (
    LengthFilter,
    Pair,
    ParallelCorpus,
    TextOptions,
    detokeniser,
    normalise,
    tokeniser,
)
from fairseq_struct.files.reserved_words import refuse_reserved

PAIRS = 2000  # of a chunk: small beside a process, large beside the cost of sending it


@dataclass(frozen=True)
class Chunk:
    """Some consecutive pairs of a split.

    Attributes:
        split: name of the split.
        first: number of the first pair, from 1.
        pairs: the text.
        references: the same pairs as their owner's untokenised text; empty if there is none.
        read: number of pairs that were read; a sample has fewer.
    """

    split: str
    first: int
    pairs: Sequence[Pair]
    references: Sequence[Pair] = ()
    read: int = 0


class PairCleaner:
    """Turns pairs into readable text and tokens.

    Args:
        corpus: the corpus; its text is not used, so :func:`without_text` will do.
        options: how text becomes symbols.
    """

    def __init__(self, corpus: ParallelCorpus, options: TextOptions):
        self.corpus, self.options = corpus, options
        self._normalisers = [
            partial(normalise, language=lang, scheme=options.normalise) for lang in corpus.languages
        ]
        self._tokenisers = [tokeniser(lang, options.tokenise) for lang in corpus.languages]

    def clean(self, pairs: Sequence[Pair]) -> list[Pair]:
        """Normalised pairs."""
        return _on_sides(self._normalisers, pairs)

    def tokens(self, pairs: Sequence[Pair]) -> list[Pair]:
        """Normalised pairs as space-separated tokens."""
        return _on_sides(self._tokenisers, self.clean(pairs))


class WordCounter(PairCleaner):
    """Counts the words of chunks, and their pairs."""

    def __call__(self, chunk: Chunk) -> tuple[int, list[Counter[str]]]:
        lines = chain.from_iterable(self.tokens(chunk.pairs))
        return chunk.read, [Counter(word for line in lines for word in line.split())]


class SideReader(PairCleaner):
    """The lines of one side of chunks that are not empty, as tokens.

    Args:
        side: 0 for the source, 1 for the target.
    """

    def __init__(self, corpus: ParallelCorpus, options: TextOptions, side: int):
        super().__init__(corpus, options)
        self.side = side

    def __call__(self, chunk: Chunk) -> list[str]:
        return [line for pair in self.tokens(chunk.pairs) if (line := pair[self.side])]


class _PairSplitter(PairCleaner):
    """A cleaner that also splits words.

    Args:
        segmenter: splits words into subwords.
    """

    def __init__(self, corpus: ParallelCorpus, options: TextOptions, segmenter: Segmenter):
        super().__init__(corpus, options)
        self.segmenter = segmenter


class PieceCounter(_PairSplitter):
    """Counts the subwords of chunks by language, and their pairs."""

    def __call__(self, chunk: Chunk) -> tuple[int, list[Counter[str]]]:
        sides = zip(*self.tokens(chunk.pairs), strict=True)
        return chunk.read, [
            Counter(p for line in lines for p in self.segmenter.encode(line, lang).split())
            for lines, lang in zip(sides, self.corpus.languages, strict=True)
        ]


class PairSegmenter(_PairSplitter):
    """Cleans, segments and filters chunks."""

    def __init__(self, corpus: ParallelCorpus, options: TextOptions, segmenter: Segmenter):
        super().__init__(corpus, options, segmenter)
        self._detokenisers = (
            [detokeniser(lang) for lang in corpus.languages] if corpus.tokenised else None
        )

    def __call__(self, chunk: Chunk) -> Part:
        """The pairs to keep; only the training split is filtered.

        The texts are the readable lines of both languages, then the same lines as symbols. The
        counts are ``kept``, ``dropped REASON``, and ``tokens LANGUAGE``.

        Raises:
            InputError: a symbol is one of fairseq's own.
        """
        accept = LengthFilter(self.options.max_length, self.options.max_ratio)
        clean = self.clean(chunk.pairs)
        tokens, readable = _on_sides(self._tokenisers, clean), self._readable(clean, chunk)
        kept: list[tuple[Pair, Pair]] = []
        for number, (text, pair) in enumerate(zip(readable, tokens, strict=True), chunk.first):
            source, target = map(self.segmenter.encode, pair, self.corpus.languages)
            if chunk.split == "train" and not accept.keep(source.split(), target.split()):
                continue
            for side, line in enumerate((source, target)):  # segmentation may split symbols
                refuse_reserved(line.split(), self.corpus.place(chunk.split, side, number))
            kept.append((text, (source, target)))
        raw, pieces = ([pairs[kind] for pairs in kept] for kind in (0, 1))
        counts = Counter({f"dropped {reason}": n for reason, n in accept.dropped.items()})
        counts["kept"] = len(kept)
        for side, language in enumerate(self.corpus.languages):
            counts[f"tokens {language}"] = sum(pair[side].count(" ") + 1 for pair in pieces)
        return Part(chunk.read, [*_text_of(raw), *_text_of(pieces)], counts)

    def _readable(self, clean: list[Pair], chunk: Chunk) -> list[Pair]:
        if chunk.references:
            return self.clean(chunk.references)
        return clean if self._detokenisers is None else _on_sides(self._detokenisers, clean)


def without_text(corpus: ParallelCorpus) -> ParallelCorpus:
    """The corpus without its sentences, to be sent to other processes."""
    return dataclasses.replace(corpus, splits={}, references={}, companions={})


def chunks_of(corpus: ParallelCorpus, split: str) -> Iterator[Chunk]:
    """All pairs of a split in chunks, with the owner's untokenised text."""
    pairs, references = iter(corpus.splits[split]), iter(corpus.references.get(split, ()))
    first = 1
    while some := list(islice(pairs, PAIRS)):
        yield Chunk(split, first, some, list(islice(references, PAIRS)), len(some))
        first += len(some)


def sample_of(corpus: ParallelCorpus, count: int, seed: int = 1) -> Iterator[Chunk]:
    """Training pairs in chunks: all, or ``count`` of them, always the same ones of a seed.

    Each pair is drawn with the probability that makes all samples alike (Knuth, The Art of Computer
    Programming, volume 2, section 3.4.2, algorithm S), so that nothing is held in memory.
    """
    left = len(corpus.splits["train"])
    if left <= count:
        yield from chunks_of(corpus, "train")
        return
    draw = random.Random(seed).random
    for chunk in chunks_of(corpus, "train"):
        pairs = []
        for pair in chunk.pairs:
            if left * draw() < count:
                pairs.append(pair)
                count -= 1
            left -= 1
        yield dataclasses.replace(chunk, pairs=pairs, references=())


def _on_sides(functions: Sequence[Callable[[str], str]], pairs: Sequence[Pair]) -> list[Pair]:
    on_source, on_target = functions
    return [(on_source(source), on_target(target)) for source, target in pairs]


def _text_of(pairs: Sequence[Pair]) -> list[bytes]:
    return ["".join(f"{pair[side]}\n" for pair in pairs).encode() for side in (0, 1)]
