"""Trees from their steps, the inverse of ``steps_of``."""

from collections.abc import Sequence

from nltk import Tree

from fairseq_struct.data.readers.transformation_lists import word_spans


def tree_of_steps(words: Sequence[str], steps: Sequence[tuple[int, int, str]]) -> Tree:
    """The tree that steps build; ValueError if it is none over all words."""
    done: list[Tree] = []  # the leftmost one last
    left = len(words)  # untouched words
    for (start, end, category), _ in zip(steps, word_spans(steps, left), strict=True):
        if start < left:
            left = start
            done.append(Tree(category, [words[left]]))
        else:
            done.append(Tree(category, [done.pop() for _ in range(end - start)]))
    return done[0]
