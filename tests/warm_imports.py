"""A process that has fairseq, torch and this package imported, as :mod:`warm_server` forks it."""

import argparse
import copy
import gc
import importlib
import logging
import os
import pkgutil
import re
import runpy
import sys
import types
import warnings
from pathlib import Path

# Read by the interpreter and by libraries when they start. OMP_NUM_THREADS can change later, and
# the folder of torch's compiler, which names it in the environment of whoever uses it; how threads
# wait, how many numpy's products take, PATH and the settings of the C library's allocator make no
# difference to what a program does.
AT_START = re.compile(
    r"(PYTHON|LD_|LC_|LANG|OMP_|KMP_|GOMP_|MKL_|OPENBLAS_|DNNL_|ONEDNN_|ATEN_|TORCH|NUMBA_|CUDA_"
    r"|MPL|XDG_|HOME$|TMPDIR$)"
)
CHANGEABLE = {
    "OMP_NUM_THREADS", "OMP_WAIT_POLICY", "OPENBLAS_NUM_THREADS", "TORCHINDUCTOR_CACHE_DIR",
}  # fmt: skip
# Rooms that register nothing with fairseq; what registers is imported by whoever asks for it.
ROOMS = ("structure", "modules", "metrics", "records", "pages", "data", "evaluation")
LIBRARIES = (
    "fairseq", "torch", "numba", "scipy.stats", "sklearn.metrics", "matplotlib.figure", "nltk",
    "entmax", "sacrebleu", "sacremoses", "sentencepiece", "subword_nmt.apply_bpe",
    "subword_nmt.learn_bpe", "torch.distributed", "torch._dynamo",  # which optimizers import
)  # fmt: skip


class Warm:
    """The imported libraries, and the state that their import left behind.

    Raises:
        RuntimeError: an import started a thread.
    """

    def __init__(self):
        self.environment = dict(os.environ)
        for name in (*LIBRARIES, *_modules_of_rooms()):
            try:
                importlib.import_module(name)
            except ModuleNotFoundError as error:
                if error.name != "triton":  # comes with torch where there is a GPU
                    raise
        warm_parser_of_options()
        self._settle()

    def begin_training(self, user_dir: str) -> None:
        """Go as far as ``fairseq-train --user-dir`` goes before it reads its options."""
        from fairseq.utils import import_user_module

        importlib.import_module("fairseq_cli.train")
        import_user_module(argparse.Namespace(user_dir=user_dir))
        self._settle()

    def _settle(self):
        # One of fairseq's modules configures logging unless the program did so before.
        root = logging.getLogger()
        self.handlers, self.level = root.handlers[:], root.level
        root.handlers[:] = []
        root.setLevel(logging.WARNING)  # as a new interpreter has it
        self.added = {k: v for k, v in os.environ.items() if self.environment.get(k) != v}
        threads = len(os.listdir("/proc/self/task"))
        if threads != 1:
            raise RuntimeError(f"{threads} threads after imports; a fork would lose all but one")
        gc.collect()
        gc.freeze()

    def why_cold(self, argv: list[str], environment: dict[str, str]) -> str | None:
        """Why a program needs an interpreter of its own, or None."""
        for name in sorted(environment.keys() | self.environment.keys()):
            value, ours = environment.get(name), self.environment.get(name)
            if name == "PYTHONPATH":  # recipes put the checkout before what there is
                value, ours = _without_repeats(value), _without_repeats(ours)
            known = (ours, self.added.get(name, ours))
            if name not in CHANGEABLE and AT_START.match(name) and value not in known:
                return f"{name} is read at start"
        first = argv[1] if len(argv) > 1 else ""
        if not _is_python(argv[0]):
            return None
        if first in ("", "-") or (first.startswith("-") and first not in ("-c", "-m")):
            return f"python {first}"
        if first == "-c" and "multiprocessing" in "".join(argv[2:]):
            return "multiprocessing hands over further files"
        return None

    def become(self, argv: list[str]) -> None:
        """Run a program as ``__main__``, in this process."""
        os.environ.update(self.added)
        main = sys.modules["__main__"] = types.ModuleType("__main__")
        main.__builtins__ = __builtins__
        if not _is_python(argv[0]):
            sys.argv = list(argv)
            sys.path.insert(0, os.path.dirname(os.path.realpath(argv[0])))
            command = os.path.basename(argv[0]).removeprefix("fairseq-").replace("-", "_")
            if command != "struct":
                importlib.import_module(f"fairseq_cli.{command}")
                self._log_as_fairseq()
            _execute(argv[0], main)
        elif argv[1] == "-c":
            sys.argv = ["-c", *argv[3:]]
            sys.path.insert(0, "")
            exec(compile(argv[2], "<string>", "exec"), main.__dict__)
        elif argv[1] == "-m":
            sys.argv = ["-m", *argv[3:]]
            sys.path.insert(0, os.getcwd())
            runpy.run_module(argv[2], run_name="__main__", alter_sys=True)
        else:
            sys.argv = argv[1:]
            sys.path.insert(0, os.path.dirname(os.path.realpath(argv[1])))
            _execute(argv[1], main)

    def _log_as_fairseq(self):
        root = logging.getLogger()
        if not root.handlers:
            root.handlers[:] = self.handlers
            root.setLevel(self.level)


def _modules_of_rooms() -> list[str]:
    import fairseq_struct

    folder = Path(fairseq_struct.__file__).parent
    return [
        module.name
        for room in ROOMS
        for module in pkgutil.walk_packages([str(folder / room)], f"fairseq_struct.{room}.")
    ]


def warm_parser_of_options() -> None:
    """fairseq writes all its options in hydra's language, whose parser learns as it reads."""
    from fairseq import options
    from fairseq.dataclass.utils import convert_namespace_to_omegaconf

    _share_what_hydra_makes()
    with warnings.catch_warnings():  # which are said again afterwards
        warnings.simplefilter("ignore")
        parser = options.get_training_parser()
        line = ["data", "--arch=transformer", "--optimizer=adam", "--save-dir=/tmp/a_b-c.d/e"]
        convert_namespace_to_omegaconf(options.parse_args_and_arch(parser, line))


def _share_what_hydra_makes():
    """For each command line, hydra copies the store of all options, and parses each option anew.

    Children share the store, which nobody changes after the imports, and what was parsed before.
    """
    from hydra.core.config_store import ConfigStore
    from hydra.core.override_parser.overrides_parser import OverridesParser

    ConfigStore.__deepcopy__ = lambda store, memo: store
    parse, parsed = OverridesParser.parse_rule, {}

    def parse_once(parser, text, rule):
        if (text, rule) not in parsed:
            parsed[text, rule] = parse(parser, text, rule)
        return copy.copy(parsed[text, rule])

    OverridesParser.parse_rule = parse_once


def _without_repeats(path: str | None) -> str | None:
    return path and os.pathsep.join(dict.fromkeys(path.split(os.pathsep)))


def _is_python(program: str) -> bool:
    return os.path.basename(program).startswith("python")


def _execute(path: str, main: types.ModuleType) -> None:
    main.__file__ = path
    exec(compile(Path(path).read_bytes(), path, "exec"), main.__dict__)
