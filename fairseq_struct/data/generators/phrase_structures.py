"""A seeded generator of constituency trees, from an invented phrase-structure grammar.

Its categories are those of the Penn Treebank (Marcus et al., 1993): noun, verb, prepositional,
adjective and adverb phrases, main and subordinate clauses. What is attached where can be learned
from words: a word has one part of speech, each verb takes complements of one kind, one half of the
prepositions follow nouns, the other half verbs. So a few hundred sentences suffice.
"""

from __future__ import annotations

import random

from nltk import Tree

from fairseq_struct.data.readers.bracket_trees import leaves_of
from fairseq_struct.data.readers.transformation_lists import (
    ListedTree,
    ListOptions,
    listed,
    normalised_tree,
)
from fairseq_struct.errors import InputError

GENERATED = "generated"  # the place of these trees, for messages

# Forms of each part of speech. What follows the slash is not in the tree.
WORDS = {
    "DT": 4, "JJ": 12, "RB": 8, "PRP": 4, "NNP": 12, "NNS": 12, "NN": 24, "IN/of": 3, "IN/in": 4,
    "IN/that": 2, "VBD/alone": 6, "VBD/object": 10, "VBD/clause": 5, "VBD/state": 4,
}  # fmt: skip
MARKS = {".": ".", ",": ","}
# Symbol -> weight and children of each of its rules. The first rule alone is taken deep in a tree.
RULES = {
    "S": ((5, "NP VP ."), (1, "PP/in , NP VP .")),
    "S/clause": ((1, "NP VP"),),
    "NP": ((3, "NP/noun"), (2, "PRP"), (2, "NNP"), (1, "NNS"), (2, "NP/noun PP/of")),
    "NP/noun": ((3, "DT NN"), (2, "DT JJ NN"), (1, "DT ADJP NNS")),
    "PP/of": ((1, "IN/of NP"),),
    "PP/in": ((1, "IN/in NP"),),
    "VP": (
        (2, "VBD/object NP"), (1, "VBD/alone"), (1, "VBD/alone ADVP"), (2, "VBD/object NP PP/in"),
        (1, "VBD/alone PP/in"), (2, "VBD/clause SBAR"), (1, "VBD/state ADJP"),
    ),
    "SBAR": ((1, "IN/that S/clause"),),
    "ADJP": ((1, "RB JJ"), (1, "JJ")),
    "ADVP": ((1, "RB"),),
}  # fmt: skip
DEEPEST = 7  # phrases above each other in which every rule may be taken
LONGEST = 25


def generate_trees(number: int, seed: int = 1) -> list[Tree]:
    """Draw trees of different sentences of at most 25 words.

    Args:
        number: of sentences, punctuation marks included.
        seed: of all draws.

    Raises:
        InputError: ``number`` is below 1.
    """
    if number < 1:
        raise InputError(f"{number} sentences: must be 1 or more")
    draw = random.Random(seed)
    found: dict[tuple[str, ...], Tree] = {}
    while len(found) < number:
        tree = _phrase("S", draw, DEEPEST)
        words = tuple(leaves_of(tree))
        if len(words) <= LONGEST:
            found.setdefault(words, tree)
    return list(found.values())


def generate_lists(number: int, seed: int, options: ListOptions) -> list[ListedTree]:
    """Draw trees, and normalise and select them as if they had been read.

    Args:
        number: of trees that are drawn.
        seed: of all draws.
        options: which of them stay, and in what form.

    Returns:
        The trees that stay.

    Raises:
        InputError: no sentence has the wanted length.
    """
    found = []
    for count, tree in enumerate(generate_trees(number, seed), 1):
        place = f"{GENERATED}:{count}"
        found += listed(normalised_tree(tree, options, place), options, place)
    if not found:
        raise InputError(f"{GENERATED}: no sentence is left")
    return found


def _phrase(symbol: str, draw: random.Random, deeper: int) -> Tree:
    """Draw the tree of a symbol; ``deeper`` more phrases below it may take any rule."""
    label, _, kind = symbol.partition("/")
    if symbol in MARKS:
        return Tree(symbol, [MARKS[symbol]])
    if symbol in WORDS:
        return Tree(label, [f"{kind or label.lower()}{draw.randint(1, WORDS[symbol])}"])
    weights, rules = zip(*RULES[symbol], strict=True)
    rule = draw.choices(rules, weights)[0] if deeper > 0 else rules[0]
    if rule == f"{label}/noun":
        return _phrase(rule, draw, deeper)
    return Tree(label, [_phrase(child, draw, deeper - 1) for child in rule.split()])
