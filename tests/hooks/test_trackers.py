"""Our numbers in event files (``--tensorboard-logdir``) and in runs of Weights & Biases."""

import struct
import sys
from types import SimpleNamespace

import pytest
from fairseq.logging import progress_bar
from fairseq_commands import USER_DIR, in_this_process, run, warm_python
from small_masked_models import OF_MODEL, SMALL

from fairseq_struct.cli.main import main
from fairseq_struct.errors import InputError
from fairseq_struct.hooks.before_training import check_trackers


def events_of(path):
    """The events of a file: records of a length, its checksum, the content and its checksum."""
    from tensorboardX.proto.event_pb2 import Event

    content, place = path.read_bytes(), 0
    while place < len(content):
        (length,) = struct.unpack_from("<Q", content, place)
        yield Event.FromString(content[place + 12 : place + 12 + length])
        place += 12 + length + 4


@pytest.fixture(scope="module")
def trees(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "trees"
    with warm_python():
        assert main(["prepare", "dependency_treebank", "generated", str(folder), "--sentences",
                     "30", "6", "6"]) == 0  # fmt: skip
    return folder


def test_event_files_have_the_scores_of_trees(trees, tmp_path):
    pytest.importorskip("tensorboardX", reason="the extra [tensorboard] is not installed")
    run("train", trees / "data-bin", f"--user-dir={USER_DIR}", "--arch=udgn_tiny",
        "--task=structured_masked_lm", "--criterion=structured_masked_lm", "--optimizer=adam",
        f"--treebank={trees}/trees/valid.conllu", "--embed-dim=8", "--parser-size=8",
        "--layers=1", "--channel-size=4", "--batch-size=8", "--max-update=2", "--num-workers=0",
        f"--save-dir={tmp_path}/run", f"--tensorboard-logdir={tmp_path}/events",
        "--log-format=json")  # fmt: skip
    (file,) = (tmp_path / "events" / "valid").glob("*tfevents*")
    logged = {value.tag: value.simple_value for event in events_of(file)
              for value in event.summary.value}  # fmt: skip
    assert {"uas", "uuas_argmax", "ppl", "loss"} <= logged.keys()
    assert 0 <= logged["uas"] <= 100 and logged["ppl"] > 1


@pytest.fixture
def wandb(monkeypatch):
    """A stand-in for the package that keeps what it is told."""

    def init(**options):
        package.begun.append(options)
        package.run = object()

    def log(values, step):
        package.logged.append((step, values))

    package = SimpleNamespace(
        begun=[], logged=[], config={}, run=None, init=init, log=log, __spec__=None
    )
    monkeypatch.setitem(sys.modules, "wandb", package)
    monkeypatch.setattr(progress_bar, "wandb", package)
    return package


def test_a_training_is_one_run_with_the_scores_of_trees(wandb, trees, tmp_path):
    with in_this_process():
        run("train", trees / "data-bin", "--arch=udgn", f"--save-dir={tmp_path}/mine",
            *SMALL, *OF_MODEL["udgn"], f"--treebank={trees}/trees/valid.conllu",
            "--max-epoch=3", "--wandb-project=grammars")  # fmt: skip
    assert wandb.begun == [{"project": "grammars", "reinit": False, "name": "mine"}]
    assert wandb.config["model"]["_name"] == "udgn"
    points = {}
    for step, values in wandb.logged:
        for name, value in values.items():
            points.setdefault(name, []).append((step, value))
    assert {"valid/loss", "valid/ppl", "valid/uuas_argmax", "train/lr"} <= points.keys()
    assert [step for step, _ in points["train/loss"]] == [3, 6, 9]
    assert [step for step, _ in points["valid/uas"]] == [3, 6, 9]
    assert all(0 <= value <= 100 for _, value in points["valid/uas"])


@pytest.mark.parametrize(
    ("option", "name", "extra"),
    [("wandb_project", "wandb", "wandb"), ("tensorboard_logdir", "SummaryWriter", "tensorboard")],
)
def test_a_missing_package_is_told_before_the_training(monkeypatch, option, name, extra):
    monkeypatch.setattr(progress_bar, name, None)
    check_trackers(SimpleNamespace(wandb_project=None, tensorboard_logdir=None))
    with pytest.raises(InputError, match=rf"needs a package .* 'fairseq-struct\[{extra}\]'$"):
        check_trackers(SimpleNamespace(**{option: "x"}))
    monkeypatch.setattr(progress_bar, name, object())
    check_trackers(SimpleNamespace(**{option: "x"}))
