"""Files that may be compressed, as streams of bytes."""

from __future__ import annotations

import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from fairseq_struct.errors import DependencyError, InputError
from fairseq_struct.files.text_files import reading

_BLOCK = 1 << 17  # bytes that are read at once


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Yield the bytes of a file, decompressed if its name ends in one of ``ENDINGS``.

    Args:
        path: the file.

    Raises:
        InputError: the file cannot be read or decompressed.
        DependencyError: it ends in ``.zst``, and zstandard is not installed.
    """
    opener = _OPENERS.get(path.suffix, Path.open)
    with reading(path):
        try:
            with opener(path, "rb") as file:
                yield file
        except (EOFError, lzma.LZMAError, zlib.error) as error:
            raise _damaged(path, error) from None
        except Exception as error:  # zstandard's own class is known only where it is installed
            if type(error).__name__ != "ZstdError":
                raise
            raise _damaged(path, error) from None


def existing(path: Path) -> Path:
    """The file, or a compressed one in its place: ``train.en.gz`` where there is no ``train.en``.

    Args:
        path: the file's name without the ending of a compressed one, or with it.

    Returns:
        The first of them that exists; ``path`` if none does.
    """
    found = (path.with_name(path.name + ending) for ending in ("", *ENDINGS))
    return next((one for one in found if one.exists()), path)


def without_ending(path: Path) -> Path:
    """The path without the ending of a compressed file, if it has one."""
    return path.with_suffix("") if path.suffix in ENDINGS else path


def _damaged(path: Path, error: Exception) -> InputError:
    return InputError(f"{path}: cannot be decompressed ({error})")


def _zstandard(path: Path, mode: str) -> BinaryIO:
    try:
        import zstandard
    except ImportError:
        raise DependencyError(
            f"{path}: reading .zst needs the package zstandard", "pip install zstandard"
        ) from None
    return io.BufferedReader(_Frames(path.open(mode), zstandard.ZstdDecompressor()), _BLOCK)


class _Frames(io.RawIOBase):
    """The text of all frames of zstandard; its own streams take a torn file for a whole one."""

    def __init__(self, file: BinaryIO, decompressor):
        self._file, self._decompressor = file, decompressor
        self._frame, self._ready, self._given = None, memoryview(b""), b""

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self._file.close()
        super().close()

    def readinto(self, buffer) -> int:
        while not self._ready and self._next():
            pass
        count = min(len(buffer), len(self._ready))
        buffer[:count], self._ready = self._ready[:count], self._ready[count:]
        return count

    def _next(self) -> bool:
        """Decompress some more; whether there was more."""
        given = self._given or self._file.read(_BLOCK)
        self._given = b""
        if not given:
            if self._frame is not None:
                raise EOFError("the file ends within a frame")
            return False
        frame = self._frame or self._decompressor.decompressobj()
        self._ready = memoryview(frame.decompress(given))
        self._given = frame.unused_data
        self._frame = None if frame.eof else frame
        return True


_OPENERS: dict[str, Callable[..., BinaryIO]] = {
    ".gz": gzip.open, ".xz": lzma.open, ".zst": _zstandard,
}  # fmt: skip
ENDINGS = tuple(_OPENERS)
