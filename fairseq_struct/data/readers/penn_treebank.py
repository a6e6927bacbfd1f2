"""Trees of the Penn Treebank, prepared for the evaluation of unsupervised parsers."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path

from nltk import Tree

from fairseq_struct.data.readers.bracket_trees import leaves_of, nodes_of, prune, read_trees
from fairseq_struct.errors import InputError
from fairseq_struct.files.text_files import files_of

# Parts of speech of words; the last four are those of OntoNotes and the English Web Treebank.
WORDS = frozenset(
    "CC CD DT EX FW IN JJ JJR JJS LS MD NN NNS NNP NNPS PDT POS PRP PRP$ RB RBR RBS RP SYM TO UH "
    "VB VBD VBG VBN VBP VBZ WDT WP WP$ WRB ADD AFX GW XX".split()
)
# Tags of punctuation, currency symbols and empty elements.
PUNCTUATION = frozenset(", . : `` '' ( ) -LRB- -RRB- $ # -NONE- NFP HYPH".split())
_FUNCTION = re.compile(r"[-=|]")
# Also fractions; the treebank writes their slash as \/.
_NUMBER = re.compile(r"[0-9]+(?:(?:[.,:]|\\?/)[0-9]+)*")


def is_number(word: str) -> bool:
    """Whether a word is a number, which is ``N`` in the language model text."""
    return _NUMBER.fullmatch(word) is not None


def normalised(word: str) -> str:
    """Lower-case a word, or replace a number by ``N``, as in the language model text.

    Numbers within words stay (``30-year``), as in that text.
    """
    return "N" if is_number(word) else word.lower()


def read_evaluation_trees(
    path: Path, sections: Collection[int] | None = None, longest: int | None = None
) -> list[Tree]:
    """Read trees, remove punctuation and empty elements, and normalise the words.

    The part of speech decides which tokens are removed. Labels lose their functions (``NP-SBJ``
    becomes ``NP``). Sentences without any remaining word are left out.

    Args:
        path: a .mrg file, or a folder; all .mrg files below a folder are read, sorted by path.
        sections: read only the files wsj_NNxx.mrg of these sections NN.
        longest: maximum number of words of a sentence; longer sentences are left out.

    Raises:
        InputError: there is no .mrg file, a tree is malformed or has a tag that is neither one of
            a word nor one of punctuation, or no sentence is left.
    """
    found = []
    for place, tree in mrg_trees(path, sections):
        for tag in (node.label() for node in nodes_of(tree) if isinstance(node[0], str)):
            if tag not in WORDS and tag not in PUNCTUATION:
                raise InputError(
                    f"{place}: {tag!r} is no part of speech of the Penn Treebank, so words cannot "
                    "be told from punctuation"
                )
        kept = prune(tree, lambda tag, _: tag in WORDS)
        if kept is None or (longest and len(leaves_of(kept)) > longest):
            continue
        for part in nodes_of(kept):
            if isinstance(part[0], Tree):
                part.set_label(without_functions(part.label()))
            else:
                part[0] = normalised(part[0])
        found.append(kept)
    if not found:
        raise InputError(f"{path}: no sentence is left")
    return found


def mrg_trees(path: Path, sections: Collection[int] | None = None) -> Iterator[tuple[str, Tree]]:
    """Yield the trees of the treebank, each with its file and line.

    Args:
        path: a .mrg file, or a folder; all .mrg files below a folder are read, sorted by path.
        sections: read only the files wsj_NNxx.mrg of these sections NN.

    Raises:
        InputError: there is no .mrg file, a tree is malformed, or a word has no tag.
    """
    files = files_of(path, "**/*.mrg") if path.is_dir() else [path]
    if sections is not None:
        wanted = {f"wsj_{section:02d}" for section in sections}
        files = [file for file in files if file.name[:6] in wanted]
    if not files:
        raise InputError(f"{path}: no .mrg file" + (" of these sections" if sections else ""))
    for file in files:
        for line, tree in read_trees(file, labels=True):
            require_tags(tree, f"{file}:{line}")
            yield f"{file}:{line}", tree


def require_tags(tree: Tree, place: str) -> None:
    """Refuse a tree with a word that has no part-of-speech tag of its own.

    Args:
        tree: any tree.
        place: file and line, for the error.

    Raises:
        InputError: there is such a word.
    """
    for node in nodes_of(tree):
        bare = any(isinstance(child, str) for child in node)
        if bare and (len(node) > 1 or not node.label()):
            raise InputError(f"{place}: a word without a part-of-speech tag")


def without_functions(label: str) -> str:
    """The category of a phrase without its functions: ``NP`` for ``NP-SBJ``."""
    return _FUNCTION.split(label)[0]
