"""Who installs a wheel can prepare, train and parse, without a checkout."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# One process, because importing fairseq takes most of the time.
WHOLE_WAY = """
import contextlib, io, sys
from fairseq_struct.cli.main import main

def printed(*arguments):
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        assert main(arguments) == 0, arguments
    return output.getvalue()

user_dir = printed("user-dir").strip()
printed("prepare", "dependency_treebank", "generated", "data", "--sentences", "60", "8", "8")
from fairseq_cli.train import cli_main

sys.argv = ["fairseq-train", "data/data-bin", "--user-dir", user_dir, *sys.argv[1:]]
cli_main()
with open("data/text/test.txt") as text, open("parsed.conllu", "w") as parsed:
    sys.stdin = text
    parsed.write(printed("parse", "checkpoints/checkpoint_best.pt"))
print(printed("evaluate", "data/trees/test.conllu", "parsed.conllu"))
import fairseq_struct

print(fairseq_struct.__file__)
print(user_dir)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """A wheel, made from a copy, for setuptools leaves folders behind."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    caches = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "fairseq_struct", source / "fairseq_struct", ignore=caches)
    for name in ("setup.cfg", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    command = "pip wheel -q --no-deps --no-build-isolation --no-index -w".split()
    done = subprocess.run(
        [sys.executable, "-m", *command, folder, source], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return next(folder.glob("fairseq_struct-*.whl"))


def test_wheel_holds_the_whole_package_and_nothing_else(wheel):
    expected = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "fairseq_struct").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {name for name in names if ".dist-info/" not in name} == expected
    assert "fairseq_struct/py.typed" in expected


def test_prepare_train_parse_and_evaluate_from_the_wheel(wheel, tmp_path):
    installed, away = tmp_path / "installed", tmp_path / "away"
    zipfile.ZipFile(wheel).extractall(installed)
    away.mkdir()
    arguments = [
        "--task=structured_masked_lm", "--criterion=structured_masked_lm", "--arch=udgn_tiny",
        "--embed-dim=16", "--parser-size=16", "--layers=1", "--optimizer=adam", "--max-tokens=200",
        "--max-update=1", "--valid-draws=1", "--num-workers=0", "--cpu", "--log-format=none",
    ]  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", WHOLE_WAY, *arguments],
        cwd=away,
        env={**os.environ, "PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    *_, module, user_dir = done.stdout.splitlines()
    assert module == str(installed / "fairseq_struct" / "__init__.py")
    assert Path(user_dir).is_relative_to(installed)
    assert "UAS" in done.stdout
