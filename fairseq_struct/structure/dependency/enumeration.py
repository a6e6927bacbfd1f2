"""All dependency trees of a short sentence, one by one: for teaching and for tests."""

from functools import cache
from itertools import product

# 7 words already have 2 million trees.
LONGEST = 6


@cache
def all_heads(n: int, projective: bool, single_root: bool) -> tuple[tuple[int, ...], ...]:
    """Heads (1-based, 0 for the root) of all trees over n words.

    For n = 2..5 there are 3, 16, 125, 1296 trees (Cayley: (n + 1)^(n - 1)), and 2, 9, 64, 625 with
    a single root (n^(n - 1)). Of these, 3, 12, 55, 273 and 2, 7, 30, 143 are projective.

    Args:
        n: number of words, 1 to ``LONGEST``.
        projective: leave out trees with crossing arcs.
        single_root: leave out trees whose root has several modifiers.

    Raises:
        ValueError: n is out of range.
    """
    if not 1 <= n <= LONGEST:
        raise ValueError(f"enumeration is for 1 to {LONGEST} words, not {n}")
    trees = product(*([h for h in range(n + 1) if h != m] for m in range(1, n + 1)))
    return tuple(
        heads
        for heads in trees
        if is_tree(heads)
        and (not single_root or heads.count(0) == 1)
        and (not projective or is_projective(heads))
    )


def is_tree(heads: tuple[int, ...]) -> bool:
    """Whether every word reaches the root."""
    for word in range(1, len(heads) + 1):
        steps = 0
        while word != 0:
            word = heads[word - 1]
            steps += 1
            if steps > len(heads):
                return False
    return True


def is_projective(heads: tuple[int, ...]) -> bool:
    """Whether no two arcs cross. The root stands in front of the sentence."""
    arcs = [(min(h, m), max(h, m)) for m, h in enumerate(heads, 1)]
    return not any(a < c < b < d for a, b in arcs for c, d in arcs)
