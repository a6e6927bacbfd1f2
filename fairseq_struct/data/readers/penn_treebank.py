"""Trees of the Penn Treebank as unsupervised parsers are evaluated on them."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

from nltk import Tree

from fairseq_struct.data.readers.bracket_trees import leaves_of, nodes_of, prune, read_trees
from fairseq_struct.errors import InputError

# Parts of speech of words; all others are punctuation, symbols of money, or empty elements.
WORDS = frozenset(
    "CC CD DT EX FW IN JJ JJR JJS LS MD NN NNS NNP NNPS PDT POS PRP PRP$ RB RBR RBS RP SYM TO UH "
    "VB VBD VBG VBN VBP VBZ WDT WP WP$ WRB".split()
)
# Also fractions, whose stroke the treebank writes as \/.
_NUMBER = re.compile(r"[0-9]+(?:(?:[.,:]|\\?/)[0-9]+)*")


def is_number(word: str) -> bool:
    """Whether a word is one that language models have as ``N``."""
    return _NUMBER.fullmatch(word) is not None


def normalised(word: str) -> str:
    """A word as the corpus of language models has it: lower-cased, and a number as ``N``.

    Numbers within words stay (``30-year``), as they do there.
    """
    return "N" if is_number(word) else word.lower()


def read_evaluation_trees(
    path: Path, sections: Collection[int] | None = None, longest: int | None = None
) -> list[Tree]:
    """Trees without punctuation and empty elements, removed by part of speech, words normalised.

    Labels lose their functions (``NP-SBJ`` is ``NP``). Sentences of which nothing stays are left
    out.

    Args:
        path: a .mrg file, or a folder; there all such files below it are read, by name.
        sections: only files wsj_NNxx.mrg of these.
        longest: only sentences of at most so many words.

    Raises:
        InputError: there is no such file, or a malformed tree, or no sentence stays.
    """
    files = sorted(path.rglob("*.mrg")) if path.is_dir() else [path]
    if sections is not None:
        wanted = {f"wsj_{section:02d}" for section in sections}
        files = [file for file in files if file.name[:6] in wanted]
    if not files:
        raise InputError(f"{path}: no .mrg file" + (" of these sections" if sections else ""))
    found = []
    for file in files:
        for line, tree in read_trees(file):
            bare = next((t for t in nodes_of(tree) if not _is_clean(t)), None)
            if bare is not None:
                raise InputError(f"{file}:{line}: a word without a part of speech")
            kept = prune(tree, lambda tag, _: tag in WORDS)
            if kept is None or (longest and len(leaves_of(kept)) > longest):
                continue
            for part in nodes_of(kept):
                if isinstance(part[0], Tree):
                    part.set_label(re.split(r"[-=|]", part.label())[0])
                else:
                    part[0] = normalised(part[0])
            found.append(kept)
    if not found:
        raise InputError(f"{path}: no sentence is left")
    return found


def _is_clean(tree: Tree) -> bool:
    return all(isinstance(child, Tree) for child in tree) or len(tree) == 1
