"""Constituency trees: from distances, trivial trees, brackets, and scores."""

import math

import pytest
import torch
from nltk import Tree

from fairseq_struct.data.readers.bracket_trees import (
    leaves_of,
    nodes_of,
    prune,
    read_trees,
    spans_of,
    to_line,
    tree_of,
)
from fairseq_struct.data.readers.penn_treebank import read_evaluation_trees
from fairseq_struct.errors import InputError
from fairseq_struct.evaluation.brackets import compare_brackets
from fairseq_struct.metrics.bracketing import BracketingScores
from fairseq_struct.structure.spans import (
    balanced,
    left_branching,
    mean_depth,
    pointer_entropy,
    random_tree,
    right_branching,
    tree_of_distances,
    tree_of_stack,
)

WORDS = "the cat sat on a mat".split()


def line_of(words, spans):
    return to_line(tree_of(words, spans))


def recursive(words, distances, split):
    """The two definitions of the paper, written as recursions."""
    if len(words) == 1:
        return words[0]
    if split == "gap":
        i = max(range(1, len(words)), key=lambda k: distances[k])
        parts = (words[:i], distances[:i]), (words[i:], distances[i:])
        return [recursive(*part, split) for part in parts]
    i = max(range(len(words)), key=lambda k: distances[k])
    right = words[i]
    if i + 1 < len(words):
        right = [words[i], recursive(words[i + 1 :], distances[i + 1 :], split)]
    return [recursive(words[:i], distances[:i], split), right] if i else right


def nested(tree):
    return [nested(child) for child in tree] if isinstance(tree, Tree) else tree


@pytest.mark.parametrize("split", ["word", "gap"])
def test_trees_of_distances_are_those_of_the_definitions(split):
    generator = torch.Generator().manual_seed(0)
    for n in (1, 2, 3, 6, 6, 6, 9):
        words = [f"w{i}" for i in range(n)]
        distances = torch.rand(n, generator=generator).tolist()
        spans = tree_of_distances(distances, split)
        assert len(spans) == len(set(spans)) == n - 1
        made = nested(tree_of(words, spans))
        assert made == (recursive(words, distances, split) if n > 1 else words)


def test_a_hand_made_tree():
    assert line_of(WORDS, tree_of_distances([6, 1, 5, 4, 3, 2])) == (
        "(X the (X cat (X sat (X on (X a mat)))))"
    )
    assert line_of(WORDS, tree_of_distances([0, 1, 5, 2, 4, 3], "gap")) == (
        "(X (X the cat) (X (X sat on) (X a mat)))"
    )
    assert tree_of_distances([3.0]) == []


def test_trivial_trees_and_their_depths():
    assert right_branching(4) == [(0, 4), (1, 4), (2, 4)]
    assert left_branching(4) == [(0, 4), (0, 3), (0, 2)]
    assert balanced(5) == [(0, 5), (0, 2), (2, 5), (3, 5)]
    assert mean_depth(right_branching(4), 4) == (1 + 2 + 3 + 3) / 4
    assert mean_depth(balanced(4), 4) == 2
    generator = torch.Generator().manual_seed(1)
    cuts = [random_tree(3, generator)[1] for _ in range(400)]
    assert 150 < cuts.count((0, 2)) < 250 and set(cuts) == {(0, 2), (1, 3)}
    for n in (1, 2, 7):
        for spans in (right_branching(n), left_branching(n), balanced(n), random_tree(n)):
            assert len(spans) == n - 1


@pytest.mark.parametrize("make", [right_branching, left_branching, balanced, random_tree])
def test_trivial_trees_have_a_whole_number_of_words(make):
    for number in (3.0, 2.5, "3"):
        with pytest.raises(TypeError, match=f"number of words must be an integer, not {number!r}"):
            make(number)
    with pytest.raises(ValueError, match="the number of words must be 1 or more, not 0"):
        make(0)


def test_distances_that_are_none_are_refused():
    with pytest.raises(ValueError, match="distance 1 is NaN"):
        tree_of_distances([1.0, math.nan, 2.0])
    with pytest.raises(ValueError, match="at least one word"):
        tree_of_distances([])
    with pytest.raises(ValueError, match="split must be one of word, gap"):
        tree_of_distances([1.0], "middle")
    with pytest.raises(ValueError, match="cross"):
        tree_of(WORDS, [(0, 3), (2, 5)])


def test_long_sentences_have_deep_trees(tmp_path):
    words = ["w"] * 3000
    assert line_of(words, right_branching(3000)).count("(") == 2999
    path = tmp_path / "deep"
    path.write_text(line_of(words, left_branching(3000)) + "\n")
    assert compare_brackets(path, path)[0].f1 == [100]


def test_deep_trees_are_read_pruned_and_written(tmp_path):
    line = "(NP (NN a) " * 3000 + "(NP (, ,))" + ")" * 3000
    (tmp_path / "wsj_0101.mrg").write_text(f"({line})\n")
    (tree,) = read_evaluation_trees(tmp_path)
    assert leaves_of(tree) == ["a"] * 3000 and len(list(nodes_of(tree))) == 6000
    expected = "(NP (NN a) " * 2999 + "(NP (NN a))" + ")" * 2999
    assert to_line(tree) == expected
    bare = tree_of(["w"] * 3000, right_branching(3000))
    assert to_line(bare) == line_of(["w"] * 3000, right_branching(3000))


def test_treebanks_have_brackets_without_a_name_and_tags_of_later_ones(tmp_path):
    path = tmp_path / "wsj_0101.mrg"
    path.write_text(
        "(S (NP (PRP I)) ((VBP go) (ADD a.com)))\n( (S (NN b) (VP (XX c) (HYPH -))) (. .) )\n"
    )
    assert [to_line(tree) for tree in read_evaluation_trees(path)] == [
        "(S (NP (PRP i)) (X (VBP go) (ADD a.com)))", "(X (S (NN b) (VP (XX c))))"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ("(IP (NN a) (VV b))", "'VV' is no part of speech of the Penn Treebank"),
        ("(S (NN a) (VB))", "a word without a part-of-speech tag"),
        ("(S (NN a) b)", "a word without a part-of-speech tag"),
    ],
)
def test_no_word_is_lost_for_its_tag(tmp_path, tree, message):
    path = tmp_path / "wsj_0101.mrg"
    path.write_text(f"(S (NN a))\n{tree}\n")
    with pytest.raises(InputError, match=f"wsj_0101.mrg:2: {message}"):
        read_evaluation_trees(path)


def test_nodes_are_those_of_nltk():
    tree = Tree.fromstring("(S (NP (DT the) (NN cat)) (VP (VB go) (ADVP (RB now))) (. .))")
    assert list(nodes_of(tree)) == list(tree.subtrees()) and leaves_of(tree) == tree.leaves()


def test_files_of_trees(tmp_path):
    path = tmp_path / "trees"
    path.write_text("( (S (NP (DT the) (NN cat))\n   (VP (VBZ sleeps)) (. .)) )\n(NP (NN mat))\n")
    trees = read_trees(path)
    assert [line for line, _ in trees] == [1, 3]
    expected = Tree.fromstring("(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)) (. .))")
    assert trees[0][1] == expected and trees[1][1] == Tree("NP", [Tree("NN", ["mat"])])
    assert spans_of(expected) == [("S", (0, 4)), ("NP", (0, 2))]
    path.write_text("((the cat) (I (am here)))\n(a (b c))\n(word)\n")
    (_, first), (_, second), (_, third) = read_trees(path)
    assert first.leaves() == ["the", "cat", "I", "am", "here"]
    assert [span for _, span in spans_of(first)] == [(0, 5), (0, 2), (2, 5), (3, 5)]
    assert second.leaves() == ["a", "b", "c"] and third.leaves() == ["word"]
    path.write_text("\ufeff(s (np_1 (dt the) (nn cat)) (vp sleeps))\n")
    ((_, lower),) = read_trees(path)
    assert lower.leaves() == ["the", "cat", "sleeps"] and lower[0].label() == "np_1"
    path.write_text(line_of(WORDS, balanced(6)) + "\n")
    ((_, again),) = read_trees(path)
    assert again.leaves() == WORDS and [s for _, s in spans_of(again)] == balanced(6)
    assert to_line(expected) == "(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)) (. .))"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(S (NP the)\n(VP", r"trees:1: this tree is not closed"),
        ("(S a)\n)", r"trees:2: '\)' is outside all trees"),
        ("(S a)\nword", r"trees:2: 'word' is outside all trees"),
        ("(S ())", r"trees:1: empty brackets"),
    ],
)
def test_malformed_trees_are_named(tmp_path, text, message):
    (tmp_path / "trees").write_text(text)
    with pytest.raises(InputError, match=message):
        read_trees(tmp_path / "trees")


def test_pruning_takes_empty_constituents_along():
    tree = Tree.fromstring("(S (NP (-NONE- *)) (VP (VB go) (, ,) (ADVP (RB now))))")
    kept = prune(tree, lambda tag, _: tag not in (",", "-NONE-"))
    assert to_line(kept) == "(S (VP (VB go) (ADVP (RB now))))"
    assert prune(tree, lambda *_: False) is None


def test_scores_of_hand_made_trees():
    scores = BracketingScores()
    gold = [(0, 6), (0, 2), (2, 6), (3, 6), (4, 6)]
    assert scores.add(gold, gold, 6) == 100
    # (0, 2) and (4, 6) match, of four predicted and three gold brackets that count.
    f1 = scores.add([(0, 6), (0, 2), (2, 4), (4, 6), (2, 6)], [(0, 6), (0, 2), (4, 6), (3, 6)], 6,
                    [("NP", (0, 2)), ("NP", (3, 6)), ("PP", (4, 6)), ("S", (0, 6))])  # fmt: skip
    precision, recall = 2 / 4, 2 / 3
    assert f1 == pytest.approx(200 * precision * recall / (precision + recall))
    assert scores.f1_sentence == pytest.approx((100 + f1) / 2)
    assert scores.precision == pytest.approx(100 * 6 / 8)
    assert scores.recall == pytest.approx(100 * 6 / 7)
    assert scores.f1_corpus == pytest.approx(200 * 6 / 15)
    assert scores.recall_of("NP") == 50 and scores.recall_of("PP") == 100
    assert scores.recall_of("S") is None
    # No gold bracket: recall is 100, precision is 100 only if none is predicted.
    assert scores.add([(0, 2)], [(0, 2)], 2) == 100
    assert scores.add([(0, 3), (0, 2)], [(0, 3)], 3) == 0
    assert scores.add([(0, 3)], [(0, 3), (1, 3)], 3) == 0
    with pytest.raises(ValueError, match=r"span \(1, 4\) is not within 3 words"):
        scores.add([(1, 4)], [], 3)


def shift_reduce(heads):
    """Algorithm 3 of Shen's thesis, step by step; nested lists of word numbers."""
    queue, stack = list(range(1, len(heads))), [0]
    h = heads[0] - 1
    for y in heads[1:]:
        for _ in range(max(y - h, 0)):
            if len(stack) < 2:
                break
            e1 = stack.pop()
            e2 = stack.pop()
            stack.append([e2, e1])
        stack.append(queue.pop(0))
        h = y - 1
    while len(stack) > 2:
        e1 = stack.pop()
        e2 = stack.pop()
        stack.append([e2, e1])
    return stack if len(stack) == 2 else stack[0]


@pytest.mark.parametrize(
    "heads",
    [
        [3, 3], [5, 5, 5, 5, 5], [5, 5, 4, 3, 2], [5, 5, 4, 5, 4], [5, 5, 4, 4, 4, 5],
        [5, 1, 1, 1], [2, 9, 1, 9, 1],
    ],
)  # fmt: skip
def test_trees_of_stacks_are_those_of_the_algorithm(heads):
    spans = tree_of_stack(heads)
    assert nested(tree_of(range(len(heads)), spans)) == shift_reduce(heads)
    assert len(spans) == len(heads) - 1


def test_a_stack_that_never_reduces_is_right_branching_and_one_that_always_does_left_branching():
    for n in (1, 2, 3, 7):
        assert tree_of_stack([n, *range(n, 1, -1)]) == right_branching(n)
        assert tree_of_stack([n] * n) == left_branching(n)
    with pytest.raises(ValueError, match="no words"):
        tree_of_stack([])


def test_mean_entropy_of_the_pointers():
    pointers = torch.zeros(4, 3, 2)
    pointers[1, :, 1] = 1.0
    pointers[2, 0] = torch.tensor([0.5, 0.5])
    pointers[2, 1] = torch.tensor([1.0, 0.0])
    pointers[3, 0] = torch.tensor([0.25, 0.75])
    found = pointer_entropy(pointers, torch.tensor([4, 3, 1]))
    last = -(0.25 * math.log(0.25) + 0.75 * math.log(0.75))
    torch.testing.assert_close(found[:2], torch.tensor([(math.log(2) + last) / 3, 0.0]))
    assert found[2].isnan()
