"""Compiled kernels: kept between processes, announced once, and compiled ahead on request."""

import errno
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import pytest
from numba.core import caching, event

from fairseq_struct.cli.main import main
from fairseq_struct.modules import on_lstm
from fairseq_struct.structure.kernels import ahead_of_time, kernel_cache
from fairseq_struct.structure.kernels.compiled import compiled

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def announcement(monkeypatch):
    """The announcement's state, as in a process without announcements yet."""
    for name in ("_said", "complained", "muted"):
        monkeypatch.setattr(kernel_cache.announcement, name, False)
    return kernel_cache.announcement


def successor():
    """A function that no process has compiled yet."""

    def kernel(x):
        return x + 1

    return kernel


def test_two_processes_on_an_empty_cache_and_a_third(tmp_path):
    """Two start at once, without a home folder; fairseq is not needed, and the third is silent.

    (If one of the two is delayed, it may find all kernels compiled by the other.)
    """
    script = (
        "import sys, torch\n"
        "from fairseq_struct.structure.dependency import DependencyTrees\n"
        "print('here', flush=True), sys.stdin.readline()\n"
        "scores = torch.eye(3)[None].double()\n"
        "trees = [DependencyTrees(scores, projective=False), DependencyTrees(2 * scores)]\n"
        "print(trees[0].heads.tolist(), trees[0].log_partition.tolist(), trees[1].heads.tolist())\n"
        "assert 'fairseq' not in sys.modules\n"
    )
    environment = {name: value for name, value in os.environ.items() if name != "HOME"}
    environment["NUMBA_CACHE_DIR"] = str(tmp_path)
    command = [sys.executable, "-c", script]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    both = [subprocess.Popen(command, env=environment, text=True, **pipes) for _ in range(2)]
    for process in both:  # they begin when both are ready
        assert process.stdout.readline() == "here\n", process.communicate()
    for process in both:
        process.stdin.write("\n")
        process.stdin.flush()
    said = [process.communicate() for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    assert said[0][0] == said[1][0]
    assert said[0][1] or said[1][1]
    for _, errors in said:
        if errors:
            assert errors.count("compiling exact inference") == errors.count("\n") == 1
            assert str(tmp_path) in errors and "doctor --compile" in errors
    third = subprocess.run(
        command, env=environment, input="\n", capture_output=True, text=True, check=True
    )
    assert (third.stdout, third.stderr) == (f"here\n{said[0][0]}", "")


def key(kind, text="text"):
    return kind, "processor", text


def test_no_process_can_hide_what_another_one_keeps(tmp_path):
    ours, theirs = (kernel_cache._Files(str(tmp_path), "f", None) for _ in range(2))
    assert ours.load(key("float32")) is None
    ours.save(key("float32"), "a")
    theirs.save(key("float64"), "b")
    ours.save(key("float32"), "a")
    for files in (ours, theirs):
        assert (files.load(key("float32")), files.load(key("float64"))) == ("a", "b")
    for file in tmp_path.iterdir():
        file.write_bytes(file.read_bytes()[:-3])
    assert ours.load(key("float32")) is None
    ours.save(key("float32"), "a")
    assert theirs.load(key("float32")) == "a"


def test_code_of_an_earlier_text_is_replaced(tmp_path):
    """The folder does not grow when a kernel changes; files of other kinds stay."""
    files, another = (kernel_cache._Files(str(tmp_path), name, None) for name in ("f", "f_2"))
    for number, text in enumerate(("first", "second", "first")):
        files.save(key("float32", text), number)
        files.save(key("float64", "first"), "b")
        another.save(key("float32", "first"), "c")
        assert len(list(tmp_path.iterdir())) == 3
        assert files.load(key("float32", text)) == number
    assert files.load(key("float32", "second")) is None
    assert files.load(key("float64", "first")) == "b"
    assert another.load(key("float32", "first")) == "c"


def test_a_function_keeps_its_file_when_lines_are_added_above_it(monkeypatch, tmp_path):
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path))
    found = []
    for lines in (0, 3):
        function = successor()
        code = function.__code__
        function.__code__ = code.replace(co_firstlineno=code.co_firstlineno + lines)
        found.append(kernel_cache.cache_of(function)._cache_file._index_name)
    assert found[0] == found[1]


def test_older_names_in_numba_are_known(monkeypatch):
    """The names in Numba 0.60 and 0.61."""
    older = [type(f"_{name}", (one,), {}) for name, one in kernel_cache.LOCATORS.items()]
    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", older)
    for name in kernel_cache.LOCATORS:
        monkeypatch.delattr(caching, name, raising=False)
    spec = importlib.util.spec_from_file_location("another", kernel_cache.__file__)
    another = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(another)
    event.unregister("numba:compile", another.announcement)
    assert [one.__name__ for one in another._Folders._locator_classes] == [
        "_UserProvidedCacheLocator", "_InTreeCacheLocator", "_OfTheUser",
    ]  # fmt: skip


def test_functions_of_others_are_compiled_as_ever(announcement, capsys):
    """Also functions from which Numba lifts loops."""

    @numba.jit(forceobj=True, looplift=True)
    def total(count):
        found = 0
        for number in range(count):
            found += number
        return found

    assert total(4) == 6
    assert capsys.readouterr().err == ""


def test_where_no_folder_can_be_written_everything_works_and_says_so(
    monkeypatch, announcement, capsys
):
    def ensure_cache_path(self):
        raise PermissionError

    monkeypatch.setattr(caching._CacheLocator, "ensure_cache_path", ensure_cache_path)
    first, second = compiled(successor()), compiled(successor())
    assert (first(1), second(2)) == (2, 3)
    said = capsys.readouterr().err
    assert said.count("compiling exact inference") == said.count("cannot be kept") == 1
    assert "not kept" in said and "set NUMBA_CACHE_DIR" in said
    assert ahead_of_time.folder() is None
    assert main(["doctor", "--compile"]) == 2
    assert "NUMBA_CACHE_DIR" in capsys.readouterr().err


def test_a_full_disk_is_told_of_once(monkeypatch, announcement, capsys, tmp_path):
    def save(self, key, data):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(kernel_cache._Files, "save", save)
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path))
    assert compiled(successor())(1) == compiled(successor())(1) == 2
    said = capsys.readouterr().err
    assert said.count("cannot be kept") == said.count("No space left on device") == 1


def test_what_cannot_be_kept_is_not_compiled_ahead_of_time(
    monkeypatch, announcement, capsys, tmp_path
):
    def save(self, key, data):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(kernel_cache._Files, "save", save)
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(on_lstm, "compile_kernels", lambda: compiled(successor())(1))
    assert main(["doctor", "--compile", "ON-LSTM"]) == 2
    said = capsys.readouterr()
    assert "No space left" in said.err and "some compiled kernels could not be saved" in said.err
    assert "all compiled" not in said.out


def test_a_user_without_a_home_gets_no_folder_of_that_name(monkeypatch, tmp_path):
    monkeypatch.setattr("numba.core.config.CACHE_DIR", "")
    in_tree = kernel_cache.LOCATORS["InTreeCacheLocator"]
    monkeypatch.setattr(in_tree, "from_function", lambda *_: None)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)  # as for an unknown user
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.chdir(tmp_path)
    assert isinstance(kernel_cache.cache_of(successor()), kernel_cache.NoCache)
    assert not list(tmp_path.iterdir())
    monkeypatch.setattr(os.path, "expanduser", lambda path: path.replace("~", str(tmp_path)))
    assert kernel_cache.cache_of(successor()).cache_path.startswith(str(tmp_path))


def test_another_nested_kernel_is_another_key(tmp_path):
    """Checked in a copy of the package, kernel by kernel; other files do not change the key."""
    copy = tmp_path / "fairseq_struct"
    shutil.copytree(kernel_cache.PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    key_of = kernel_cache.text_of_kernels.__wrapped__
    assert key_of(copy) == kernel_cache.text_of_kernels()
    kernels = sorted(copy.rglob("*_kernels.py"))
    assert any(len(file.relative_to(copy).parts) > 3 for file in kernels)
    keys = {key_of(copy)}
    for file in (*kernels, copy / "structure" / "compiled.py"):
        with file.open("a") as text:
            text.write("# changed\n")
        assert key_of(copy) not in keys, f"{file} is no part of the key"
        keys.add(key_of(copy))
    with (copy / "structure" / "checks.py").open("a") as text:
        text.write("# changed\n")
    assert key_of(copy) in keys


def test_compiling_ahead_of_time_leaves_nothing_to_compile():
    done = subprocess.run(
        [sys.executable, ROOT / "tests" / "structure" / "every_kernel.py"], capture_output=True,
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}"}, text=True,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert str(ahead_of_time.folder()) in lines[0]
    assert all(re.fullmatch(rf" *{i}/{len(lines) - 2}  .* +[\d.]+ s", lines[i])
               for i in range(1, len(lines) - 1))  # fmt: skip


def test_one_use_is_compiled_alone(announcement, capsys):
    assert main(["doctor", "--compile", "samples of"]) == 0
    assert re.findall(r"/2  (.*?)  ", capsys.readouterr().out) == [
        "samples of projective trees", "samples of trees with crossing arcs",
    ]  # fmt: skip
    assert main(["doctor", "--compile", "samples of chains"]) == 2
    assert "choose from best projective trees," in capsys.readouterr().err
