"""A seeded generator of sentences in which each word chooses its dependents.

A verb has a subject before it. It sometimes has an object, an adverb and an adpositional phrase
after it. Nouns have determiners, adjectives and adpositional phrases. For each of its relations,
a word has a few favourite dependents, and takes one of them nine times out of ten. So the head
and the dependents of a hidden word predict it, and other neighbours hardly do. Unsupervised
parsers are supposed to find these dependencies.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

from fairseq_struct.data.readers.conllu import Sentence
from fairseq_struct.errors import InputError

CLASSES = {"DET": 8, "ADJ": 30, "NOUN": 60, "VERB": 40, "ADV": 20, "ADP": 10}
FAVOURITES = 2
FAITH = 0.9
# Dependents of a class: relation, class, probability and side, from left to right.
DEPENDENTS = {
    "VERB": (
        ("advmod", "ADV", 0.2, "left"), ("nsubj", "NOUN", 1.0, "left"),
        ("obj", "NOUN", 0.6, "right"), ("obl", "NOUN", 0.3, "right"),
        ("advmod", "ADV", 0.2, "right"),
    ),
    "NOUN": (
        ("case", "ADP", 0.0, "left"), ("det", "DET", 0.6, "left"), ("amod", "ADJ", 0.5, "left"),
        ("nmod", "NOUN", 0.25, "right"),
    ),
}  # fmt: skip
# Relations of nouns with an adposition; the adposition precedes all other dependents.
WITH_CASE = frozenset({"nmod", "obl"})


@dataclass
class _Word:
    form: str
    tag: str
    relation: str
    left: list[_Word]
    right: list[_Word]


class DependencyLanguage:
    """A language: its words and the favourite dependents of each word.

    Args:
        seed: seed that determines the language.
    """

    def __init__(self, seed: int = 1):
        self.draw = random.Random(seed)
        self.words = {
            tag: [f"{tag.lower()}{number}" for number in range(1, size + 1)]
            for tag, size in CLASSES.items()
        }
        self.favourites = {
            (head, relation): self.draw.sample(self.words[tag], FAVOURITES)
            for head_tag, dependents in DEPENDENTS.items()
            for head in self.words[head_tag]
            for relation, tag, _, _ in dependents
        }

    def sentence(self, most_words: int = 20) -> Sentence:
        """Draw a sentence of at most ``most_words`` words, with its tree."""
        while True:
            root = self._word(self.draw.choice(self.words["VERB"]), "VERB", "root")
            order = list(_in_order(root))
            if len(order) <= most_words:
                return _sentence(order)

    def _word(self, form: str, tag: str, relation: str) -> _Word:
        word = _Word(form, tag, relation, [], [])
        for name, kind, probability, side in DEPENDENTS.get(tag, ()):
            if name == "case":
                probability = float(relation in WITH_CASE)
            if self.draw.random() < probability:
                liked = self.draw.random() < FAITH
                forms = self.favourites[form, name] if liked else self.words[kind]
                getattr(word, side).append(self._word(self.draw.choice(forms), kind, name))
        return word


def _in_order(word: _Word):
    for part in word.left:
        yield from _in_order(part)
    yield word
    for part in word.right:
        yield from _in_order(part)


def _sentence(order: list[_Word]) -> Sentence:
    place = {id(word): number for number, word in enumerate(order, 1)}
    heads = dict.fromkeys(place, 0)
    for word in order:
        heads.update((id(part), place[id(word)]) for part in [*word.left, *word.right])
    forms, tags, relations = zip(*((w.form, w.tag, w.relation) for w in order), strict=True)
    return Sentence(forms, tuple(heads[id(word)] for word in order), 0, tags, relations)


def generate_dependencies(sizes: Mapping[str, int], seed: int = 1) -> dict[str, list[Sentence]]:
    """Draw the splits of one language; no sentence is in two splits.

    A split takes no sentence of those before it, and short sentences are drawn often. So the first
    split has more of them: of the default sizes and seed, 23 % of the training sentences have up to
    four words, and 18 and 20 % of the others.

    Args:
        sizes: number of sentences of each split.
        seed: seed of the language and its sentences.

    Raises:
        InputError: a size is below 1.
    """
    if min(sizes.values()) < 1:
        raise InputError("a split needs 1 sentence or more")
    language = DependencyLanguage(seed)
    seen: dict[tuple[str, ...], str] = {}
    splits: dict[str, list[Sentence]] = {name: [] for name in sizes}
    for name, size in sizes.items():
        while len(splits[name]) < size:
            sentence = language.sentence()
            if seen.setdefault(sentence.words, name) == name:
                splits[name].append(sentence)
    return splits
