"""Checkpoints: fairseq's own load with torch's safe unpickling; hostile ones run no code."""

import argparse
import importlib.metadata
import os
import pickle
import random
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from fairseq_commands import start, warm_python
from requirements import requirements_of_setup_cfg

from fairseq_struct import compat
from fairseq_struct.errors import DependencyError, InputError

ROOT = Path(__file__).resolve().parents[2]


class Hostile:
    """Unpickles by running a shell command."""

    def __init__(self, marker: Path):
        self.marker = marker

    def __reduce__(self):
        return os.system, (f"touch '{self.marker}'",)


class Foreign:
    """A class that no checkpoint of fairseq holds; harmless, but unknown."""


def fairseq_loads(path: Path) -> dict:
    compat.prepare()
    from fairseq import checkpoint_utils

    return checkpoint_utils.load_checkpoint_to_cpu(str(path))


LOADERS = pytest.mark.parametrize("load", [fairseq_loads, compat.load_state])


@LOADERS
@pytest.mark.parametrize("old_format", [False, True], ids=["zip", "before-zip"])
def test_hostile_checkpoint_is_refused_and_not_run(tmp_path, load, old_format):
    path, marker = tmp_path / "hostile.pt", tmp_path / "was_run"
    state = {"model": {}, "args": None, "extra_state": Hostile(marker)}
    torch.save(state, path, _use_new_zipfile_serialization=not old_format)

    with pytest.raises(InputError) as refusal:
        load(path)

    assert not marker.exists()
    assert str(path) in str(refusal.value)
    assert "posix.system" in str(refusal.value)
    assert "weights_only=False" not in str(refusal.value)


@LOADERS
def test_no_variable_of_torch_switches_the_protection_off(tmp_path, load, monkeypatch):
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    path, marker = tmp_path / "hostile.pt", tmp_path / "was_run"
    torch.save({"model": {}, "extra_state": Hostile(marker)}, path)
    with pytest.raises(InputError):
        load(path)
    assert not marker.exists()


@LOADERS
def test_refusal_names_every_foreign_class(tmp_path, load):
    path = tmp_path / "foreign.pt"
    torch.save({"model": {}, "extra_state": [Foreign(), random.Random(1)]}, path)
    with pytest.raises(InputError, match=rf"random\.Random, .*{Foreign.__module__}\.Foreign"):
        load(path)


def test_the_bait_would_have_worked(tmp_path):
    """Without the protection the command runs, so the tests above can fail."""
    marker = tmp_path / "was_run"
    pickle.loads(pickle.dumps(Hostile(marker)))
    assert marker.exists()


@pytest.mark.parametrize("module", ["numpy._core.multiarray", "numpy.core.multiarray"])
def test_numpy_numbers_of_either_numpy_load(tmp_path, module):
    values = {
        "scalars": [np.float64(27.5), np.float32(0.5), np.int64(3), np.bool_(True)],
        "counts": np.array([3, 0, 1, 0]),
        "options": argparse.Namespace(arch="transformer"),
    }
    path = tmp_path / "numbers.pt"
    torch.save(values, path, pickle_module=pickler_naming(module))
    assert f"{module}\nscalar".encode() in path.read_bytes()

    loaded = compat.load_state(path)

    assert loaded["scalars"] == values["scalars"]
    assert [type(value) for value in loaded["scalars"]] == [type(v) for v in values["scalars"]]
    assert loaded["counts"].tolist() == [3, 0, 1, 0]
    assert loaded["options"] == values["options"]


def pickler_naming(module: str):
    """A stand-in for ``pickle`` that writes the module name of another version of numpy."""

    class Pickler(pickle._Pickler):
        def save_global(self, obj, name=None):
            if "numpy" in (getattr(obj, "__module__", None) or "") and "multi" in obj.__module__:
                self.write(pickle.GLOBAL + f"{module}\n{obj.__name__}\n".encode())
            else:
                super().save_global(obj, name)

    class Module:
        pass

    Module.Pickler = Pickler
    return Module


@pytest.mark.parametrize(
    "content",
    [b"", b"not a checkpoint at all\n", b"hello", b"(X a (X b c))\n", b"PK\x03\x04 cut short"],
)
@LOADERS
def test_damaged_file_is_named(tmp_path, load, content):
    path = tmp_path / "damaged.pt"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"damaged\.pt: not a checkpoint"):
        load(path)


@LOADERS
def test_truncated_checkpoint_is_named(tmp_path, load):
    path = tmp_path / "truncated.pt"
    torch.save({"model": {"w": torch.zeros(1000)}}, path)
    path.write_bytes(path.read_bytes()[:2000])
    with pytest.raises(InputError, match=r"truncated\.pt: not a checkpoint, or a truncated one"):
        load(path)


def test_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match="nowhere.pt: no such file"):
        compat.load_state(tmp_path / "nowhere.pt")


def test_other_contents_are_named(tmp_path):
    torch.save([1, 2], tmp_path / "list.pt")
    with pytest.raises(InputError, match=r"list\.pt: holds a list"):
        compat.load_state(tmp_path / "list.pt")


def test_prepare_wraps_fairseq_only_once():
    compat.prepare()
    from fairseq import checkpoint_utils

    once = checkpoint_utils.load_checkpoint_to_cpu
    compat.prepare()
    assert checkpoint_utils.load_checkpoint_to_cpu is once
    assert once.__module__ == "fairseq.checkpoint_utils"  # it still looks like fairseq's


def test_missing_fairseq_tells_the_install_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "fairseq", None)  # Python's way to say "not installed"
    with pytest.raises(DependencyError, match="fairseq is not installed") as failure:
        compat.prepare.__wrapped__()
    assert failure.value.remedy == compat.INSTALL_LINE


def test_official_fairseq_tells_how_to_replace_it(monkeypatch, tmp_path):
    package = tmp_path / "fairseq"
    package.mkdir()
    problem = "mutable default <class 'CommonConfig'> for field common is not allowed"
    (package / "__init__.py").write_text(f"raise ValueError({problem!r})\n")
    metadata = tmp_path / "fairseq-0.12.2.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: fairseq\nVersion: 0.12.2\n")
    for name in [name for name in sys.modules if name.split(".")[0] == "fairseq"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(tmp_path)
    assert importlib.metadata.version("fairseq") == "0.12.2"

    with pytest.raises(DependencyError, match="official fairseq 0.12.2 cannot be") as failure:
        compat.prepare.__wrapped__()

    assert "mutable default" in failure.value.problem
    assert failure.value.remedy == compat.REINSTALL_LINE


def test_too_old_torch_is_refused(monkeypatch):
    monkeypatch.setattr(torch, "__version__", "2.5.1+cpu")
    with pytest.raises(DependencyError, match=r"torch 2\.5\.1\+cpu is too old"):
        compat.allow_checkpoint_types.__wrapped__()


@pytest.mark.parametrize("python", [(3, 11), (3, 12), (3, 13), (3, 14)])
@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@pytest.mark.parametrize("system", ["linux", "darwin"])
@pytest.mark.parametrize("implementation", ["cpython", "pypy"])
def test_one_build_of_fairseq_is_required_everywhere(
    monkeypatch, python, machine, system, implementation
):
    """The markers of setup.cfg never ask for both builds, nor for none, and compat.py agrees."""
    environment = {
        "python_version": "{}.{}".format(*python),
        "platform_machine": machine,
        "sys_platform": system,
        "platform_python_implementation": {"cpython": "CPython", "pypy": "PyPy"}[implementation],
    }
    required = [
        f"{requirement.name}{requirement.specifier}"
        for requirement in requirements_of_setup_cfg()
        if "fairseq" in requirement.name and requirement.marker.evaluate(environment)
    ]
    monkeypatch.setattr(compat.sys, "version_info", (*python, 0))
    monkeypatch.setattr(compat.sys, "platform", system)
    monkeypatch.setattr(compat.sys, "implementation", SimpleNamespace(name=implementation))
    monkeypatch.setattr(compat.platform, "machine", lambda: machine)
    assert required == [compat.fairseq_requirement()]
    has_wheel = {"linux", "x86_64", "CPython"} <= set(environment.values()) and python < (3, 13)
    assert required == [compat.FAIRSEQ_BUILDS["ve-fairseq" if has_wheel else "fairseq-fixed"]]


def test_install_lines():
    wheel, source = (compat._install_line(one) for one in compat.FAIRSEQ_BUILDS.values())
    assert wheel == "pip install ve-fairseq==0.12.3"
    assert source.endswith("pip install --no-build-isolation fairseq-fixed==0.12.3.1")
    assert compat.INSTALL_LINE in (wheel, source)
    assert compat.REINSTALL_LINE.endswith(f"&& {compat.INSTALL_LINE}")


def test_train_resume_and_generate_with_safe_loading(tmp_path):
    """fairseq's own commands, with BLEU in the checkpoint, on twenty toy sentences."""
    write_toy_corpus(tmp_path)
    model = (
        "--arch transformer --encoder-layers 1 --decoder-layers 1 --encoder-embed-dim 8"
        " --decoder-embed-dim 8 --encoder-ffn-embed-dim 8 --decoder-ffn-embed-dim 8"
        " --encoder-attention-heads 1 --decoder-attention-heads 1"
    )
    train = (
        f"train . {model} --source-lang a --target-lang b --dataset-impl raw --optimizer adam"
        " --lr 0.001 --batch-size 10 --eval-bleu --eval-bleu-args"
        ' {"beam":1,"max_len_a":1,"max_len_b":1} --best-checkpoint-metric bleu'
        " --maximize-best-checkpoint-metric --save-dir run --num-workers 0 --log-format simple"
    )
    fairseq(tmp_path, f"{train} --max-epoch 1")
    checkpoint = tmp_path / "run" / "checkpoint_last.pt"
    content = checkpoint.read_bytes()  # it holds objects that plain torch refuses
    assert b"argparse\nNamespace" in content and b"multiarray\n_reconstruct" in content

    resumed = fairseq(tmp_path, f"{train} --max-epoch 2")
    assert "Loaded checkpoint run/checkpoint_last.pt (epoch 2 @ 2 updates)" in resumed
    generated = fairseq(
        tmp_path,
        "generate . --source-lang a --target-lang b --dataset-impl raw --gen-subset valid"
        " --path run/checkpoint_last.pt --beam 1 --max-len-b 5",
    )
    assert "Generate valid with beam=1: BLEU4" in generated


def write_toy_corpus(folder: Path) -> None:
    rng = random.Random(1)
    for split in ("train", "valid"):
        sentences = [[rng.choice("uvwxyz") for _ in range(4)] for _ in range(20)]
        for language, order in (("a", 1), ("b", -1)):
            lines = (" ".join(sentence[::order]) + "\n" for sentence in sentences)
            (folder / f"{split}.a-b.{language}").write_text("".join(lines))
    for language in "ab":
        (folder / f"dict.{language}.txt").write_text("".join(f"{w} 20\n" for w in "uvwxyz"))


def fairseq(folder: Path, command: str) -> str:
    program, *arguments = command.split()
    module = ["-m", f"fairseq_cli.{program}", *arguments, "--cpu"]
    with warm_python():
        done = subprocess.run(
            [sys.executable, *module, "--user-dir", str(ROOT / "user_dir")], cwd=folder,
            capture_output=True, text=True,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout + done.stderr


def test_numba_keeps_to_itself_what_it_compiles_unless_it_was_asked():
    """As in fairseq-generate, which enables libraries' debugging messages before plugins load."""
    script = (
        "import logging, sys\n"
        "logging.getLogger().setLevel(logging.DEBUG)\n"
        "logging.getLogger('numba').setLevel(sys.argv[1])\n"
        "import fairseq_struct.compat as compat; compat.prepare()\n"
        "print(logging.getLevelName(logging.getLogger('numba').getEffectiveLevel()))\n"
    )
    for given, expected in (("NOTSET", "WARNING"), ("DEBUG", "DEBUG")):
        said = start("python", "-c", script, given).communicate()[0]
        assert said.splitlines()[-1] == expected
