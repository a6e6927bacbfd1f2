"""Checkpoint files: other formats, packed files, and crafted files, which run no code."""

import io
import re
import tarfile
import zipfile
from argparse import Namespace

import numpy as np
import pytest
import torch
from small_masked_models import train as train_masked

import fairseq_struct
from fairseq_struct import compat
from fairseq_struct.cli.main import main
from fairseq_struct.data.generators.synthetic_dependencies import generate_dependencies
from fairseq_struct.data.prepared.treebank_folder import write_treebank_folder
from fairseq_struct.errors import InputError
from fairseq_struct.files import checkpoint_file
from fairseq_struct.inference import made_by


def fairseq_loads(path):
    compat.prepare()
    from fairseq import checkpoint_utils

    return checkpoint_utils.load_checkpoint_to_cpu(str(path))


LOADERS = pytest.mark.parametrize("load", [fairseq_loads, compat.load_state])


def tar(path):
    with tarfile.open(path, "w") as archive:
        for name in ("sys_info", "pickle", "storages", "tensors"):
            entry = tarfile.TarInfo(name)
            entry.size = 3
            archive.addfile(entry, io.BytesIO(b"abc"))


def script(path):
    torch.jit.save(torch.jit.script(torch.nn.Linear(2, 2)), path)


def arrays(path):
    with path.open("wb") as file:
        np.savez(file, a=np.zeros(3))


def short_of_its_numbers(path):
    """A file in the format before zip, with fewer numbers than its tensor claims."""
    state = {"model": {"w": torch.zeros(1000)}}
    torch.save(state, path, _use_new_zipfile_serialization=False)
    path.write_bytes(path.read_bytes().replace(b"cpuq\x08M\xe8\x03", b"cpuq\x08J\xff\xff\xff\x7f"))


@LOADERS
@pytest.mark.parametrize(
    ("write", "message"),
    [
        (tar, "a tar archive, not a checkpoint of fairseq-train"),
        (script, "a TorchScript program, not a checkpoint of fairseq-train"),
        (arrays, "a file of numpy arrays, not a checkpoint of fairseq-train"),
        (short_of_its_numbers, "not a checkpoint, or a truncated one"),
    ],
)
def test_files_of_other_kinds_are_told_apart(tmp_path, load, write, message):
    write(tmp_path / "other.pt")
    with pytest.raises(InputError) as refusal:
        load(tmp_path / "other.pt")
    assert str(refusal.value) == f"{tmp_path}/other.pt: {message}"
    assert "weights_only" not in str(refusal.value)


@LOADERS
def test_a_file_that_unpacks_to_more_than_it_is_stays_packed(tmp_path, load, monkeypatch):
    torch.save({"model": {"w": torch.zeros(10**6)}}, tmp_path / "plain.pt")
    with zipfile.ZipFile(tmp_path / "plain.pt") as plain, zipfile.ZipFile(
        tmp_path / "packed.pt", "w", zipfile.ZIP_DEFLATED
    ) as packed:
        for name in plain.namelist():
            packed.writestr(name, plain.read(name))
    assert len(torch.load(tmp_path / "packed.pt", weights_only=True)["model"]["w"]) == 10**6
    assert load(tmp_path / "plain.pt") if load is compat.load_state else True

    monkeypatch.setattr(torch, "load", None)  # which nothing is to call
    with pytest.raises(InputError, match=r"packed\.pt: refused, .* would unpack to 4,\d{3},\d{3};"):
        load(tmp_path / "packed.pt")


def test_a_file_that_needs_more_memory_than_there_is(tmp_path, monkeypatch):
    def too_large(*_, **__):
        torch.empty(2**60, dtype=torch.uint8)

    torch.save({"model": {}}, tmp_path / "x.pt")
    monkeypatch.setattr(torch, "load", too_large)
    with pytest.raises(InputError, match=r"x\.pt: not enough memory to read it"):
        compat.load_state(tmp_path / "x.pt")


@LOADERS
@pytest.mark.parametrize("old_format", [False, True], ids=["zip", "before-zip"])
def test_memory_that_a_mere_number_asks_for(tmp_path, load, old_format, monkeypatch):
    state = {"model": {}, "extra_state": bytearray(10)}
    torch.save(state, tmp_path / "x.pt", _use_new_zipfile_serialization=not old_format)
    assert torch.load(tmp_path / "x.pt", weights_only=True) == state  # torch does not mind

    monkeypatch.setattr(torch, "load", None)  # which nothing is to call
    with pytest.raises(InputError, match=r"x\.pt: refused, because it asks for a bytearray"):
        load(tmp_path / "x.pt")


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (None, "not a checkpoint of fairseq: it has no 'model'"),
        ([1], "not a checkpoint of fairseq: it has no 'model'"),
        ({"w": 3}, "w of its 'model' is not a tensor: int"),
        ({1: torch.ones(1)}, "its 'model' has a parameter named 1"),
        ({"w": torch.eye(3).to_sparse()}, r"the parameter w is not dense \(torch.sparse_coo\)"),
        ({"w": torch.empty(2, device="meta")}, "the parameter w has no numbers"),
        ({"w": torch.zeros(1).expand(10**6, 10**6)}, "claim 4,000,000,000,000 bytes"),
        ({str(i): torch.zeros(1).expand(10**4) for i in range(9)}, "claim 360,000 bytes"),
    ],
)
def test_models_of_anything_but_numbers(tmp_path, capsys, model, message):
    torch.save({"model": model}, tmp_path / "x.pt")
    with pytest.raises(InputError, match=rf"x\.pt: .*{message}"):
        checkpoint_file.parameters_of(compat.load_state(tmp_path / "x.pt"), tmp_path / "x.pt")
    arguments = ["--inputs", str(tmp_path / "x.pt"), "--output", str(tmp_path / "y.pt")]
    assert main(["average-checkpoints", *arguments]) == 2
    assert capsys.readouterr().err.count("error: ") == 1
    assert not (tmp_path / "y.pt").exists()


def test_expanded_tensors_have_a_mean(tmp_path):
    for number in (1, 2):
        model = {"w": torch.full((1,), float(number)).expand(5, 4), "h": torch.ones(1).half()}
        torch.save({"model": model}, tmp_path / f"{number}.pt")
    paths = [str(tmp_path / f"{number}.pt") for number in (1, 2)]
    assert main(["average-checkpoints", "--inputs", *paths, "--output", str(tmp_path / "m")]) == 0
    assert torch.equal(compat.load_state(tmp_path / "m")["model"]["w"], torch.full((5, 4), 1.5))


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A small trained parser, as fairseq-train writes it."""
    folder = tmp_path_factory.mktemp("trained")
    trees = generate_dependencies({"train": 20, "valid": 5, "test": 5}, 1)
    write_treebank_folder(trees, folder / "data")
    train_masked(folder / "data", folder, "--max-epoch=1", "--disable-validation")
    return folder / "checkpoint_last.pt"


def without(group):
    return lambda state: state["cfg"].pop(group)


def setting(group, **options):
    return lambda state: state["cfg"][group].update(options)


def replacing(key, value):
    return lambda state: state.__setitem__(key, value)


def nested(depth):
    return [nested(depth - 1)] if depth else []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (replacing("model", {"w": 3}), "w of its 'model' is not a tensor: int"),
        (replacing("model", {"w": torch.eye(2).to_sparse()}), "w is not dense"),
        (replacing("model", {"w": torch.ones(2)}), "does not fit its options and the dict"),
        (lambda state: state.pop("model"), "not written by fairseq-train"),
        (replacing("cfg", 3), "has no options"),
        (replacing("cfg", {}), "has no options"),
        (replacing("cfg", {"task": {}}), "have no group 'model'"),
        (without("model"), "have no group 'model'"),
        (without("task"), "have no group 'task'"),
        (setting("task", _name="structured_maskd_lm"), "its task 'structured_maskd_lm' is "
         "not registered here; did you mean 'structured_masked_lm'"),
        (setting("task", _name=3), "name no task"),
        (setting("task", mask_rate="x"), "no model can be built from its options"),
        (setting("task", mask_rate=7.0), "--mask-rate must be above 0 and below 1"),
        (setting("task", _name="${nowhere}"), "not written by fairseq-train"),
        (setting("task", data="${nowhere}"), "no model can be built from its options"),
        (setting("task", data="${nowhere"), "not written by fairseq-train|no model can be built"),
        (setting("task", more=nested(250)), "not written by fairseq-train"),
        (setting("model", _name="no_such"), "its model 'no_such' is not registered"),
        (setting("model", parser_size=10**6), "does not fit its options"),
        (setting("model", parser_size=10**9), "no model can be built from its options"),
        (setting("model", parser_size="x"), "no model can be built from its options"),
        (setting("model", layers=10**9), "ask for more layers than it has"),
        (setting("model", embed_dim=17), "does not fit its options"),
        (replacing("optimizer_history", 3), "not written by fairseq-train"),
        (lambda state: state.pop("optimizer_history"), "not written by fairseq-train"),
    ],
)  # fmt: skip
def test_crafted_checkpoints_end_in_one_line(trained, tmp_path, capsys, change, message):
    state = torch.load(trained, weights_only=True)
    change(state)
    torch.save(state, tmp_path / "x.pt")
    assert main(["parse", str(tmp_path / "x.pt")]) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert re.match(rf"error: {re.escape(str(tmp_path))}/x\.pt: .*(?:{message})", said)


def test_the_checkpoint_that_they_are_crafted_from_loads(trained):
    assert fairseq_struct.load(trained).parse(["a b c"])
    assert made_by(trained)["model"] == "udgn"


def test_how_crafted_checkpoints_were_made_is_not_known(trained, tmp_path):
    for group in ("common", "optimization", "model"):
        state = torch.load(trained, weights_only=True)
        without(group)(state)
        torch.save(state, tmp_path / "x.pt")
        with pytest.raises(InputError, match=rf"x\.pt: its options .* no group '{group}'"):
            made_by(tmp_path / "x.pt")


def test_options_may_be_a_namespace_of_the_model():
    options = {"task": {"_name": "translation"}, "model": Namespace(_name="transformer")}
    assert checkpoint_file.options_of({"cfg": options}, "x.pt", "task", "model") is options


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a 3\nb\n", ":2: expected a word and its count"),
        (b"a 3\na 2\n", ":2: the word 'a' is already in line 1"),
        (b"a 3\n<pad> 2\n", ":2: the word '<pad>' is already in every dictionary"),
        (b"a 3\n\xff\xfe 2\n", ":2: not UTF-8 text"),
        (b"\x00\x01\x02\x03", ":1: expected a word and its count"),
    ],
)
def test_damaged_dictionaries_are_told_with_their_line(trained, tmp_path, capsys, content, message):
    (tmp_path / "dict.txt").write_bytes(content)
    assert main(["parse", str(trained), "--data", str(tmp_path)]) == 2
    assert f"error: {tmp_path}/dict.txt{message}" in capsys.readouterr().err


@LOADERS
def test_a_changed_weight_is_seen(tmp_path, load):
    path = tmp_path / "changed.pt"
    torch.save({"model": {"w": torch.ones(1000)}}, path)
    content = bytearray(path.read_bytes())
    content[content.index(torch.ones(9).numpy().tobytes())] ^= 1
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"changed\.pt: damaged: changed/data/0 has another check"):
        load(path)
