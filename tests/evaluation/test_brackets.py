"""Comparison of two files of constituency trees."""

import pytest

from fairseq_struct.errors import InputError
from fairseq_struct.evaluation.brackets import compare_brackets, trivial_spans
from fairseq_struct.metrics.labelled_bracketing import LabelledScores


def test_files_are_compared_word_by_word(tmp_path):
    gold, ours = tmp_path / "gold", tmp_path / "ours"
    gold.write_text("(S (NP (DT the) (NN cat)) (VP (VBZ sits) (ADV (RB still))))\n(NP (NN mat))\n")
    ours.write_text("((the cat) (sits still))\n(mat)\n")
    scores, depth = compare_brackets(gold, ours)
    assert scores.f1_sentence == scores.f1_corpus == 100 and depth == (2 + 0) / 2
    assert compare_brackets(gold, "right_branching", longest=4)[0].f1 == [pytest.approx(50), 100]
    assert len(compare_brackets(gold, "random", longest=1)[0].f1) == 1
    for text, message in (
        ("((the cat) (sits still))\n", "1 trees, but"),
        ("((the cat) (lies still))\n(mat)\n", r"ours:1: the words differ from"),
    ):
        ours.write_text(text)
        with pytest.raises(InputError, match=message):
            compare_brackets(gold, ours)
    with pytest.raises(InputError, match="no sentence is left"):
        compare_brackets(gold, "balanced", longest=0)


def test_right_branching_trees_without_labels(tmp_path):
    """(a (b c)) is two words under the label a, or three words; ``unlabelled`` decides."""
    gold, ours = tmp_path / "gold", tmp_path / "ours"
    gold.write_text("(S (DT a) (NP (NN b) (NN c)))\n")
    ours.write_text("(a (b c))\n")
    with pytest.raises(InputError, match="the words differ from .* --unlabelled, if brackets have"):
        compare_brackets(gold, ours)
    scores, depth = compare_brackets(gold, ours, unlabelled=["predicted"])
    assert scores.f1_sentence == 100 and depth == pytest.approx(5 / 3)


def test_random_trees_are_those_of_their_seed():
    first, again, other = (trivial_spans("random", seed) for seed in (1, 1, 2))
    drawn = [[make(9) for _ in range(3)] for make in (first, again, other)]
    assert drawn[0] == drawn[1] != drawn[2] and drawn[0][0] != drawn[0][1]


def test_swapped_files_are_noted(tmp_path, caplog):
    gold, ours = tmp_path / "gold", tmp_path / "ours"
    gold.write_text("(S (A a) (NP (B b) (C c)))\n")
    ours.write_text("(X a (X b c))\n")
    compare_brackets(gold, ours)
    assert not caplog.messages
    compare_brackets(ours, gold)
    (note,) = caplog.messages
    assert note.startswith("note: the gold trees have the label X alone, as parse writes it, and ")


def test_labels_are_scored_if_both_files_have_them(tmp_path):
    gold, ours, bare = (tmp_path / name for name in ("gold", "ours", "bare"))
    gold.write_text("(S+VP (A a) (NP (B b) (C c)))\n")
    ours.write_text("(S (PP (A a) (NP (B b) (C c))))\n")
    bare.write_text("(X a (X b c))\n")
    for other, expected in ((ours, (2, 3, 3)), (bare, (0, 0, 0)), ("balanced", (0, 0, 0))):
        labelled = LabelledScores()
        compare_brackets(gold, other, labelled=labelled)
        assert (labelled.matched, labelled.predicted, labelled.gold) == expected
