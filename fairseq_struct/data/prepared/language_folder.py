"""The prepared folder for training a language model.

::

    OUT/text/{train,valid,test}.txt            one sentence per line
    OUT/data-bin/dict.txt, *.{bin,idx}         the same text for --task language_modeling
    OUT/manifest.json                          counts
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from fairseq_struct.data.prepared.binarise import SPLITS, last_error
from fairseq_struct.data.prepared.manifest import digest
from fairseq_struct.data.prepared.prepared_folder import write_prepared_folder
from fairseq_struct.data.prepared.vocabulary.reserved_words import refuse_reserved
from fairseq_struct.errors import InputError
from fairseq_struct.files.text_files import read_lines


def write_language_folder(
    files: Mapping[str, Path], out: str | Path, *, overwrite: bool = False,
    companions: Mapping[str, str] | None = None, options: Mapping[str, Any] | None = None,
    generator: str = "", say: Callable[[str], None] = lambda message: None,
) -> dict:  # fmt: skip
    """Write a corpus as text and ``data-bin``, and return its manifest.

    A folder made from the same text and options stays unchanged.
    The dictionary has the words of the training split; ``<unk>`` in the text is the unknown word.

    Args:
        files: the file of each split, one sentence per line; empty lines are counted and left out.
        out: folder to make; it appears complete or not at all.
        overwrite: replace a folder made from another text or other options; it must have no other
            files.
        companions: text of additional files, by their paths in the folder.
        options: options that produced the text, for the manifest.
        generator: what drew the text, if it was not read.
        say: called with progress messages.

    Raises:
        InputError: a file is missing, empty or not UTF-8, contains one of fairseq's own symbols as
            a word, or ``out`` holds something else.
    """
    texts = {split: _read(Path(files[split])) for split in SPLITS}
    counts = {
        split: {
            "sentences": len(lines),
            "tokens": sum(len(line) for line in lines),
            "empty_lines_left_out": empty,
        }
        for split, (lines, empty) in texts.items()
    }
    lines = {split: [" ".join(words) for words in read] for split, (read, _) in texts.items()}

    def fill(folder: Path) -> dict:
        (folder / "text").mkdir()
        for split in SPLITS:
            text = "".join(f"{line}\n" for line in lines[split])
            (folder / "text" / f"{split}.txt").write_text(text, encoding="utf-8")
        for name, text in (companions or {}).items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
        _binarise(folder)
        return {"splits": counts}

    identity = {
        "preparation": "language model",
        "options": dict(options or {}),
        "text_sha256": {split: digest(lines[split]) for split in SPLITS}
        | {name: digest([text]) for name, text in (companions or {}).items()},
    }
    return write_prepared_folder(
        out, identity, fill, generator=generator, overwrite=overwrite, say=say
    )


def _read(path: Path) -> tuple[list[list[str]], int]:
    words = [line.split() for line in read_lines(path)]
    for number, line in enumerate(words, 1):
        refuse_reserved(line, f"{path}:{number}")
    kept = [line for line in words if line]
    if not kept:
        raise InputError(f"{path}: contains no sentence")
    return kept, len(words) - len(kept)


def _binarise(folder: Path):
    command = [sys.executable, "-m", "fairseq_cli.preprocess", "--only-source"]
    command += [f"--{split}pref=text/{split}.txt" for split in SPLITS]
    command += ["--destdir=data-bin", "--workers=1"]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, encoding="utf-8", errors="replace"
    )
    if done.returncode != 0:
        said = [line.strip() for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        raise InputError(f"fairseq-preprocess failed: {last_error(said or ['no message'])}")
    (folder / "data-bin" / "preprocess.log").unlink(missing_ok=True)
