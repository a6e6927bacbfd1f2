"""The reader of fairseq-train's logs."""

import pytest

from fairseq_struct.errors import InputError
from fairseq_struct.records.training_log import read_log, seconds_of_epochs

FIRST = """2026-01-01 00:00:00 | INFO | train_inner | {"epoch": 1, "loss": "9"}
2026-01-01 00:00:01 | INFO | valid | {"epoch": 1, "valid_loss": "3.5", "valid_ppl": "11.3"}
2026-01-01 00:00:02 | INFO | STS-B | {"epoch": 1, "STS-B_spearman": "-2.5", "STS-B_best": null}
2026-01-01 00:00:03 | INFO | train | {"epoch": 1, "train_loss": "4", "train_train_wall": "1", \
"train_wall": "61", "train_num_updates": "20"}
"""
SECOND = FIRST.replace('"epoch": 1', '"epoch": 2').replace('"3.5"', '"2.5"').replace("-2.5", "7")
END = "2026-01-01 00:00:09 | INFO | fairseq_cli.train | done training in 3.0 seconds\n"


def test_values_by_split_and_epoch(tmp_path):
    path = tmp_path / "train.log"
    path.write_text("a warning\n" + FIRST + SECOND + END)
    log = read_log(path)
    assert set(log.splits) == {"valid", "STS-B", "train"}
    assert log.value("STS-B", 1, "spearman") == -2.5
    assert log.best_epoch("valid", "loss") == 2
    assert log.best_epoch("valid", "loss", highest=True) == 1
    assert log.best_epoch("STS-B", "spearman", highest=True) == 2
    assert log.minutes == pytest.approx(2 / 60)
    with pytest.raises(InputError, match="no uas of valid after epoch 2"):
        log.value("valid", 2, "uas")
    assert log.values("valid", 2) == {"epoch": 2, "loss": 2.5, "ppl": 11.3}
    with pytest.raises(InputError, match="no values of valid after epoch 3"):
        log.values("valid", 3)
    with pytest.raises(InputError, match="no values of test after epoch 1"):
        log.values("test", 1)
    with pytest.raises(InputError, match="no values of test"):
        log.best_epoch("test", "loss")


def test_the_time_of_short_epochs_is_not_rounded_to_seconds(tmp_path):
    path = tmp_path / "train.log"
    epochs = [(1, 30, 0, 75.0), (2, 60, 0, 60.0), (3, 61, 0, 0.0), (4, 91, 1500, 0.02)]
    path.write_text("".join(
        f'x | train | {{"epoch": {epoch}, "train_num_updates": "{updates}", '
        f'"train_train_wall": "{wall}", "train_ups": "{per_second}"}}\n'
        for epoch, updates, wall, per_second in epochs
    ) + END)  # fmt: skip
    assert read_log(path).minutes == pytest.approx((30 / 75 + 30 / 60 + 0 + 1500) / 60)


def test_the_time_of_an_epoch_is_without_validation_and_known_if_the_log_begins_later():
    epochs = {
        5: {"num_updates": 5000, "train_wall": 1, "ups": 100},  # of how many updates?
        6: {"num_updates": 5100, "train_wall": 2, "ups": 50},
        7: {"num_updates": 5200, "train_wall": 2, "ups": 10},  # 8 seconds of validation
        8: {"num_updates": 5300, "train_wall": 0, "ups": 200},
        9: {"num_updates": 5400},
        10: {"train_wall": 3, "ups": 100},
    }
    assert seconds_of_epochs(epochs) == {5: 1, 6: 2, 7: 2.5, 8: 0.5, 10: 3}


def test_lines_of_something_else_are_passed_over(tmp_path):
    path = tmp_path / "train.log"
    others = 'x | valid | {"epoch": 1, "loss": [1]}\nx | valid | {"epoch": 1, "loss": "none"}\n'
    path.write_text(FIRST + others + END)
    assert read_log(path).value("valid", 1, "loss") == 3.5


def test_of_equal_epochs_the_last_one_is_the_best(tmp_path):
    path = tmp_path / "train.log"
    path.write_text(FIRST + SECOND.replace('"2.5"', '"3.5"') + END)
    assert read_log(path).best_epoch("valid", "loss") == 2


def test_the_last_of_two_runs_of_an_epoch_counts(tmp_path):
    path = tmp_path / "train.log"
    again = SECOND.replace('"2.5"', '"4.5"')
    path.write_text(FIRST + SECOND + again + END)
    assert read_log(path).best_epoch("valid", "loss") == 1


def test_the_device_is_that_of_the_last_part(tmp_path):
    path = tmp_path / "train.log"
    path.write_text(FIRST + END)
    assert read_log(path).device is None
    line = "2026-01-01 00:00:00 | INFO | fairseq_struct.hooks.before_training | device: {}\n"
    path.write_text(line.format("A Processor, avx2, 1 thread") + FIRST + line.format("A GPU") + END)
    assert read_log(path).device == "A GPU"


def test_a_training_that_did_not_end_has_no_results(tmp_path):
    with pytest.raises(InputError, match="no such run"):
        read_log(tmp_path / "train.log")
    (tmp_path / "train.log").write_text(FIRST)
    with pytest.raises(InputError, match="is not finished"):
        read_log(tmp_path / "train.log")


def test_a_training_that_was_taken_up_again_ends_again(tmp_path):
    path = tmp_path / "train.log"
    path.write_text(FIRST + END + SECOND)
    with pytest.raises(InputError, match="is not finished"):
        read_log(path)
    path.write_text(FIRST + END + SECOND + END)
    assert set(read_log(path).splits["valid"]) == {1, 2}
    path.write_text(FIRST + END + "loading the checkpoint\n")  # it had nothing left to do
    read_log(path)
