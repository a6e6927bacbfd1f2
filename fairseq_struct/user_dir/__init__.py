"""Path of the folder for ``--user-dir``, in a checkout and in an installation from a wheel.

fairseq adds the parent of the folder to the module path, and imports the folder by its own name, in
every process that it starts. So the folder has a unique name, and its parent has no other
importable modules. In the root of this package, ``models`` and ``data`` would become importable.
"""

from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "fairseq_struct_plugin"
