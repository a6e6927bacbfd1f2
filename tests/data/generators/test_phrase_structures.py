"""Trees of an invented phrase-structure grammar."""

from collections import Counter, defaultdict

import pytest

from fairseq_struct.data.generators.phrase_structures import LONGEST, generate_trees
from fairseq_struct.errors import InputError

PHRASES = {"S", "SBAR", "NP", "VP", "PP", "ADJP", "ADVP"}


@pytest.fixture(scope="module")
def trees():
    return generate_trees(400, 3)


def test_the_seed_decides(trees):
    assert generate_trees(400, 3) == trees
    assert generate_trees(20, 3) == trees[:20]
    assert generate_trees(400, 4) != trees
    with pytest.raises(InputError, match="0 sentences: must be 1 or more"):
        generate_trees(0)


def test_sentences_differ_and_have_bounded_length(trees):
    texts = {tuple(tree.leaves()) for tree in trees}
    assert len(texts) == 400
    assert 4 < sum(map(len, texts)) / 400 < LONGEST == 25 >= max(map(len, texts))


def test_categories(trees):
    phrases = Counter(node.label() for tree in trees for node in tree.subtrees()
                      if node.height() > 2)  # fmt: skip
    assert set(phrases) == PHRASES and min(phrases.values()) > 20
    assert all(tree.label() == "S" and tree[-1].label() == "." for tree in trees)


def test_words_tell_parts_of_speech_and_attachment(trees):
    """A word has one part of speech, a verb one kind of complement, a preposition one place."""
    tags, complements, above = defaultdict(set), defaultdict(set), defaultdict(set)
    for tree in trees:
        for word, tag in tree.pos():
            tags[word].add(tag)
        for node in tree.subtrees(lambda node: node.height() > 2):
            for child in node:
                if node.label() == "VP" and child.label() == "VBD":
                    complements[child[0]].add(node[1].label() if len(node) > 1 else "")
                if child.label() == "PP":
                    above[child[0][0]].add(node.label())
    assert max(map(len, tags.values())) == 1
    kinds = {"object": {"NP"}, "clause": {"SBAR"}, "state": {"ADJP"}, "alone": {"", "PP", "ADVP"}}
    for verb, found in complements.items():
        assert found <= kinds[verb.rstrip("0123456789")]
    for preposition, found in above.items():
        assert found <= ({"NP"} if preposition.startswith("of") else {"VP", "S"})
