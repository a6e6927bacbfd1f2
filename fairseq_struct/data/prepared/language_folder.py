"""The prepared folder for training a language model.

::

    OUT/text/{train,valid,test}.txt            one sentence per line
    OUT/data-bin/dict.txt, *.{bin,idx}         the same text for --task language_modeling
    OUT/manifest.json                          counts
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from fairseq_struct import __version__
from fairseq_struct.data.prepared.binarise import SPLITS, Side, binarise
from fairseq_struct.data.prepared.manifest import digest
from fairseq_struct.data.prepared.prepared_folder import write_prepared_folder
from fairseq_struct.data.prepared.streams import plain_text
from fairseq_struct.data.prepared.streams.journal import Journal
from fairseq_struct.data.prepared.streams.plain_text import CheckedText
from fairseq_struct.data.prepared.streams.progress import Progress
from fairseq_struct.errors import InputError
from fairseq_struct.files.text_lines import STANDARD_INPUT, TextLines

_SIDE = Side("text/{}.txt", "{}", "dict.txt")


def write_language_folder(
    files: Mapping[str, str | Path], out: str | Path, *, overwrite: bool = False,
    companions: Mapping[str, str] | None = None, options: Mapping[str, Any] | None = None,
    generator: str = "", workers: int = 1, shards: int = 1,
    say: Callable[[str], None] = lambda message: None, progress: Progress | None = None,
) -> dict:  # fmt: skip
    """Write a corpus as text and ``data-bin``, and return its manifest.

    A folder made from the same text and options stays unchanged. An interrupted run goes on when
    it is started again. The dictionary has the words of the training split; ``<unk>`` in the text
    is the unknown word.

    Args:
        files: the file of each split, one sentence per line, possibly compressed; ``-`` is
            standard input. Empty lines are counted and left out.
        out: folder to make; it appears complete or not at all.
        overwrite: replace a folder made from another text or other options; it must have no other
            files.
        companions: text of additional files, by their paths in the folder.
        options: options that produced the text, for the manifest.
        generator: what drew the text, if it was not read.
        workers: number of parallel processes; the folder does not depend on it.
        shards: number of folders ``data-bin0``, ``data-bin1``, … to divide the training text
            among; 1 for ``data-bin``.
        say: called with progress messages.
        progress: shows how far each step is.

    Raises:
        InputError: a file is missing, empty or not UTF-8, contains one of fairseq's own symbols as
            a word, or has fewer training sentences than ``shards``; two splits are standard
            input; ``out`` holds something else; or a process was killed.
    """
    if sum(str(file) == STANDARD_INPUT for file in files.values()) > 1:
        raise InputError("only one split can be standard input")
    sources = {split: TextLines(files[split]) for split in SPLITS}
    texts = {split: CheckedText(sources[split], split, progress) for split in SPLITS}
    if texts["train"].sentences < shards:
        raise InputError(f"--shards {shards}: only {texts['train'].sentences} training sentences")

    def fill(journal: Journal) -> dict:
        for split in SPLITS:
            texts[split].write(journal, _SIDE.text.format(split), workers)
        for name, text in (companions or {}).items():
            (journal.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (journal.folder / name).write_text(text, encoding="utf-8")
        binarise(journal, [_SIDE], workers=workers, shards=shards)
        return {"splits": {split: texts[split].counts for split in SPLITS}}

    identity = {
        "preparation": "language model",
        # With one folder of data the identity is that of earlier versions.
        "options": dict(options or {}) | ({"shards": shards} if shards > 1 else {}),
        "text_sha256": {split: texts[split].sha256 for split in SPLITS}
        | {name: digest([text]) for name, text in (companions or {}).items()},
    }
    return write_prepared_folder(
        out, identity, fill, generator=generator, overwrite=overwrite, say=say, progress=progress,
        goes_on_with={"own": __version__, "lines": plain_text.LINES,
                      "read": [texts[split].read for split in SPLITS]},
    )  # fmt: skip
