"""Synchronous context-free grammars, which derive a sentence, its translation and their trees.

A rule rewrites one category on both sides at once. An example in the notation of
``Grammar.parse``::

    3  NP(N G) -> det=D(N) amod=A(N G) *N(N G)   =>  * amod det

The noun phrase of number N and gender G becomes determiner, adjective, noun in the source. In the
target it becomes noun, adjective, determiner. The rule has weight 3 among the rules for NP. The
star marks the head. Every other part has the name of its relation to the head, and the target
side lists the parts by these names. Variables take their value from the left side. A variable
that is missing there is drawn from the domain of its first letter. Lower-case arguments are
constants.

References: Aho and Ullman (1969), "Syntax directed translations and the pushdown assembler";
Chiang (2006), "An introduction to synchronous grammars".
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

SOURCE, TARGET = 0, 1

Key = tuple[str, tuple[str, ...]]  # a category and the values of its features

_PART = re.compile(r"(?:(\w+)=|(\*))(\w+)\(([^)]*)\)")
_RULE = re.compile(r"(\d+)\s+(\w+)\(([^)]*)\)\s*->\s*(.*?)\s*=>\s*(.*)")


@dataclass(frozen=True)
class Part:
    """One category on the right side of a rule."""

    relation: str  # to the head; "*" for the head itself
    category: str
    arguments: tuple[str, ...]


@dataclass(frozen=True)
class Rule:
    """One way to rewrite a category; ``target`` is the order of the parts in the target."""

    weight: int
    category: str
    parameters: tuple[str, ...]
    parts: tuple[Part, ...]
    target: tuple[int, ...]


@dataclass(frozen=True)
class Entry:
    """A word and its translation; the string is empty if a side has no such word."""

    source: str
    target: str


@dataclass(frozen=True)
class Node:
    """A derived constituent on both sides.

    Attributes:
        category: label of the constituent; for a leaf, its part of speech.
        relation: relation to the head of the parent constituent; "*" for the head itself.
        words: for a leaf the word of each side, possibly empty.
        children: its parts in source order; none for a leaf.
        target: indices of ``children`` in target order.
    """

    category: str
    relation: str
    words: tuple[str, str] = ("", "")
    children: tuple[Node, ...] = ()
    target: tuple[int, ...] = ()

    def ordered(self, side: int) -> tuple[Node, ...]:
        """Return the children in the order of a side (``SOURCE`` or ``TARGET``)."""
        if side == SOURCE:
            return self.children
        return tuple(self.children[i] for i in self.target)

    def leaves(self, side: int) -> Iterator[Node]:
        """Yield the leaves that have a word on a side, from left to right."""
        if not self.children and self.words[side]:
            yield self
        for child in self.ordered(side):
            yield from child.leaves(side)

    def sentence(self, side: int) -> str:
        """Return the words of a side, separated by spaces."""
        return " ".join(leaf.words[side] for leaf in self.leaves(side))

    def brackets(self, side: int) -> str:
        """Return the constituency tree of a side as brackets on one line."""
        if not self.children:
            return f"({self.category} {self.words[side]})" if self.words[side] else ""
        inside = " ".join(filter(None, (child.brackets(side) for child in self.ordered(side))))
        return f"({self.category} {inside})"

    def head(self) -> Node:
        """Return the leaf that heads the constituent."""
        node = self
        while node.children:
            node = next(child for child in node.children if child.relation == "*")
        return node

    def dependencies(self, side: int) -> list[tuple[int, str]]:
        """Return the head (1-based, 0 for the root) and the relation of each word of a side."""
        position = {id(leaf): i for i, leaf in enumerate(self.leaves(side), start=1)}
        arcs = {}

        def attach(node: Node, governor: int, relation: str) -> None:
            if not node.children:
                arcs[position.get(id(node))] = (governor, relation)
                return
            own = position[id(node.head())]
            for child in node.children:
                if child.relation == "*":
                    attach(child, governor, relation)
                else:
                    attach(child, own, child.relation)

        attach(self, 0, "root")
        return [arcs[i] for i in position.values()]

    def alignment(self) -> list[tuple[int, int]]:
        """Return the pairs (source, target) of 0-based positions of words that are translations.

        A word without a counterpart on the other side is in no pair.
        """
        target = {id(leaf): j for j, leaf in enumerate(self.leaves(TARGET))}
        source = enumerate(self.leaves(SOURCE))
        return [(i, target[id(leaf)]) for i, leaf in source if id(leaf) in target]


class Grammar:
    """Rules and lexicon of a synchronous grammar; it draws sentence pairs."""

    def __init__(
        self,
        rules: list[Rule],
        lexicon: dict[Key, list[Entry]],
        domains: dict[str, tuple[str, ...]],
        recursive: frozenset[str],
    ):
        """Assemble a grammar.

        Args:
            rules: rewriting rules of the categories.
            lexicon: entries of each word category, by the values of its features.
            domains: the values of a variable, by the first letter of its name.
            recursive: categories that add one level of depth.
        """
        self.lexicon = lexicon
        self.domains = domains
        self.recursive = recursive
        self._rules: dict[str, list[Rule]] = {}
        for rule in rules:
            self._rules.setdefault(rule.category, []).append(rule)
        self._least = self._least_depths()

    @classmethod
    def parse(
        cls,
        table: str,
        lexicon: dict[Key, list[Entry]],
        domains: dict[str, tuple[str, ...]],
        recursive: frozenset[str],
    ) -> Grammar:
        """Read the rules of a grammar from a table with one rule per line.

        Args:
            table: rules in the notation explained at the top of this module.
            lexicon: see ``__init__``.
            domains: see ``__init__``.
            recursive: see ``__init__``.

        Raises:
            ValueError: a line does not follow this notation.
        """
        lines = (line.strip() for line in table.splitlines())
        return cls([_parse_rule(x) for x in lines if x], lexicon, domains, recursive)

    def derive(self, start: str, max_depth: int, generator: random.Random) -> Node:
        """Draw a derivation.

        Args:
            start: the category to begin with; it has no features.
            max_depth: maximum number of nested recursive categories.
            generator: source of randomness.

        Raises:
            ValueError: no derivation fits this depth.
        """
        return self._derive(start, (), "*", max_depth, generator)

    def _derive(
        self,
        category: str,
        features: tuple[str, ...],
        relation: str,
        depth: int,
        generator: random.Random,
    ) -> Node:
        entries = self.lexicon.get((category, features))
        if entries:
            entry = generator.choices(entries)[0]
            return Node(category, relation, (entry.source, entry.target))
        rules = [
            rule for rule in self._rules.get(category, ()) if self._fits(rule, features, depth)
        ]
        if not rules:
            raise ValueError(f"nothing derives {category}({' '.join(features)}) at depth {depth}")
        rule = generator.choices(rules, [r.weight for r in rules])[0]
        values = dict(zip(rule.parameters, features, strict=True))
        children = []
        for part in rule.parts:
            for name in part.arguments:
                if name[0].isupper() and name not in values:
                    values[name] = generator.choice(self.domains[name[0]])
            arguments = tuple(values.get(name, name) for name in part.arguments)
            deeper = depth - (part.category in self.recursive)
            children.append(
                self._derive(part.category, arguments, part.relation, deeper, generator)
            )
        return Node(category, relation, children=tuple(children), target=rule.target)

    def _least_depths(self) -> dict[str, float]:
        """Return the depth of the shallowest derivation of each category."""
        least: dict[str, float] = {category: 0 for category, _ in self.lexicon}
        changed = True
        while changed:
            changed = False
            for category, rules in self._rules.items():
                depth = min(self._depth(rule, least) for rule in rules)
                if depth < least.get(category, inf):
                    least[category] = depth
                    changed = True
        return least

    def _depth(self, rule: Rule, least: dict[str, float]) -> float:
        """Return the depth of the shallowest derivation by a rule."""
        return max(
            least.get(part.category, inf) + (part.category in self.recursive) for part in rule.parts
        )

    def _fits(self, rule: Rule, features: tuple[str, ...], depth: int) -> bool:
        if self._depth(rule, self._least) > depth:
            return False
        for name, value in zip(rule.parameters, features, strict=True):
            allowed = self.domains[name[0]] if name[0].isupper() else (name,)
            if value not in allowed:
                return False
        return True


def _parse_rule(line: str) -> Rule:
    match = _RULE.fullmatch(line)
    if not match:
        raise ValueError(f"not a rule: {line!r}")
    weight, category, parameters, right, order = match.groups()
    parts = tuple(
        Part(relation or star, name, tuple(arguments.split()))
        for relation, star, name, arguments in _PART.findall(right)
    )
    relations = [part.relation for part in parts]
    if _PART.sub("", right).strip() or len(set(relations)) < len(relations):
        raise ValueError(f"not a rule, every part needs a name of its own: {line!r}")
    if sorted(relations) != sorted(order.split()) or "*" not in relations:
        raise ValueError(f"not a rule, needs a head and the same parts on both sides: {line!r}")
    target = tuple(relations.index(name) for name in order.split())
    return Rule(int(weight), category, tuple(parameters.split()), parts, target)
