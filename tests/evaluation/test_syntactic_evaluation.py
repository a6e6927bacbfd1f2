"""Syntactic evaluation: test sets from arbitrary pickles, and a model's scores on them."""

import pickle

import pytest

from fairseq_struct.data.readers.syntactic_evaluation import read_test_sets
from fairseq_struct.errors import InputError
from fairseq_struct.evaluation.syntactic import (
    evaluate_syntax,
    sets_of_no_row,
    share_told_apart,
)

SETS = {"sing": [("the cat sings", "the cat sing")] * 3, "plur": [("cats sing", "cats sings")]}


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_of_every_protocol_are_read(tmp_path, protocol):
    many = SETS | {str(i): [(f"a {i} b", f"a {i}")] for i in range(300)}  # frames, long offsets
    (tmp_path / "x.pickle").write_bytes(pickle.dumps(many, protocol))
    assert read_test_sets(tmp_path) == {"x": [item for items in many.values() for item in items]}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x80\x02}r\xff\xff\xff\x0f.", "byte 3 asks for more memory than the file has bytes"),
        (b"}p268435455\n.", "byte 1 asks for more memory"),
        (b"\x80\x04\x95\xff\xff\xff\xff\x00\x00\x00\x00}.", "byte 2 asks for more memory"),
        (b"\x80\x04X\xff\xff\xff\x7f}.", "expected 2147483647 bytes"),
        (b"\x80\x05\x96\xff\xff\xff\xff\x02\x00\x00\x00}.", "expected 12884901887 bytes"),
    ],
    ids=["place", "written place", "frame", "text", "bytes"],
)
def test_what_asks_for_more_memory_than_it_has_bytes_is_not_unpickled(
    tmp_path, monkeypatch, content, message
):
    monkeypatch.setattr("fairseq_struct.data.readers.syntactic_evaluation._Containers", None)
    (tmp_path / "x.pickle").write_bytes(content)
    with pytest.raises(InputError, match=rf"x\.pickle: not a test set \({message}"):
        read_test_sets(tmp_path)


def test_a_sentence_that_many_items_name_is_kept_once(tmp_path):
    text = " a very  long sentence"
    (tmp_path / "x.pickle").write_bytes(pickle.dumps({"all": [(text, "b")] * 20 + [(text, "c")]}))
    found = read_test_sets(tmp_path)["x"]
    assert found[0] == ("a very long sentence", "b")
    assert len({id(better) for better, _ in found}) == 1


def test_a_model_scores_every_sentence_once():
    """The model prefers short words, and knows no word of more than five letters."""
    sets = {
        "simple_agrmt": [("he runs", "he run"), ("we run", "we runs"), ("she sings", "she sing")],
        "sent_comp": [("dwarves sing", "gnomes sing"), ("unicorn runs", "gnomes sings")],
        "other": [("a", "b")],
    }
    asked = []

    def log_probabilities(sentences):
        asked.extend(sentences)
        return [-float(sum(map(len, words))) for words in sentences]

    found = evaluate_syntax(sets, log_probabilities, lambda word: min(len(word), 6))
    assert len(asked) == len(set(asked)) == 12 and ("he", "runs") in asked
    assert found["agreement_simple"] == (pytest.approx(100 / 3), 3, 3)
    # "dwarves" and "gnomes" are both unknown; "unicorn runs" is as long as "gnomes sings".
    assert found["agreement_sentential_complement"] == (0, 2, 1)
    assert share_told_apart(found) == 80 and sets_of_no_row(sets, found) == ["other"]


def test_rounding_does_not_tell_two_sentences_apart():
    """The scores of the same words may differ in the last digits, in batches of two sizes."""
    sets = {"simple_agrmt": [("dwarves sing", "gnomes sing"), ("he sings", "he sing")]}
    scores = {"dwarves sing": -1.0, "gnomes sing": -1.0000001, "he sings": -1.0, "he sing": -2.0}

    def log_probabilities(sentences):
        return [scores[" ".join(words)] for words in sentences]

    found = evaluate_syntax(sets, log_probabilities, lambda word: word if len(word) < 6 else "")
    assert found["agreement_simple"] == (50, 2, 1)


def test_every_set_of_a_row_has_pairs():
    sets = {"prep_anim": [("a", "b")], "prep_inanim": []}
    with pytest.raises(InputError, match=r"^prep_inanim: this test set is empty"):
        evaluate_syntax(sets, lambda sentences: [0.0] * len(sentences), str)
