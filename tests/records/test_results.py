"""Records of results, BLEU, and names of devices."""

import json
from pathlib import Path

import pytest
from toy_records import result

from fairseq_struct.errors import InputError
from fairseq_struct.metrics.bleu import corpus_bleu
from fairseq_struct.processor import device_name, vector_instructions
from fairseq_struct.records.results import (
    append_result,
    benchmark_name,
    read_results,
)

ROOT = Path(__file__).resolve().parents[2]


def test_records_survive_the_file_and_replace_their_own_kind(tmp_path):
    path = tmp_path / "results.jsonl"
    others = [result("b"), result("a", seed=2), result("a", updates=4), result("a", data="more"),
              result("a", command="LR=0.5 recipes/toy.sh a DATA")]  # fmt: skip
    for item in (result("a"), *others, result("a", minutes=5.0)):
        append_result(path, item)
    assert read_results(path) == [result("a", minutes=5.0), *others]
    assert set(json.loads(path.read_text().splitlines()[0])) >= {"paper", "scale", "version"}


def test_what_chooses_the_runs_of_a_recipe_is_no_setting(tmp_path):
    path = tmp_path / "results.jsonl"
    for variables in ("RATES=0.1 LR=1", "LR=1 RATES='0.1 0.2' SEEDS='1 2'"):
        append_result(path, result(command=f"{variables} recipes/toy.sh a DATA"))
    (kept,) = read_results(path)
    assert kept.settings == ("LR=1",) and "SEEDS" in kept.command


NAMED = '{"experiment": "x", "variant": "y", '


@pytest.mark.parametrize(
    "line",
    ["nonsense", "[1]", '{"experiment": "x"}', '{"author": "y"}', NAMED + '"metrics": [3]}',
     NAMED + '"metrics": {"bleu": "3.0"}}', NAMED + '"metrics": {}, "paper": {"bleu": null}}'],
)  # fmt: skip
def test_a_line_that_is_no_record_is_named(tmp_path, line):
    path = tmp_path / "results.jsonl"
    append_result(path, result())
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(InputError, match=r"results\.jsonl:2: not a result record"):
        read_results(path)


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
