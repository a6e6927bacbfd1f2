"""Treebanks, options and folders that supervised parsers refuse, and several roots."""

import re
import shutil

import pytest
from fairseq_commands import run
from small_masked_models import logged
from small_treebanks import COMMON, train, write_treebank

from fairseq_struct.errors import InputError


@pytest.fixture(scope="module")
def treebank(tmp_path_factory):
    return write_treebank(tmp_path_factory.mktemp("treebank") / "UD_Toy")


ROW = "{}\tw\t_\t_\t_\t_\t{}\t_\t_\t_\n"


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ("2 1", [], "train.conllu:1: the heads of this sentence form a cycle"),
        ("0 0", [], "train.conllu:1: this sentence has 2 roots, but the model finds trees with"),
        ("1 0", [], "train.conllu:1: '1' is not a valid head of word 1"),
        ("0 _", [], "train.conllu:2: '_' is not a valid head of word 2"),
        ("", [], "train.conllu: contains no sentence"),
        ("0 1", ["--least-count=0"], "--least-count must be 1 or more"),
        ("0 1", ["--passes=0"], "--passes must be 1, 2, … or converge, not 0"),
        ("0 1", ["--dropout=1"], "--dropout must be 0 or more and below 1"),
        ("0 1", ["--unknown-rate=1"], "--unknown-rate must be 0 or more and below 1"),
        ("0 1", ["--encoder-size=7"], "--encoder-size must be even for a BiLSTM, not 7"),
        ("0 1", ["--embed-dim=0"], "--embed-dim must be 1 or more"),
        ("0 1", ["--encoder-folder=none"], "none: no such folder; it must hold a Hugging Face"),
        ("0 1", ["--criterion=cross_entropy"], "this task needs --criterion dependency_parsing"),
    ],
)
def test_bad_input_ends_in_one_sentence(treebank, tmp_path, rows, options, message):
    folder = shutil.copytree(treebank, tmp_path / "bad")
    rows = "".join(ROW.format(place, head) for place, head in enumerate(rows.split(), 1))
    (folder / "xx_toy-ud-train.conllu").write_text(rows)
    with pytest.raises(InputError, match=re.escape(message)):
        train(folder, tmp_path / "out", "--max-epoch=1", *options)


def test_other_models_are_refused(treebank, tmp_path):
    with pytest.raises(InputError, match="this task is for dependency parsers such as undirected"):
        run("train", treebank, "--task=dependency_parsing", "--criterion=dependency_parsing",
            *COMMON, "--arch=udgn", f"--save-dir={tmp_path}")  # fmt: skip


def test_several_roots_where_they_are_allowed(treebank, tmp_path):
    folder = shutil.copytree(treebank, tmp_path / "roots")
    path = folder / "xx_toy-ud-train.conllu"
    path.write_text(path.read_text() + "".join(ROW.format(place, 0) for place in (1, 2, 3)))
    said = train(folder, tmp_path / "out", "--max-epoch=1", "--roots=multiple", "--no-save")
    assert len(logged(said, "valid_uas")) == 1


def test_folders_that_are_no_treebank(treebank, tmp_path):
    with pytest.raises(InputError, match="no such folder; the task needs that of a treebank"):
        train(tmp_path / "none", tmp_path / "out")
    with pytest.raises(InputError, match=r"no file \*-train.conllu; a treebank has one"):
        train(tmp_path, tmp_path / "out")
    folder = shutil.copytree(treebank, tmp_path / "two")
    (folder / "yy-train.conllu").write_text("")
    with pytest.raises(InputError, match=r"2 files \*-train.conllu"):
        train(folder, tmp_path / "out")
