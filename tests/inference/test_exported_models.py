"""Exported models say the same as their checkpoints, bit for bit, of every architecture."""

import json
import shutil

import pytest
import torch
from exported_models import checkpoint_of, said_by
from omegaconf import OmegaConf
from small_bert import write_bert
from stored_models import MODELS

import fairseq_struct
from fairseq_struct import plugin
from fairseq_struct.errors import InputError
from fairseq_struct.inference import made_by
from fairseq_struct.inference.building import build_task

WITHOUT_TOOL = {"masked_transformer", "latent_clusters"}


@pytest.mark.parametrize("arch", MODELS)
def test_an_exported_model_says_the_same(arch, tmp_path):
    checkpoint, data = checkpoint_of(arch)
    out = fairseq_struct.export(checkpoint, tmp_path / "model", data=data)
    expected, found = said_by(checkpoint, data), said_by(out)
    assert found == expected
    assert found["parameters"]
    assert len(found) > 1 or arch in WITHOUT_TOOL


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    checkpoint, data = checkpoint_of("udgn")
    return fairseq_struct.export(checkpoint, tmp_path_factory.mktemp("export") / "udgn", data=data)


def test_it_needs_neither_torch_load_nor_the_old_data(exported, monkeypatch):
    def refused(*_, **__):
        raise AssertionError("an export holds no pickle")

    monkeypatch.setattr(torch, "load", refused)
    (tree,) = fairseq_struct.load(exported).parse(["the cats sing"])
    assert len(tree) == 3


def test_it_names_no_place_of_this_machine(exported):
    text = (exported / "config.json").read_text() + (exported / "README.md").read_text()
    task = json.loads((exported / "config.json").read_text())["task"]
    assert task and not any("/" in str(value) for value in task.values())
    checkpoint, data = checkpoint_of("udgn")
    assert str(checkpoint.parent) not in text and str(data) not in text
    assert "tmp" not in (exported / "config.json").read_text()


def test_all_its_files_may_be_read_by_the_same_people(exported):
    files = [path for path in exported.rglob("*") if path.is_file()]
    assert len({path.stat().st_mode for path in files}) == 1


def test_it_describes_the_training(exported):
    checkpoint, _ = checkpoint_of("udgn")
    expected, found = made_by(checkpoint), made_by(exported)
    for name in ("model", "seed", "epochs", "updates", "text"):
        assert found[name] == expected[name]


@pytest.mark.parametrize(("batches", "epoch"), [(0, 3), (5, 4)])
def test_the_epoch_is_the_last_one_that_was_begun(tmp_path, batches, epoch):
    checkpoint, data = checkpoint_of("udgn")
    state = torch.load(checkpoint, weights_only=True)
    state["extra_state"] = {"train_iterator": {"epoch": 4, "iterations_in_epoch": batches}}
    torch.save(state, tmp_path / "checkpoint.pt")
    out = fairseq_struct.export(tmp_path / "checkpoint.pt", tmp_path / "model", data=data)
    assert f"| epoch | {epoch} |" in (out / "README.md").read_text()


def test_it_is_a_third_of_a_checkpoint(tmp_path):
    """Adam's two moments of each parameter stay behind, and tied parameters are stored once."""
    checkpoint, data = checkpoint_of("undirected_convnet")
    state = torch.load(checkpoint, weights_only=True)
    count = sum(value.numel() for value in state["model"].values())
    moments = {"exp_avg": torch.zeros(count), "exp_avg_sq": torch.zeros(count)}
    state["last_optimizer_state"] = {"state": {0: moments}}
    torch.save(state, tmp_path / "checkpoint.pt")
    out = fairseq_struct.export(tmp_path / "checkpoint.pt", tmp_path / "model", data=data)
    weights, whole = 4 * count, (tmp_path / "checkpoint.pt").stat().st_size
    assert weights < (out / "model.safetensors").stat().st_size < weights + 2000
    assert whole > 3 * weights


def test_half_rounds_the_parameters(tmp_path):
    checkpoint, data = checkpoint_of("udgn")
    out = fairseq_struct.export(checkpoint, tmp_path / "half", data=data, half=True)
    whole = fairseq_struct.export(checkpoint, tmp_path / "whole", data=data)
    sizes = [(folder / "model.safetensors").stat().st_size for folder in (out, whole)]
    assert sizes[0] < 0.7 * sizes[1]
    rounded, exact = (fairseq_struct.load(folder).model.state_dict() for folder in (out, whole))
    for name, value in exact.items():
        assert rounded[name].equal(value.half().float())
    assert any(not rounded[name].equal(value) for name, value in exact.items())


def test_a_pretrained_encoder_goes_along(tmp_path):
    """Its tokenizer and configuration; its weights are in the model's."""
    encoder = tmp_path / "bert"
    encoder.mkdir()
    write_bert(encoder)
    stored, data = checkpoint_of("undirected_parser")
    state = torch.load(stored, weights_only=True)
    state["cfg"]["model"]["encoder_folder"] = str(encoder)
    state["cfg"]["task"]["data"] = str(data)
    plugin.load()
    cfg = OmegaConf.create(state["cfg"])
    state["model"] = build_task(cfg, stored).build_model(cfg["model"]).state_dict()
    torch.save(state, tmp_path / "checkpoint.pt")
    out = fairseq_struct.export(tmp_path / "checkpoint.pt", tmp_path / "model")
    expected = said_by(tmp_path / "checkpoint.pt")
    shutil.rmtree(encoder)
    assert said_by(out) == expected
    assert not list((out / "encoder").glob("*.safetensors"))
    assert str(tmp_path) not in (out / "config.json").read_text()


def test_an_export_can_be_exported_again(exported, tmp_path):
    again = fairseq_struct.export(exported, tmp_path / "again")
    for name in ("model.safetensors", "data/data-bin/dict.txt"):
        assert (again / name).read_bytes() == (exported / name).read_bytes()
    assert said_by(again) == said_by(exported)


def test_folders_of_others_stay(exported, tmp_path):
    checkpoint, data = checkpoint_of("udgn")
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "config.json").write_text('{"model_type": "bert"}')
    for options in ({}, {"overwrite": True}):
        with pytest.raises(InputError, match="mine: exists, but is no exported model"):
            fairseq_struct.export(checkpoint, mine, data=data, **options)
    assert (mine / "config.json").read_text() == '{"model_type": "bert"}'
    out = fairseq_struct.export(exported, tmp_path / "out")
    with pytest.raises(InputError, match="out: exists; replace it with --overwrite"):
        fairseq_struct.export(checkpoint, out, data=data)
    (out / "README.md").write_text("edited")
    (out / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match=r"out: holds notes\.txt, which would be lost"):
        fairseq_struct.export(checkpoint, out, data=data, overwrite=True)
    (out / "notes.txt").unlink()
    fairseq_struct.export(checkpoint, out, data=data, overwrite=True)
    assert (out / "README.md").read_text() == "edited"  # a card that somebody wrote is kept
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
