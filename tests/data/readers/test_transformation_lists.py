"""Trees as lists of steps, and back."""

import itertools
import os
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk import Tree
from step_trees import tree_of_steps

from fairseq_struct.data.readers.bracket_trees import read_trees, to_line
from fairseq_struct.data.readers.transformation_lists import (
    ListOptions,
    Step,
    normalised_tree,
    read_lists,
    steps_of,
    tag_of,
    word_spans,
)
from fairseq_struct.errors import InputError

SAMPLE = Path(os.environ.get("DATA") or "absent") / "wsj5" / "combined"
EVERY = [ListOptions(*each) for each in itertools.product((True, False), ("merge", "own"))]
RICE = """( (S (NP-SBJ (NNP Cathryn) (NNP Rice))
     (VP (MD could) (ADVP (RB hardly)) (VP (VB believe) (NP (PRP$ her) (NNS eyes))))
     (. .)) )"""

LABELS = st.sampled_from(["S", "NP-SBJ", "VP", "PP=2", "A+B", "-LRB-", "PRT|ADVP"])
TAGS = st.sampled_from(["NN", "VB", ".", "''", "-NONE-", "$", "N+V"])
WORDS = st.builds(lambda tag, word: Tree(tag, [word]), TAGS, st.sampled_from(["a", "b", "+", "."]))
TREES = st.recursive(
    WORDS, lambda below: st.builds(Tree, LABELS, st.lists(below, min_size=1, max_size=4))
)


def write(path, *trees):
    path.write_text("\n".join(trees) + "\n")
    return path


def replayed(words, steps):
    """Replace slices of a list, step by step: each symbol, and the words it stands for."""
    sequence = [(word, (place, place + 1)) for place, word in enumerate(words)]
    spans = []
    for start, end, category in steps:
        symbols, inner = zip(*sequence[start:end], strict=True)
        spans.append((inner[0][0], inner[-1][1]))
        sequence[start:end] = [(Tree(category, list(symbols)), spans[-1])]
    ((tree, _),) = sequence
    return tree, spans


def by_definition(tree, first=0):
    """Steps from right to left and bottom up, with ``first`` untouched words on the left."""
    if isinstance(tree[0], str):
        return [(first, first + 1, tree.label())]
    steps = []
    for place in reversed(range(len(tree))):
        before = Tree("", tree[:place]).leaves()
        steps += by_definition(tree[place], first + len(before))
    return [*steps, (first, first + len(tree), tree.label())]


def taken_apart(tree):
    """The tree with a node for each part of a joined category."""
    children = [taken_apart(child) if isinstance(child, Tree) else child for child in tree]
    for label in reversed(tree.label().split("+")):
        children = [Tree(label, children)]
    return children[0]


def test_the_example_of_the_thesis(tmp_path):
    """Figure FC3.3: its first six steps, and the others."""
    ((place, words, tree),) = read_lists(write(tmp_path / "one.mrg", RICE), ListOptions())
    assert place == f"{tmp_path}/one.mrg:1"
    assert words == "Cathryn Rice could hardly believe her eyes .".split()
    assert steps_of(tree) == [
        (7, 8, "."), (6, 7, "NNS"), (5, 6, "PRP$"), (5, 7, "NP"), (4, 5, "VB"), (4, 6, "VP"),
        (3, 4, "ADVP+RB"), (2, 3, "MD"), (2, 5, "VP"), (1, 2, "NNP"), (0, 1, "NNP"), (0, 2, "NP"),
        (0, 3, "S"),
    ]  # fmt: skip
    own = normalised_tree(Tree.fromstring(RICE)[0], ListOptions(unary="own"), "")
    assert steps_of(own)[6:8] == [Step(3, 4, "RB"), Step(3, 4, "ADVP")]
    spans = word_spans(steps_of(tree), 8)
    assert spans[3:6] == [(5, 7), (4, 5), (4, 7)] and spans[-1] == (0, 8)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(TREES, st.sampled_from(EVERY))
def test_lists_rebuild_their_tree(tree, options):
    before = to_line(tree)
    try:
        found = normalised_tree(tree, options, "here")
    except InputError:
        assert {leaf.label() for leaf in tree.subtrees(lambda t: t.height() == 2)} == {"-NONE-"}
        return
    assert to_line(tree) == before
    if found is None:
        assert not options.punctuation
        return
    words, steps = found.leaves(), steps_of(found)
    assert steps == by_definition(found)
    assert tree_of_steps(words, steps) == found
    assert replayed(words, steps) == (found, word_spans(steps, len(words)))


@settings(max_examples=100, deadline=None, derandomize=True)
@given(TREES, st.booleans())
def test_options(tree, punctuation):
    """What is left of words and labels, and that joined labels name all that were joined."""
    kept = [
        (leaf.label().replace("+", "&"), leaf[0])
        for leaf in tree.subtrees(lambda t: t.height() == 2)
        if leaf.label() != "-NONE-" and (punctuation or leaf.label() not in (".", "''"))
    ]
    if all(leaf.label() == "-NONE-" for leaf in tree.subtrees(lambda t: t.height() == 2)):
        return
    merged, own = (
        normalised_tree(tree, ListOptions(punctuation, unary), "") for unary in ("merge", "own")
    )
    if not kept:
        assert merged is None and own is None
        return
    assert own.pos() == [(word, tag) for tag, word in kept]
    assert taken_apart(merged) == own
    assert all(len(node) > 1 for node in merged.subtrees(lambda t: t.height() > 2))
    labels = {node.label() for node in own.subtrees(lambda t: t.height() > 2)}
    assert labels <= {"S", "NP", "VP", "PP", "A&B", "X", "PRT"}


def test_trees_deeper_than_the_recursion_limit(tmp_path):
    depth = 3000
    line = "(S " * depth + "(NN a)" + " (NN b))" * depth
    ((_, words, tree),) = read_lists(write(tmp_path / "deep.mrg", line), ListOptions())
    steps = steps_of(tree)
    assert len(words) == depth + 1 and len(steps) == 2 * depth + 1
    assert to_line(tree_of_steps(words, steps)) == line
    assert word_spans(steps, len(words))[-1] == (0, depth + 1)
    chain = write(tmp_path / "chain.mrg", "(S " * depth + "(NN a)" + ")" * depth)
    ((_, words, tree),) = read_lists(chain, ListOptions())
    assert steps_of(tree) == [(0, 1, "S+" * depth + "NN")]


def test_sentences_by_length(tmp_path):
    path = write(tmp_path / "some.mrg", "(S (NN a) (. .))", "(NN b)", "(S (NN c) (NN d) (. .))",
                 "( (S (. .)) )")  # fmt: skip

    def read(*options):
        return [" ".join(each.words) for each in read_lists(path, ListOptions(*options))]

    assert read() == ["a .", "b", "c d .", "."]
    assert read(True, "merge", 2) == ["a .", "c d ."]
    assert read(True, "merge", 2, 2) == ["a ."]
    assert read(False) == ["a", "b", "c d"]
    assert read(False, "merge", 2, 2) == ["c d"]


def test_brackets_without_a_name_are_called_x(tmp_path):
    path = write(tmp_path / "some.mrg", "(S (NN a) ((VB b) (RB c)))", "( (S (NN d) (VB e)) (. .) )")
    assert [to_line(each.tree) for each in read_lists(path, ListOptions())] == [
        "(S (NN a) (X (VB b) (RB c)))", "(X (S (NN d) (VB e)) (. .))"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(S (NN a))\n(S (NP (-NONE- *)) (-NONE- 0))", ":2: a tree without words"),
        ("(S (NN a))\n(S (NN b)", ":2: this tree is not closed"),
        ("(S (NN a)))", ":1: ')' is outside all trees"),
        ("(S ())", ":1: empty brackets"),
        ("(S (NN a) b)", ":1: a word without a part-of-speech tag"),
        ("(S (NN a))\n((a b) c)", ":2: a word without a part-of-speech tag"),
        ("(S (NN) (VB b))", ":1: a word without a part-of-speech tag"),
        ("", ": no sentence is left"),
    ],
)
def test_bad_trees(tmp_path, text, message):
    path = write(tmp_path / "bad.mrg", text)
    with pytest.raises(InputError) as found:
        read_lists(path, ListOptions())
    assert str(found.value) == f"{path}{message}"


def test_no_trees(tmp_path):
    with pytest.raises(InputError, match="no .mrg file"):
        read_lists(tmp_path, ListOptions())
    with pytest.raises(InputError, match="no such file"):
        read_lists(tmp_path / "absent.mrg", ListOptions())
    path = write(tmp_path / "marks.mrg", "(S (. .))")
    with pytest.raises(InputError, match="no sentence is left"):
        read_lists(path, ListOptions(punctuation=False))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"unary": "drop"}, "unary 'drop': must be one of merge, own"),
        ({"shortest": 0}, "sentences of 0 words: must be 1 or more"),
        ({"shortest": 5, "longest": 4}, "no sentence has 5 words or more, but 4 at most"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(InputError, match=message):
        ListOptions(**options)


@pytest.mark.parametrize(
    "steps",
    [
        [],
        [(0, 1, "A")],  # the last word comes first
        [(1, 2, "A")],  # one word is left
        [(1, 2, "A"), (0, 1, "B")],  # two symbols are left
        [(1, 2, "A"), (0, 2, "B")],  # a word that is no symbol yet
        [(1, 2, "A"), (0, 1, "B"), (0, 3, "C")],  # beyond the end
        [(1, 2, "A"), (0, 1, "B"), (1, 2, "C"), (0, 2, "C")],  # not the leftmost symbol
        [(1, 2, "A"), (1, 1, "B"), (0, 1, "B"), (0, 2, "C")],  # nothing
        [(1, 2, "A"), (0, 1, "B"), (0, 2, "C"), (-1, 0, "D")],
    ],
)
def test_steps_that_build_no_tree(steps):
    with pytest.raises(ValueError):
        word_spans(steps, 2)


def test_tags_of_joined_categories():
    assert [tag_of("NP+QP+CD", single) for single in (True, False)] == ["CD", "NP"]
    assert [tag_of("VP", single) for single in (True, False)] == ["VP", "VP"]


@pytest.fixture(scope="module")
def sample():
    """The trees of the sample, as they are."""
    if not SAMPLE.is_dir():
        pytest.skip("needs DATA with wsj5")
    return [tree for file in sorted(SAMPLE.glob("*.mrg")) for _, tree in read_trees(file)]


@pytest.mark.data
@pytest.mark.parametrize(
    ("options", "tags", "count", "share", "one_word", "length", "of_this_length"),
    [
        (EVERY[0], 71, 153_250, 61.4, 1, (1, 47), 3793),
        (EVERY[1], 71, 167_543, 64.7, 1, (1, 47), 3793),
        (EVERY[2], 64, 141_954, 58.5, 13, (5, 59), 3794),
        (EVERY[3], 64, 156_539, 62.4, 13, (5, 59), 3794),
    ],
)
def test_every_tree_of_the_sample(
    sample, options, tags, count, share, one_word, length, of_this_length
):
    """Lists rebuild it; and the numbers that the documentation states."""
    total, single, found, words = 0, 0, Counter(), Counter()
    for tree in sample:
        tree = normalised_tree(tree, options, "")
        leaves, steps = tree.leaves(), steps_of(tree)
        words[len(leaves)] += 1
        assert tree_of_steps(leaves, steps) == tree
        if len(leaves) > 1:
            total += len(steps)
            single += sum(step.end - step.start == 1 for step in steps)
            found.update(tag for step in steps for tag in step.category.split("+"))
    assert (len(found), total, round(100 * single / total, 1)) == (tags, count, share)
    assert words.total() == 3914 and words[1] == one_word
    shortest, longest = length
    assert sum(words[n] for n in range(shortest, longest + 1)) == of_this_length
