"""Undirected networks of images through the commands: train, resume, validate, load and draw."""

import io
import json
import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from fairseq_commands import USER_DIR, run
from matplotlib.image import imread
from resumed_trainings import whole_and_resumed

import fairseq_struct
from fairseq_struct.cli.main import main
from fairseq_struct.data.readers.idx import FILES, read_images, write_idx
from fairseq_struct.errors import InputError
from fairseq_struct.models.undirected.undirected_convnet import (
    UndirectedConvnetConfig,
    UndirectedConvnetModel,
)

COMMON = [
    f"--user-dir={USER_DIR}", "--task=image_classification", "--criterion=image_classification",
    "--optimizer=adam", "--lr=0.01", "--batch-size=50", "--num-workers=0", "--no-progress-bar",
    "--no-epoch-checkpoints", "--log-format=json",
]  # fmt: skip
CONVNET = ["--arch=undirected_convnet_mnist", "--first-channels=8", "--second-channels=16",
           "--passes=2", "--dropout=0.1", "--gamma=1"]  # fmt: skip


def entries(log, subset):
    found = (json.loads(line) for line in re.findall(r"(\{\".*\"\})$", log, re.M))
    return [entry for entry in found if f"{subset}_loss" in entry]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    out = tmp_path_factory.mktemp("images") / "digits"
    options = ["--images", "600", "60", "--size", "14", "--noise", "0.02"]
    assert main(["prepare", "image_classification", "generate", str(out), *options]) == 0
    return out


@pytest.fixture(scope="module")
def trained(data, tmp_path_factory):
    """A checkpoint, and the log of its training."""
    folder = tmp_path_factory.mktemp("trained")
    log = run("train", data, *COMMON, *CONVNET, "--max-epoch=12", f"--save-dir={folder}",
              "--best-checkpoint-metric=accuracy", "--maximize-best-checkpoint-metric")  # fmt: skip
    return folder / "checkpoint_last.pt", log


def test_it_learns_digits_and_knows_what_they_look_like(trained, data):
    checkpoint, log = trained
    valid = entries(log, "valid")
    assert float(valid[-1]["valid_accuracy"]) >= 85
    assert float(valid[-1]["valid_image_loss"]) < float(valid[0]["valid_image_loss"])
    names = "loss", "label_loss", "image_loss"
    loss, of_labels, of_images = (float(valid[-1][f"valid_{name}"]) for name in names)
    assert loss == pytest.approx(of_labels + of_images, abs=2e-4)
    model = fairseq_struct.load(checkpoint)
    images, labels = read_images(data, "test")
    found = model.classify_images(images)
    assert (found.labels.numpy() == labels).mean() >= 0.8
    assert found.passes.tolist() == [2] * 60
    torch.testing.assert_close(found.probabilities.sum(1), torch.ones(60))
    one = model.classify_images(images[3:4])
    torch.testing.assert_close(one.probabilities, found.probabilities[3:4])
    prototypes = (255 * model.prototypes()).round().numpy().astype(np.uint8)
    judged = model.classify_images(prototypes).labels
    assert (judged == torch.arange(10)).sum() >= 7
    hidden = np.zeros((14, 14), dtype=bool)
    hidden[7:] = True
    whole = model.complete(images, hidden)
    torch.testing.assert_close(whole[:, :7], torch.from_numpy(images[:, :7] / 255).float())
    assert not torch.allclose(whole, model.complete(images, hidden, 1))


def test_validation_gives_the_tools_accuracy_and_converges_on_request(trained, data):
    checkpoint, _ = trained
    common = [data, f"--path={checkpoint}", f"--user-dir={USER_DIR}", "--task=image_classification",
              "--criterion=image_classification", "--valid-subset=test", "--num-workers=0",
              "--no-progress-bar", "--log-format=json"]  # fmt: skip
    found = {}
    for size in (60, 7):
        (found[size],) = entries(run("validate", *common, f"--batch-size={size}"), "test")
    images, labels = read_images(data, "test")
    right = fairseq_struct.load(checkpoint).classify_images(images).labels.numpy() == labels
    for one in found.values():
        assert float(one["test_accuracy"]) == pytest.approx(100 * right.mean(), abs=0.01)
        assert "test_passes_mean" not in one
        assert float(one["test_loss"]) == pytest.approx(float(found[60]["test_loss"]), abs=2e-4)
    override = "--model-overrides={'test_passes': 'converge', 'most_passes': 4, 'tolerance': 0.5}"
    (one,) = entries(run("validate", *common, "--batch-size=60", override), "test")
    passes = fairseq_struct.load(checkpoint, test_passes="converge").classify_images(images).passes
    assert 1 <= float(one["test_passes_mean"]) <= 4 and float(one["test_energy"]) < 0
    assert passes.max() <= 10 and float(passes.float().mean()) >= float(one["test_passes_mean"])


@pytest.mark.parametrize(
    "options",
    [
        [*CONVNET, "--random-passes", "--passes=3", "--initialisation=random"],
        ["--arch=undirected_mlp_mnist", "--hidden-sizes=12,9", "--passes=converge"],
        [*CONVNET, "--untied", "--gamma=0"],
    ],
)
def test_a_resumed_run_repeats_the_uninterrupted_one(data, tmp_path, options):
    options = [data, *COMMON, *options]
    whole, resumed = whole_and_resumed(tmp_path, *options, cut=6, updates=14)
    last = entries(whole, "valid")[-1]
    assert ("valid_passes_mean" in last) == ("--passes=converge" in options)
    for name in ("valid_loss", "valid_accuracy"):
        assert last[name] == entries(resumed, "valid")[-1][name]
    if "--untied" in options:
        model = fairseq_struct.load(tmp_path / "whole" / "checkpoint_last.pt")
        assert model.classify_images(read_images(data, "test")[0]).labels.shape == (60,)
        with pytest.raises(InputError, match="only classifies, so it has no prototypes"):
            model.prototypes()


def test_weights_of_half_precision_are_trained(data, tmp_path):
    log = run("train", data, *COMMON, *CONVNET, "--max-epoch=1", f"--save-dir={tmp_path}", "--cpu",
              "--memory-efficient-fp16")  # fmt: skip
    assert float(entries(log, "valid")[-1]["valid_loss"]) > 0


def test_prototypes_of_several_models_and_completions_are_drawn(trained, data, tmp_path, capsys):
    checkpoint, _ = trained
    out = tmp_path / "prototypes.html"
    command = ["draw", str(checkpoint), str(checkpoint), "--output"]
    assert main([*command, str(out), "--what", "prototypes", "--most-passes", "2"]) == 0
    page = out.read_text()
    assert page.count("<image ") == 2 * 2 * 10 and page.count(str(checkpoint)) == 2
    assert "<title>2, 9</title>" in page and "<title>1, 0</title>" in page
    images = data / f"{FILES['test'][0]}.gz"
    out = tmp_path / "completions.png"
    options = ["--what", "completions", "--images", str(images), "--count", "3"]
    assert main([*command, str(out), *options]) == 0
    assert imread(out).std() > 0.1
    capsys.readouterr()
    assert main(["draw", str(checkpoint), *options, "--most-passes", "1"]) == 0
    page = capsys.readouterr().out
    assert page.count("<image ") == 3 * 3 and "<title>given</title>" in page


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--what", "completions"], "--what completions and --images FILE go together"),
        (["--what", "prototypes", "--images", "IMAGES"], "--images FILE go together"),
        (["--what", "prototypes", "--most-passes", "0"], "must be 1 or more"),
        (["--what", "completions", "--images", "LABELS"], "gz: not an idx file of unsigned bytes"),
        (["--what", "memory"], "has no memory, attention or steps to draw"),
        ([], "and networks of images with --what prototypes and completions"),
        (["--what", "prototypes", "--gold-trees", "listops"], "does not apply to --what proto"),
        (["--what", "prototypes", "--test-passes", "3"], "--test-passes does not apply to --what"),
    ],
)
def test_what_cannot_be_drawn(trained, data, tmp_path, capsys, monkeypatch, options, message):
    monkeypatch.setattr(sys, "stdin", io.StringIO("a b\n"))
    files = {"IMAGES": FILES["test"][0], "LABELS": FILES["test"][1]}
    options = [f"{data}/{files[one]}.gz" if one in files else one for one in options]
    out = tmp_path / "page.html"
    assert main(["draw", str(trained[0]), *options, "--output", str(out)]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ") and said.count("\n") == 1 and message in said
    assert not out.exists()


@pytest.mark.parametrize(("options", "drawn"), [([], True), (["--gamma=0", "--untied"], False)])
def test_what_comes_next_is_possible(data, tmp_path, capfd, options, drawn):
    command = ["train", str(data), "--preset", "undirected_convnet_mnist", "--max-update=1"]
    assert main([*command, f"--save-dir={tmp_path}", "--passes=1", *options]) == 0
    assert ("\nnext: fairseq-struct draw" in capfd.readouterr().out) == drawn
    assert main(["classify", str(tmp_path / "checkpoint_best.pt")]) == 2
    assert capfd.readouterr().err.endswith("gives no labels; it can draw\n")


def test_passes_are_checked_and_images_are_read_before_anything_is_drawn(
    trained, data, tmp_path, capsys
):
    for passes in (0, "all"):
        with pytest.raises(InputError, match=f"must be 1, 2, … or converge, not {passes}"):
            fairseq_struct.load(trained[0], test_passes=passes)
    model, labels = tmp_path / "model.pt", data / f"{FILES['test'][1]}.gz"
    model.write_text("no checkpoint")
    assert main(["draw", str(model), "--what=completions", "--images", str(labels)]) == 2
    assert capsys.readouterr().err.startswith(f"error: {labels}: not an idx file")


@pytest.mark.parametrize("options", [["--seed=-1"], ["--noise=inf"], ["--noise=nan"]])
def test_digits_that_cannot_be_drawn(tmp_path, capsys, options):
    with pytest.raises(SystemExit) as stop:
        main(["prepare", "image_classification", "generate", str(tmp_path / "out"), *options])
    assert stop.value.code == 2 and "error: argument" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_the_tool_refuses_images_of_another_size_or_type(trained):
    model = fairseq_struct.load(trained[0])
    with pytest.raises(InputError, match=r"images must be bytes \(uint8\), .* not float32"):
        model.classify_images(np.zeros((2, 14, 14), np.float32))
    with pytest.raises(InputError, match="the mask must have booleans, not int64"):
        model.complete(np.zeros((2, 14, 14), np.uint8), np.zeros((14, 14), np.int64))
    found = model.classify_images(torch.zeros(2, 14, 14, dtype=torch.uint8)).labels
    assert torch.equal(found, model.classify_images(np.zeros((2, 14, 14), np.uint8)).labels)
    for shape in [(2, 14, 13), (14, 14), (0, 14, 14)]:
        with pytest.raises(InputError, match="images must be one or more, of 14 by 14 pixels"):
            model.classify_images(np.zeros(shape, np.uint8))
        with pytest.raises(InputError, match="images must be one or more, of 14 by 14 pixels"):
            model.complete(np.zeros(shape, np.uint8), np.zeros((14, 14), bool))
    with pytest.raises(InputError, match="passes must be 1 or more, not 0"):
        model.prototypes(0)
    for shape in [(7, 14), (3, 14, 14)]:
        with pytest.raises(InputError, match="the mask must have 14 by 14 pixels"):
            model.complete(np.zeros((2, 14, 14), np.uint8), np.zeros(shape, bool))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"passes": "0"}, "--passes must be 1, 2, … or converge, not 0"),
        ({"passes": "converge", "test_passes": "3"}, "exclude each other"),
        ({"test_passes": "many"}, "--test-passes must be 1, 2, … or converge, not many"),
        ({"tolerance": 0}, "--tolerance must be above 0"),
        ({"tolerance": float("nan")}, "--tolerance must be above 0"),
        ({"dropout": 1}, "--dropout must be 0 or more and below 1"),
        ({"gamma": -1}, "--gamma must be 0 or more"),
        ({"gamma": float("nan")}, "--gamma must be 0 or more"),
        ({"initialisation": "one"}, "unknown --initialisation 'one'; choose one of zero"),
        ({"untied": True}, "--untied needs --gamma 0"),
        ({"untied": True, "gamma": 0, "random_passes": True}, "have a fixed number of passes"),
        ({"untied": True, "gamma": 0, "passes": "65"}, "64 channels cannot be divided among 65"),
        ({"first_channels": 0}, "must be 1 or more"),
    ],
)
def test_networks_that_cannot_be_built(options, message):
    task = SimpleNamespace(
        image_shape=(1, 14, 14), label_count=10, own_criterion="image_classification"
    )
    with pytest.raises(InputError, match=re.escape(message)):
        UndirectedConvnetModel.build_model(UndirectedConvnetConfig(**options), task)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--passes=0"], "--passes must be 1, 2, … or converge, not 0"),
        (["--held-out=600"], "--held-out must leave some of 600 training images"),
        (["--split-seed=-1"], "--split-seed must be 0 or more"),
        (["--arch=undirected_mlp", "--hidden-sizes=4,x"], "--hidden-sizes are numbers above 0"),
        (["--arch=undirected_mlp", "--activation=gelu"], "unknown --activation 'gelu'"),
        (["--arch=latent_clusters"], "this task is for networks of images such as"),
        (["--criterion=latent_clusters"], "this task needs --criterion image_classification"),
    ],
)
def test_a_bad_option_is_one_error(data, tmp_path, options, message):
    with pytest.raises(InputError) as error:
        given = CONVNET if not any(one.startswith("--arch") for one in options) else []
        run("train", data, *COMMON, *given, *options, f"--save-dir={tmp_path}")
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f, x, y: write_idx(f / FILES["train"][0], x[:9]), "600 labels"),
        (lambda f, x, y: write_idx(f / FILES["test"][0], x[:60, :13]), "13 by 14 pixels, not 14"),
        (lambda f, x, y: write_idx(f / FILES["test"][1], y[:60] + 10), "is not in train"),
        (lambda f, x, y: write_idx(f / FILES["train"][1], 0 * y), "have the label 0"),
    ],
)
def test_images_that_do_not_fit_are_one_error(data, tmp_path, change, message):
    images, labels = read_images(data, "train")
    folder = tmp_path / "changed"
    folder.mkdir()
    for path in data.glob("*.gz"):
        (folder / path.name).write_bytes(path.read_bytes())
    change(folder, images, labels)
    with pytest.raises(InputError) as error:
        run("train", folder, *COMMON, *CONVNET, f"--save-dir={tmp_path}", "--max-update=1",
            "--valid-subset=valid,test")  # fmt: skip
    assert message in str(error.value) and str(folder) in str(error.value)
