"""Worlds, bot and demonstrations work where gymnasium is not installed; its classes say so."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import sys
sys.modules["gymnasium"] = None  # an import of it fails
import fairseq_struct.environments
from fairseq_struct.cli.main import main
from fairseq_struct.errors import InputError
assert main(["prepare", "craft_demonstrations", "AC", sys.argv[1], "--number=5"]) == 0
for name in ("craft", "craft_vector"):
    try:
        __import__(f"fairseq_struct.environments.{name}")
    except ImportError as error:
        assert isinstance(error, InputError)
        print(error, file=sys.stderr)
"""
INSTALL = "; to fix it: pip install 'gymnasium>=1.1'"


def test_all_but_its_classes_works_and_those_say_how_to_install_it(tmp_path):
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "out")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "manifest.json").is_file()
    messages = [line for line in done.stderr.splitlines() if "compiling" not in line]
    assert len(messages) == 2
    assert all("gymnasium" in line and line.endswith(INSTALL) for line in messages)
