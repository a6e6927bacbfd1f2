"""Where the folder for ``--user-dir`` lies, in a checkout as in an installation from a wheel.

fairseq puts the folder's parent on the path of modules and imports the folder by its own name, in
every process that it starts. So the folder has a name that nobody else uses, and lies beside
nothing that is importable: next to this package's rooms it would make a ``models`` and a ``data``.
"""

from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "fairseq_struct_plugin"
