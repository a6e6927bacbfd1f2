"""The Moses tokeniser of sacremoses, remembered word by word.

All of its rules but a few look at one word and its neighbours' first character. So the tokens of
most lines are those of their words, which repeat; a line where a rule may see more is left to
sacremoses. The tokens are the same.
"""

from __future__ import annotations

import re
from functools import partial

# At the end of a word, a full stop stays or becomes a token of its own by what follows it.
_LAST, _LOWER, _DIGIT, _OTHER = range(4)
_PROBES = ("", " a", " 1", " A")
# Apostrophes and commas without a neighbour on one side see the edge of the line, and the first of
# two hides the second from some rules; control characters are removed.
_FURTHER = re.compile(r"(?<!\S)[',]|'(?!\S)|[\x00-\x1f]")
_MOST_WORDS = 1 << 17


class MosesWords:
    """Separates lines into space-separated tokens, as sacremoses does without escapes.

    Args:
        language: two-letter code.
    """

    def __init__(self, language: str):
        from sacremoses import MosesTokenizer

        tokeniser = MosesTokenizer(language)
        self._lower, alphabetic = frozenset(tokeniser.IsLower), frozenset(tokeniser.IsAlpha)
        # Its own make these sets anew in every call, which takes longer than all the rest.
        tokeniser.islower = self._lower.issuperset
        tokeniser.isanyalpha = lambda text: not alphabetic.isdisjoint(text)
        self._whole_line = partial(tokeniser.tokenize, return_str=True, escape=False)
        self._words: dict[str, tuple[tuple[str, ...], int]] = {}

    def __call__(self, line: str) -> str:
        """The tokens of a line."""
        if _FURTHER.search(line):
            return self._whole_line(line)
        known, tokens, following = self._words, [], _LAST
        for word in reversed(line.split()):
            forms, begins = known.get(word) or self._learn(word)
            tokens.append(forms[following])
            following = begins
        return " ".join(reversed(tokens))

    def _learn(self, word: str) -> tuple[tuple[str, ...], int]:
        """A word's tokens before each kind of following word, and its own kind."""
        if len(self._words) == _MOST_WORDS:  # memory does not grow with the text
            self._words.clear()
        last = self._before(word, _LAST)
        forms = (last,) * len(_PROBES)
        if last.endswith("."):
            forms = (last, *(self._before(word, kind) for kind in (_LOWER, _DIGIT, _OTHER)))
        begins = _LOWER if last[0] in self._lower else _DIGIT if last[0] in "0123456789" else _OTHER
        self._words[word] = forms, begins
        return forms, begins

    def _before(self, word: str, kind: int) -> str:
        probe = _PROBES[kind]
        return self._whole_line(f"A {word}{probe}")[2:].removesuffix(probe)
