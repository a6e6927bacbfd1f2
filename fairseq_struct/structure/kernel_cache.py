"""Machine code of kernels, kept on disk from one process to the next; and what is said about it.

Numba has a cache of its own, which this one changes in what goes wrong there: it looks at the text
of the one function only, it keeps an index that two processes which compile at once overwrite for
each other, and a full disk or a file cut short ends the program.
"""

import functools
import hashlib
import os
import pickle
import sys
from pathlib import Path

from numba.core import event
from numba.core.caching import (
    CompileResultCacheImpl,
    FunctionCache,
    IndexDataCacheFile,
    NullCache,
)

PACKAGE = Path(__file__).parent.parent
# What finds folders, by name; before Numba 0.62 the names began with an underscore.
LOCATORS = {one.__name__.lstrip("_"): one for one in CompileResultCacheImpl._locator_classes}


@functools.cache
def text_of_kernels(package: Path = PACKAGE) -> str:
    """A hash of all that goes into machine code: kernels in any folder, and how they are compiled.

    A kernel's machine code contains functions of other files.
    """
    files = sorted({*package.rglob("*_kernels.py"), *package.rglob("compiled.py")})
    named = (f"{file.relative_to(package)}\n".encode() + file.read_bytes() for file in files)
    return hashlib.sha256(b"\0".join(named)).hexdigest()


class _Files(IndexDataCacheFile):
    """A file for each thing kept, named by its key: no index that processes have to share.

    A key says what for, in its first two parts, and then of which text. A file takes the place of
    those for the same of other texts, or the folder would grow whenever a kernel is changed.
    """

    def _path(self, key, text: str | None = None) -> Path:
        what = _short_hash((self._version, key[:2]))
        text = text or _short_hash(key[2:])
        return Path(self._cache_path, self._index_name).with_suffix(f".{what}.{text}.nbc")

    def save(self, key, data):
        path = self._path(key)
        with self._open_for_write(str(path)) as file:  # which appears whole or not
            file.write(self._dump((repr(key), data)))
        for other in path.parent.glob(self._path(key, "*").name):
            if other != path:
                other.unlink(missing_ok=True)

    def load(self, key):
        try:
            known, data = pickle.loads(self._path(key).read_bytes())
        except Exception:  # of any kind, where a file was cut short; it is written anew
            return None
        return data if known == repr(key) else None


class _OfTheUser(LOCATORS["UserWideCacheLocator"]):
    """The user's folder of caches, if there is a home; Numba would take one named ``~`` else."""

    @classmethod
    def from_function(cls, function, file):
        known = os.path.isabs(cls(function, file).get_cache_path())
        return super().from_function(function, file) if known else None


class _Folders(CompileResultCacheImpl):
    _locator_classes = [
        LOCATORS["UserProvidedCacheLocator"], LOCATORS["InTreeCacheLocator"], _OfTheUser,
    ]  # fmt: skip

    def get_filename_base(self, fullname, abiflags):
        """Without Numba's line number, which differs between texts."""
        name = fullname.replace("<", "").replace(">", "")
        return f"{name}.{sys.implementation.cache_tag}{abiflags}"


class KernelCache(FunctionCache):
    """Numba's cache of one function, by the text of all kernels.

    Raises:
        RuntimeError: no folder can be written.
    """

    _impl_class = _Folders

    def __init__(self, function):
        super().__init__(function)
        base = self._impl.filename_base
        self._cache_file = _Files(self.cache_path, base, source_stamp=None)
        self._text = text_of_kernels()  # of what is loaded now, not of what a file holds later on

    def _index_key(self, *arguments):
        return (*super()._index_key(*arguments), self._text)

    def save_overload(self, *arguments):
        try:
            super().save_overload(*arguments)
        except OSError as error:
            announcement.not_kept(f"{self.cache_path}: {error.strerror or error}")


class NoCache(NullCache):
    """In place of a cache where there is no folder to write to."""


def cache_of(function) -> KernelCache | NoCache:
    """Where the machine code of a function is kept.

    That is a folder below ``NUMBA_CACHE_DIR``, if that is set, or else beside the function's file,
    or in the user's own folder of caches, whichever can be written first.
    """
    try:
        return KernelCache(function)
    except RuntimeError:
        return NoCache()


class Announcement(event.Listener):
    """Say once in a process that kernels are compiled, and once that they cannot be kept.

    ``muted`` leaves out the first, and ``complained`` tells whether the second has been said.
    """

    def __init__(self):
        self.muted = self.complained = self._said = False

    def on_start(self, started: event.Event):
        # The loops that Numba lifts out of other people's functions have no cache at all.
        cache = getattr(started.data["dispatcher"], "_cache", None)
        if self._said or self.muted or not isinstance(cache, KernelCache | NoCache):
            return
        self._said = True
        _say(
            "compiling for this processor what exact inference or an ON-LSTM needs: 2 to 15 "
            "seconds at first use of each function, longer on a busy machine; "
            + (f"kept in {cache.cache_path}" if isinstance(cache, KernelCache) else "not kept")
            + " (fairseq-struct doctor --compile does all of it ahead of time)"
        )
        if isinstance(cache, NoCache):
            self.not_kept("neither the package's folder nor the user's can be written")

    def on_end(self, ended: event.Event):
        """Nothing is said then."""

    def not_kept(self, why: str):
        """Say why the next process will compile again."""
        if not self.complained:
            self.complained = True
            _say(
                f"compiled code cannot be kept for the next process ({why}); set NUMBA_CACHE_DIR "
                "to a folder that can be written"
            )


def _short_hash(of: tuple) -> str:
    return hashlib.sha256(repr(of).encode()).hexdigest()[:16]


def _say(text: str):
    sys.stderr.write(f"fairseq-struct: {text}\n")


announcement = Announcement()
event.register("numba:compile", announcement)
