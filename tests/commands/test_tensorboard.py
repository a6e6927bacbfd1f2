"""Our numbers in the event files of ``--tensorboard-logdir``."""

import struct

import pytest
from fairseq_commands import USER_DIR, run, warm_python

from fairseq_struct.cli.main import main


def events_of(path):
    """The events of a file: records of a length, its checksum, the content and its checksum."""
    from tensorboardX.proto.event_pb2 import Event

    content, place = path.read_bytes(), 0
    while place < len(content):
        (length,) = struct.unpack_from("<Q", content, place)
        yield Event.FromString(content[place + 12 : place + 12 + length])
        place += 12 + length + 4


def test_a_training_logs_the_scores_of_trees(tmp_path):
    pytest.importorskip("tensorboardX", reason="the extra [tensorboard] is not installed")
    with warm_python():
        assert main(["prepare", "dependency_treebank", "generated", str(tmp_path / "trees"),
                     "--sentences", "30", "6", "6"]) == 0  # fmt: skip
    run("train", tmp_path / "trees" / "data-bin", f"--user-dir={USER_DIR}", "--arch=udgn_tiny",
        "--task=structured_masked_lm", "--criterion=structured_masked_lm", "--optimizer=adam",
        f"--treebank={tmp_path}/trees/trees/valid.conllu", "--embed-dim=8", "--parser-size=8",
        "--layers=1", "--channel-size=4", "--batch-size=8", "--max-update=2", "--num-workers=0",
        f"--save-dir={tmp_path}/run", f"--tensorboard-logdir={tmp_path}/events",
        "--log-format=json")  # fmt: skip
    (file,) = (tmp_path / "events" / "valid").glob("*tfevents*")
    logged = {value.tag: value.simple_value for event in events_of(file)
              for value in event.summary.value}  # fmt: skip
    assert {"uas", "uuas_argmax", "ppl", "loss"} <= logged.keys()
    assert 0 <= logged["uas"] <= 100 and logged["ppl"] > 1
