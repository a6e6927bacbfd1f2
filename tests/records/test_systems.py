"""The table of systems on the first page."""

from pathlib import Path

import pytest

from fairseq_struct.errors import InputError
from fairseq_struct.presets import names
from fairseq_struct.records.marked_tables import table_of
from fairseq_struct.records.results import Result, append_result
from fairseq_struct.records.systems import read_systems

ROOT = Path(__file__).resolve().parents[2]
RESULT = Result(
    experiment="toy", variant="top_k", metrics={"bleu_test": 29.25}, paper={"bleu_test": 31.0},
    data="toy data", device="a processor, 1 thread", updates=10, command="recipes/toy.sh DATA",
)  # fmt: skip


def test_the_table_of_systems_has_our_number_and_the_papers(tmp_path):
    system = tmp_path / "system"
    system.mkdir()
    (tmp_path / "experiments.tsv").write_text(
        "system\texperiment\tdata\tvariant\tmetric\tcommand\n"
        "system\ttoy\ttoys\ttop_k\tbleu_test\tsystem/toy.sh VARIANT\n"
    )
    head = "page\tname\tdoes\tpreset\tmeasured\tsystem\texperiment\n"
    line = "toys\tToys\tplays\ttoy_cpu\tBLEU\tsystem\ttoy\n"
    (tmp_path / "systems.tsv").write_text(head + line)
    with pytest.raises(InputError, match="system/toy has no record"):
        table_of("systems", tmp_path)
    append_result(system / "results.jsonl", RESULT)
    table = table_of("systems", tmp_path).splitlines()
    assert table[2:] == [
        "| [Toys](docs/systems/toys.md) | plays | `toy_cpu` | BLEU: 29.25* | 31.00 |"
    ]
    (tmp_path / "systems.tsv").write_text(head + "toys\tToys\n")
    with pytest.raises(InputError, match=r"systems.tsv:2: must have the fields page, name"):
        table_of("systems", tmp_path)


def test_every_system_has_a_page_and_a_preset():
    systems = read_systems(ROOT / "recipes")
    pages = {path.stem for path in (ROOT / "docs" / "systems").glob("*.md")}
    assert {one.page for one in systems} == pages
    assert {one.preset for one in systems} <= set(names())
