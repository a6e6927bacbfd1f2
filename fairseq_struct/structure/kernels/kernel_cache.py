"""Disk cache of the kernels' machine code, kept between processes, and messages about it.

It changes Numba's own cache in three ways. Numba's key depends on the source of one function only;
here it depends on all kernels. Numba's index file can be overwritten by two processes that compile
at the same time; here there is no index. In Numba a full disk or a truncated file ends the program;
here it does not.
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

PACKAGE = Path(__file__).parents[2]
# Numba's classes that find folders, by name. Before Numba 0.62 names began with an underscore.
LOCATORS = {one.__name__.lstrip("_"): one for one in CompileResultCacheImpl._locator_classes}


@functools.cache
def text_of_kernels(package: Path = PACKAGE) -> str:
    """Hash of all source that affects machine code: kernels of all folders and ``compiled.py``.

    All kernels count, because a kernel's machine code contains functions of other files.
    """
    files = sorted({*package.rglob("*_kernels.py"), *package.rglob("compiled.py")})
    named = (f"{file.relative_to(package)}\n".encode() + file.read_bytes() for file in files)
    return hashlib.sha256(b"\0".join(named)).hexdigest()


class _Files(IndexDataCacheFile):
    """One file per entry, named by its key, so that processes share no index.

    The first two parts of a key say what was compiled; the rest says from which source text. A new
    file replaces those of other texts with the same first parts. Otherwise the folder would grow
    with every change of a kernel.
    """

    def _path(self, key, text: str | None = None) -> Path:
        what = _short_hash((self._version, key[:2]))
        text = text or _short_hash(key[2:])
        return Path(self._cache_path, self._index_name).with_suffix(f".{what}.{text}.nbc")

    def save(self, key, data):
        path = self._path(key)
        with self._open_for_write(str(path)) as file:  # the file appears complete or not at all
            file.write(self._dump((repr(key), data)))
        for other in path.parent.glob(self._path(key, "*").name):
            if other != path:
                other.unlink(missing_ok=True)

    def load(self, key):
        try:
            known, data = pickle.loads(self._path(key).read_bytes())
        except Exception:  # a truncated file can raise any error; the entry is written again
            return None
        return data if known == repr(key) else None


class _OfTheUser(LOCATORS["UserWideCacheLocator"]):
    """The user's cache folder, if there is a home. Without one Numba would use a folder ``~``."""

    @classmethod
    def from_function(cls, function, file):
        known = os.path.isabs(cls(function, file).get_cache_path())
        return super().from_function(function, file) if known else None


class _Folders(CompileResultCacheImpl):
    _locator_classes = [
        LOCATORS["UserProvidedCacheLocator"], LOCATORS["InTreeCacheLocator"], _OfTheUser,
    ]  # fmt: skip

    def get_filename_base(self, fullname, abiflags):
        """File name without Numba's line number, which differs between source texts."""
        name = fullname.replace("<", "").replace(">", "")
        return f"{name}.{sys.implementation.cache_tag}{abiflags}"


class KernelCache(FunctionCache):
    """Numba's cache of one function; its key includes the source text of all kernels.

    Raises:
        RuntimeError: no folder can be written.
    """

    _impl_class = _Folders

    def __init__(self, function):
        super().__init__(function)
        base = self._impl.filename_base
        self._cache_file = _Files(self.cache_path, base, source_stamp=None)
        self._text = text_of_kernels()  # read now: the files may change later on

    def _index_key(self, *arguments):
        return (*super()._index_key(*arguments), self._text)

    def save_overload(self, *arguments):
        try:
            super().save_overload(*arguments)
        except OSError as error:
            announcement.not_kept(f"{self.cache_path}: {error.strerror or error}")


class NoCache(NullCache):
    """Stands in for a cache if no folder can be written."""


def cache_of(function) -> KernelCache | NoCache:
    """The cache for a function's machine code.

    Its folder is below ``NUMBA_CACHE_DIR``, if that is set; else next to the function's file; else
    in the user's cache folder. The first folder that can be written is used.
    """
    try:
        return KernelCache(function)
    except RuntimeError:
        return NoCache()


class Announcement(event.Listener):
    """Tells once per process that kernels are being compiled, and once if they cannot be kept.

    ``muted`` suppresses the first message. ``complained`` is true after the second.
    """

    def __init__(self):
        self.muted = self.complained = self._said = False

    def on_start(self, started: event.Event):
        # Loops that Numba lifts out of functions of other packages have no cache.
        cache = getattr(started.data["dispatcher"], "_cache", None)
        if self._said or self.muted or not isinstance(cache, KernelCache | NoCache):
            return
        self._said = True
        _say(
            "compiling exact inference, the ON-LSTM or Craft for this processor: 2 to 15 seconds "
            "at the first use of each function, longer on a busy machine; "
            + (f"kept in {cache.cache_path}" if isinstance(cache, KernelCache) else "not kept")
            + " (fairseq-struct doctor --compile compiles everything ahead of time)"
        )
        if isinstance(cache, NoCache):
            self.not_kept("neither the package's nor the user's folder is writable")

    def on_end(self, ended: event.Event):
        """Prints nothing; Numba requires the method."""

    def not_kept(self, why: str):
        """Say why the next process will compile again."""
        if not self.complained:
            self.complained = True
            _say(
                f"compiled code cannot be kept for the next process ({why}); set NUMBA_CACHE_DIR "
                "to a writable folder"
            )


def _short_hash(of: tuple) -> str:
    return hashlib.sha256(repr(of).encode()).hexdigest()[:16]


def _say(text: str):
    sys.stderr.write(f"fairseq-struct: {text}\n")


announcement = Announcement()
event.register("numba:compile", announcement)
