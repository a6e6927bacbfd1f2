"""``fairseq-struct curves``: what the logs of trainings say, as curves and as tables."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from fairseq_struct.cli.main import main
from fairseq_struct.errors import InputError
from fairseq_struct.records.curves import by_seeds, confusion_of, curve_of, read_entries

LABELS = ["no", "not_known", "yes"]


def line(split, epoch, **values):
    named = {f"{split}_{name}": str(value) for name, value in values.items()}
    return f"now | INFO | {split} | {json.dumps({'epoch': epoch, **named})}\n"


def log(folder, shift=0.0, epochs=3, confusion=False):
    folder.mkdir(parents=True)
    lines = ["something else\n"]
    for epoch in range(1, epochs + 1):
        table = {
            f"confusion_{true}_{found}": epoch * (9 if true == found else column)
            for true in LABELS
            for column, found in enumerate(LABELS)
            if confusion
        }
        lines.append(line("train", epoch, loss=9, num_updates=10 * epoch, train_wall=90))
        lines.append(line("valid", epoch, loss=5 - epoch + shift, num_updates=10 * epoch, **table))
    (folder / "train.log").write_text("".join(lines))
    return folder / "train.log"


@pytest.fixture
def runs(tmp_path):
    for name, shift in (("one", 0.0), ("two", 1.0)):
        for seed in (1, 2):
            log(tmp_path / "runs" / name / f"seed_{seed}" / "x", shift + seed / 10, confusion=True)
    return tmp_path / "runs"


def test_curves_in_a_page_and_in_pictures(runs, tmp_path, capsys):
    assert main(["curves", str(runs)]) == 0
    page = capsys.readouterr().out
    assert page.startswith("<!DOCTYPE html>") and page.count("<svg") == 1
    assert "one (2 seeds)" in page and "two (2 seeds)" in page and "least to most" in page
    output = tmp_path / "a.svg"
    command = [
        "curves", str(runs / "one"), str(runs / "two"), "--metric=loss", "--metric=num_updates",
        "--band=deviation", "--x=minutes", f"--output={output}", "--title=T & U",
    ]  # fmt: skip
    assert main(command) == 0
    texts = ["".join(one.itertext()) for one in ElementTree.parse(output).iter()
             if one.tag.endswith("}text")]  # fmt: skip
    for text in ("T & U", "minutes", "loss (valid)", "num_updates (valid)", "one (2 seeds)",
                 "band: one standard deviation of the seeds"):  # fmt: skip
        assert text in texts
    # Words have the reader's colour, and the same logs give the same file.
    drawn = output.read_text()
    assert "currentColor" in drawn and "#222222" not in drawn and "prefers-color-scheme" in drawn
    assert main(command) == 0 and output.read_text() == drawn
    assert main(["curves", str(runs), f"--output={tmp_path / 'a.png'}"]) == 0
    assert (tmp_path / "a.png").read_bytes()[:4] == b"\x89PNG"


def test_points_of_a_curve(runs):
    path = runs / "one" / "seed_1" / "x" / "train.log"
    entries = read_entries(path)
    values = pytest.approx([4.1, 3.1, 2.1])
    assert curve_of(path, entries, "valid", "loss", "updates") == ([10, 20, 30], values)
    assert curve_of(path, entries, "valid", "loss", "epochs") == ([1, 2, 3], values)
    assert curve_of(path, entries, "valid", "loss", "minutes") == ([1.5, 3, 4.5], values)
    assert curve_of(path, entries, "train", "loss", "updates") == ([10, 20, 30], [9, 9, 9])


def test_points_within_an_epoch(tmp_path):
    """fairseq logs the number of epochs with a fraction, and the number of the epoch beside it."""
    lines = []
    for update in range(1, 7):  # two to an epoch, the last epoch without its end
        epoch = (update + 1) // 2
        values = {"epoch": epoch, "update": update / 2, "loss": 9 - update, "num_updates": update}
        lines.append(f"now | INFO | train_inner | {json.dumps(values)}\n")
        if update in (2, 4):
            lines.append(line("train", epoch, loss=5, num_updates=update, train_wall=60 * epoch))
    (tmp_path / "train.log").write_text("".join(lines))
    entries, losses = read_entries(tmp_path / "train.log"), [8, 7, 6, 5, 4, 3]

    def points(axis):
        return curve_of(tmp_path, entries, "train_inner", "loss", axis)

    assert points("updates") == ([1, 2, 3, 4, 5, 6], losses)
    assert points("epochs") == ([0.5, 1, 1.5, 2, 2.5, 3], losses)
    assert points("minutes") == ([0.5, 1, 2, 3], losses[:4])


def test_minutes_of_epochs_below_half_a_second(tmp_path):
    times = {"train_wall": 0, "ups": 25}
    (tmp_path / "train.log").write_text("".join(
        line("train", epoch, loss=9 - epoch, num_updates=10 * epoch, **times) for epoch in (1, 2, 3)
    ))  # fmt: skip
    entries = read_entries(tmp_path / "train.log")
    x, y = curve_of(tmp_path, entries, "train", "loss", "minutes")
    assert x == pytest.approx([0.4 / 60, 0.8 / 60, 1.2 / 60]) and y == [8, 7, 6]


def test_a_training_that_went_back_has_no_points_of_its_past(runs, tmp_path):
    path = runs / "one" / "seed_1" / "x" / "train.log"
    other = read_entries(log(tmp_path / "other", shift=1))
    # A resumed run logs epoch 3 again: the later line counts.
    again = [*read_entries(path), *other[4:]]
    for axis, x in (("updates", [10, 20, 30]), ("epochs", [1, 2, 3]), ("minutes", [1.5, 3, 4.5])):
        found = curve_of(path, again, "valid", "loss", axis)
        assert found == (x, pytest.approx([4.1, 3.1, 3]))
    # One begun again, with epochs of 4 updates, shares no point with the old one.
    (tmp_path / "begun.log").write_text(
        "".join(line("valid", epoch, loss=8 - epoch, num_updates=4 * epoch) for epoch in (1, 2, 3))
    )
    again = [*read_entries(path), *read_entries(tmp_path / "begun.log")]
    assert curve_of(path, again, "valid", "loss", "updates") == ([4, 8, 12], [7, 6, 5])
    assert curve_of(path, again[:-1], "valid", "loss", "epochs") == ([1, 2], [7, 6])


def test_runs_that_differ_by_seed_alone_are_one():
    def names(*paths):
        return {name: len(own) for name, own in by_seeds(list(map(Path, paths))).items()}

    assert names("r/a/seed_1/x/train.log", "r/a/seed_2/x/train.log") == {"x": 2}
    assert names("r/a/seed_1/train.log", "r/b/seed_1/train.log") == {"a": 1, "b": 1}
    assert names("r/a/k/seed_1/train.log", "r/b/k/seed_11/train.log", "r/b/k/seed_2/train.log") == {
        "a": 1, "b": 2
    }  # fmt: skip
    assert names("r/train.log", "r/a/train.log") == {"r": 1, "a": 1}
    assert names("r/first.log", "r/seed_2.log") == {"first": 1, "r": 1}
    assert names("train.log") == {"run": 1}


def test_tables_of_labels(runs, tmp_path):
    path = runs / "one" / "seed_1" / "x" / "train.log"
    labels, counts, epoch = confusion_of(path, read_entries(path), "valid")
    assert labels == LABELS and epoch == 3
    assert counts == [[27, 3, 6], [0, 27, 6], [0, 3, 27]]
    output = tmp_path / "a.svg"
    assert main(["curves", str(runs), "--confusion", f"--output={output}"]) == 0
    root = ElementTree.parse(output)
    boxes = [one for one in root.iter() if one.tag.endswith("}rect")]
    assert len(boxes) == 4 * 9
    hints = ["".join(one.itertext()) for one in boxes[:3]]
    assert hints[1] == "no as not_known: 3 of 36 (8.3 %)"
    shades = [float(one.get("fill-opacity")) for one in boxes[:3]]
    assert [shade / sum(shades) for shade in shades] == pytest.approx([27 / 36, 3 / 36, 6 / 36],
                                                                      abs=2e-3)  # fmt: skip
    for suffix in ("tex", "png", "html"):
        assert main(["curves", str(runs), "--confusion", f"--output={tmp_path}/a.{suffix}"]) == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["RUNS", "--metric=los"], "the log has epoch, loss, num_updates; did you mean 'loss'?"),
        (["RUNS", "--split=tset"], "no split 'tset'; the log has train, valid"),
        (["RUNS", "--split=train", "--confusion"], "no confusion table of train"),
        (["RUNS/none"], "none: no such file or folder"),
        (["EMPTY"], "no train.log in or below this folder"),
        (["RUNS", "--output=x.pdf"], "x.pdf: --output ends in .html, .svg, .png"),
        (["RUNS", "--output=x.tex"], "x.tex: --output ends in .html, .svg, .png"),
        (["RUNS", "--confusion", "--metric=loss"], "--metric does not apply to --confusion"),
        (["WORDS"], "words.log: no numbers; train with --log-format json"),
    ],
)
def test_wrong_input(runs, tmp_path, capsys, options, message):
    (tmp_path / "empty").mkdir()
    (tmp_path / "words.log").write_text("hello\n")
    places = {"RUNS": str(runs), "EMPTY": f"{tmp_path}/empty", "WORDS": f"{tmp_path}/words.log"}
    for name, place in places.items():
        options = [re.sub(f"^{name}\\b", place, option) for option in options]
    assert main(["curves", *options]) == 2
    said = capsys.readouterr()
    assert message in said.err and said.err.count("\n") == 1 and not said.out


def test_trainings_without_a_number_yet_are_left_out(runs, capsys):
    alone = ["curves", str(runs / "one")]
    assert main(alone) == 0
    expected = capsys.readouterr().out
    begun, unvalidated = (runs / "one" / f"seed_{seed}" / "train.log" for seed in (3, 4))
    for path, content in ((begun, "begins\n"), (unvalidated, line("train_inner", 1, loss=3))):
        path.parent.mkdir()
        path.write_text(content)
    assert main(alone) == 0
    said = capsys.readouterr()
    assert said.out == expected and "(2 seeds)" in expected
    assert said.err.splitlines() == [
        f"left out: {begun}: no numbers; train with --log-format json --log-file train.log",
        f"left out: {unvalidated}: no split 'valid'; the log has train_inner",
    ]
    assert main(["curves", str(begun), str(unvalidated)]) == 2
    assert capsys.readouterr().err.startswith(f"error: {begun}: no numbers")


def test_a_curve_ends_where_its_training_diverged(tmp_path, capsys):
    sound, diverged, never = (log(tmp_path / name) for name in ("sound", "diverged", "never"))
    assert main(["curves", str(sound)]) == 0
    capsys.readouterr()
    diverged.write_text(diverged.read_text().replace('"valid_loss": "2.0', '"valid_loss": "nan'))
    never.write_text(re.sub('"valid_loss": "[^"]*', '"valid_loss": "inf', never.read_text()))
    assert main(["curves", str(tmp_path)]) == 0
    said = capsys.readouterr()
    assert said.err.splitlines() == [
        f"{diverged}: loss (valid) is nan at 30 updates; its curve ends before",
        f"left out: {never}: loss (valid) is inf at 10 updates",
    ]
    assert "sound (1 seed)" in said.out and "diverged (1 seed)" in said.out
    assert "never (" not in said.out
    assert main(["curves", str(never)]) == 2
    said = capsys.readouterr()
    assert said.err == f"error: {never}: loss (valid) is inf at 10 updates\n" and not said.out


def test_seeds_without_a_common_range(tmp_path, capsys):
    log(tmp_path / "seed_1", epochs=1)
    path = log(tmp_path / "seed_2")
    path.write_text("".join(path.read_text().splitlines(True)[-2:]))
    assert main(["curves", str(tmp_path)]) == 2
    assert "one seed starts at" in capsys.readouterr().err


def test_no_label_is_guessed(tmp_path):
    path = tmp_path / "train.log"
    path.write_text(line("valid", 1, confusion_a_a=1, confusion_a_b=2))
    with pytest.raises(InputError, match="no confusion table"):
        confusion_of(path, read_entries(path), "valid")
