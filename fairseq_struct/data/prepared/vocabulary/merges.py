"""Byte-pair merges, exactly those that subword-nmt learns, for vocabularies of any size.

Reference: Sennrich, Haddow and Birch (2016), "Neural machine translation of rare words with subword
units", algorithm 1. The most frequent pair of neighbouring symbols is merged, of several the last
one in the order of strings, until there are enough merges or no pair occurs twice. subword-nmt
looks for it among all pairs; here a heap knows it, and the time grows with what merges change.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Mapping

Merge = tuple[str, str]

END = "</w>"  # marks the last symbol of a word
LEAST = 2  # occurrences of a pair that is merged


class _Descending(tuple):
    """A pair of strings that sorts before all smaller ones."""

    __slots__ = ()
    __lt__ = tuple.__gt__


def learn_merges(words: Mapping[str, int], merges: int) -> list[Merge]:
    """Learn merges of neighbouring symbols.

    Args:
        words: how often each word occurs.
        merges: how many to learn.

    Returns:
        The merges in their order; fewer than ``merges`` if no further pair occurs twice.
    """
    parts = [[*word[:-1], word[-1] + END] for word in words]
    pairs, learned = _Pairs(), []
    for number, (symbols, count) in enumerate(zip(parts, words.values(), strict=True)):
        pairs.change(number, count, [], symbols)
    counts = list(words.values())
    while len(learned) < merges and (best := pairs.best()) is not None:
        learned.append(best)
        for number in pairs.words_with(best):
            before, after = parts[number], _merged(parts[number], best)
            pairs.change(number, counts[number], *_where_they_differ(before, after))
            parts[number] = after
    return learned


class _Pairs:
    """How often pairs of neighbours occur, and in which words."""

    def __init__(self):
        self._counts: Counter[Merge] = Counter()
        self._changes: Counter[Merge] = Counter()  # since the best one was asked for
        self._words: defaultdict[Merge, set[int]] = defaultdict(set)
        self._heap: list[tuple[int, _Descending]] = []

    def change(self, word: int, count: int, before: list[str], after: list[str]) -> None:
        """Some symbols of a word that occurs ``count`` times have become others."""
        changes, words = self._changes, self._words
        for pair in zip(before, before[1:]):  # noqa: B905 - one is shorter
            changes[pair] -= count
        for pair in zip(after, after[1:]):  # noqa: B905
            changes[pair] += count
            words[pair].add(word)

    def words_with(self, pair: Merge) -> list[int]:
        """Words that have, or once had, a pair."""
        return list(self._words[pair])

    def best(self) -> Merge | None:
        """The most frequent pair; None if none occurs twice."""
        counts, heap = self._counts, self._heap
        for pair, change in self._changes.items():
            counts[pair] += change
            if change > 0:
                heapq.heappush(heap, (-counts[pair], _Descending(pair)))
        self._changes.clear()
        while heap:
            known, pair = heapq.heappop(heap)
            count = counts[pair]
            if count == -known and count >= LEAST:
                return tuple(pair)
            if count >= LEAST:  # it has become rarer since
                heapq.heappush(heap, (-count, pair))
        return None


def _where_they_differ(before: list[str], after: list[str]) -> tuple[list[str], list[str]]:
    """Both without equal symbols at their ends, but for one on each side."""
    most, first, last = min(len(before), len(after)), 0, 0
    while first < most and before[first] == after[first]:
        first += 1
    while last < most - first and before[-1 - last] == after[-1 - last]:
        last += 1
    first, last = max(first - 1, 0), max(last - 1, 0)
    return before[first : len(before) - last], after[first : len(after) - last]


def _merged(symbols: list[str], pair: Merge) -> list[str]:
    """The symbols with every occurrence of a pair as one, from left to right."""
    first, second = pair
    found, place, last = [], 0, len(symbols) - 1
    while place <= last:
        if place < last and symbols[place] == first and symbols[place + 1] == second:
            found.append(first + second)
            place += 2
        else:
            found.append(symbols[place])
            place += 1
    return found
