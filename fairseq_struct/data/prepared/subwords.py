"""Subword segmentation: one interface over subword-nmt merges and sentencepiece models.

Both are learned jointly on the two sides of the training text, which is what shared embeddings
and a joined dictionary need, and both give the same model for the same text every time.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from fairseq_struct.errors import InputError
from fairseq_struct.files.text_files import read_text, reading

SEGMENTATIONS = ("none", "bpe", "sentencepiece-bpe", "sentencepiece-unigram")


class Segmenter(ABC):
    """Splits a line into subwords and joins them again.

    Attributes:
        file_name: name of the model's file, empty if it needs none.
    """

    file_name: str = ""

    @abstractmethod
    def encode(self, line: str, language: str) -> str:
        """Return the line as space-separated subwords.

        Args:
            line: one normalised (and, for bpe, tokenised) sentence.
            language: the side it belongs to; matters only with a vocabulary threshold.
        """

    @abstractmethod
    def decode(self, line: str) -> str:
        """Return the sentence that these space-separated subwords spell."""

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write the model into a folder, under ``file_name``."""


class WholeWords(Segmenter):
    """No segmentation: every space-separated word is a symbol."""

    def encode(self, line: str, language: str) -> str:
        return line

    def decode(self, line: str) -> str:
        return line

    def save(self, folder: Path) -> None:
        pass


class BytePairEncoding(Segmenter):
    """Joint byte-pair merges of subword-nmt, non-final pieces marked ``@@``.

    Reference: Sennrich, Haddow and Birch (2016), "Neural machine translation of rare words with
    subword units".
    """

    file_name = "codes.bpe"

    def __init__(self, codes: str, vocabularies: dict[str, set[str]] | None = None):
        """Build the encoder from the text of a merge table.

        Args:
            codes: the table as subword-nmt writes it, a version line and a merge a line.
            vocabularies: for each language the pieces it may use; a merge that leads outside is
                undone (None: every piece is allowed).
        """
        from subword_nmt.apply_bpe import BPE

        self.codes = codes
        self.vocabularies = vocabularies or {}
        self._free = BPE(io.StringIO(codes))
        self._limited = {
            language: BPE(io.StringIO(codes), vocab=pieces)
            for language, pieces in self.vocabularies.items()
        }

    @classmethod
    def learn(
        cls, text: dict[str, Sequence[str]], merges: int, vocabulary_threshold: int = 0
    ) -> BytePairEncoding:
        """Learn joint merges from the training text.

        Args:
            text: tokenised training sentences of each language.
            merges: number of merges, exactly.
            vocabulary_threshold: a piece seen fewer times than this in the segmented training
                text of a language is split further there; 0 allows every piece.

        Raises:
            InputError: the text is too small for that many merges of pairs seen twice.
        """
        codes = _learn_merges(_count_words(text.values()), merges)
        encoder = cls(codes)
        if vocabulary_threshold <= 0:
            return encoder
        vocabularies = {}
        for language, lines in text.items():
            pieces = Counter(p for line in lines for p in encoder.encode(line, language).split())
            vocabularies[language] = {p for p, n in pieces.items() if n >= vocabulary_threshold}
        return cls(codes, vocabularies)

    @classmethod
    def load(cls, folder: Path) -> BytePairEncoding:
        """Read back what ``save`` wrote.

        Args:
            folder: holds ``codes.bpe`` and, with a threshold, ``vocabulary.LANG`` files.

        Raises:
            InputError: there is no merge table in the folder.
        """
        path = Path(folder) / cls.file_name
        codes = read_text(path)
        vocabularies = {
            file.suffix[1:]: set(read_text(file).split())
            for file in sorted(path.parent.glob("vocabulary.*"))
        }
        return cls(codes, vocabularies)

    def encode(self, line: str, language: str) -> str:
        return self._limited.get(language, self._free).segment(line)

    def decode(self, line: str) -> str:
        return re.sub(r"@@( |$)", "", line)

    def save(self, folder: Path) -> None:
        (folder / self.file_name).write_text(self.codes, encoding="utf-8")
        for language, pieces in self.vocabularies.items():
            content = "".join(f"{piece}\n" for piece in sorted(pieces))
            (folder / f"vocabulary.{language}").write_text(content, encoding="utf-8")


class SentencePiece(Segmenter):
    """A joint sentencepiece model; pieces that begin a word are marked with U+2581.

    Reference: Kudo and Richardson (2018), "SentencePiece: a simple and language independent
    subword tokenizer and detokenizer for neural text processing".
    """

    file_name = "sentencepiece.model"

    def __init__(self, model: bytes):
        """Build the encoder from the bytes of a serialised model."""
        from sentencepiece import SentencePieceProcessor

        self.model = model
        self._processor = SentencePieceProcessor(model_proto=model)

    @classmethod
    def learn(cls, text: dict[str, Sequence[str]], pieces: int, kind: str) -> SentencePiece:
        """Learn a joint model from the training text.

        Args:
            text: normalised, untokenised training sentences of each language.
            pieces: size of the model's vocabulary, exactly.
            kind: ``unigram`` or ``bpe``.

        Raises:
            InputError: the text does not allow a vocabulary of that size.
        """
        from sentencepiece import SentencePieceTrainer

        lines = [line for side in text.values() for line in side]
        model = io.BytesIO()
        try:
            SentencePieceTrainer.train(
                sentence_iterator=iter(lines),
                model_writer=model,
                vocab_size=pieces,
                model_type=kind,
                character_coverage=1.0,  # a missing character would decode as unknown
                normalization_rule_name="identity",  # the text is normalised already
                max_sentence_length=1 << 20,  # bytes; longer ones would be ignored silently
                num_threads=1,  # with more, ties break differently from run to run
                minloglevel=2,
            )
        except RuntimeError as error:
            raise InputError(
                f"cannot learn {pieces} sentencepiece pieces: {_last_sentence(str(error))}"
            ) from None
        return cls(model.getvalue())

    @classmethod
    def load(cls, folder: Path) -> SentencePiece:
        """Read back what ``save`` wrote.

        Args:
            folder: holds ``sentencepiece.model``.

        Raises:
            InputError: there is no model in the folder.
        """
        path = Path(folder) / cls.file_name
        with reading(path):
            return cls(path.read_bytes())

    def encode(self, line: str, language: str) -> str:
        return " ".join(self._processor.encode(line, out_type=str))

    def decode(self, line: str) -> str:
        return self._processor.decode(line.split())

    def save(self, folder: Path) -> None:
        (folder / self.file_name).write_bytes(self.model)


def learn_segmenter(
    kind: str, text: dict[str, Sequence[str]], size: int, vocabulary_threshold: int = 0
) -> Segmenter:
    """Learn the segmentation of the given kind from the training text of both languages.

    Args:
        kind: one of ``SEGMENTATIONS``.
        text: training sentences of each language; tokenised for ``bpe``.
        size: number of merges (bpe) or of vocabulary pieces (sentencepiece).
        vocabulary_threshold: see ``BytePairEncoding.learn``; other kinds ignore it.

    Raises:
        InputError: the text is too small for that size.
        ValueError: an unknown kind.
    """
    if kind == "none":
        return WholeWords()
    if kind == "bpe":
        return BytePairEncoding.learn(text, size, vocabulary_threshold)
    if kind not in SEGMENTATIONS:
        raise ValueError(f"segmentation must be one of {SEGMENTATIONS}, not {kind!r}")
    return SentencePiece.learn(text, size, kind.removeprefix("sentencepiece-"))


def segmenter_options(kind: str, folder: str) -> str:
    """Return the options with which ``fairseq-generate`` undoes a segmentation.

    Args:
        kind: one of ``SEGMENTATIONS``.
        folder: where the model was saved.
    """
    if kind == "none":
        return ""
    if kind == "bpe":
        return f"--bpe subword_nmt --bpe-codes {folder}/{BytePairEncoding.file_name}"
    return f"--bpe sentencepiece --sentencepiece-model {folder}/{SentencePiece.file_name}"


def _count_words(sides: Iterable[Sequence[str]]) -> Counter[str]:
    return Counter(word for lines in sides for line in lines for word in line.split())


def _learn_merges(words: Counter[str], merges: int) -> str:
    from subword_nmt.learn_bpe import learn_bpe

    codes = io.StringIO()
    if any(len(word) > 1 for word in words):  # learn_bpe fails on a text without any pair
        with contextlib.ExitStack() as stack:
            if not sys.stderr.isatty():  # its progress bar would fill a log file
                stack.enter_context(contextlib.redirect_stderr(io.StringIO()))
            learn_bpe([f"{w} {n}" for w, n in sorted(words.items())], codes, merges, is_dict=True)
    learned = max(codes.getvalue().count("\n") - 1, 0)  # the first line is the format's version
    if learned < merges:
        raise InputError(
            f"cannot learn {merges} merges: the training text has only {learned} "
            "(pairs seen at least twice); ask for at most that many"
        )
    return codes.getvalue()


def _last_sentence(message: str) -> str:
    # sentencepiece prefixes its messages with the C++ location and the failed condition.
    return " ".join(message.split("] ")[-1].split())
