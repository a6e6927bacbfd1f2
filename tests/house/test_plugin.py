"""The plugin registers everything: in a fresh interpreter, loaded twice, in spawned workers."""

import importlib
import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fairseq_struct import compat, plugin
from fairseq_struct.user_dir import FOLDER

ROOT = Path(__file__).resolve().parents[2]

# Imports the folder as fairseq's commands do, also in a spawned worker, as on several devices.
SCRIPT = """
import argparse, json, multiprocessing, sys


def names(user_dir):
    from fairseq import utils

    utils.import_user_module(argparse.Namespace(user_dir=user_dir))
    from fairseq_struct import plugin

    return plugin.registered()


if __name__ == "__main__":
    user_dir = sys.argv[1]
    once, twice = names(user_dir), names(user_dir)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        worker = pool.apply(names, (user_dir,))
    import importlib, os

    importlib.reload(importlib.import_module(os.path.basename(user_dir)))
    print(json.dumps([once, twice, worker, names(user_dir)]))
"""


@pytest.mark.parametrize("user_dir", [ROOT / "user_dir", FOLDER], ids=lambda path: path.name)
def test_user_dir_registers_in_fresh_twice_and_spawned_interpreters(tmp_path, user_dir):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    if user_dir == FOLDER:  # is part of the package and does not search for it
        environment["PYTHONPATH"] = str(ROOT)
    done = subprocess.run(
        [sys.executable, script, user_dir],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    once, twice, worker, reloaded = json.loads(done.stdout.splitlines()[-1])
    assert once["architectures"], "no architecture was registered"
    assert once == twice == worker == reloaded


def test_nothing_else_is_importable_beside_the_user_dir():
    """fairseq puts the parent of the folder on the path of modules."""
    beside = {path.name for path in FOLDER.parent.iterdir()}
    assert beside - {"__pycache__", "__init__.py"} == {FOLDER.name}


def test_every_registering_file_is_found():
    rooms = [ROOT / "fairseq_struct" / room for room in plugin.ROOMS]
    files = [path for room in rooms for path in room.rglob("*.py") if path.stem != "__init__"]
    own = [path.relative_to(ROOT).with_suffix("") for path in files]
    expected = {".".join(path.parts) for path in own if "shared" not in path.parts}
    assert set(plugin.registering_modules()) == expected
    assert set(plugin.load()) == expected


def test_names_are_registered_under_our_modules():
    from fairseq.models import ARCH_MODEL_REGISTRY

    names = plugin.registered()
    assert "transformer" not in names["architectures"]  # fairseq's own entry is not ours
    for name in names["architectures"]:
        assert ARCH_MODEL_REGISTRY[name].__module__.startswith("fairseq_struct.models.")


def test_hooks_wrap_the_same_function_in_an_order_that_works():
    """See the comments of ``HOOKS``."""
    plugin.load()
    checkpoints = importlib.import_module("fairseq.checkpoint_utils")
    workers = importlib.import_module("fairseq.distributed.utils")
    task = importlib.import_module("fairseq.tasks").FairseqTask
    reading = wrappers(checkpoints.load_checkpoint_to_cpu)
    assert reading == ["trainer_checkpoints", "trained_words", "compat"]
    assert wrappers(checkpoints.load_checkpoint) == ["save_folder", "trainer_checkpoints"]
    assert wrappers(workers.call_main) == ["several_processes", "before_training"]
    assert wrappers(task.get_batch_iterator) == ["ended_epochs", "trainer_checkpoints"]


def wrappers(function):
    """The files of this package that wrap a function of fairseq, outermost first."""
    found = []
    while hasattr(function, "__wrapped__"):
        around = inspect.getclosurevars(function).nonlocals.get("around", function)
        found.append(Path(around.__code__.co_filename).stem)
        function = function.__wrapped__
    return found


def test_absent_room_is_skipped(monkeypatch):
    monkeypatch.setattr(plugin, "ROOMS", ("models", "no_such_room"))
    assert all(name.startswith("fairseq_struct.models.") for name in plugin.registering_modules())


def test_error_inside_a_module_surfaces(monkeypatch, tmp_path):
    (tmp_path / "broken_family.py").write_text("import no_such_dependency\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(plugin, "registering_modules", lambda: ["broken_family"])
    with pytest.raises(ModuleNotFoundError, match="no_such_dependency"):
        plugin.load()


def test_user_dir_without_fairseq_tells_the_install_line(tmp_path):
    blocker = (
        "import sys\n"
        "class Blocker:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] == 'fairseq':\n"
        "            raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
        "sys.meta_path.insert(0, Blocker())\n"
        f"sys.path.insert(0, {str(ROOT)!r})\n"
        "import user_dir\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", blocker], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode != 0
    last_line = done.stderr.splitlines()[-1]
    assert last_line.startswith("error: fairseq is not installed")
    assert last_line.endswith(compat.INSTALL_LINE)
