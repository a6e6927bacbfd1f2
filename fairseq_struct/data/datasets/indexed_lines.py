"""Splits of text that fairseq-preprocess has binarised."""

import logging
from pathlib import Path

from fairseq.data import data_utils
from fairseq.data.indexed_dataset import MMapIndexedDataset, infer_dataset_impl

from fairseq_struct.data.datasets.mapped.lines import MappedLines
from fairseq_struct.data.datasets.mapped.split_files import SplitFiles
from fairseq_struct.errors import InputError, first_line

logger = logging.getLogger(__name__)


def load_lines(
    path: Path, dictionary, implementation: str | None = "mmap", combine: bool = False
):
    """Load the lines of a split, each a tensor of integers: see :func:`open_lines`.

    Args:
        path: the split's two files, without their suffixes.
        dictionary: the dictionary of the words.
        implementation: fairseq's ``--dataset-impl``.
        combine: whether fairseq asks for all parts of the split, such as ``train1``.

    Raises:
        InputError: the split is missing, empty or damaged, or has several parts.
    """
    if combine and Path(f"{path}1.idx").exists():
        raise InputError(
            f"{path}1.idx: a second part of the split, but this task reads one: name a single text "
            "to fairseq-preprocess, or a folder for each part to fairseq-train (DATA1:DATA2)"
        )
    content = Path(f"{path}.bin")
    # Of an empty file, fairseq's readers may say that it is damaged.
    if content.is_file() and content.stat().st_size == 0:
        raise InputError(f"{content}: the split '{path.name}' is empty")
    lines = open_lines(path, dictionary, implementation)
    if lines is None:
        raise InputError(f"{content}: no such file; fairseq-preprocess --only-source makes it")
    if not len(lines):
        raise InputError(f"{content}: the split '{path.name}' is empty")
    return lines


def open_lines(path: str | Path, dictionary=None, implementation: str | None = "mmap"):
    """Open the lines of a split, which may be empty; None if the split is missing.

    Files of the format ``mmap`` are mapped into memory (:class:`.MappedLines`); fairseq's own
    reader takes those of other formats.

    Args:
        path: the split's two files, without their suffixes.
        dictionary: the dictionary of the words, which only the format ``raw`` needs.
        implementation: fairseq's ``--dataset-impl``; None for that of the files.

    Raises:
        InputError: the files are damaged or truncated.
    """
    try:
        if "mmap" == (implementation or infer_dataset_impl(str(path))):
            if not MMapIndexedDataset.exists(str(path)):
                return None
            lines = MappedLines(SplitFiles(path))
            logger.info("%s lines in %s", f"{len(lines):,}", path)
            return lines
        lines = data_utils.load_indexed_dataset(str(path), dictionary, implementation)
        if getattr(lines, "supports_prefetch", False):  # the format cached reads nothing otherwise
            lines.prefetch(range(len(lines)))
        if lines is not None and len(lines):
            lines[len(lines) - 1]  # the last line shows whether the file is truncated
    except Exception as error:  # damaged files may raise any exception
        said = first_line(error)
        raise InputError(
            f"{path}.idx, .bin: damaged; prepare the data again ({type(error).__name__}: {said})"
        ) from error
    return lines
