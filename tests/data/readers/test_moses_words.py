"""Tokens remembered word by word are those of sacremoses."""

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacremoses import MosesTokenizer

from fairseq_struct.data.readers import moses_words
from fairseq_struct.data.readers.moses_words import MosesWords

LANGUAGES = ("en", "de", "fr", "it", "ru")
TOKENISERS = {language: (MosesWords(language), MosesTokenizer(language)) for language in LANGUAGES}
# Words for which some rule looks at a neighbour, and characters of which rules consist.
WORDS = ["Mr.", "No.", "U.S.", "bzw.", "M.", "Nr.", "pp.", "e.g.", "don't", "l'eau",
         "rock'n'roll", "1's", "'s", "5,000", "1.5", "..", "...", "a..b", "DOTMULTI", "x,y",
         "z.", "(a", "(1"]  # fmt: skip
CHARACTERS = "aaBz159.,,..''`\"-()&;%$/:é²ж日ㅏİ…«\u00a0\x07"
line = st.lists(st.sampled_from(WORDS) | st.text(CHARACTERS, max_size=6), max_size=6).map(" ".join)


def whole(tokeniser, text):
    return tokeniser.tokenize(text, return_str=True, escape=False)


@given(line, st.sampled_from(LANGUAGES))
@settings(max_examples=600, deadline=None, derandomize=True)
def test_any_line(text, language):
    ours, theirs = TOKENISERS[language]
    assert ours(text) == whole(theirs, text)


def test_what_follows_decides_about_a_full_stop():
    ours, _ = TOKENISERS["en"]
    assert ours("see No. 5 and No. five .") == "see No. 5 and No. five ."
    assert ours("see No. Five") == "see No . Five"
    assert ours("I say No.") == "I say No ."


def test_memory_is_bounded(monkeypatch):
    monkeypatch.setattr(moses_words, "_MOST_WORDS", 3)
    ours = MosesWords("en")
    for text in ("a b c d e.", "a (b) c.", "d e f g"):
        assert ours(text) == whole(TOKENISERS["en"][1], text)
        assert len(ours._words) <= 3


CORPUS = Path(os.environ.get("DATA") or "absent") / "multi30k"


@pytest.mark.skipif(not CORPUS.is_dir(), reason="DATA names no folder that holds multi30k")
@pytest.mark.parametrize("language", ["en", "de", "fr"])
def test_lines_of_a_corpus(language):
    lines = (CORPUS / f"val.{language}").read_text(encoding="utf-8").splitlines()
    ours, theirs = MosesWords(language), MosesTokenizer(language)
    assert [ours(text) for text in lines] == [whole(theirs, text) for text in lines]
