"""Subword segmentation: one interface to subword-nmt merges and sentencepiece models.

Both are learned jointly on the two sides of the training text, as shared embeddings and a joined
dictionary need. Both are deterministic: the same text gives the same model.
"""

from __future__ import annotations

import io
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from fairseq_struct.data.prepared.vocabulary.merges import learn_merges
from fairseq_struct.errors import InputError
from fairseq_struct.files.text_files import read_text, reading

SEGMENTATIONS = ("none", "bpe", "sentencepiece-bpe", "sentencepiece-unigram")
_MOST_WORDS = 1 << 17  # whose pieces are remembered


class Segmenter(ABC):
    """Splits a line into subwords and joins them again.

    Attributes:
        file_name: name of the model's file; empty if there is no file.
    """

    file_name: str = ""

    @abstractmethod
    def encode(self, line: str, language: str) -> str:
        """Return the line as space-separated subwords.

        Args:
            line: one normalised (and, for bpe, tokenised) sentence.
            language: the line's language; used only with a vocabulary threshold.
        """

    @abstractmethod
    def decode(self, line: str) -> str:
        """Join space-separated subwords into the sentence."""

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
    """Joint byte-pair merges of subword-nmt; ``@@`` marks non-final pieces.

    Reference: Sennrich, Haddow and Birch (2016), "Neural machine translation of rare words with
    subword units".
    """

    file_name = "codes.bpe"

    def __init__(self, codes: str, vocabularies: dict[str, set[str]] | None = None):
        """Build the encoder from the text of a merge table.

        Args:
            codes: the table in subword-nmt's format: a version line, then one merge per line.
            vocabularies: allowed pieces of each language; a merge into another piece is undone.
                None allows every piece.
        """
        from subword_nmt.apply_bpe import BPE

        self.codes = codes
        self.vocabularies = vocabularies or {}
        self._free = BPE(io.StringIO(codes))
        self._limited = {
            language: BPE(io.StringIO(codes), vocab=pieces)
            for language, pieces in self.vocabularies.items()
        }
        self._known: dict[str, dict[str, str]] = {}

    @classmethod
    def of_words(cls, words: Counter[str], merges: int) -> BytePairEncoding:
        """Learn joint merges from the words of the training text.

        Args:
            words: how often each word occurs in both languages together.
            merges: exact number of merges.

        Raises:
            InputError: the text has fewer possible merges; a merged pair must occur twice.
        """
        return cls(_codes(words, merges))

    def limited(self, pieces: dict[str, Counter[str]], threshold: int) -> BytePairEncoding:
        """The same merges, with rare pieces split further.

        Args:
            pieces: how often each piece occurs in the segmented training text, by language.
            threshold: a piece that occurs fewer times in a language is split there.
        """
        vocabularies = {
            language: {piece for piece, count in counts.items() if count >= threshold}
            for language, counts in pieces.items()
        }
        return BytePairEncoding(self.codes, vocabularies)

    @classmethod
    def load(cls, folder: Path) -> BytePairEncoding:
        """Read back what ``save`` wrote.

        Args:
            folder: folder with ``codes.bpe`` and, with a threshold, ``vocabulary.LANG`` files.

        Raises:
            InputError: there is no merge table in the folder.
        """
        path = Path(folder) / cls.file_name
        codes = read_text(path)
        vocabularies = {
            file.name.removeprefix("vocabulary."): set(read_text(file).split())
            for file in sorted(path.parent.glob("vocabulary.*"))
        }
        return cls(codes, vocabularies)

    def encode(self, line: str, language: str) -> str:
        known = self._known.setdefault(language, {})
        if len(known) > _MOST_WORDS:  # memory does not grow with the text
            known.clear()
            self._encoder(language).cache.clear()
        words = line.strip("\r\n ").split(" ")
        if not all(words):  # several spaces in a row
            words = [word for word in words if word]
        try:
            return " ".join([known[word] for word in words])
        except KeyError:
            segment = self._encoder(language).segment
            for word in words:
                if word not in known:
                    known[word] = segment(word)
            return " ".join([known[word] for word in words])

    def _encoder(self, language: str):
        return self._limited.get(language, self._free)

    def __reduce__(self):
        return BytePairEncoding, (self.codes, self.vocabularies)

    def decode(self, line: str) -> str:
        return re.sub(r"@@( |$)", "", line)

    def save(self, folder: Path) -> None:
        (folder / self.file_name).write_text(self.codes, encoding="utf-8")
        for language, pieces in self.vocabularies.items():
            content = "".join(f"{piece}\n" for piece in sorted(pieces))
            (folder / f"vocabulary.{language}").write_text(content, encoding="utf-8")


class SentencePiece(Segmenter):
    """A joint sentencepiece model; U+2581 marks pieces that begin a word.

    Reference: Kudo and Richardson (2018), "SentencePiece: a simple and language independent
    subword tokenizer and detokenizer for neural text processing".
    """

    file_name = "sentencepiece.model"

    def __init__(self, model: bytes):
        """Build the encoder from the bytes of a serialised model."""
        from sentencepiece import SentencePieceProcessor

        self.model = model
        self._processor = SentencePieceProcessor(model_proto=model)

    def __reduce__(self):
        return SentencePiece, (self.model,)

    @classmethod
    def learn(cls, lines: Iterable[str], pieces: int, kind: str) -> SentencePiece:
        """Learn a joint model from the training text.

        Args:
            lines: normalised, untokenised training sentences of all languages.
            pieces: exact size of the model's vocabulary.
            kind: ``unigram`` or ``bpe``.

        Raises:
            InputError: the text does not allow a vocabulary of this size.
            BaseException: what reading ``lines`` raises.
        """
        from sentencepiece import SentencePieceTrainer

        model, unread = io.BytesIO(), []

        def read() -> Iterator[str]:
            try:
                yield from lines
            except BaseException as error:  # the library makes a RuntimeError of all, even Ctrl-C
                unread.append(error)
                raise

        try:
            SentencePieceTrainer.train(
                sentence_iterator=read(),
                model_writer=model,
                vocab_size=pieces,
                model_type=kind,
                character_coverage=1.0,  # a missing character would decode as unknown
                normalization_rule_name="identity",  # the text is normalised already
                max_sentence_length=1 << 20,  # bytes; longer lines would be ignored silently
                num_threads=1,  # with more threads, ties break differently in each run
                minloglevel=2,
            )
        except RuntimeError as error:
            if unread:
                raise unread[0] from None
            raise InputError(
                f"cannot learn {pieces} sentencepiece pieces: {_last_sentence(str(error))}"
            ) from None
        return cls(model.getvalue())

    @classmethod
    def load(cls, folder: Path) -> SentencePiece:
        """Read back what ``save`` wrote.

        Args:
            folder: folder with ``sentencepiece.model``.

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


def segmenter_options(kind: str, folder: str) -> str:
    """Return the options of ``fairseq-generate`` that undo a segmentation.

    Args:
        kind: one of ``SEGMENTATIONS``.
        folder: folder of the saved model.
    """
    if kind == "none":
        return ""
    if kind == "bpe":
        return f"--bpe subword_nmt --bpe-codes {folder}/{BytePairEncoding.file_name}"
    return f"--bpe sentencepiece --sentencepiece-model {folder}/{SentencePiece.file_name}"


def _codes(words: Counter[str], merges: int) -> str:
    """A merge table in subword-nmt's format."""
    learned = learn_merges(words, merges)
    if len(learned) < merges:
        raise InputError(
            f"cannot learn {merges} merges: the training text has only {len(learned)} "
            "(pairs seen at least twice); ask for at most that many"
        )
    return "".join(f"{line}\n" for line in ("#version: 0.2", *map(" ".join, learned)))


def _last_sentence(message: str) -> str:
    # sentencepiece prefixes its messages with the C++ location and the failed condition.
    return " ".join(message.split("] ")[-1].split())
