"""The recipes of ON-LSTM: inputs that they refuse, trivial trees, mixed text, figures."""

import sys

import pytest
from fairseq_commands import ROOT, start

from fairseq_struct.errors import InputError
from fairseq_struct.records.results import Result, append_result, read_results

RECIPES = ROOT / "recipes" / "on_lstm"
TREES = [
    "(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))",
    "(S (NP (PRP it)) (VP (VBZ sees) (NP (NP (DT the) (NN cat)) (PP (IN of) (NP (NN x))))))",
]


def run(*arguments, recipe="wsj_parsing", **settings):
    """The status of a recipe, and its output."""
    done = start("bash", RECIPES / f"{recipe}.sh", *arguments, **settings)
    said = done.communicate()[0]
    return done.returncode, said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["trivial"], "usage: wsj_parsing.sh CHECKPOINT|trivial TREES"),
        (["none.pt", "x"], "none.pt: no such file"),
        (["trivial", "nowhere"], "nowhere: no such file"),
    ],
)
def test_bad_calls_end_in_one_sentence(arguments, message):
    status, said = run(*arguments, RECORD="0")
    assert status != 0 and message in said and said.count("\n") <= 2, said


@pytest.fixture
def corpora(tmp_path, monkeypatch):
    """A folder of all corpora that are mixed, of one or three sentences each."""
    monkeypatch.syspath_prepend(str(RECIPES))
    import mixed_text

    for files in mixed_text.ENGLISH.values():
        for name in files:
            file = tmp_path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("The cat doesn't sleep.\n2.5 cats sleep\nthe cat sleep\n")
            if file.suffix == ".conllu":
                file.write_text("1\tBirds\t_\tNOUN\t_\t_\t2\tx\t_\t_\n"
                                "2\tsing\t_\tVERB\t_\t_\t0\tx\t_\t_\n"
                                "3\t.\t_\tPUNCT\t_\t_\t2\tx\t_\t_\n\n")  # fmt: skip
    return tmp_path


def test_mixed_text_has_each_sentence_once_and_rare_words_as_unknown(corpora):
    import mixed_text

    (corpora / "ptb_lm" / "train.txt").write_text(" N <unk> ran \n the cat sleep \n")
    splits = mixed_text.mixed(corpora)
    assert sorted(splits["train"]) == [
        "<unk> <unk>", "N <unk> <unk>", "N <unk> sleep", "the cat <unk> <unk> sleep",
        "the cat sleep",
    ]  # fmt: skip
    assert mixed_text.mixed(corpora) == splits
    (corpora / "multi30k" / "train.en").unlink()
    with pytest.raises(InputError, match=r"train\.en: no such file"):
        mixed_text.mixed(corpora)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["on_lstm_lm", "."], "usage: mixed_text.sh on_lstm_lm|awd_lstm_lm DATA SETS"),
        (["gru", ".", "."], "unknown model 'gru'"),
        (["on_lstm_lm", ".", "nowhere"], "nowhere: no such file"),
        (["on_lstm_lm", "nowhere", "."], "nowhere/ptb_lm/train.txt: no such file"),
    ],
)
def test_mixed_text_ends_in_one_sentence(arguments, message, tmp_path):
    status, said = run(*arguments, recipe="mixed_text", OUT=str(tmp_path), RECORD="0")
    assert status != 0 and message in said and said.count("\n") <= 2, said


def test_trees_are_drawn_beside_gold_ones(language_models, tmp_path):
    picture = tmp_path / "trees.svg"
    model = language_models["on_lstm_lm"] / "checkpoint_best.pt"
    status, said = run(model, picture, recipe="trees", OUT=str(tmp_path))
    assert status == 0, said
    drawn = picture.read_text()
    assert drawn.count(">gold<") == drawn.count(">layer_2<") == 6


def test_syntax_is_scored_by_the_model_that_names_the_row(language_models, tmp_path):
    sets = tmp_path / "sets.tsv"
    sets.write_text("simple_agrmt\tall\tthe cat sings\tthe cat sing\n")
    model = language_models["on_lstm_lm"] / "checkpoint_best.pt"
    status, said = run(model, sets, recipe="syneval", RECORD="0")
    assert status == 0, said
    assert said.startswith("syneval on_lstm: agreement_simple ") and "told_apart 100.00" in said
    sets.write_text("simple_agrmt\tall\tthe cat sings\n")
    status, said = run(model, sets, recipe="syneval", RECORD="0")
    assert status == 1 and "sets.tsv:1: " in said and said.count("\n") == 1, said


def test_random_trees_are_drawn_five_times(tmp_path):
    (tmp_path / "wsj_0001.mrg").write_text("\n".join(TREES))
    status, said = run("trivial", tmp_path, RECORD="0")
    assert status == 0, said
    lines = {line.split()[1].rstrip(":"): line for line in said.splitlines()}
    assert list(lines) == ["right_branching", "left_branching", "balanced", "random"]
    assert "f1_corpus 60.00 " in lines["right_branching"]
    assert "(5 seeds)" in lines["random"] and "(5 seeds)" not in lines["balanced"]
    score = [
        "python", RECIPES / "parsing.py", "--experiment=wsj_parsing", "--scale=reduced",
        "--command=x", "--trees", tmp_path, "--results", tmp_path / "results.jsonl",
    ]  # fmt: skip
    assert start(*score).wait() == 0
    kept = read_results(tmp_path / "results.jsonl")
    assert [one.seed for one in kept if one.variant == "random"] == [1, 2, 3, 4, 5]
    assert all(one.data == "2 sentences" and one.updates == 0 for one in kept)


def test_figure_3_has_every_seed_of_a_cell(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(RECIPES))
    import figure_3

    records, picture = tmp_path / "results.jsonl", tmp_path / "figure.png"
    for cell, seed, accuracy in (("lstm", 1, 60.0), ("lstm", 2, 70.0), ("on_lstm", 1, 80.0)):
        append_result(records, Result(
            experiment="logical_inference", variant=cell, seed=seed, scale="reduced", data="pairs",
            metrics={"from_7": 50.0, "operators_0": 100.0, "operators_12": accuracy}, updates=9,
            device="here", minutes=1, command="x",
        ))  # fmt: skip
    assert figure_3.curves(records) == {
        "lstm": {0: [100.0, 100.0], 12: [60.0, 70.0]}, "on_lstm": {0: [100.0], 12: [80.0]},
    }  # fmt: skip
    monkeypatch.setattr(sys, "argv", ["figure_3.py", str(records), str(picture)])
    figure_3.main()
    assert picture.read_bytes().startswith(b"\x89PNG")
    records.write_text("")
    with pytest.raises(InputError, match="no record of logical_inference"):
        figure_3.curves(records)
