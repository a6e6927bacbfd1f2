"""Readers of treebanks, and the removal of punctuation from their trees."""

import sys
from pathlib import Path

import pytest

from fairseq_struct.data.readers.conllu import check_heads
from fairseq_struct.data.readers.dependency_treebank import (
    as_language_model_text,
    heads_of_kept,
    read_treebank,
    without_punctuation,
)
from fairseq_struct.errors import InputError

DP = "The\tDT\t2\nDog\tNN\t3\nbarks\tVBZ\t0\n.\t.\t3\n\n12\tCD\t2\nmen\tNNS\t0\n"
CONLLU = """# a comment
1\tDogs\tdog\tNOUN\t_\t_\t3\tnsubj\t_\t_
2\t,\t,\tPUNCT\t_\t_\t3\tpunct\t_\t_
3\tbark\tbark\tVERB\t_\t_\t0\troot\t_\t_

"""


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def test_files_and_folders(tmp_path):
    trees = read_treebank(write(tmp_path / "b.dp", DP))
    assert [tree.heads for tree in trees] == [(2, 3, 0, 3), (2, 0)]
    assert trees[0].tags == ("DT", "NN", "VBZ", ".") and trees[1].line == 6
    write(tmp_path / "a.dp", "Yes\tUH\t0\n")
    assert [len(tree.words) for tree in read_treebank(tmp_path)] == [1, 4, 2]
    (tree,) = read_treebank(write(tmp_path / "c.conllu", CONLLU))
    assert tree.relations == ("nsubj", "punct", "root")
    assert without_punctuation(tree).relations == ("nsubj", "root")


def test_words_as_the_language_model_has_them(tmp_path):
    first, second = read_treebank(write(tmp_path / "b.dp", DP))
    assert as_language_model_text(without_punctuation(first)).words == ("the", "dog", "barks")
    assert without_punctuation(first).heads == (2, 3, 0)
    assert as_language_model_text(second).words == ("N", "men")


def test_words_move_up_when_punctuation_goes():
    # 2 hangs from the comma 3, which hangs from the dash 4, which hangs from the root 5.
    heads, kept = [2, 3, 4, 5, 0], [True, True, False, False, True]
    assert heads_of_kept(heads, kept) == [2, 3, 0]
    assert heads_of_kept([2, 0], [True, False]) == [0]  # below a root that is removed


def test_words_with_spaces_stay_words(tmp_path):
    rows = ["1\tt ex\t_\tADV\t_\t_\t2\tadvmod\t_\t_", "2\tdär\t_\tADV\t_\t_\t0\troot\t_\t_"]
    (tree,) = read_treebank(write(tmp_path / "x.conllu", "\n".join(rows) + "\n"))
    assert tree.words == ("t_ex", "där") and tree.heads == (2, 0)
    (tree,) = read_treebank(write(tmp_path / "x.dp", "20 000\tCD\t2\nmen\tNNS\t0\n"))
    assert tree.words == ("20_000", "men")


@pytest.mark.parametrize("ends", [True, False], ids=["tree", "cycle"])
def test_long_chains_are_walked_once(ends):
    size, steps = 500, 0
    heads = [*range(2, size + 1), 0 if ends else size // 2]

    def count(frame, event, _):
        nonlocal steps
        steps += event == "line"
        return count if frame.f_code is check_heads.__code__ else None

    before = sys.gettrace()
    sys.settrace(count)
    try:
        found = check_heads(Path("x"), [(1, str(head)) for head in heads])
    except InputError:
        found = None
    finally:
        sys.settrace(before)
    assert found == (heads if ends else None)
    assert size < steps < 20 * size


def test_tags_of_another_set_are_refused(tmp_path):
    (tree,) = read_treebank(write(tmp_path / "x.dp", "and\tCONJ\t2\nrun\tVVFIN\t0\n"))
    with pytest.raises(InputError, match="x.dp:1: 'VVFIN' is neither"):
        without_punctuation(tree)


def test_a_sentence_may_vanish(tmp_path):
    (tree,) = read_treebank(write(tmp_path / "x.dp", "...\t:\t0\n"))
    assert without_punctuation(tree) is None
    untagged = CONLLU.replace("NOUN", "_").replace("PUNCT", "_").replace("VERB", "_")
    (tree,) = read_treebank(write(tmp_path / "x.conllu", untagged))
    with pytest.raises(InputError, match="x.conllu:2: no tags, so punctuation"):
        without_punctuation(tree)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.dp", "a\tDT\n", "x.dp:1: 2 columns; .dp files have 3"),
        ("x.dp", "a\tDT\t0\nb\tNN\t7\n", "x.dp:2: '7' is not a valid head of word 2"),
        ("x.dp", "a\tDT\t2\nb\tNN\t1\n", "x.dp:1: the heads of this sentence form a cycle"),
        ("x.conllu", "x" + "\t_" * 9 + "\n", "x.conllu:1: 'x' is not a word number"),
        ("x.conllu", "\n", "x.conllu: contains no sentence"),
        ("x.dp", "", "x.dp: contains no sentence"),
    ],
)
def test_files_that_are_no_treebank(tmp_path, name, text, message):
    with pytest.raises(InputError) as raised:
        read_treebank(write(tmp_path / name, text))
    assert message in str(raised.value)
    (tmp_path / name).unlink()
    with pytest.raises(InputError, match="no such file"):
        read_treebank(tmp_path / name)
    with pytest.raises(InputError, match="no .dp file in this folder"):
        read_treebank(tmp_path)


def test_a_word_has_a_form(tmp_path):
    path = write(tmp_path / "c.conllu", CONLLU.replace("bark\tbark", " \tbark"))
    with pytest.raises(InputError, match=r"c\.conllu:4: word 3 has no form"):
        read_treebank(path)
    with pytest.raises(InputError, match=r"a\.dp:2: word 2 has no form"):
        read_treebank(write(tmp_path / "a.dp", DP.replace("Dog", "")))
