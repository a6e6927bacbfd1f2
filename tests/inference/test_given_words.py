"""Sentences in Python: strings, and lists, tuples and arrays of words; one and pairs of them."""

import numpy as np
import pytest
from fairseq.data import Dictionary
from stored_models import STORED

import fairseq_struct
from fairseq_struct.errors import InputError
from fairseq_struct.files.reserved_words import index_of


def stored(arch, data, **options):
    return fairseq_struct.load(STORED / f"{arch}.pt", STORED / data / "data-bin", **options)


# A function of each kind of model, which takes sentences.
READERS = {
    "masked": lambda: stored("udgn", "language").parse,
    "language": lambda: stored("on_lstm_lm", "language").parse,
    "score": lambda: stored("awd_lstm_lm", "language").score,
    "labels": lambda: stored("latent_tree_classifier", "single").classify,
    "classifier": lambda: stored("latent_tree_classifier", "single").parse,
    "pairs": lambda: stored("ordered_memory_classifier", "pairs").parse,
    "translation": lambda: stored("scheduled_sampling_transformer", "translation",
                                  segmented=True).translate,
    "translation_parser": lambda: stored("latent_tree_transformer", "translation").parse,
    "supervised": lambda: stored("undirected_parser", "treebank").parse,
    "composer": lambda: stored("rim_composer", "lists").parse,
}  # fmt: skip


@pytest.mark.parametrize("kind", READERS)
def test_words_that_are_given_one_by_one(kind):
    read = READERS[kind]()
    text = ["one two three", "nine"]
    expected = read(text)
    for form in (str.split, lambda one: tuple(one.split()), lambda one: np.array(one.split())):
        found = read(list(map(form, text)))
        assert found == expected and all(type(word) is str for one in found for word in one.words)
        assert [one.words for one in found] == [one.words for one in expected]
    assert read(np.array([["one", "two"], ["two", "one"]])) == read(["one two", "two one"])
    assert read(text[:1]) == read([f"{text[0]}\n"]) == read([f"{text[0]}\r\n"]) == expected[:1]
    for wrong, message in (
        (["a", ""], "word 2 is empty: ''"),
        (["a", "b\tc"], r"word 2 contains white space other than spaces: 'b\tc'"),
        (["a\u00a0b", "c"], r"word 1 contains white space other than spaces: 'a\xa0b'"),
        (("a", 3), "word 2 is not a string but 3"),
        ("a\nb c", "line breaks; give one sentence each"),
        ("a\n\n", "line breaks; give one sentence each"),
    ):
        with pytest.raises(InputError) as told:
            read(["a", wrong])
        assert str(told.value) == f"line 2: {message}"


@pytest.mark.parametrize("kind", sorted(READERS.keys() - {"translation"}))
def test_a_space_within_a_word_is_written_as_in_prepared_text(kind):
    read = READERS[kind]()
    words = ["20 000", "one", "a  b"]
    (found,), (expected,) = read([words]), read(["20_000 one a_b"])
    assert found.words == tuple(words) and expected.words == ("20_000", "one", "a_b")
    if hasattr(found, "to_brackets"):
        assert found.to_brackets() == expected.to_brackets()
    else:
        assert found == expected


def test_a_space_within_a_word_is_looked_up_as_in_prepared_text():
    words = Dictionary()
    number = words.add_symbol("20_000")
    assert index_of(words, "20 000") == index_of(words, "20_000") == number
    (parse,) = READERS["masked"]()([["20 000", "one"]])
    assert parse.to_conllu().startswith("1\t20 000\t")
    assert parse.to_nltk().nodes[1]["word"] == "20 000"
    read = []
    parser = stored("undirected_parser", "treebank")
    own = parser.model.read_words
    parser.model.read_words = lambda words: read.append(tuple(words)) or own(words)
    parser.parse([("20 000", "one")])
    assert read == [("20_000", "one")]


def test_pairs_are_two_sentences_and_several_words_are_one():
    pairs = stored("ordered_memory_classifier", "pairs")
    expected = pairs.classify(["one two\tthree"])[0].to_dict()
    for pair in (("one two", "three"), (["one", "two"], "three"), [("one", "two"), ["three"]],
                 np.array(["one two", "three"])):  # fmt: skip
        assert pairs.classify([pair])[0].to_dict() == expected
    assert pairs.classify([["one", "two"]])[0].sentences == (("one",), ("two",))
    with pytest.raises(InputError, match=r"line 1: 1 sentence\(s\), but this model reads 2"):
        pairs.classify([[["one", "two"]]])
    single = stored("latent_tree_classifier", "single")
    expected = single.classify(["one two"])[0].to_dict()
    for one in (["one two"], ["one", "two"], [["one", "two"]]):
        assert single.classify([one])[0].to_dict() == expected
    for two in (["one two", ["three"]], "one two\tthree"):
        with pytest.raises(InputError, match=r"line 1: 2 sentence\(s\), but this model reads 1"):
            single.classify([two])
    for model in (single, pairs):
        with pytest.raises(InputError, match="line 1: line breaks; give one sentence each"):
            model.classify(["one\n\tthree"])


def test_what_is_no_text_is_named():
    for kind in ("masked", "labels", "translation"):
        read = READERS[kind]()
        for wrong in (None, b"a b", 3, {"a", "b"}, iter("ab"), np.array(3), np.array([["a"]])):
            with pytest.raises(InputError, match="line 2: expected a string whose words are sep"):
                read(["a", wrong])
    pairs = stored("ordered_memory_classifier", "pairs")
    for wrong in (None, ("a", None), ("a", 3)):
        with pytest.raises(InputError, match="line 1: expected a string"):
            pairs.classify([wrong])
