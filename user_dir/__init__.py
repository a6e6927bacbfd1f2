"""The directory to give to fairseq: ``fairseq-train … --user-dir user_dir``.

fairseq imports a user directory under its last name, here ``user_dir``, which has to be unique
among everything that is importable. Should another plugin of yours be called the same, make a
link with a name of its own (``ln -s user_dir struct_plugin``) and pass that.
"""

import importlib.util
import sys
from pathlib import Path

# A checkout that was not installed: its root is then the only place to find the package.
if importlib.util.find_spec("fairseq_struct") is None:
    sys.path.append(str(Path(__file__).resolve().parent.parent))

from fairseq_struct import errors, plugin  # noqa: E402

errors.report_plainly()
plugin.load()
