"""How far a preparation is."""

import io

import pytest
from preparers import contents

from fairseq_struct.cli.main import main
from fairseq_struct.cli.shared.preparation_progress import Bar, Lines, progress_on
from fairseq_struct.data.prepared.streams.progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_lines_after_some_seconds_and_at_the_end():
    seconds, file = [0.0], io.StringIO()
    progress = Lines(file, clock=lambda: seconds[0])
    progress.begin("segmenting train", 10_000, done=2_000)
    for seconds[0], lines in ((4.0, 1_000), (10.0, 1_000), (14.0, 500), (20.0, 1_500)):
        progress.advance(lines)
    progress.end()
    progress.begin("reading", None)
    progress.end()  # nothing was done
    progress.begin("reading", None)
    seconds[0] = 22.0
    progress.advance(7000)
    progress.end()
    assert file.getvalue().splitlines() == [
        "segmenting train: 4,000 of 10,000 lines, 200 lines/s, 30 s left",
        "segmenting train: 6,000 of 10,000 lines, 200 lines/s, 20 s left",
        "segmenting train: 6,000 of 10,000 lines, 200 lines/s, 20 s left",
        "reading: 7,000 lines, 3,500 lines/s",
    ]


def test_long_times():
    seconds, file = [0.0], io.StringIO()
    progress = Lines(file, clock=lambda: seconds[0])
    progress.begin("reading", 20_001)
    seconds[0] = 1.0
    progress.advance(1)
    progress.end()
    assert file.getvalue().endswith(" 5 h 33 min left\n")


def test_a_finished_stage_has_no_time_left():
    seconds, file = [0.0], io.StringIO()
    progress = Lines(file, clock=lambda: seconds[0])
    progress.begin("reading", 20)
    seconds[0] = 10.0
    progress.advance(20)
    assert file.getvalue() == "reading: 20 of 20 lines, 2 lines/s\n"


def test_a_bar_on_a_terminal_goes_away():
    file = Terminal()
    bar = progress_on(file)
    assert isinstance(bar, Bar) and isinstance(progress_on(file, wanted=True), Bar)
    bar.begin("segmenting", 100, done=40)
    bar.advance(60)
    bar.end()
    shown = file.getvalue()
    assert "segmenting" in shown and " lines/s" in shown
    assert shown.split("\r")[-1].strip() == ""  # the line is empty again


def test_nothing_is_shown_unless_wanted():
    assert type(progress_on(io.StringIO())) is Progress
    assert isinstance(progress_on(io.StringIO(), wanted=True), Lines)


@pytest.mark.parametrize("name", ["plain_text", "parallel"])
def test_only_standard_error_changes(name, tmp_path, capsys):
    for split in ("train", "valid", "test"):
        for language in ("xx", "yy"):
            (tmp_path / f"{split}.{language}").write_text("a b\nc d e\n" * 4)
    words = [tmp_path / f"{split}.xx" for split in ("train", "valid", "test")]
    if name == "parallel":
        words = ["plain", *(f"--{s}-pref={tmp_path / s}" for s in ("train", "valid", "test")),
                 "--source-lang", "xx", "--target-lang", "yy", "--segment", "none"]  # fmt: skip
    words = ["prepare", name, *map(str, words)]
    status, (said, complained) = main([*words, str(tmp_path / "out")]), capsys.readouterr()
    assert (status, complained) == (0, "")
    status, shown = main([*words, str(tmp_path / "other"), "--progress"]), capsys.readouterr()
    assert (status, shown.out) == (
        0, said.replace(str(tmp_path / "out"), str(tmp_path / "other"))
    )  # fmt: skip
    lines = shown.err.splitlines()
    assert all(" lines/s" in line for line in lines) and "of 8 lines" in shown.err
    assert contents(tmp_path / "out") == contents(tmp_path / "other")
