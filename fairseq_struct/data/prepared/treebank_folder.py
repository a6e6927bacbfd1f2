"""The prepared folder to train a masked language model and to evaluate it with gold trees.

::

    OUT/text/{train,valid,test}.txt            one sentence per line
    OUT/trees/{train,valid,test}.conllu        the gold trees of these sentences, in order
    OUT/data-bin                               the same text for --task structured_masked_lm
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fairseq_struct.data.prepared.binarise import SPLITS
from fairseq_struct.data.prepared.language_folder import write_language_folder
from fairseq_struct.data.prepared.vocabulary.dictionary_file import require_words
from fairseq_struct.data.readers.conllu import Sentence, to_conllu
from fairseq_struct.data.readers.dependency_treebank import (
    as_language_model_text,
    without_punctuation,
)
from fairseq_struct.errors import InputError
from fairseq_struct.files.reserved_words import refuse_reserved
from fairseq_struct.files.text_files import write_lines

UNKNOWN = "<unk>"


def as_text(trees: Sequence[Sentence]) -> list[Sentence]:
    """Normalise trees as the Penn Treebank's language model text.

    Punctuation is removed, words are lower-cased, numbers become N. Sentences of only punctuation
    are left out.

    Raises:
        InputError: a tree has no tags.
    """
    words = (without_punctuation(tree) for tree in trees)
    return [as_language_model_text(tree) for tree in words if tree is not None]


def write_treebank_folder(
    trees: Mapping[str, Sequence[Sentence]], out: str | Path, *, least_count: int = 1,
    overwrite: bool = False, drawn: Mapping[str, Any] | None = None,
    generator: str = "", say: Callable[[str], None] = lambda message: None,
) -> dict:  # fmt: skip
    """Write text and trees of the splits ``train``, ``valid`` and ``test``; return the manifest.

    Args:
        trees: trees of each split.
        out: folder to make; it appears complete or not at all.
        least_count: words rarer than this in the training split are unknown. In the text of the
            training split, the unknown word replaces them; the text of other splits keeps them.
        overwrite: replace a folder made from other trees or options; it must have no other files.
        drawn: options of the generator of the trees, for the manifest.
        generator: what drew the trees, if they were not read.
        say: called with progress messages.

    Raises:
        InputError: a split is empty, a tree contains one of fairseq's own symbols as a word, or
            ``out`` holds something else.
    """
    for split in SPLITS:
        for tree in trees[split]:
            refuse_reserved(tree.words, tree.place)
    counts = Counter(word for tree in trees["train"] for word in tree.words)
    if counts:
        require_words(counts, least_count)
    companions = {}
    with tempfile.TemporaryDirectory() as folder:
        files = {split: Path(folder) / f"{split}.txt" for split in SPLITS}
        for split, path in files.items():
            if not trees[split]:
                raise InputError(f"the {split} split has no sentence")
            least = least_count if split == "train" else 0
            lines = (
                " ".join(word if counts[word] >= least else UNKNOWN for word in tree.words)
                for tree in trees[split]
            )
            write_lines(path, lines)
            companions[f"trees/{split}.conllu"] = "".join(
                to_conllu(tree.words, tree.heads, (), tree.tags, tree.relations)
                for tree in trees[split]
            )
        return write_language_folder(
            files, out, overwrite=overwrite, companions=companions,
            options={"least_count": least_count, **(drawn or {})}, generator=generator, say=say,
        )  # fmt: skip
