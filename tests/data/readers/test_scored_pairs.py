"""Readers of semantic textual similarity, and the preparation of its text."""

import os
import random
from pathlib import Path

import pytest

from fairseq_struct.cli.main import main
from fairseq_struct.data.prepared.similarity_folder import share_of_known_words
from fairseq_struct.data.readers.scored_pairs import (
    Pair,
    as_language_model_words,
    read_benchmark,
    read_pairs,
    read_sick,
    read_year,
    write_pairs,
)
from fairseq_struct.errors import InputError

ROW = "main-captions\tMSRvid\t2012test\t0001\t{}\ta plane takes off .\tan air plane flies .\n"


def prepare(*arguments):
    return main(["prepare", "sentence_similarity", *map(str, arguments)])


@pytest.fixture
def sts(tmp_path):
    """Miniatures of the data sets."""
    folder = tmp_path / "sts"
    (folder / "STSBenchmark").mkdir(parents=True)
    for split in ("train", "dev", "test"):
        (folder / "STSBenchmark" / f"sts-{split}.csv").write_text(ROW.format("5.000"))
    (folder / "SICK").mkdir()
    (folder / "SICK" / "SICK_test_annotated.txt").write_text(
        "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n"
        "6\tThere is no boy\tA group of kids\t3.3\tNEUTRAL\n"
    )
    year = folder / "STS15-en-test"
    year.mkdir()
    (year / "STS.input.b.txt").write_text("One.\tTwo 2!\tlicence\tlicence\nThree\tFour\n")
    (year / "STS.gs.b.txt").write_text("4.2\n\n")
    (year / "STS.input.a.txt").write_text('He said "no"\tIt isn\'t\n')
    (year / "STS.gs.a.txt").write_text("0\n")
    (year / "STS.gs.SMT.txt").write_text("1\n")  # scores without sentences
    (folder / "dict.txt").write_text("a 3\n")
    return folder


def test_every_format(sts):
    assert read_benchmark(sts / "STSBenchmark" / "sts-dev.csv") == [
        Pair("a plane takes off .", "an air plane flies .", 5.0)
    ]
    assert read_sick(sts / "SICK" / "SICK_test_annotated.txt") == [
        Pair("There is no boy", "A group of kids", 3.3)
    ]
    assert read_year(sts / "STS15-en-test") == {
        "a": [Pair('He said "no"', "It isn't", 0.0)], "b": [Pair("One.", "Two 2!", 4.2)]
    }  # fmt: skip


def test_words_are_those_of_the_treebank_s_text():
    assert as_language_model_words("He said: \"It isn't 1,200!\"") == [
        "he", "said", "it", "is", "n't", "N"
    ]  # fmt: skip
    assert as_language_model_words("!!!") == ["!", "!", "!"]


def test_the_folder(sts, tmp_path, capsys):
    out = tmp_path / "out"
    assert prepare(sts, sts / "dict.txt", out) == 0
    assert "STS15: a 1, b 1" in capsys.readouterr().out
    assert sorted(path.name for path in out.iterdir()) == [
        "SICK-R.tsv", "STS-B.tsv", "STS15.tsv", "dict.txt", "manifest.json", "train.tsv",
        "valid.tsv",
    ]  # fmt: skip
    assert (out / "STS15.tsv").read_text() == "0\the said no\tit is n't\n4.2\tone\ttwo N\n"
    assert read_pairs(out / "train.tsv") == [Pair("a plane takes off", "an air plane flies", 5.0)]
    assert prepare(sts, sts / "dict.txt", out) == 0
    assert "nothing to do" in capsys.readouterr().out
    (sts / "dict.txt").write_text("plane 2\n")
    assert prepare(sts, sts / "dict.txt", out) == 2
    assert "other inputs or options: dict.txt text" in capsys.readouterr().err
    assert prepare(sts, tmp_path / "none.txt", tmp_path / "x") == 2
    assert "none.txt: no such file" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("5.0\tone\n", r":1: expected a score and two sentences"),
        ("5.0\tone\ttwo\nhigh\tone\ttwo\n", r":2: 'high' is not a score"),
        ("6\tone\ttwo\n", r":1: score 6 is outside 0 to 5"),
        ("nan\tone\ttwo\n", r":1: score nan"),
        ("1\tone\t \n", r":1: expected a score and two sentences"),
    ],
)
def test_malformed_lines_are_named(tmp_path, text, message):
    path = tmp_path / "pairs.tsv"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_pairs(path)


def test_files_that_do_not_fit(sts, tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read_benchmark(tmp_path / "none.csv")
    (sts / "STS15-en-test" / "STS.gs.b.txt").write_text("4.2\n")
    with pytest.raises(InputError, match=r"STS\.gs\.b\.txt: 1 lines, but .* has 2"):
        read_year(sts / "STS15-en-test")
    with pytest.raises(InputError, match="in this folder"):
        read_year(sts / "SICK")
    (tmp_path / "latin").write_bytes(b"1\t\xe9t\xe9\tzwei\n")
    with pytest.raises(InputError, match="not UTF-8"):
        read_pairs(tmp_path / "latin")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (random.Random(1).randbytes(500), "not UTF-8"),
        (b"a 3\nplane\n", "dict.txt:2: expected a word and its count"),
        (b"a 3\nplane many\n", "dict.txt:2: expected a word and its count"),
        (b"a 3\nplane 1\na 2\n", "dict.txt:3: the word 'a' is already in line 1"),
        (b"a 3\n<pad> 1\n", "dict.txt:2: the word '<pad>' is already in every dictionary"),
        (b"", "dict.txt: contains no word of these sentences"),
        (b"ein 3\nFlugzeug 1\n", "dict.txt: contains no word of these sentences"),
    ],
)
def test_what_is_no_dictionary_of_the_model_is_told(sts, tmp_path, capsys, content, message):
    (tmp_path / "dict.txt").write_bytes(content)
    assert prepare(sts, tmp_path / "dict.txt", tmp_path / "out") == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_the_share_of_known_words(tmp_path):
    (tmp_path / "dict.txt").write_text("a 3\nplane 2 #fairseq:overwrite\nN 1\n")
    pairs = [Pair("A plane, 27 planes", "a bird", 1.0)]
    assert share_of_known_words(tmp_path / "dict.txt", pairs) == pytest.approx(100 * 4 / 6)


def test_written_scores_keep_their_digits(tmp_path):
    pairs = [Pair("a b", "c", 3.8125), Pair("a", "b", 1 / 3 + 2)]
    write_pairs(tmp_path / "x.tsv", pairs)
    for own, back in zip(pairs, read_pairs(tmp_path / "x.tsv"), strict=True):
        assert back.score == pytest.approx(own.score, abs=1e-5)


@pytest.mark.skipif("DATA" not in os.environ, reason="DATA names no folder with real data")
def test_real_data_have_their_published_sizes():
    folder = Path(os.environ["DATA"]) / "sts"
    sizes = {"STS12": 3108, "STS13": 1500, "STS14": 3750, "STS15": 3000, "STS16": 1186}
    for name in ("STSBenchmark", "SICK", *(f"{year}-en-test" for year in sizes)):
        if not (folder / name).is_dir():
            pytest.skip(f"{folder / name} is not there")
    for year, size in sizes.items():
        assert sum(map(len, read_year(folder / f"{year}-en-test").values())) == size
    benchmark = folder / "STSBenchmark"
    for split, size in (("train", 5749), ("dev", 1500), ("test", 1379)):
        assert len(read_benchmark(benchmark / f"sts-{split}.csv")) == size
    assert len(read_sick(folder / "SICK" / "SICK_test_annotated.txt")) == 4927
