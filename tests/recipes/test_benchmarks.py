"""What the benchmarks share: whose turn it is, and which calls are timed."""

import itertools

import pytest
from recipe_calls import module_of

from fairseq_struct.records.results import benchmark_name, read_results

timing = module_of("benchmarks", "timing")


@pytest.mark.parametrize(
    ("how", "order"),
    [
        ({}, "aabbaabb"),  # the first of each pair is not timed
        ({"untimed": False, "dropped": 1}, "ababab"),
        ({"dropped": 1}, "abaabbaabb"),
        ({"untimed": False, "most": 1500}, "abab"),
        ({"untimed": False, "most": 1000}, "ab"),
    ],
)
def test_calls_take_turns(how, order):
    made, ticks = [], itertools.count()
    calls = {name: lambda name=name: made.append(name) for name in "ab"}
    found = timing.milliseconds(calls, 2, clock=lambda: next(ticks), **how)
    assert "".join(made) == order and found == {"a": 1000, "b": 1000}


def test_a_row_is_printed_and_recorded_if_asked(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(timing, "RESULTS", tmp_path / "results.jsonl")
    parser = timing.options_of("Time of a toy.\nMore.", 7)
    for given in ([], ["--append"]):
        setting = parser.parse_args([*given, "--threads=1"])
        timing.report(setting, "toy", "a row", {"milliseconds": 1.5}, "words")
        assert capsys.readouterr().out == "a row {'milliseconds': 1.5}\n"
    (record,) = read_results(tmp_path / "results.jsonl")
    assert record.experiment == benchmark_name("toy", 1) and record.metrics == {"milliseconds": 1.5}
    assert record.command == "python recipes/benchmarks/toy.py --threads 1 --repeats 7 --append"
    with pytest.raises(SystemExit):
        parser.parse_args(["--repeats=0"])
    assert "argument --repeats: must be 1 or more, not 0" in capsys.readouterr().err


def test_the_memory_of_this_process():
    before = timing.highest_memory()
    assert 10 < before <= timing.highest_memory()
