"""House rules: files at the top, lengths of files, words that are never written, help texts."""

import argparse
import ast
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from fairseq_struct import plugin
from fairseq_struct.cli.main import build_parser

ROOT = Path(__file__).resolve().parents[2]
TOP_LEVEL = {
    "setup.cfg",
    "pyproject.toml",
    "CITATION.cff",
    "fairseq_struct",
    "user_dir",
    "preprocess",
    "recipes",
    "docs",
    "tests",
    "README.md",
    "Makefile",
    "LICENSE",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
}
LONGEST_FILE = 300
# Lines of functions, without their docstrings.
LONGEST_FUNCTION, NINE_OF_TEN_FUNCTIONS = 60, 24
SOURCE_SUFFIXES = {".py", ".sh", ".cfg", ".toml", ""}

# Joined here, so that this file does not break its own rule.
NEVER_WRITTEN = {
    "the host of a package index": re.compile(r"\b(py" r"pi\.org|python" r"hosted\.org)"),
    "a path of one machine": re.compile(r"(?<![\w.])/(wo" r"rk|op" r"t|ro" r"ot)/"),
    "an issue number": re.compile(r"\b(issue|pull request|PR) ?#\d", re.IGNORECASE),
}


def files(*also: str) -> list[Path]:
    """All files of the project: those git tracks, and those of further options of ``ls-files``."""
    if not (ROOT / ".git").exists() or not shutil.which("git"):
        pytest.skip("no git, or not its checkout, so what belongs to the project is unknown")
    # git refuses checkouts of other users.
    command = ["git", "-c", f"safe.directory={ROOT}", "ls-files", "--cached", *also]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [path for name in listed.splitlines() if (path := ROOT / name).is_file()]


def texts() -> list[tuple[Path, str]]:
    found = []
    for path in files("--others", "--exclude-standard"):
        try:
            found.append((path.relative_to(ROOT), path.read_text(encoding="utf-8")))
        except UnicodeDecodeError:  # a picture, for example
            continue
    assert found
    return found


def test_top_level_holds_only_what_belongs_there():
    top = {path.relative_to(ROOT).parts[0] for path in files()}
    assert {name for name in top if not name.startswith(".")} <= TOP_LEVEL


def test_no_file_is_too_long():
    lengths = {
        str(path): text.count("\n") for path, text in texts() if path.suffix in SOURCE_SUFFIXES
    }
    assert not {path: n for path, n in lengths.items() if n > LONGEST_FILE}


def lines_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    first = function.body[0]
    documented = ast.get_docstring(function) is not None
    docstring = first.end_lineno - first.lineno + 1 if documented else 0
    return function.end_lineno - function.lineno + 1 - docstring


def test_no_function_is_too_long():
    functions = [
        (lines_of(node), node.name, str(path.relative_to(ROOT)))
        for path in (ROOT / "fairseq_struct").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    assert not [each for each in functions if each[0] > LONGEST_FUNCTION]
    lengths = sorted(length for length, *_ in functions)
    assert lengths[len(lengths) * 9 // 10] <= NINE_OF_TEN_FUNCTIONS


@pytest.mark.parametrize("what", NEVER_WRITTEN)
def test_never_written(what):
    found = [
        f"{path}:{number}: {line.strip()}"
        for path, text in texts()
        for number, line in enumerate(text.splitlines(), 1)
        if NEVER_WRITTEN[what].search(line)
    ]
    assert not found, f"{what}: {found}"


@pytest.mark.parametrize(
    ("what", "line", "offends"),
    [
        ("the host of a package index", "see https://py" + "pi.org/simple", True),
        ("a path of one machine", 'DATA = "/wo' + 'rk/data"', True),
        ("a path of one machine", "home/wo" + "rk/data", False),
        ("an issue number", "mends issue #" + "12", True),
    ],
)
def test_the_patterns_catch_what_they_should(what, line, offends):
    assert bool(NEVER_WRITTEN[what].search(line)) is offends


def test_verbs_say_what_a_model_must_have_and_name_none():
    plugin.load()
    from fairseq.models import MODEL_REGISTRY

    own = {n for n, model in MODEL_REGISTRY.items() if model.__module__.startswith("fairseq_str")}
    (verbs,) = (a for a in build_parser()._actions if isinstance(a, argparse._SubParsersAction))
    for verb, parser in verbs.choices.items():
        for action in parser._actions:
            assert not own & set(re.findall(r"\w+", action.help or "")), f"{verb}: {action.dest}"


def registered_classes() -> list[type]:
    plugin.load()
    from fairseq.criterions import CRITERION_REGISTRY
    from fairseq.models import MODEL_REGISTRY
    from fairseq.tasks import TASK_REGISTRY

    every = [*MODEL_REGISTRY.values(), *TASK_REGISTRY.values(), *CRITERION_REGISTRY.values()]
    return [cls for cls in every if cls.__module__.startswith("fairseq_struct.")]


def options_of(cls: type) -> dict[str, argparse.Action]:
    parser = argparse.ArgumentParser(add_help=False, conflict_handler="resolve")
    cls.add_args(parser)
    return {option: action for action in parser._actions for option in action.option_strings}


def test_every_option_of_ours_has_help():
    classes = registered_classes()
    assert classes
    for cls in classes:
        inherited = set()
        for base in cls.__mro__:
            if base.__module__.startswith("fairseq.") and hasattr(base, "add_args"):
                inherited |= set(options_of(base))
        for option, action in options_of(cls).items():
            if option not in inherited:
                assert action.help and len(action.help) > 10, f"{cls.__name__}: {option}"
