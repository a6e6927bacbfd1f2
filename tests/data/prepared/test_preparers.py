"""``fairseq-struct prepare``: its preparers, and the one that generates translation pairs."""

import json
import os
from importlib.util import find_spec

import pytest
from fairseq_commands import ROOT
from preparers import check_fails, contents

from fairseq_struct.cli.prepare import PREPARERS

SPLITS = ("train", "valid", "test")


def test_synthetic_corpus(tmp_path, run):
    arguments = ["--sentences", "40", "5", "5", "--seed", "3"]
    for name in ("one", "two"):
        status, printed, _ = run("synthetic_translation", [tmp_path / name, *arguments])
        assert status == 0 and "seed: 3" in printed
    files = contents(tmp_path / "one")
    assert files == contents(tmp_path / "two")
    assert files["raw/test.tgt"] == files["segmented/test.tgt"]
    for split, size in zip(SPLITS, (40, 5, 5), strict=True):
        for name in (f"{split}.align", f"{split}.src.brackets", f"{split}.tgt.brackets"):
            assert files[f"trees/{name}"].count(b"\n") == size
        assert files[f"trees/{split}.tgt.conllu"].count(b"\n\n") == size
    check_fails(
        run("synthetic_translation", [tmp_path / "one", *arguments[:-1], "4"]),
        "prepared with other inputs or options: seed (3, now 4)",
    )


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("craft_demonstrations", ["AC", "--number=10", "--size=6", "--kinds=AC"]),
        ("dependency_treebank", ["generated", "--sentences", "9", "3", "3"]),
        ("image_classification", ["generate", "--images", "20", "10"]),
        ("listops", ["generate", "--instances=40"]),
        ("propositional_logic", ["generate", "--most-instances=50", "--test-instances=5"]),
        ("sequence_completion", []),
        ("synthetic_translation", ["--sentences", "40", "5", "5"]),
        ("transformation_lists", ["generated", "--sentences=40"]),
    ],
)
def test_manifests_of_generated_corpora_name_what_drew_them(tmp_path, run, name, arguments):
    place = int(bool(arguments) and not arguments[0].startswith("-"))  # behind a kind or tasks
    words = [*arguments[:place], str(tmp_path / "out"), *arguments[place:], "--seed=3"]
    status, _, complaint = run(name, words)
    assert status == 0, complaint
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    room = "fairseq_struct.data.generators."
    assert manifest["generator"].startswith(room) and find_spec(manifest["generator"])
    assert 3 in (manifest[one].get("seed") for one in ("options", "provenance") if one in manifest)
    # A folder of an earlier version, which did not name it, is the same folder.
    del manifest["generator"]
    (tmp_path / "out" / "manifest.json").write_text(json.dumps(manifest))
    status, said, _ = run(name, words)
    assert status == 0 and "nothing to do" in said


def test_synthetic_corpus_too_shallow(tmp_path, run, monkeypatch):
    from fairseq_struct.data.generators import synthetic_translation

    monkeypatch.setattr(synthetic_translation, "_distinct", lambda *_: iter(()))
    check_fails(run("synthetic_translation", [tmp_path / "out"]), "only 0 distinct sentences")
    assert os.listdir(tmp_path) == []


def test_after_ctrl_c_the_folder_is_as_it_was(tmp_path, run, monkeypatch):
    def press(*_, **__):
        raise KeyboardInterrupt

    arguments = [tmp_path / "out", "--sentences", "40", "5", "5", "--overwrite"]
    assert run("synthetic_translation", arguments)[0] == 0
    before = contents(tmp_path / "out")
    monkeypatch.setattr("fairseq_struct.data.prepared.prepared_folder.staging_folder", press)
    status, _, complaint = run("synthetic_translation", [*arguments, "--seed", "2"])
    assert status == 130 and complaint.startswith(f"interrupted: {tmp_path / 'out'} is as it was")
    assert contents(tmp_path / "out") == before


def test_every_preparer_has_its_module_and_its_script():
    modules = {path.stem for path in (ROOT / "fairseq_struct/cli/prepare").glob("*.py")}
    scripts = {path.stem: path.read_text() for path in (ROOT / "preprocess").glob("*.py")}
    assert modules == {"__init__", *PREPARERS} and scripts.keys() == PREPARERS.keys()
    for name, text in scripts.items():
        assert f'main(["prepare", "{name}", *sys.argv[1:]])' in text


@pytest.mark.parametrize("name", PREPARERS)
def test_every_preparer_answers_help(run, name):
    assert PREPARERS[name] in run("--help", [])[1]
    status, printed, _ = run(name, ["--help"])
    assert status == 0
    assert printed.startswith(f"usage: fairseq-struct prepare {name} ")
    assert printed.count(f"fairseq-struct prepare {name} ") >= 2  # and examples


def test_unknown_preparer(run):
    status, _, complaint = run("parralel", ["out"])
    assert status == 2 and "invalid choice: 'parralel'" in complaint
