"""The prepared folder for the evaluation of parsers.

::

    OUT/words.txt        one sentence per line, for ``fairseq-struct parse``
    OUT/trees.txt        the gold trees of these sentences, line by line
    OUT/manifest.json    options and counts
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from fairseq_struct.data.prepared.manifest import digest
from fairseq_struct.data.prepared.prepared_folder import write_prepared_folder
from fairseq_struct.data.readers.bracket_trees import leaves_of, to_line
from fairseq_struct.data.readers.penn_treebank import read_evaluation_trees
from fairseq_struct.files.text_files import write_lines


def write_evaluation_folder(
    path: str | Path, out: str | Path, *, sections: Sequence[int] | None = None,
    longest: int | None = None, overwrite: bool = False,
    say: Callable[[str], None] = lambda message: None,
) -> dict:  # fmt: skip
    """Write the trees of the Penn Treebank below ``path``, and return the folder's manifest.

    Args:
        path: folder with .mrg files.
        out: folder to make; it appears complete or not at all.
        sections: sections of the Wall Street Journal, or None for every file.
        longest: maximum number of words of a sentence, None for no limit.
        overwrite: replace a folder made from other trees or options; it must have no other files.
        say: called with progress messages.

    Raises:
        InputError: there are no trees, one is malformed, or ``out`` holds something else.
    """
    trees = read_evaluation_trees(Path(path), sections, longest)
    lines = {
        "words.txt": [" ".join(leaves_of(tree)) for tree in trees],
        "trees.txt": [to_line(tree) for tree in trees],
    }

    def fill(folder: Path) -> dict:
        for name, content in lines.items():
            write_lines(folder / name, content)
        return {"sentences": len(trees), "words": sum(len(leaves_of(tree)) for tree in trees)}

    identity = {
        "preparation": "trees to evaluate on",
        "options": {"sections": sections and sorted(set(sections)), "longest": longest},
        "text_sha256": {name: digest(content) for name, content in lines.items()},
    }
    return write_prepared_folder(out, identity, fill, overwrite=overwrite, say=say)
