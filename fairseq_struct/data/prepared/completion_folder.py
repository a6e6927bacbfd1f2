"""The prepared folder for ``--task sequence_completion``.

::

    OUT/data-bin/dict.txt                         the symbols
    OUT/data-bin/sequences.npy                    symbols of every sequence
    OUT/data-bin/train.npy, valid.npy, test.npy   sequences and their hidden places
    OUT/manifest.json                             options and counts

The arrays are those of :class:`.HiddenExamples`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from fairseq_struct.data.generators.consecutive_runs import (
    SYMBOLS,
    WAYS_TO_SPLIT,
    HiddenExamples,
    consecutive_runs,
    split_examples,
)
from fairseq_struct.data.prepared.prepared_folder import write_prepared_folder
from fairseq_struct.errors import InputError
from fairseq_struct.files.arrays import read_array

SEQUENCES = "sequences.npy"


def write_completion_folder(
    out: str | Path, symbols: int = SYMBOLS, split: str = WAYS_TO_SPLIT[0], share: float = 1.0,
    seed: int = 1, *, overwrite: bool = False, say: Callable[[str], None] = lambda message: None,
) -> dict:  # fmt: skip
    """Write runs of consecutive numbers, and return the folder's manifest.

    Args:
        out: folder to make; it appears complete or not at all.
        symbols, split, share, seed: as for :func:`.consecutive_runs` and :func:`.split_examples`.
        overwrite: replace a folder made with other options; it must have no other files.
        say: called with progress messages.

    Raises:
        InputError: a number is out of range, or ``out`` holds something else.
    """
    runs = consecutive_runs(symbols)
    parts = split_examples(runs.examples, split, share, seed)

    def fill(folder: Path) -> dict:
        data = folder / "data-bin"
        data.mkdir()
        uses = np.bincount(runs.sequences[runs.sequences >= 0], minlength=symbols)
        lines = [f"{number} {count}\n" for number, count in enumerate(uses, 1)]
        (data / "dict.txt").write_text("".join(lines), encoding="utf-8")
        np.save(data / SEQUENCES, runs.sequences)
        for name, part in parts.items():
            np.save(data / f"{name}.npy", part)
        return {"examples": {name: len(part) for name, part in parts.items()}}

    options = {"symbols": symbols, "split": split, "share": share, "seed": seed}
    identity = {"preparation": "sequence completion", "options": options}
    return write_prepared_folder(
        out, identity, fill, generator=consecutive_runs.__module__, overwrite=overwrite, say=say
    )


def read_part(data: str | Path, name: str, symbols: int) -> HiddenExamples:
    """Read the sequences of a folder, and the examples of one of its parts.

    Args:
        data: the folder ``data-bin``.
        name: of the part.
        symbols: how many the dictionary has.

    Raises:
        InputError: a file is missing or damaged, an unknown symbol, a place that is not in its
            sequence, or an example without hidden symbols.
    """
    sequences = _read(Path(data) / SEQUENCES, "fairseq-struct prepare sequence_completion makes it")
    path = Path(data) / f"{name}.npy"
    examples = _read(path, f"there is no part {name!r}")
    if len(sequences) and not -1 <= sequences.min() <= sequences.max() < symbols:
        raise InputError(f"{Path(data) / SEQUENCES}: a symbol is not in dict.txt")
    places = examples[:, 1:]
    numbers = examples[:, 0]
    if not len(examples) or not 0 <= numbers.min() <= numbers.max() < len(sequences):
        raise InputError(f"{path}: no examples, or one whose sequence does not exist")
    if not places.size or places.min() < -1 or (places[:, 0] < 0).any():
        raise InputError(f"{path}: an example without hidden symbols")
    lengths = (sequences >= 0).sum(1)[numbers]
    if (places >= lengths[:, None]).any():
        raise InputError(f"{path}: a hidden place is not in its sequence")
    return HiddenExamples(sequences, examples)


def _read(path: Path, missing: str) -> np.ndarray:
    return read_array(
        path, np.int16, lambda shape: len(shape) == 2 and shape[1] >= 2, missing=missing
    )
