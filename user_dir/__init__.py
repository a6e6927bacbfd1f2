"""The user directory for fairseq: ``fairseq-train … --user-dir user_dir``.

fairseq imports a user directory under its last name, here ``user_dir``. This name must be unique
among all importable modules. If another plugin has the same name, make a link with a unique name
(``ln -s user_dir struct_plugin``) and pass the link.
"""

import importlib.util
import sys
from pathlib import Path

# In a checkout without installation, the package is found only in the root of the checkout.
if importlib.util.find_spec("fairseq_struct") is None:
    sys.path.append(str(Path(__file__).resolve().parent.parent))

from fairseq_struct import errors, plugin  # noqa: E402

errors.report_plainly()
plugin.load()
