"""From raw text to a translation model's symbols, and back, as its folder was prepared."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import redirect_stderr
from functools import partial
from io import StringIO
from pathlib import Path

from fairseq_struct.data.prepared.manifest import MANIFEST, read_manifest
from fairseq_struct.data.prepared.vocabulary.subwords import (
    SEGMENTATIONS,
    BytePairEncoding,
    Segmenter,
    SentencePiece,
    WholeWords,
)
from fairseq_struct.data.readers.parallel_text import (
    NORMALISATIONS,
    TOKENISATIONS,
    detokeniser,
    normalise,
    tokeniser,
)
from fairseq_struct.errors import InputError

AS_IT_IS = "--segmented reads and writes text that is segmented already"


class RawText:
    """Maps raw sentences of one language to symbols, and symbols of the other one to text.

    Text that the owner of a corpus tokenised must be given with the same tokens; the translations
    are detokenised.

    Args:
        data_bin: folder of the model's dictionaries; the manifest and the segmentation model lie in
            the folder around it.
        source, target: the languages.

    Raises:
        InputError: the manifest or the segmentation model is missing, or is not of such a folder.
    """

    def __init__(self, data_bin: str | Path, source: str, target: str):
        folder = Path(str(data_bin).split(":")[0]).absolute().parent
        manifest = _manifest(folder)
        options = manifest["options"]
        self._source = source
        self._normalise = partial(normalise, language=source, scheme=options["normalise"])
        self._tokenise = tokeniser(source, options["tokenise"])
        self._segmenter = _segmenter(folder, options["segment"])
        tokens = options["tokenise"] == "moses" or manifest.get("tokenised_by_owner")
        self._detokenise: Callable[[str], str] = detokeniser(target) if tokens else str

    def symbols(self, sentence: str) -> list[str]:
        """The symbols of a raw sentence; [] for a blank one."""
        words = self._tokenise(self._normalise(sentence))
        return self._segmenter.encode(words, self._source).split() if words else []

    def text(self, symbols: list[str]) -> str:
        """The sentence of symbols."""
        return self._detokenise(self._segmenter.decode(" ".join(symbols)))


class SegmentedText:
    """Text whose symbols are separated by spaces, in both languages."""

    def symbols(self, sentence: str) -> list[str]:
        """The symbols of a sentence."""
        return sentence.split()

    def text(self, symbols: list[str]) -> str:
        """The symbols, joined by spaces."""
        return " ".join(symbols)


def _manifest(folder: Path) -> dict:
    path = folder / MANIFEST
    if not path.exists():
        raise InputError(
            f"{path}: no such file, but it says how raw text was segmented for this model; name "
            f"the prepared data-bin folder with --data, or {AS_IT_IS}"
        )
    manifest = read_manifest(folder)
    options = manifest.get("options") if manifest else None
    if not isinstance(options, dict) or not (
        options.get("normalise") in NORMALISATIONS
        and options.get("tokenise") in TOKENISATIONS
        and options.get("segment") in SEGMENTATIONS
    ):
        raise InputError(f"{path}: not the manifest of a folder for translation; {AS_IT_IS}")
    return manifest


def _segmenter(folder: Path, kind: str) -> Segmenter:
    if kind == "none":
        return WholeWords()
    reader = BytePairEncoding if kind == "bpe" else SentencePiece
    path = folder / reader.file_name
    if not path.is_file():
        raise InputError(f"{path}: no such file, but text was segmented with it; {AS_IT_IS}")
    try:
        with redirect_stderr(StringIO()):
            return reader.load(folder)
    except InputError:
        raise
    except (Exception, SystemExit):  # subword-nmt prints and exits; sentencepiece raises anything
        raise InputError(f"{path}: not a segmentation model, or a damaged one") from None
