"""The tables and figures of the papers: their states follow the records, and none is left out."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from fairseq_struct.errors import InputError
from fairseq_struct.records.marked_tables import table_of
from fairseq_struct.records.paper_items import PaperItem, read_paper_items
from fairseq_struct.records.results import Result, append_result

RECIPES = Path(__file__).parents[2] / "recipes"
HEAD = "paper\titem\tcontent\tshown\tnote\n"
ITEM = PaperItem("A paper", "table 1", "scores", "system/toy", "two layers")
# All that the papers number, by paper; chapters with numbers of their own by their first and last.
NUMBERED = {
    "Shen, thesis": (range(1, 14), range(1, 23)),
    "Shen et al., ON-LSTM": (range(1, 4), [1, 2, 3, "A.1"]),
    "RIM thesis": (
        [f"TC4.{n}" for n in range(1, 5)],
        [f"FC3.{n}" for n in range(1, 6)] + ["FC4.1", "FC4.2"],
    ),
    "Mihaylova, thesis": (
        ["2.1", "3.1", "3.2", "4.1", "4.2", *[f"5.{n}" for n in range(1, 7)], "A.1"],
        ["1.1", "1.2", *[f"2.{n}" for n in range(1, 7)], *[f"3.{n}" for n in range(1, 5)],
         *[f"4.{n}" for n in range(1, 4)], *[f"5.{n}" for n in range(1, 9)],
         *[f"B.{n}" for n in range(1, 4)]],
    ),
}  # fmt: skip


@pytest.fixture
def recipes(tmp_path):
    (tmp_path / "system").mkdir()
    (tmp_path / "system" / "picture.png").touch()
    for name, scale in (("toy", "reduced"), ("whole", "paper")):
        append_result(
            tmp_path / "system" / "results.jsonl",
            Result(experiment=name, variant="a", metrics={"score": 1.0}, scale=scale),
        )
    (tmp_path / "experiments.tsv").write_text(
        "system\texperiment\tdata\tvariant\tmetric\tcommand\nsystem\tnew\td\ta\tscore\tnew.sh\n"
    )
    return tmp_path


@pytest.mark.parametrize(
    ("shown", "state"),
    [
        ("system/toy", "reduced: [system/toy](system/RESULTS.md)"),
        ("system/whole", "done: [system/whole](system/RESULTS.md)"),
        ("system/new", "not run: `system/new`"),
        ("system/picture.png", "drawn: [picture.png](system/picture.png)"),
        ("system/new system/whole",
         "not run: `system/new`; done: [system/whole](system/RESULTS.md)"),
        ("-", "absent"),
        ("draw", "on demand"),
        ("", "no result"),
    ],
)  # fmt: skip
def test_states_follow_the_records(recipes, shown, state):
    assert replace(ITEM, shown=shown).state(recipes) == state
    (recipes / "papers.tsv").write_text(f"{HEAD}A paper\ttable 1\tscores\t{shown}\ttwo layers\n")
    row = f"| A paper | table 1 | scores | {state} | two layers |"
    assert table_of("papers", recipes).splitlines()[2:] == [row]


@pytest.mark.parametrize(
    ("shown", "note", "message"),
    [
        ("system/old", "note", "papers.tsv: system/old of table 1 is no experiment"),
        ("system/other.png", "note", "papers.tsv: system/other.png of table 1 does not exist"),
        ("-", "", "papers.tsv: table 1 of A paper has no note"),
        ("system/toy", "", "papers.tsv: table 1 of A paper is reduced, but has no note"),
    ],
)
def test_a_list_that_is_not_true_is_refused(recipes, shown, note, message):
    with pytest.raises(InputError, match=message):
        replace(ITEM, shown=shown, note=note).state(recipes)


def test_a_malformed_list_is_refused(recipes):
    (recipes / "papers.tsv").write_text(f"{HEAD}A paper\ttable 1\n")
    with pytest.raises(InputError, match=r"papers.tsv:2: must have the fields paper, item"):
        read_paper_items(recipes)
    (recipes / "papers.tsv").write_text(f"{HEAD}\n\nA paper\ttable 1\n")
    with pytest.raises(InputError, match=r"papers.tsv:4: must have the fields paper, item"):
        read_paper_items(recipes)


def test_every_table_and_figure_is_listed_once():
    found = {paper: ([], []) for paper in NUMBERED}
    for one in read_paper_items(RECIPES):
        if one.paper in found:
            for kind, numbers in parts(one.item):
                found[one.paper][kind].extend(numbers)
    for paper, expected in NUMBERED.items():
        for listed, numbered in zip(found[paper], expected, strict=True):
            assert sorted(listed) == sorted(map(str, numbered)), paper


def parts(item):
    """The kinds (0: tables, 1: figures) and numbers of "table 4; figures 1 to 3, 5 and 7a"."""
    for part in item.split("; "):
        kind, _, numbers = part.partition(" ")
        found = []
        for one in re.split(r", | and ", numbers):
            first, _, last = one.partition(" to ")
            found += between(first, last) if last else [one]
        # The parts of figure 7 are two items: 7a stands for it.
        numbers = [one.replace("7a", "7") for one in found if one != "7b"]
        yield ["table", "figure"].index(kind.removesuffix("s")), numbers


def between(first, last):
    chapter, _, start = first.rpartition(".")
    if chapter != last.rpartition(".")[0]:  # figures 1.1 to 3.3
        every = [str(one) for one in NUMBERED["Mihaylova, thesis"][1]]
        return every[every.index(first) : every.index(last) + 1]
    dot = "." if chapter else ""
    return [f"{chapter}{dot}{n}" for n in range(int(start), int(last.rpartition(".")[2]) + 1)]
