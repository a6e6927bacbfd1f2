"""Records of results, the tables made from them, and BLEU."""

import json
import sys
from pathlib import Path

import pytest
from fairseq_commands import start

from fairseq_struct.cli.main import main
from fairseq_struct.errors import InputError
from fairseq_struct.metrics.bleu import corpus_bleu
from fairseq_struct.processor import vector_instructions
from fairseq_struct.records.results import (
    Result,
    append_result,
    benchmark_name,
    device_name,
    fill_tables,
    markdown_table,
    read_results,
)

ROOT = Path(__file__).resolve().parents[2]


def result(variant="top_k", **changes):
    values = {
        "experiment": "toy",
        "variant": variant,
        "metrics": {"bleu_dev": 30.5, "bleu_test": 29.25},
        "data": "toy data",
        "device": "a processor, 1 thread",
        "updates": 10,
        "command": f"recipes/toy.sh {variant} DATA",
    }
    return Result(**{**values, **changes})


def test_records_survive_the_file_and_replace_their_own_kind(tmp_path):
    path = tmp_path / "results.jsonl"
    others = [result("b"), result("a", seed=2), result("a", updates=4), result("a", data="more")]
    for item in (result("a"), *others, result("a", minutes=5.0)):
        append_result(path, item)
    assert read_results(path) == [result("a", minutes=5.0), *others]
    assert set(json.loads(path.read_text().splitlines()[0])) >= {"paper", "scale", "version"}


@pytest.mark.parametrize("line", ["nonsense", "[1]", '{"experiment": "x"}', '{"author": "y"}'])
def test_a_line_that_is_no_record_is_named(tmp_path, line):
    path = tmp_path / "results.jsonl"
    append_result(path, result())
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(InputError, match=r"results\.jsonl:2: not a result record"):
        read_results(path)


def test_the_table_has_a_row_per_record_and_the_papers_value_beside_ours():
    table = markdown_table([result("a", paper={"bleu_test": 31.0}), result("b")])
    lines = table.splitlines()
    assert lines[0].startswith("toy data. scaled down from the paper's setting. a processor")
    assert "Command: `recipes/toy.sh VARIANT DATA`" in lines[0]
    assert lines[2].split(" | ")[1:4] == ["bleu_dev", "bleu_test", "bleu_test (paper)"]
    assert lines[4] == "| `a` | 30.50 | 29.25 | 31.00 | 1 | 10 | 0 |"
    assert lines[5] == "| `b` | 30.50 | 29.25 |  | 1 | 10 | 0 |"


def test_report_renews_marked_tables_and_check_notices_stale_ones(tmp_path, capsys, monkeypatch):
    (tmp_path / "recipes/system").mkdir(parents=True)
    append_result(tmp_path / "recipes/system/results.jsonl", result())
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- results: system/toy -->\nold\n<!-- end of results -->\nafter\n")
    arguments = ["report", str(page), "--recipes", str(tmp_path / "recipes")]
    assert main([*arguments, "--check"]) == 1
    assert "old" in page.read_text()
    assert main(arguments) == 0
    assert page.read_text().startswith("before\n<!--") and page.read_text().endswith("after\n")
    assert "`top_k`" in page.read_text() and "old" not in page.read_text()
    assert main([*arguments, "--check"]) == 0


def test_a_table_without_records_says_so_and_one_of_nothing_is_an_error(tmp_path, capsys):
    (tmp_path / "system").mkdir()
    append_result(tmp_path / "system/results.jsonl", result())
    marked = "<!-- results: {} -->\n<!-- end of results -->"
    assert "No run recorded yet." in fill_tables(marked.format("system/other"), tmp_path)
    with pytest.raises(InputError, match="nowhere/toy: no such SYSTEM/EXPERIMENT"):
        fill_tables(marked.format("nowhere/toy"), tmp_path)
    assert main(["report", "--show", "system/toy", "--recipes", str(tmp_path)]) == 0
    assert "`top_k`" in capsys.readouterr().out


def test_the_tables_of_this_repository_agree_with_their_records(monkeypatch):
    monkeypatch.chdir(ROOT)
    assert main(["report", "--check"]) == 0


def test_every_committed_record_says_what_was_done():
    paths = sorted(ROOT.glob("recipes/*/results.jsonl"))
    assert paths
    for path in paths:
        for item in read_results(path):
            assert item.data and item.device and item.command and item.metrics, (path, item)


def test_bleu_knows_its_extremes_and_wants_one_translation_each():
    text = ["the cat sat on the mat .", "a dog barked at the moon ."]
    perfect = corpus_bleu(text, text)
    assert perfect.score == pytest.approx(100.0)
    assert "case:mixed" in perfect.signature and "version:" in perfect.signature
    assert corpus_bleu(["x y", "z"], text).score == pytest.approx(0.0)
    assert corpus_bleu([line.upper() for line in text], text).score < 10  # case counts
    with pytest.raises(InputError, match="1 translations for 2 references"):
        corpus_bleu(text[:1], text)
    with pytest.raises(InputError, match="at least one reference"):
        corpus_bleu([], [])


def test_score_prints_the_papers_row_and_appends_a_record(tmp_path):
    for name in ("raw", "out"):
        (tmp_path / name).mkdir()
        for split in ("valid", "test"):
            (tmp_path / name / f"{split}.en").write_text("one two three four five\n")
    log = tmp_path / "train.log"
    entries = [
        'train_inner | {"epoch": 1, "update": 0.3, "num_updates": "3", "train_wall": "90"}',
        'valid | {"epoch": 1, "valid_bleu": "41.5", "valid_num_updates": "3"}',
        'valid | {"epoch": 2, "valid_bleu": "40.25", "valid_num_updates": "5"}',
        'train_inner | {"epoch": 2, "update": 1.1, "num_updates": "5", "train_wall": "30"}',
        'train | {"epoch": 2, "train_num_updates": "5", "train_train_wall": "120"}',
    ]
    log.write_text("".join(f"2020-01-01 | INFO | {entry}\n" for entry in entries))
    command = [
        sys.executable, ROOT / "recipes/scheduled_sampling/score.py", "--experiment",
        "kftt_ja_en", "--variant", "top_k", "--seed", "3", "--updates", "5", "--scale", "reduced",
        "--data", "toy", "--references", tmp_path / "raw", "--translations", tmp_path / "out",
        "--target-lang", "en", "--logs", log, "--command", "x", "--results",
        tmp_path / "results.jsonl",
    ]  # fmt: skip
    last = start(*command).communicate()[0].splitlines()[-1]
    assert last == "BLEU dev 100.00 test 100.00 (paper: dev 18.46 test 20.24)"
    (record,) = read_results(tmp_path / "results.jsonl")
    assert record.metrics == {
        "bleu_dev": 100.0,
        "bleu_test": 100.0,
        "bleu_dev_greedy_last": 40.25,
        "best_update": 3,
    }
    assert record.paper == {"bleu_dev": 18.46, "bleu_test": 20.24}
    assert (record.minutes, record.seed) == (2.0, 3)


@pytest.mark.parametrize(
    ("flags", "limit", "expected"),
    [
        ("fpu sse4_1 avx avx2 avx512f avx512_bf16 amx_tile", "", "amx"),
        ("fpu sse4_1 avx avx2 avx512f avx512_bf16", "", "avx512"),
        ("fpu sse4_1 avx avx2 avx512f avx512_bf16", "AVX2", "avx2"),
        ("fpu sse4_1 avx avx2 avx512f amx_tile", "avx2_vnni", "avx2"),
        ("fpu sse4_1 avx avx2 avx512f amx_tile", "AVX512_CORE_BF16", "avx512"),
        ("fpu sse4_1 avx avx2 avx512f amx_tile", "AVX512_CORE_AMX", "amx"),
        ("fpu sse4_1 avx avx2 avx512f amx_tile", "AVX10_2", "avx512"),
        ("fpu sse4_1 avx avx2 avx512f amx_tile", "ALL", "amx"),
        ("fpu sse4_1 avx avx2", "AVX512_CORE_AMX", "avx2"),
        ("fpu sse4_1 avx", "", "avx"),
        ("fpu sse4_1 avx avx2", "SSE41", ""),
        ("", "", ""),
    ],
)
def test_vector_instructions_of_a_processor(flags, limit, expected):
    assert vector_instructions(flags, limit) == expected


def test_records_name_the_processor_with_its_vector_instructions(monkeypatch, tmp_path):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.delenv("ONEDNN_MAX_CPU_ISA", raising=False)
    info = "processor\t: 0\nmodel name\t: A Processor \nflags\t\t: fpu avx avx2 avx512f\n\n"
    (tmp_path / "cpuinfo").write_text(info * 2)
    monkeypatch.setattr("fairseq_struct.processor.CPU_INFO", tmp_path / "cpuinfo")
    assert device_name(1) == "A Processor, avx512, 1 thread"
    assert benchmark_name("on_lstm", 1) == "on_lstm_1_thread_avx512"
    monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", "AVX2")
    assert device_name(2) == "A Processor, avx2, 2 threads"
    assert benchmark_name("on_lstm", 2) == "on_lstm_2_threads_avx2"
    with monkeypatch.context() as patch:
        patch.setattr("torch.cuda.is_available", lambda: True)
        patch.setattr("torch.cuda.get_device_name", lambda: "An Accelerator")
        assert device_name(2) == "An Accelerator"
        assert device_name(2, on_cpu=True) == "A Processor, avx2, 2 threads"
    table = markdown_table([Result("an_experiment", "a", {"m": 1.0}, device=device_name(2))])
    assert "A Processor, avx2, 2 threads" in table
