"""Shared decision of all prepare commands: write the folder, keep it unchanged, or refuse."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from fairseq_struct.data.prepared.atomic_folder import (
    require_own,
    require_replaceable,
    staging_folder,
    take_place,
)
from fairseq_struct.data.prepared.manifest import (
    FILES,
    check_files,
    difference,
    own_files,
    read_manifest,
    write_manifest,
)
from fairseq_struct.data.prepared.streams.journal import FOLDER as JOURNAL
from fairseq_struct.data.prepared.streams.journal import Journal, has_journal, key_of
from fairseq_struct.data.prepared.streams.progress import Progress
from fairseq_struct.errors import InputError


def write_prepared_folder(
    out: str | Path,
    identity: Mapping[str, Any],
    fill: Callable[[Path], Mapping[str, Any]] | Callable[[Journal], Mapping[str, Any]],
    *,
    generator: str = "",
    overwrite: bool = False,
    say: Callable[[str], None] = lambda message: None,
    goes_on_with: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Make a folder from inputs and options, unless it already exists with the same ones.

    The folder appears complete or not at all. Only files that its own manifest lists are ever
    removed, and only with ``overwrite``.

    Args:
        out: the folder; a symbolic link stays a link.
        identity: everything that determines the folder's contents, written into its manifest:
            ``options`` by name, ``text_sha256`` by split, and so on.
        fill: writes the files into the given folder, and returns further entries of the manifest.
            With ``goes_on_with`` it is given the journal of that folder.
        generator: what drew the corpus, for readers of the manifest; its options and seed are in
            the identity.
        overwrite: replace a folder made from other inputs or options.
        say: called with progress messages.
        goes_on_with: what the files of an interrupted run depend on beside the identity, such as
            versions of software; the same preparation then goes on where that run ended. None for
            one that begins anew.
        progress: shows how far the stages of the journal are.

    Returns:
        The manifest of the folder.

    Raises:
        InputError: ``out`` is not a prepared folder, it was made from other inputs or options, it
            holds foreign files, or it cannot be written.
    """
    named, out = Path(out), Path(os.path.realpath(out))
    identity = json.loads(json.dumps(identity))  # the form that a manifest has after reading
    drawn = {"generator": generator} if generator else {}
    done = _finished(named, identity, overwrite)
    if done is None:
        key = None if goes_on_with is None else key_of({**identity, "with": dict(goes_on_with)})
        with staging_folder(out, say, goes_on=partial(_goes_on, key, identity)) as folder:
            # Check again: another process may have written the folder while this one waited.
            done = _finished(named, identity, overwrite)
            if done is None:
                manifest = _whole(folder, key, identity)
                if manifest is None:
                    content = fill(folder if key is None else _journal(folder, key, progress, say))
                    everything = {**identity, **drawn, **content}
                    manifest = write_manifest(folder, everything, without=JOURNAL)
                shutil.rmtree(folder / JOURNAL, ignore_errors=True)
                take_place(folder, out)
                return manifest
    say(f"{named} is complete with these inputs and options; nothing to do")
    return done


def _goes_on(key: str | None, identity: Mapping[str, Any], folder: Path) -> bool:
    if key is None:
        return False
    return has_journal(folder, key) or _whole(folder, key, identity) is not None


def _whole(folder: Path, key: str | None, identity: Mapping[str, Any]) -> dict[str, Any] | None:
    """The manifest of a staging folder that only has to take its place; None if it is not whole."""
    manifest = None if key is None else read_manifest(folder)
    if manifest is None or difference(manifest, identity):
        return None
    try:
        check_files(folder, manifest[FILES])
    except InputError:
        return None
    return manifest


def _journal(
    folder: Path, key: str, progress: Progress | None, say: Callable[[str], None]
) -> Journal:
    journal = Journal(folder, key, progress)
    if journal.begun:
        say("going on where an interrupted run ended")
    return journal


def known_manifest(out: str | Path, overwrite: bool = False) -> dict[str, Any] | None:
    """Check that a folder may be written; return its manifest, None if it is missing or empty.

    This reads no input, so that a command can check before it begins to work.

    Args:
        out: the folder.
        overwrite: whether to replace it.

    Raises:
        InputError: ``out`` is not a prepared folder, or it would be replaced and holds foreign
            files, or is a folder that cannot be replaced: see :func:`.require_replaceable`.
    """
    out = Path(out)
    if not out.is_dir() or not any(out.iterdir()):
        require_replaceable(out)
        return None
    manifest = read_manifest(out)
    if manifest is None:
        raise InputError(
            f"{out}: exists, but is not a prepared folder whose manifest lists its files; name"
            " another folder (earlier versions listed no files: delete or rename their folders)"
        )
    if overwrite:
        require_replaceable(out)
        require_own(out, own_files(out), out)
    return manifest


def _finished(out: Path, identity: Mapping[str, Any], overwrite: bool) -> dict[str, Any] | None:
    """The manifest of a folder to keep unchanged; None if the folder is to be written."""
    manifest = known_manifest(out, overwrite)
    if manifest is None or overwrite:
        return None
    found = difference(manifest, identity)
    if found is not None:
        raise InputError(
            f"{out}: was prepared with other inputs or options: {found}; name another folder or"
            " replace this one with --overwrite"
        )
    check_files(out, manifest[FILES])
    return manifest
