"""One decision for all that prepare a corpus: write the folder, leave it as it is, or refuse."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from fairseq_struct.data.prepared.atomic_folder import require_own, staging_folder, take_place
from fairseq_struct.data.prepared.manifest import (
    FILES,
    check_files,
    difference,
    read_manifest,
    write_manifest,
)
from fairseq_struct.errors import InputError


def write_prepared_folder(
    out: str | Path,
    identity: Mapping[str, Any],
    fill: Callable[[Path], Mapping[str, Any]],
    *,
    overwrite: bool = False,
    say: Callable[[str], None] = lambda message: None,
) -> dict[str, Any]:
    """Make a folder from inputs and options, unless the same have made it before.

    The folder appears complete or not at all. Nothing of it is ever lost but files that its own
    manifest lists, and those only if ``overwrite`` says so.

    Args:
        out: the folder; a symbolic link stays one.
        identity: everything that decides what the folder holds, to be written into its manifest:
            ``options`` by name, ``text_sha256`` by split, and so on.
        fill: writes the files into the folder it is given, and returns what else the manifest
            shall say.
        overwrite: replace a folder that other inputs or options made.
        say: called with a line of progress.

    Returns:
        The manifest of the folder.

    Raises:
        InputError: ``out`` is something else than a prepared folder, other inputs or options made
            it, it holds somebody else's files, or it cannot be written.
    """
    named, out = Path(out), Path(os.path.realpath(out))
    identity = json.loads(json.dumps(identity))  # as the manifest will give it back
    done = _finished(named, identity, overwrite)
    if done is None:
        with staging_folder(out, say) as folder:
            # Once more: another process may have been at it while this one waited.
            done = _finished(named, identity, overwrite)
            if done is None:
                manifest = write_manifest(folder, {**identity, **fill(folder)})
                take_place(folder, out)
                return manifest
    say(f"{named} is complete with these inputs and options, nothing to do")
    return done


def known_manifest(out: str | Path, overwrite: bool = False) -> dict[str, Any] | None:
    """The manifest of a folder that may be written or left as it is; None where nothing stands.

    No input has to be read for that: to be asked before work begins.

    Args:
        out: the folder.
        overwrite: whether it is to be replaced.

    Raises:
        InputError: ``out`` is something else than a prepared folder, or it is to be replaced and
            holds somebody else's files.
    """
    out = Path(out)
    if out.exists() and not out.is_dir():
        raise InputError(f"{out}: is a file, not a folder")
    if os.path.ismount(out):
        raise InputError(f"{out}: is a mount point, which cannot be replaced; name a folder in it")
    if not out.exists() or not any(out.iterdir()):
        return None
    manifest = read_manifest(out)
    if manifest is None:
        raise InputError(
            f"{out}: exists and is no prepared folder whose manifest lists its files; name another"
            " folder (an earlier version listed none: what it prepared, delete or rename yourself)"
        )
    if overwrite:
        require_own(out, manifest[FILES], out)
    return manifest


def _finished(out: Path, identity: Mapping[str, Any], overwrite: bool) -> dict[str, Any] | None:
    """The manifest of a folder to leave as it is, None where one may be written."""
    manifest = known_manifest(out, overwrite)
    if manifest is None or overwrite:
        return None
    found = difference(manifest, identity)
    if found is not None:
        raise InputError(
            f"{out}: made with another {found}; name another folder or replace it (--overwrite)"
        )
    check_files(out, manifest[FILES])
    return manifest
