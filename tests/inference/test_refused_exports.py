"""Tampered and foreign exports are refused in one line, and nothing in them is run."""

import hashlib
import json
import shutil

import pytest
import torch
from exported_models import checkpoint_of
from safetensors.torch import load_file, save_file

import fairseq_struct
from fairseq_struct.errors import InputError
from fairseq_struct.inference.export import config_file


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    checkpoint, data = checkpoint_of("scheduled_sampling_transformer")
    return fairseq_struct.export(checkpoint, tmp_path_factory.mktemp("export") / "m", data=data)


@pytest.fixture
def folder(original, tmp_path):
    shutil.copytree(original, tmp_path / "model")
    return tmp_path / "model"


def check_refused(folder, message):
    with pytest.raises(InputError, match=message) as caught:
        fairseq_struct.load(folder, ability="translate", segmented=True)
    assert "\n" not in str(caught.value)


def rewrite(folder, change, sign=True):
    """Change ``config.json``; a forger also signs it anew."""
    path = folder / "config.json"
    config = json.loads(path.read_text())
    change(config)
    if sign:
        for name, entry in config["files"].items():
            if (folder / name).is_file():
                content = (folder / name).read_bytes()
                entry.update(size=len(content), sha256=hashlib.sha256(content).hexdigest())
        config["sha256"] = config_file._own_digest(config)
    path.write_text(json.dumps(config))


def test_the_untouched_copy_loads(folder):
    (folder / "README.md").write_text("The card is the user's.")
    rewrite(folder, lambda config: None)
    assert fairseq_struct.load(folder, ability="translate", segmented=True)


def test_changed_weights(folder):
    path = folder / "model.safetensors"
    weights = load_file(path)
    next(iter(weights.values())).view(-1)[0] += 1
    save_file(weights, path, metadata={"format": "pt"})
    check_refused(folder, r"model\.safetensors: was changed since .* \(its SHA-256 differs\)$")


def test_truncated_weights(folder):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    check_refused(folder, r"model\.safetensors: has [\d,]+ bytes, not the \d+ .* truncated")
    rewrite(folder, lambda config: None)
    check_refused(folder, r"model\.safetensors: not a file of safetensors, or a damaged one")


def test_a_pickle_is_never_unpacked(folder):
    torch.save({"model": {}}, folder / "model.safetensors")
    rewrite(folder, lambda config: None)
    check_refused(folder, r"model\.safetensors: not a file of safetensors")


def test_a_missing_file(folder):
    (folder / "data" / "data-bin" / "dict.src.txt").unlink()
    check_refused(folder, r"dict\.src\.txt: no such file, but the exported model needs it")


def test_a_changed_dictionary(folder):
    path = folder / "data" / "data-bin" / "dict.src.txt"
    path.write_bytes(path.read_bytes()[::-1])
    check_refused(folder, r"dict\.src\.txt: was changed")


def test_an_additional_file_of_data(folder):
    (folder / "data" / "manifest.json").write_text("{}")
    check_refused(folder, r"manifest\.json: does not belong to the exported model")


@pytest.mark.parametrize("name", ["../x.txt", "/etc/hostname", "data/../../x.txt", "a\\..\\x"])
def test_files_outside_of_the_folder(folder, name):
    entry = {"size": 1, "sha256": "0"}
    rewrite(folder, lambda config: config["files"].update({name: entry}))
    check_refused(folder, r"config\.json: damaged: .* is not a file of the folder")


def test_a_model_of_another_library(tmp_path):
    (tmp_path / "config.json").write_text('{"model_type": "marian", "architectures": ["M"]}')
    check_refused(tmp_path, "but a marian of Hugging Face's transformers$")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", r"config\.json: damaged: not JSON"),
        ("[" * 100_000, r"config\.json: damaged: not JSON"),
        ("[]", "is no exported model of fairseq-struct$"),
        ("{}", "is no exported model of fairseq-struct$"),
        ('{"format": "fairseq-struct"}', "damaged: its format has no number"),
        ('{"format": "fairseq-struct", "format_number": 2}', "a newer version is needed"),
        ('{"format": "fairseq-struct", "format_number": 1}', "was changed since"),
    ],
)
def test_other_content(folder, text, message):
    (folder / "config.json").write_text(text)
    check_refused(folder, message)


def test_a_folder_without_a_configuration(tmp_path):
    check_refused(tmp_path, r"is no exported model: it has no config\.json$")
    (tmp_path / "checkpoint_last.pt").touch()
    check_refused(tmp_path, rf"config\.json; did you mean {tmp_path}/checkpoint_last\.pt\?$")


def test_an_edited_configuration(folder):
    rewrite(folder, lambda config: config["model"].update(dropout=0.5), sign=False)
    check_refused(folder, r"config\.json: was changed since the model was exported$")


def _pointing(group, name, value):
    return lambda config: config[group].update({name: value})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_pointing("model", "_name", "os.system"), "its model 'os.system' is not registered here"),
        (_pointing("task", "_name", "translatoin"), "did you mean 'translation'"),
        (_pointing("model", "_name", None), "damaged: names no model"),
        (_pointing("task", "x", "${oc.env:HOME}"), "the option x is no number"),
        (_pointing("model", "encoder_embed_path", "/etc/passwd"), "option encoder_embed_path is"),
        (_pointing("model", "__class__", "x"), "'__class__' is no name of an option"),
        (_pointing("model", "encoder_layers", 10**6), "more layers than it has"),
        (_pointing("model", "encoder_ffn_embed_dim", 10**9), "does not fit its options"),
        (_pointing("tied", "x", "y"), "x cannot be tied to y"),
        (_pointing("tied", "x", 1), "'tied' holds something else than names"),
        (lambda config: config.pop("training"), "'training' is missing or of another kind"),
        (lambda config: config.update(training={}), "'training' is incomplete"),
        (lambda config: config.update(model_options="pickle"), "its model options are 'pickle'"),
        (lambda config: config["files"].pop("model.safetensors"), "does not list model.safeten"),
    ],
)
def test_a_forged_configuration(folder, change, message):
    rewrite(folder, change)
    check_refused(folder, message)


def test_numbers_that_no_training_leaves(folder):
    path = folder / "model.safetensors"
    weights = load_file(path)
    next(value for name, value in weights.items() if "fc1.weight" in name)[0] = float("nan")
    save_file(weights, path)
    rewrite(folder, lambda config: None)
    check_refused(folder, "is not finite; its training has diverged")
