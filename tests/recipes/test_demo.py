"""The demonstration: its runner from nothing to BLEU, its expected result, its progress."""

import importlib.util
import io
import json
import re
import sys
from pathlib import Path

import pytest
import sacrebleu
from fairseq_commands import ROOT, start

from fairseq_struct.errors import InputError
from fairseq_struct.records.results import read_results
from fairseq_struct.records.training_log import logged
from fairseq_struct.records.training_progress import show_progress

DEMO = ROOT / "recipes/scheduled_sampling/demo.py"


@pytest.fixture(scope="module")
def demo():
    spec = importlib.util.spec_from_file_location("demo", DEMO)
    module = sys.modules["demo"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del sys.modules["demo"]


def line(split: str, update: int | None = None, **values: object) -> str:
    """A line of numbers as fairseq logs it."""
    prefix = "" if split == "train_inner" else f"{split}_"
    named = {"epoch": 1} | {f"{prefix}{name}": str(value) for name, value in values.items()}
    if update is not None:
        named[f"{prefix}num_updates"] = str(update)
    return f"2026-01-01 00:00:00 | INFO | {split} | {json.dumps(named)}\n"


# The whole.


def test_from_nothing_to_bleu_with_three_translations(tmp_path, demo):
    results = tmp_path / "results.jsonl"
    size = ("--sentences", 120, 6, 10, "--updates", 10, "--threads", 1)
    process = start("python", DEMO, "--out", tmp_path, *size, "--results", results)
    output = process.communicate()[0]
    assert process.returncode == 0, output
    commands = re.findall(r"^\$ (\S+)", output, re.M)
    assert commands == ["fairseq-struct", "fairseq-train", "fairseq-generate"]
    progress = re.findall(r"^  update (\d+) of 10, loss [\d.]+, teacher_forcing", output, re.M)
    assert len(progress) > 1 and progress[-1] == "10"

    translations = demo.translations_in((tmp_path / "run/generate.log").read_text())
    data = tmp_path / "data_120_6_10/raw"
    for name, attribute in (("src", "source"), ("tgt", "reference")):
        texts = (data / f"test.{name}").read_text().splitlines()
        assert len(translations) == len(texts) == 10
        for one, text in zip(translations, texts, strict=True):
            words = zip(getattr(one, attribute).split(), text.split(), strict=True)
            assert all(word == original or "<unk>" in word for word, original in words)
    three = re.findall(r"^source +(.*)\nreference +(.*)\ntranslation +(.*)$", output, re.M)
    assert len(three) == 3
    assert set(three) <= {(x.source, x.reference, x.hypothesis) for x in translations}

    scored = sacrebleu.corpus_bleu(
        [one.hypothesis for one in translations], [[one.reference for one in translations]]
    ).score
    last = output.strip().splitlines()[-1]
    assert last == f"BLEU {scored:.1f} (not the demo's own size)"
    (record,) = read_results(results)
    assert record.metrics == {"bleu_test": pytest.approx(scored, abs=0.006)}
    said = "--updates 10 --sentences 120 6 10 --seed 1 --threads 1"
    assert record.command == f"recipes/scheduled_sampling/demo.py {said}"

    entries = list(logged((tmp_path / "run/train.log").read_text().splitlines()))
    sampled = [x.values for x in entries if x.split == "train_inner"]
    assert sampled[-1]["teacher_forcing"] <= 0.75 and sampled[-1]["replaced"] > 0


def test_what_fails_is_told_in_one_line(tmp_path, demo, monkeypatch):
    (tmp_path / "data_9_9_9").write_text("mine")
    process = start("python", DEMO, "--out", tmp_path, "--sentences", 9, 9, 9)
    lines = process.communicate()[0].splitlines()
    assert process.returncode == 2
    assert lines[0].startswith("$ fairseq-struct prepare") and lines[-2].startswith("error: ")
    assert lines[-1] == "error: the corpus could not be made: see above"

    program = tmp_path / "bin/fairseq-train"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho started\necho 'error: no such arch'\necho\nexit 2\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    with pytest.raises(InputError, match=r"^the training failed, see .*log: error: no such arch$"):
        demo.train(tmp_path, tmp_path / "run", updates=3, seed=1)
    program.rename(program.with_name("fairseq-generate"))
    with pytest.raises(InputError, match=r"^the translation failed, see .*: error: no such arch$"):
        demo.translate(tmp_path, tmp_path / "x.pt", tmp_path / "generate.log")
    with pytest.raises(InputError, match="^the training was killed by signal 9, see train.log$"):
        demo.check(-9, "training", Path("train.log"))


@pytest.mark.parametrize("option", ["--updates", "--threads"])
def test_a_size_of_nothing_is_refused(option, demo, capsys):
    with pytest.raises(SystemExit) as stop:
        demo.parse_arguments([option, "0"])
    assert stop.value.code == 2 and "must be above 0" in capsys.readouterr().err


def test_translations_come_in_the_order_of_the_test_set(demo):
    log = (
        "a warning\nS-10\tc d\nT-10\tC D\nH-10\t-0.5\tx y\nD-10\t-0.5\tx y\nP-10\t-1 -1\n"
        "S-2\ta\tb\nT-2\tA\nD-2\t-1.5\t\nGenerate test with beam=5: BLEU4 = 0\n"
    )
    first, second = demo.translations_in(log)
    assert first.reference == "A" and first.hypothesis == ""  # an empty line is a translation, too
    assert second == demo.Translation("c d", "C D", "x y")
    for broken in ("", log.replace("T-2", "t-2"), "S-1\ta\nT-1\tb\n"):
        with pytest.raises(InputError, match="no sources, references and translations"):
            demo.translations_in(broken)


def test_the_expected_result_is_what_was_recorded(demo):
    records = [
        item for item in read_results(DEMO.with_name("results.jsonl")) if item.experiment == "demo"
    ]
    made = {(item.seed, item.variant) for item in records}
    assert made >= {(seed, "top_k, 2 threads") for seed in (1, 2, 3)} | {(1, "top_k, 1 thread")}
    assert {item.updates for item in records} == {demo.UPDATES}
    assert all(f"{demo.SENTENCES[0]:,} training pairs" in item.data for item in records)
    scores = [item.metrics["bleu_test"] for item in records]
    low, high = demo.EXPECTED
    assert 85 <= low < min(scores) and max(scores) <= high <= 100
    assert max(scores) - min(scores) < 2


# Progress.


class Terminal(io.StringIO):
    def isatty(self):
        return True


LOG = [
    "loading\n",
    line("valid", 4, loss=9, bleu=0.5),
    line("train_inner", 5, loss=7, teacher_forcing=1),
    line("train_inner", 10, loss=6.25),
    "2026-01-01 00:00:00 | INFO | train_inner | {\"epoch\": 1, \"loss\n",
    "2026-01-01 00:00:00 | INFO | train_inner | {\"epoch\": nothing}\n",
    line("train_inner", 13, loss=5.5, teacher_forcing=0.5),
    line("valid", 13, loss=4, bleu=31.5, best="None").replace('"None"', "null"),
    line("train", loss=6),
    line("train_inner", 20, loss=3),
    line("train", 20, loss=4.5),  # of the epoch
    line("train", 30, loss=2),  # of an epoch too short for a log line
]  # fmt: skip


def test_elsewhere_than_on_a_terminal_a_line_for_each_tenth():
    told = io.StringIO()
    show_progress(LOG, 100, ("loss", "valid_bleu", "none"), told)
    assert told.getvalue().splitlines() == [
        "  update 10 of 100, loss 6.25, valid_bleu 0.5",
        "  update 20 of 100, loss 3, valid_bleu 31.5",
        "  update 30 of 100, loss 2, valid_bleu 31.5",
    ]
    again = io.StringIO()
    show_progress([line("train_inner", update) for update in (75, 79, 100)], 100, file=again)
    assert again.getvalue().splitlines() == ["  update 75 of 100", "  update 100 of 100"]


def test_on_a_terminal_a_bar_that_goes_on_where_a_training_was_resumed(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    told = Terminal()
    show_progress(LOG[-3:-1] + [line("train_inner", 40, loss=2.5)], 100, ("loss",), told)
    shown = re.split(r"[\r\n]+", told.getvalue().strip())
    bars = [text for text in shown if "/100 [" in text]
    assert re.match(r"training: +0%.* 0/100 \[\d\d:\d\d<\?", bars[0])
    assert re.match(r"training: +40%.* 40/100 \[", bars[-1]) and "loss=2.5" in bars[-1]
    # The speed is known after two log lines: that of the updates between them.
    assert any(re.search(r" 20/100 \[\d\d:\d\d<\?, loss=3", text) for text in bars)
    assert re.search(r" 40/100 \[\d\d:\d\d<\d\d:\d\d, ", bars[-1])


def test_lines_that_are_cut_or_no_numbers_are_passed_over():
    whole = line("valid", 3, loss=4, best="null")
    cut = line("train", 2, loss=5)[:60]
    (entry,) = logged([cut + line("STS-B", 3, loss=1), whole, "x | y | {}\n", cut])
    assert (entry.split, entry.update, entry.values["loss"]) == ("STS-B", 3, 1.0)
