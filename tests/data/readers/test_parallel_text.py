"""Normalising, tokenising and filtering aligned text."""

import pytest

from fairseq_struct.data.readers.parallel_text import (
    LengthFilter,
    detokeniser,
    normalise,
    tokeniser,
)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("  a\t b\u00a0\u3000c \r", "a b c"),
        ("Mu\u0308ller", "Müller"),
        ("Mu\u00ad\u0308ller", "Müller"),
        ("soft\u00adhyphen\u200b \ufeffmark", "softhyphen mark"),
        ("می\u200cخواهم", "می\u200cخواهم"),  # the zero-width non-joiner is part of the spelling
        ("full\u2028stop\x85\x00.", "full stop ."),
        ("“quoted”", "“quoted”"),
    ],
)
def test_unicode_normalisation(line, expected):
    assert normalise(line) == expected
    assert normalise(expected) == expected


def test_other_normalisations():
    assert normalise(" a\u00a0 u\u0308 ", scheme="none") == "a u\u0308"
    assert normalise("“a” – b", "en", "moses") == '"a" - b'
    assert normalise("彼は、「ああ」。", "ja", "moses") == "彼は、「ああ」。"
    with pytest.raises(ValueError, match="nfkc"):
        normalise("a", scheme="nfkc")


@pytest.mark.parametrize(
    ("language", "text", "tokens"),
    [
        ("en", 'She\'s "here" & left.', 'She \'s " here " & left .'),
        ("de", "Der rot-weiße Hut, z.B. dieser!", "Der rot-weiße Hut , z.B. dieser !"),
        ("fr", "L'homme d'ici, non?", "L' homme d' ici , non ?"),
    ],
)
def test_moses_tokens_are_the_text_and_come_back(language, text, tokens):
    assert tokeniser(language)(text) == tokens
    assert detokeniser(language)(tokens).replace(" ?", "?") == text


def test_fairseq_undoes_our_tokens():
    from fairseq.data.encoders.moses_tokenizer import MosesTokenizer, MosesTokenizerConfig

    text = 'Zwei Männer (beide jung) sagen: "Gut!" & gehen – 3,5 km.'
    theirs = MosesTokenizer(MosesTokenizerConfig(source_lang="de", target_lang="de"))
    tokens = tokeniser("de")(text)
    assert theirs.decode(tokens) == text == detokeniser("de")(tokens)


def test_no_tokenisation_and_unknown_one():
    assert tokeniser("en", "none")("don't, no") == "don't, no"
    with pytest.raises(ValueError, match="spacy"):
        tokeniser("en", "spacy")


def test_detokenising_japanese_leaves_no_spaces():
    assert detokeniser("ja")("私 は 学生 で す 。") == "私は学生です。"


def test_length_filter_counts_by_first_reason():
    accept = LengthFilter(max_length=4, max_ratio=2.0)
    pairs = [
        ("a", ""),
        ("", ""),
        ("a b c d e", "a"),
        ("a b c", "a"),
        ("a b", "a"),
        ("a a a", "a b"),
    ]
    kept = [pair for pair in pairs if accept.keep(pair[0].split(), pair[1].split())]
    assert kept == pairs[-2:]
    assert accept.dropped == {"empty": 2, "too_long": 1, "length_ratio": 1}


def test_length_filter_without_limits_still_drops_empty_lines():
    accept = LengthFilter(max_length=None, max_ratio=None)
    assert accept.keep(["a"] * 5000, ["b"])
    assert not accept.keep(["a"], [])
