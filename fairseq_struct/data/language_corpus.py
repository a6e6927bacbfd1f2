"""The folder that a language model is trained on.

::

    OUT/text/{train,valid,test}.txt            a sentence per line
    OUT/data-bin/dict.txt, *.{bin,idx}         the same for --task language_modeling
    OUT/manifest.json                          counts
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from fairseq_struct.data.atomic_folder import atomic_folder, require_free
from fairseq_struct.data.binarise import SPLITS, last_error
from fairseq_struct.data.parallel_text import read_lines
from fairseq_struct.errors import InputError

MANIFEST = "manifest.json"
SPECIAL = frozenset({"<s>", "</s>", "<pad>"})


def write_language_folder(
    files: Mapping[str, Path], out: str | Path, *, overwrite: bool = False,
    companions: Mapping[str, str] | None = None,
) -> dict:  # fmt: skip
    """Write a corpus as text and ``data-bin``, and return its manifest.

    The dictionary has the words of the training split; ``<unk>`` in the text is the unknown word.

    Args:
        files: the file of each split, a sentence per line; empty lines are left out and counted.
        out: folder to make; it appears complete or not at all.
        overwrite: replace a folder that this function made.
        companions: text of further files, by their paths in the folder.

    Raises:
        InputError: a file is missing, empty or no UTF-8, or ``out`` holds something.
    """
    out = Path(out)
    parents = {Path(name).parts[0] for name in companions or {}}
    require_free(out, MANIFEST, overwrite, ("text", "data-bin", *parents))
    texts = {split: _read(Path(files[split])) for split in SPLITS}
    counts = {
        split: {
            "sentences": len(lines),
            "tokens": sum(len(line) for line in lines),
            "empty_lines_left_out": empty,
        }
        for split, (lines, empty) in texts.items()
    }
    with atomic_folder(out) as folder:
        (folder / "text").mkdir()
        for split, (lines, _) in texts.items():
            text = "".join(" ".join(line) + "\n" for line in lines)
            (folder / "text" / f"{split}.txt").write_text(text, encoding="utf-8")
        for name, text in (companions or {}).items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
        _binarise(folder)
        manifest = {"splits": counts}
        (folder / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
    return manifest


def _read(path: Path) -> tuple[list[list[str]], int]:
    words = [line.split() for line in read_lines(path)]
    for number, line in enumerate(words, 1):
        special = SPECIAL.intersection(line)
        if special:
            raise InputError(f"{path}:{number}: {special.pop()} is one of fairseq's own symbols")
    kept = [line for line in words if line]
    if not kept:
        raise InputError(f"{path}: no sentence in it")
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
