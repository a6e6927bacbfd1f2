"""Binarising segmented parallel text with fairseq-preprocess."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from fairseq_struct.errors import InputError

SPLITS = ("train", "valid", "test")


def binarise(
    folder: Path,
    source_lang: str,
    target_lang: str,
    *,
    joined_dictionary: bool = True,
    workers: int = 1,
) -> None:
    """Turn ``FOLDER/segmented/{train,valid,test}.LANG`` into ``FOLDER/data-bin``.

    fairseq-preprocess runs in its own process: it configures logging and may fork, and neither
    should happen inside a program that merely uses this function.

    Args:
        folder: holds ``segmented``; ``data-bin`` with its ``dict.LANG.txt`` is made beside it.
        source_lang: suffix of the source side's files.
        target_lang: suffix of the target side's files.
        joined_dictionary: make one dictionary for both languages, as shared embeddings need.
        workers: number of parallel processes.

    Raises:
        InputError: fairseq-preprocess failed; the message ends with its last error.
    """
    command = [sys.executable, "-m", "fairseq_cli.preprocess"]
    command += ["--source-lang", source_lang, "--target-lang", target_lang]
    command += [f"--{split}pref=segmented/{split}" for split in SPLITS]
    command += ["--destdir=data-bin", f"--workers={workers}"]
    if joined_dictionary:
        command.append("--joined-dictionary")
    # Relative paths, because fairseq-preprocess splits these paths at commas.
    done = subprocess.run(
        command, cwd=folder, capture_output=True, encoding="utf-8", errors="replace"
    )
    if done.returncode != 0:
        said = [line.strip() for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        last = last_error(said) if said else f"exit status {done.returncode}"
        raise InputError(f"fairseq-preprocess failed: {last}")
    # The log repeats local paths and the date; the manifest has the relevant facts.
    (folder / "data-bin" / "preprocess.log").unlink(missing_ok=True)


def dictionary_size(data_bin: Path, lang: str) -> int:
    """Return the number of entries of a dictionary file, without fairseq's special symbols.

    Args:
        data_bin: folder made by ``binarise``.
        lang: the language.
    """
    text = (data_bin / f"dict.{lang}.txt").read_text(encoding="utf-8")
    entries = (line for line in text.split("\n") if line)
    # fairseq pads its dictionaries to a multiple of eight with "madeupword" entries.
    return sum(not entry.startswith("madeupword") for entry in entries)


def last_error(lines: list[str]) -> str:
    errors = [line for line in lines if "Error" in line.partition(":")[0]]
    return (errors or lines)[-1]
