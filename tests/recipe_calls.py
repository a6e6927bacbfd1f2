"""Recipes as programs, and their Python files as modules."""

import importlib.util
from pathlib import Path
from types import ModuleType

from fairseq_commands import ROOT, start


def run_recipe(system: str, out: Path, recipe: str, *arguments, **settings) -> tuple[int, str]:
    """The status of a recipe that writes into the folder ``out``, and its output."""
    path = ROOT / "recipes" / system / f"{recipe}.sh"
    done = start("bash", path, *arguments, OUT=str(out), **settings)
    said = done.communicate()[0]
    return done.returncode, said


def refusal_of(system: str, out: Path, recipe: str, *arguments, **settings) -> str:
    """What a recipe says that refuses a call, in one sentence and before it makes anything."""
    status, said = run_recipe(system, out, recipe, *arguments, **settings)
    assert status == 2, said
    assert said.startswith("error: ") and said.count("\n") <= 2, said
    assert not out.exists()
    return said


def module_of(system: str, name: str) -> ModuleType:
    """A Python file of a recipe; an import by its name would find that of another recipe."""
    path = ROOT / "recipes" / system / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
