"""The recipes of UDGN: inputs that they refuse, and one run from end to end."""

import json
import re
from functools import partial

import pytest
from fairseq_commands import ROOT, start
from recipe_calls import refusal_of, run_recipe

RECIPES = ROOT / "recipes" / "udgn"
run = partial(run_recipe, "udgn")


@pytest.mark.parametrize(
    ("recipe", "arguments", "settings", "message"),
    [
        ("ptb", ["lstm"], {}, "usage: ptb.sh udgn|structformer|masked_transformer [DATA]"),
        ("ptb", ["udgn"], {}, "the data are not prepared yet: name their folder"),
        ("ptb", ["udgn"], {"SIZE": "big"}, "SIZE must be paper or cpu, not 'big'"),
        ("ptb", ["udgn"], {"UPDATES": "9"}, "UPDATES is for SIZE=cpu"),
        ("ptb", ["udgn"], {"SIZE": "cpu", "EPOCHS": "9"}, "EPOCHS is for SIZE=paper"),
        ("ptb", ["udgn"], {"SIZE": "cpu", "UPDATES": "x"}, "UPDATES must be a whole number"),
        ("ablation", ["nothing"], {"SIZE": "cpu"}, "usage: ablation.sh ROW"),
        ("ablation", ["udgn"], {}, "name the folders DATA and TREES"),
        ("ablation", ["udgn", "a"], {"SIZE": "cpu"}, "name the folders DATA and TREES"),
        ("ablation", ["udgn", "a", "b"], {"SIZE": "cpu"}, "b: no such file or folder"),
        ("direction", ["small", "a"], {}, "usage: direction.sh ROW DATA TREES"),
        ("direction", ["small", "a", RECIPES], {"SIZE": "cpu"}, "the training of SIZE=paper"),
        ("direction", ["small", "a", RECIPES], {"MASK_RATE": "6"}, "MASK_RATE must be above 0"),
        ("trees", ["trees.svg"], {}, "usage: trees.sh PICTURE NAME=CHECKPOINT"),
        ("trees", ["trees.svg", "none.pt"], {}, "usage: trees.sh PICTURE NAME=CHECKPOINT"),
        ("trees", ["trees.svg", "ours=none.pt"], {}, "none.pt: no such file"),
        ("data_size", ["a"], {"SIZE": "cpu"}, "usage: data_size.sh DATA TREES"),
        ("data_size", ["a", RECIPES], {"EIGHTHS": "1 9"}, "must be numbers from 1 to 8, not '9'"),
        ("data_size", ["a", RECIPES], {}, "parts of this text are for SIZE=cpu"),
        ("mask_rate", [], {"SIZE": "cpu", "RATES": "0.3 1.5"}, "not as '1.5'"),
        ("mask_rate", [], {"SIZE": "cpu", "RATES": "0.0"}, "not as '0.0'"),
        ("wsj_sample", ["none.pt", "x"], {}, "none.pt: no such file"),
        ("ud_english", ["udgn", "nowhere"], {}, "nowhere: no such folder"),
        ("dmv", [], {}, "usage: dmv.sh TREES|TREEBANK"),
        ("dmv", ["nowhere"], {}, "nowhere: no such folder"),
        ("dmv", [RECIPES], {}, "neither .dp files nor *-test.conllu"),
        ("dmv", [RECIPES, "x"], {}, "usage: dmv.sh TREES|TREEBANK"),
        ("sts", ["bert", "x"], {}, "usage: sts.sh"),
        ("sts", ["udgn", "none.pt"], {}, "none.pt: no such file"),
    ],
)
def test_bad_calls_end_in_one_sentence(tmp_path, recipe, arguments, settings, message):
    assert message in refusal_of("udgn", tmp_path / "out", recipe, *arguments, **settings)


def test_other_trees_than_the_sample_are_scored_but_not_recorded(tmp_path):
    trees = tmp_path / "wsj_0001.dp"
    trees.write_text("the\tDT\t2\ncat\tNN\t3\nsleeps\tVBZ\t0\n")
    score = ["python", RECIPES / "score.py", "--experiment=wsj_sample", "--variant=left_chain",
             "--scale=reduced", "--data=WSJ", "--trees", tmp_path, "--command=x"]  # fmt: skip
    done = start(*score)
    said = done.communicate()[0]
    assert done.returncode == 0 and "uas 100.00" in said, said
    done = start(*score, "--results", tmp_path / "results.jsonl")
    said = done.communicate()[0]
    assert done.returncode == 1 and said.count("\n") == 1, said
    assert "1 sentences, but records are for the sample of 3914" in said
    assert not (tmp_path / "results.jsonl").exists()


def test_mask_rates_from_training_to_the_figure(tmp_path):
    settings = {"SIZE": "cpu", "UPDATES": "2", "RATES": "0.4"}
    status, said = run(tmp_path, "mask_rate", **settings)
    assert status == 0, said
    assert "mask_rate 0.4: ppl" in said and "uuas_argmax_root" in said
    assert (tmp_path / "mask_rate" / "mask_rate.png").read_bytes()[:4] == b"\x89PNG"
    record = (tmp_path / "mask_rate" / "results.jsonl").read_text()
    kinds = ("", "_argmax", "_argmax_root")
    names = {f"{name}{kind}" for name in ("uas", "uuas") for kind in kinds}
    assert json.loads(record)["metrics"].keys() == names | {"ppl", "ppl_valid"}
    assert "SIZE=cpu UPDATES=2 RATES=0.4 recipes/udgn/mask_rate.sh" in record
    assert '"scale": "reduced"' in record and '"updates": 2' in record
    # The settings are not the recipe's own, so its own records stay as they are.
    assert "UPDATES=2 RATES=0.4 " not in (RECIPES / "results.jsonl").read_text()


@pytest.fixture
def penn_treebank(tmp_path):
    """Folders of a text like the Penn Treebank's, and of trees."""
    text, trees = tmp_path / "text", tmp_path / "trees"
    text.mkdir(), trees.mkdir()
    for split, lines in (("train", 48), ("valid", 4), ("test", 4)):
        (text / f"{split}.txt").write_text(" the cat sleeps \n" * lines)
    (trees / "wsj_0001.dp").write_text("the\tDT\t2\ncat\tNN\t3\nsleeps\tVBZ\t0\n")
    return text, trees


def test_parts_of_a_text_from_training_to_the_figure(penn_treebank, tmp_path):
    settings = {"SIZE": "cpu", "UPDATES": "2", "EIGHTHS": "1 8"}
    status, said = run(tmp_path, "data_size", *penn_treebank, **settings)
    assert status == 0, said
    assert "data_size 0.125: ppl" in said and "data_size 1: ppl" in said
    assert (tmp_path / "data_size" / "data_size.png").read_bytes()[:4] == b"\x89PNG"
    logs = {path.parts[-5]: path.read_text() for path in tmp_path.rglob("seed_1/train.log")}
    assert logs.keys() == {"1", "8"} and all("num_updates" in log for log in logs.values())


def test_an_ablation_on_the_penn_treebank_has_its_own_table(penn_treebank, tmp_path):
    settings = {"SIZE": "cpu", "UPDATES": "2", "RECORD": "0"}
    status, said = run(tmp_path, "ablation", "no_gates", *penn_treebank, **settings)
    assert status == 0 and "ablation_ptb no_gates: ppl" in said, said


def test_networks_of_two_mask_rates_and_their_trees(penn_treebank, tmp_path):
    runs = []
    for settings in ({}, {"MASK_RATE": "0.6"}):
        status, said = run(
            tmp_path, "direction", "small", *penn_treebank, EPOCHS="1", RECORD="0", **settings
        )
        assert status == 0, said
        row = "small, 1 epochs" + ", mask rate 0.6" * bool(settings)
        assert f"direction {row}: ppl" in said and "uas_rooted" in said
        folder = "small" + ".mask_rate_0.6" * bool(settings)
        runs.append(tmp_path / "direction" / folder / "paper" / "epochs_1" / "seed_1")
        assert ("--mask-rate 0.6" in (runs[-1] / "options").read_text()) == bool(settings)
    first, second = (folder / "checkpoint_best.pt" for folder in runs)
    models = f"0.3={first}", f"0.6={second}"
    status, said = run(tmp_path, "trees", tmp_path / "trees.svg", *models)
    assert status == 0, said
    drawn = (tmp_path / "trees.svg").read_text()
    assert drawn.count(">gold<") == drawn.count(">0.3<") == drawn.count(">0.6<") == 6


def dmv_records(tmp_path, name, **settings):
    """Status, output and records of the DMV's recipe; its own records stay as they are."""
    kept = (RECIPES / "results.jsonl").read_text()
    status, said = run(tmp_path / "out", "dmv", tmp_path / name, **settings)
    assert (RECIPES / "results.jsonl").read_text() == kept
    return status, said


def test_dmv_of_a_folder_of_trees(tmp_path):
    sentences = ["a\tDT\t2\ncat\tNN\t3\nsleeps\tVBZ\t0\n.\t.\t3\n", "cats\tNNS\t2\nsleep\tVBP\t0\n"]
    (tmp_path / "trees").mkdir()
    (tmp_path / "trees" / "wsj_0001.dp").write_text("\n".join(3 * sentences))
    status, said = dmv_records(tmp_path, "trees", RECORD="0")
    assert status == 0, said
    rows = dict(re.findall(r"^dmv (\w+): (.*)$", said, re.MULTILINE))
    learnt = {"dmv", "dmv_over_modifiers", "dmv_uniform", "dmv_attach_valence", "dmv_20_words"}
    assert rows.keys() == learnt | {"dmv_supervised", "right_chain", "left_chain", "random"}
    assert rows["dmv_supervised"].startswith("uas_10 100.00")
    assert rows["left_chain"].startswith("uas_10 100.00  uuas_10 100.00  uas 100.00")
    assert rows["right_chain"].startswith("uas_10 0")
    assert all("steps" in rows[name] and "log_prob -" in rows[name] for name in learnt)
    status, said = dmv_records(tmp_path, "trees", RECORD="1")
    assert status == 1 and "6 sentences, but records are for the sample of 3914" in said


def test_dmv_of_a_treebank(tmp_path):
    words = enumerate((("PRON", 2), ("VERB", 0), ("NOUN", 2), ("PUNCT", 2)), 1)
    line = "{}\tw\t_\t{}\t_\t_\t{}\tx\t_\t_\n"
    sentence = "".join(line.format(place, tag, head) for place, (tag, head) in words)
    (tmp_path / "bank").mkdir()
    for split in ("dev", "test"):
        (tmp_path / "bank" / f"xx_toy-ud-{split}.conllu").write_text(2 * f"{sentence}\n")
    status, said = dmv_records(tmp_path, "bank", RECORD="0", LONGEST="3")
    assert status == 0, said
    assert said.startswith("dmv_ud xx_toy: uas ") and "uas_supervised 100.00" in said
    assert "learnt_from 2  sentences 2" in said and "uas_left_chain 33.33" in said
    status, said = dmv_records(tmp_path, "bank", RECORD="0", LONGEST="2")
    assert status == 1 and "no sentence has at most 2 words without punctuation" in said
