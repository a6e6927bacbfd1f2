"""Folders of data: their kinds, and what they tell about the training."""

import re
import shutil
from pathlib import Path

import pytest
from fairseq_commands import warm_python

from fairseq_struct import presets
from fairseq_struct.cli.main import main
from fairseq_struct.errors import InputError
from fairseq_struct.presets.data_kinds import KINDS


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Prepared folders, by kind."""
    out = tmp_path_factory.mktemp("data")
    for split in ("train", "valid", "test"):
        (out / f"{split}.tsv").write_text("a b\tyes\nc d\tno\n")
    prepared = {
        "language model": "dependency_treebank generated {} --sentences 20 4 4",
        "translation": "synthetic_translation {} --sentences 20 4 4",
        "labelled sentences": "labelled_text plain {} "
        + " ".join(f"--{split}-file {{out}}/{split}.tsv" for split in ("train", "valid", "test")),
        "images": "image_classification generate {} --images 20 10 --size 12",
        "sequence completion": "sequence_completion {} --symbols 10",
        "demonstrations of Craft": "craft_demonstrations AB {} --size 5 --kinds AB --number 5",
        "transformation lists": "transformation_lists generated {} --sentences 20",
    }
    for kind, command in prepared.items():
        folder = out / kind.replace(" ", "_")
        with warm_python():
            words = [word.format(folder, out=out) for word in command.split()]
            assert main(["prepare", *words]) == 0
        prepared[kind] = folder
    similarity = out / "similarity"
    similarity.mkdir()
    for name in ("dict.txt", "train.tsv"):
        (similarity / name).touch()
    treebank = out / "UD_Toy"
    treebank.mkdir()
    (treebank / "toy-ud-train.conllu").touch()
    return prepared | {"semantic similarity": similarity, "treebank": treebank}


def test_each_folder_is_of_its_kind_and_of_no_other(folders):
    assert folders.keys() == KINDS.keys()
    for kind, folder in folders.items():
        inside = folder / "data-bin" if (folder / "data-bin").exists() else folder
        found = {name for name, is_of in KINDS.items() if is_of(inside)}
        # A language model's text that was prepared with its trees also serves parsers.
        assert found == ({kind, "treebank"} if kind == "language model" else {kind})


def test_languages_and_trees_are_found(folders):
    translation = presets.preset("latent_tree_transformer_tiny")
    for named in (folders["translation"], folders["translation"] / "data-bin"):
        found = presets.data_folder(translation, named)
        assert found.path == folders["translation"] / "data-bin"
        assert found.options == ("--source-lang", "src", "--target-lang", "tgt")
    text = folders["language model"]
    trees = str(text / "trees" / "valid.conllu")
    assert presets.data_folder(presets.preset("udgn_tiny"), text).options == ("--treebank", trees)
    assert presets.data_folder(presets.preset("masked_transformer_cpu"), text).options == ()
    parser = presets.preset("undirected_parser_ud_cpu")
    assert presets.data_folder(parser, text).path == text / "data-bin"
    assert presets.data_folder(parser, folders["treebank"]).path == folders["treebank"]


def test_shards_follow_one_another(folders, tmp_path):
    translation, other = presets.preset("latent_tree_transformer_tiny"), tmp_path / "other"
    out = tmp_path / "shards"
    for shard in range(11):
        shutil.copytree(folders["translation"] / "data-bin", out / f"data-bin{shard}")
    shutil.copytree(folders["translation"], other)
    found = presets.data_folder(translation, out)
    assert str(found.path) == ":".join(f"{out}/data-bin{shard}" for shard in range(11))
    assert found.options == ("--source-lang", "src", "--target-lang", "tgt")
    named = presets.data_folder(translation, Path(f"{out}/data-bin3:{other}"))
    assert str(named.path) == f"{out}/data-bin3:{other}/data-bin" and named.options == found.options
    with pytest.raises(InputError, match=f"^{re.escape(str(tmp_path))}/none: no such folder"):
        presets.data_folder(translation, Path(f"{other}:{tmp_path}/none"))
    with pytest.raises(InputError, match="holds data of the kind translation, but udgn_tiny takes"):
        presets.data_folder(presets.preset("udgn_tiny"), out)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("undirected_attention_completion_cpu", "sequence completion"),
        ("rim_parser_cpu", "transformation lists"),
        ("undirected_parser_ud_cpu", "treebank"),
        ("option_controller_craft_cpu", "demonstrations of Craft"),
        ("undirected_convnet_mnist_cpu", "images"),
    ],
)
def test_tasks_of_one_folder_refuse_several(folders, tmp_path, name, kind):
    shutil.copytree(folders[kind], tmp_path / "other")
    named = Path(f"{folders[kind]}:{tmp_path}/other")
    with pytest.raises(InputError, match=f"{name} trains on one folder, not on several"):
        presets.data_folder(presets.preset(name), named)


@pytest.mark.parametrize("name", presets.names())
def test_another_kind_of_folder_is_refused_with_the_command_for_the_right_one(name, folders):
    preset = presets.preset(name)
    if not preset.data:
        return
    wrong = folders["images" if preset.data != "images" else "translation"]
    with pytest.raises(InputError) as refused:
        presets.data_folder(preset, wrong)
    assert str(refused.value).endswith(f"to make one: fairseq-struct prepare {preset.prepare}")
    assert "\n" not in str(refused.value)


def test_folders_that_are_none_are_refused(tmp_path):
    preset = presets.preset("udgn_tiny")
    (tmp_path / "file").touch()
    for named, why in (("none", "no such folder"), ("file", "is a file"), (".", "holds no prep")):
        with pytest.raises(InputError, match=why):
            presets.data_folder(preset, tmp_path / named)
