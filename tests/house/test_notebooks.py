"""The notebooks of the documentation are valid, hold no output, and run, with smaller models.

Their cells run in order in one process, without Jupyter: a line that begins with ``!`` is a command
of the shell, and the value of a cell's last line is drawn as a notebook would.
"""

import ast
import json

import pytest
import torch
from fairseq_commands import ROOT, start
from reader import Block, command_of

NOTEBOOKS = sorted((ROOT / "docs" / "examples").glob("*.ipynb"))
SHOWS = """
import ast


def _run_cell(text, names):
    *most, last = ast.parse(text).body or [ast.Pass()]
    value = isinstance(last, ast.Expr)
    exec(compile(ast.Module(most if value else [*most, last], []), "cell", "exec"), names)
    if value:
        shown = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
        draw = getattr(shown, "_repr_html_", None)
        print(draw() if draw else repr(shown))
"""


def cells_of(path) -> list[str]:
    """The text of the code cells."""
    cells = json.loads(path.read_text())["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def commands_in(cell: str) -> list[str]:
    """The shell commands of a cell; a cell has nothing beside them."""
    lines = cell.splitlines()
    commands = [line[1:] for line in lines if line.startswith("!")]
    assert commands in ([], [line[1:] for line in lines])
    return commands


def run_notebook(path, folder) -> str:
    """Run the shell cells, then the others in one process; what the latter print."""
    cells = cells_of(path)
    commands = [command for cell in cells for command in commands_in(cell)]
    for place, command in enumerate(commands):
        process = start(*command_of(Block(f"{path.name}:{place}", "sh", command), folder))
        output = process.communicate()[0]
        assert process.returncode == 0, f"{command}\n{output}"
    code = [cell for cell in cells if not commands_in(cell)]
    runs = "".join(f"_run_cell({cell!r}, globals())\n" for cell in code)
    process = start(*command_of(Block(path.name, "python", SHOWS + runs), folder))
    output = process.communicate()[0]
    assert process.returncode == 0, output
    return output


def test_there_are_three_notebooks():
    assert len(NOTEBOOKS) == 3


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook_is_valid_and_holds_no_output(path):
    content = json.loads(path.read_text())
    assert content["nbformat"] == 4
    for cell in content["cells"]:
        assert not cell.get("outputs") and cell.get("execution_count") is None
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    nbformat.validate(content)


def test_scheduled_sampling_shows_translations_and_replaced_words(tmp_path):
    output = run_notebook(ROOT / "docs/examples/scheduled_sampling.ipynb", tmp_path)
    assert "torch.Size([1, " in output and "sparsemax" in output and " becomes " in output


def test_three_parsers_show_their_trees(tmp_path):
    output = run_notebook(ROOT / "docs/examples/three_parsers.ipynb", tmp_path)
    assert "udgn: UAS " in output and "supervised: UAS " in output and output.count("<svg") == 3


def test_spigot_finds_the_clusters(tmp_path):
    output = run_notebook(ROOT / "docs/examples/spigot.ipynb", tmp_path)
    accuracy = float(output.partition("accuracy ")[2].partition(" %")[0])
    assert accuracy > 90
    rows = torch.tensor(ast.literal_eval(output.partition("tensor(")[2].strip().rstrip(")")))
    most, choices = rows.max(1)  # on some processors a few points of 500 stray
    assert (most > 0.95 * rows.sum(1)).all() and sorted(choices.tolist()) == [0, 1, 2]
