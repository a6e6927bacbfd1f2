"""The recipes of undirected parsers: inputs that they refuse, and runs from end to end."""

import re
from functools import partial
from pathlib import Path

import pytest
from fairseq_commands import ROOT
from recipe_calls import module_of, refusal_of, run_recipe
from small_treebanks import write_treebank

from fairseq_struct.data.readers.conllu import UNKNOWN_HEAD, Sentence

RECIPES = ROOT / "recipes" / "undirected"
run = partial(run_recipe, "undirected")


@pytest.mark.parametrize(
    ("recipe", "arguments", "settings", "message"),
    [
        ("parsing", ["te_mtg"], {}, "usage: parsing.sh TREEBANK K DATA"),
        ("parsing", ["te_mtg", "6", "x"], {}, "unknown K '6'; choose one of: 1 2 3 4 5 random_k"),
        ("parsing", ["te_mtg", "1"], {}, "name the folder of the treebanks"),
        ("parsing", ["te_mtg", "1", "nowhere"], {}, "nowhere: no such folder"),
        ("parsing", ["te_mtg", "1", "HERE"], {}, "no file */te_mtg-ud-train.conllu"),
        ("parsing", ["xx_toy", "1", "HERE"], {}, "SIZE=paper needs the folder of an encoder"),
        ("parsing", ["xx_toy", "1", "HERE"], {"SIZE": "cpu", "ENCODER": "x"}, "for SIZE=paper"),
        ("parsing_adaptive", [], {}, "usage: parsing_adaptive.sh TREEBANK DATA"),
    ],
)
def test_bad_calls_end_in_one_sentence(tmp_path, recipe, arguments, settings, message):
    write_treebank(tmp_path / "UD_Toy", train=2, held_out=1)
    arguments = [str(tmp_path) if word == "HERE" else word for word in arguments]
    assert message in refusal_of("undirected", tmp_path / "out", recipe, *arguments, **settings)


def test_from_training_to_scores_with_and_without_known_heads(tmp_path):
    write_treebank(tmp_path / "UD_Toy", train=20, held_out=4)
    settings = {"SIZE": "cpu", "HIDDEN": "8", "EPOCHS": "1", "SEEDS": "1", "RECORD": "0"}
    status, said = run(tmp_path / "out", "parsing", "xx_toy", "2", tmp_path, **settings)
    assert status == 0, said
    (plain,) = re.findall(r"^parsing_xx_toy k2: uas .*", said, re.MULTILINE)
    (known,) = re.findall(r"^parsing_partial xx_toy, k2: uas_25 .*", said, re.MULTILINE)
    assert " passes_mean 2.00" in plain
    assert all(f" {name} " in plain for name in ("modifier_list", "modifier_count", "exact_match"))
    assert " uas_50 " in known


def test_passes_that_end_by_convergence_beside_fixed_ones(tmp_path):
    write_treebank(tmp_path / "UD_Toy", train=20, held_out=4)
    settings = {"SIZE": "cpu", "HIDDEN": "8", "EPOCHS": "1", "RECORD": "0"}
    status, said = run(tmp_path / "out", "parsing_adaptive", "xx_toy", tmp_path, **settings)
    assert status == 0, said
    rows = re.findall(r"adaptive_passes xx_toy, (\w+): uas \S+ .*passes_mean (\S+)", said)
    assert [name for name, _ in rows] == ["k1", "k3", "k5", "random_k", "converge"]
    assert [passes for _, passes in rows[:4]] == ["1.00", "3.00", "5.00", "3.00"]


@pytest.fixture(scope="module")
def parsing():
    """The scoring script as a module."""
    return module_of("undirected", "parsing")


@pytest.mark.parametrize("none", ["", None])
def test_records_name_the_treebank_and_the_encoder(parsing, none):
    bilstm = "UD_Toy (UD 2.7), 4 sentences; BiLSTM over word vectors from scratch"
    assert parsing.data_of(Path("data/UD_Toy"), 4, none) == bilstm
    assert parsing.data_of(Path("UD_Toy"), 4, "a/small-bert/") == (
        "UD_Toy (UD 2.7), 4 sentences; small-bert"
    )


def test_half_of_the_heads_include_a_quarter_of_them(parsing):
    gold = [Sentence(("w",) * n, tuple(range(n))) for n in (400, 7)]
    every = {share: parsing.known_part(gold, share) for share in (0, 25, 50, 100)}
    assert every[0][0].heads == (UNKNOWN_HEAD,) * 400 and every[100] == gold
    for quarter, half, tree in zip(every[25], every[50], gold, strict=True):
        for less, more, head in zip(quarter.heads, half.heads, tree.heads, strict=True):
            assert less in (UNKNOWN_HEAD, more) and more in (UNKNOWN_HEAD, head)
    assert 60 < sum(head != UNKNOWN_HEAD for head in every[25][0].heads) < 140
